"""From data to edges: neighbours, weights, sampled pairs, graphs."""

from skmde.preprocessing.distances import pair_distances
from skmde.preprocessing.graphs import connected_components, pack_components
from skmde.preprocessing.neighbors import NeighborIndex, nearest_neighbors
from skmde.preprocessing.sampling import (
    all_edges,
    deduplicate_edges,
    sample_dissimilar,
    sample_edges,
)
from skmde.preprocessing.weights import edges_from_graph, neighbor_graph

__all__ = [
    "NeighborIndex",
    "all_edges",
    "connected_components",
    "deduplicate_edges",
    "edges_from_graph",
    "nearest_neighbors",
    "neighbor_graph",
    "pack_components",
    "pair_distances",
    "sample_dissimilar",
    "sample_edges",
]
