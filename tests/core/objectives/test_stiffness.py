"""The traces of Hessians, beside those that torch finds by differentiating twice."""

import numpy as np
import pytest
import torch
from core_problems import random_graph

from skmde.core.objectives.edges import EdgeList
from skmde.core.objectives.stiffness import estimated_trace, traces_by_item
from skmde.functions.registry import resolve_loss, resolve_penalty

N, M = 12, 3


def edges_and_embedding(distortion, **arguments):
    rng = np.random.default_rng(0)
    pairs = random_graph(rng, N, 30)
    arguments = {name: values(rng, len(pairs)) for name, values in arguments.items()}
    edges = EdgeList.build(pairs, N, distortion, dtype=torch.float64, **arguments)
    return edges, torch.from_numpy(rng.standard_normal((N, M)))


def exact_traces(edges, X, value):
    """Trace of the Hessian of the average distortion by item, from autograd."""

    def average(X):
        d = (X[edges.i.long()] - X[edges.j.long()]).norm(dim=1)
        return (edges.weights * value(d)).mean()

    H = torch.autograd.functional.hessian(average, X).reshape(N * M, N * M)
    return H.diagonal().reshape(N, M).sum(dim=1).numpy()


@pytest.mark.parametrize(
    "distortion", ["quadratic", "cubic", lambda d: torch.log1p(d**3), "squared loss"]
)
def test_traces_are_those_of_the_hessian(distortion):
    if distortion == "squared loss":
        # all distances are longer than the original ones, so that no eigenvalue is negative
        edges, X = edges_and_embedding("squared", deviations=lambda rng, p: rng.random(p) / 100)
        exact = exact_traces(edges, X, lambda d: resolve_loss("squared").value(edges.deviations, d))
    else:
        edges, X = edges_and_embedding(distortion, weights=lambda rng, p: rng.random(p))
        X = 0.3 * X  # the third function is convex there
        exact = exact_traces(edges, X, resolve_penalty(distortion).value)
    np.testing.assert_allclose(traces_by_item(edges, X), exact, rtol=1e-6)


def test_negative_eigenvalues_of_a_pair_do_not_count():
    edges, X = edges_and_embedding(("quadratic", "log"), weights=lambda rng, p: -np.ones(p))
    d = (X[edges.i.long()] - X[edges.j.long()]).norm(dim=1)
    # -log pushes outwards, so only its second derivative along the pair is positive
    along = -resolve_penalty("log").curvature(d)
    total = float(2 * along.clamp(min=0).mean())
    assert traces_by_item(edges, X).sum() == pytest.approx(total)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_estimated_trace_is_near_the_exact_one(dtype):
    edges, X = edges_and_embedding("cubic", weights=lambda rng, p: rng.random(p))
    X = X.to(dtype)
    edges = edges.to(dtype=dtype)

    def gradient(X):
        X = X.detach().requires_grad_()
        d = (X[edges.i.long()] - X[edges.j.long()]).norm(dim=1)
        (G,) = torch.autograd.grad((edges.weights * resolve_penalty("cubic").value(d)).mean(), X)
        return G

    exact = traces_by_item(edges, X).sum()
    found = estimated_trace(gradient, X, np.random.default_rng(0))
    assert found == pytest.approx(exact, rel=0.15)


def test_estimated_trace_of_nothing_is_0():
    assert estimated_trace(torch.zeros_like, torch.ones(4, 2), np.random.default_rng(0)) == 0
