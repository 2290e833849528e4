"""From data to edges: neighbours, weights, sampled pairs, graph distances, comparisons."""

from skmde.preprocessing.dimension import intrinsic_dimension
from skmde.preprocessing.graphs.components import connected_components, pack_components
from skmde.preprocessing.graphs.near_nodes import path_neighbors
from skmde.preprocessing.graphs.shortest_paths import ShortestPaths, shortest_paths
from skmde.preprocessing.graphs.weights import edges_from_graph, neighbor_graph
from skmde.preprocessing.neighbors.precomputed import precomputed_neighbors, precomputed_queries
from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors
from skmde.preprocessing.pairs.comparisons import (
    deviations_from_rankings,
    neighbors_at_distance_two,
    weights_from_triplets,
)
from skmde.preprocessing.pairs.distances import pair_distances
from skmde.preprocessing.pairs.sampling import (
    all_edges,
    deduplicate_edges,
    sample_dissimilar,
    sample_edges,
    sample_far,
)

__all__ = [
    "NeighborIndex",
    "ShortestPaths",
    "all_edges",
    "connected_components",
    "deduplicate_edges",
    "deviations_from_rankings",
    "edges_from_graph",
    "intrinsic_dimension",
    "nearest_neighbors",
    "neighbor_graph",
    "neighbors_at_distance_two",
    "pack_components",
    "pair_distances",
    "path_neighbors",
    "precomputed_neighbors",
    "precomputed_queries",
    "sample_dissimilar",
    "sample_edges",
    "sample_far",
    "shortest_paths",
    "weights_from_triplets",
]
