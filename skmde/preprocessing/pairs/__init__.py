"""Pairs of items: their distances, random samples, rankings and comparisons."""
