"""Objectives: the functions that solvers minimise. An objective is a sum of terms."""
