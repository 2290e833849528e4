import itertools

import numpy as np
import pytest
import torch
from core_problems import push_and_pull_weights, random_graph

from skmde import Barrier
from skmde.core.batches.stored import StoredBatches, some_of
from skmde.core.objectives.all_pairs import AllPairs
from skmde.core.objectives.edge_term import distortions
from skmde.core.objectives.edges import EdgeList

N = 30


def push_and_pull():
    rng = np.random.default_rng(0)
    pairs = random_graph(rng, N, 150)
    return EdgeList.build(
        pairs, N, ("log1p", "log"), weights=push_and_pull_weights(rng, len(pairs))
    )


def all_pairs():
    rng = np.random.default_rng(0)
    return AllPairs.build(N, "squared", deviations=rng.random(N * (N - 1) // 2))


def rows(edges):
    """Pairs with weight, original distance and distortion at an embedding, sorted."""
    X = torch.from_numpy(np.random.default_rng(1).standard_normal((N, 2))).float()
    delta = edges.deviations
    columns = [
        edges.i,
        edges.j,
        edges.weights,
        torch.zeros(len(edges)) if delta is None else delta,
        distortions_of(edges, X),
    ]
    return sorted(zip(*(c.double().numpy().round(5).tolist() for c in columns), strict=True))


def distortions_of(edges, X):
    found = distortions(edges, X)
    return found if edges.order is None else found[edges.order]


@pytest.mark.parametrize("edges_of", [push_and_pull, all_pairs])
def test_batches_of_a_pass_are_all_pairs(edges_of):
    edges = edges_of()
    batches = StoredBatches(edges, 40, np.random.default_rng(0))
    count = batches.rounds_per_pass
    assert count == -(-len(edges) // 40)
    taken = list(itertools.islice(batches, 2 * count))
    assert max(map(len, taken)) <= 40
    for part in (taken[:count], taken[count:]):
        assert sorted(row for batch in part for row in rows(batch)) == rows(edges)
    assert rows(taken[0]) != rows(taken[count])  # each pass divides them anew


def test_functions_with_a_number_for_each_pair_keep_the_numbers_of_theirs():
    rho = np.linspace(1, 2, 10)
    edges = AllPairs.build(5, Barrier(torch.from_numpy(rho)), weights=-np.ones(10))
    some = some_of(edges, np.array([2, 7]))
    assert some.segments[0].function.rho.tolist() == rho[[2, 7]].tolist()


def test_callable_with_a_number_for_each_pair_is_refused():
    numbers = torch.linspace(1, 2, 10)
    edges = AllPairs.build(5, lambda d: numbers * d**2)
    with pytest.raises(ValueError, match="takes any number of distances"):
        StoredBatches(edges, 5, np.random.default_rng(0))
