"""Solvers: the base class, projected L-BFGS and its parts, and the result of a solve."""
