"""Sums over all pairs of items by convolutions on lattices, compiled and in torch."""
