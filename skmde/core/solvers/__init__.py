"""Projected L-BFGS, its parts, and what a solve returns."""
