"""Edges of any integer type, and graphs in any form, in the functions of preprocessing."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from skmde.metrics import distortion_by_group
from skmde.preprocessing import (
    connected_components,
    deduplicate_edges,
    edges_from_graph,
    pair_distances,
    sample_dissimilar,
    sample_edges,
)

X = np.random.default_rng(0).standard_normal((200, 3))
EDGES = np.array([[199, 3], [0, 128], [128, 0], [77, 150]])
GRAPH = np.array([[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
INTEGERS = ["uint8", "int16", "uint32", "int32", "uint64", ">i8", ">i4", ">u2"]


def forms(edges):
    for dtype in INTEGERS:
        yield edges.astype(dtype)
    yield torch.from_numpy(edges)
    yield pd.DataFrame(edges)
    yield np.asfortranarray(edges)
    yield edges.tolist()


@pytest.mark.parametrize(
    "take",
    [
        lambda edges: pair_distances(X, edges),
        lambda edges: deduplicate_edges(edges),
        lambda edges: sample_dissimilar(200, 30, edges, random_state=0),
        lambda edges: distortion_by_group(np.arange(4.0), edges, np.arange(200) % 3).mean,
    ],
    ids=["pair_distances", "deduplicate_edges", "sample_dissimilar", "distortion_by_group"],
)
def test_edges_of_any_integer_type(take):
    expected = take(EDGES)
    for edges in forms(EDGES):
        np.testing.assert_array_equal(take(edges), expected)


def test_graphs_in_any_form():
    stored = sp.csr_array(GRAPH)
    for graph in (
        GRAPH,
        GRAPH.tolist(),
        GRAPH.astype(np.float16),
        GRAPH.astype(">i4"),
        torch.from_numpy(GRAPH),
        pd.DataFrame(GRAPH),
        stored.tocoo(),
        sp.bsr_matrix(stored),
    ):
        n_parts, labels = connected_components(graph)
        assert n_parts == 2 and labels.tolist() == [0, 0, 1, 1]
        edges, weights = edges_from_graph(graph)
        assert edges.tolist() == [[0, 1], [2, 3]] and weights.tolist() == [2, 1]


@pytest.mark.parametrize("take", [connected_components, edges_from_graph])
def test_what_is_no_square_matrix_gets_an_error_of_our_own(take):
    with pytest.raises(ValueError, match=r"networkx\.to_scipy_sparse_array"):
        take(nx.path_graph(["a", "b", "c"]))
    for graph in (GRAPH[:, :3], sp.csr_array(GRAPH)[:3], np.ones(4), None, "abc"):
        with pytest.raises(ValueError, match=r"graph must be a square matrix.* got shape"):
            take(graph)


def test_negative_seeds_are_refused():
    with pytest.raises(ValueError, match="random_state must be at least 0, got -1"):
        sample_edges(20, 5, random_state=-1)


def test_groups_that_overlap_may_have_any_dtype():
    member = np.array([[1, 0], [1, 1], [0, 1]])
    edges, distortions = [[0, 1], [1, 2]], [1.0, 3.0]
    expected = distortion_by_group(distortions, edges, member)
    for dtype in ("float16", ">f8", "bool", "uint8"):
        found = distortion_by_group(distortions, edges, member.astype(dtype))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
