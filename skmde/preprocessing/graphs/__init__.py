"""Graphs: adjacency, connected components, weights, shortest paths."""
