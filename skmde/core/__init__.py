"""MDE problems and their solvers, on torch tensors and compiled kernels, without scikit-learn."""
