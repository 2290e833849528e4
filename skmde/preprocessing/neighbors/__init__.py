"""Nearest neighbours: one index, several ways to search."""
