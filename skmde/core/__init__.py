"""The problem and its solvers, on torch tensors and compiled kernels; no scikit-learn."""
