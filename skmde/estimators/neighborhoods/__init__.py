"""Neighbourhoods: their sources, weights of pairs, and pairs that are given."""
