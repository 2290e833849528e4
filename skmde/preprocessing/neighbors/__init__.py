"""Nearest neighbours: one index with several search algorithms."""
