"""Where a solve ends: near the best embedding, or with a warning; and what it says about it."""

import warnings

import numpy as np
import pytest
import torch
from core_problems import objective_of, random_graph

from skmde import MDE, Centered, HuberLoss
from skmde.core.solvers.base import solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import Status
from skmde.exceptions import ConvergenceWarning
from skmde.losses import PowerLoss

N = 40
EDGES = np.stack(np.triu_indices(N, 1), axis=1)
SMOOTH = ["squared", "cubic", "huber", "sammon", "kamada_kawai", PowerLoss(1.5), PowerLoss(4.0)]


def nearly_flat(noise):
    """Points of a plane with some noise beside it, and their distances."""
    rng = np.random.default_rng(0)
    points = np.hstack([rng.normal(size=(N, 2)), noise * rng.normal(size=(N, 3))])
    i, j = EDGES.T
    return points[:, :2], np.linalg.norm(points[i] - points[j], axis=1)


def embedded(loss, start, delta, **options):
    problem = MDE(N, 2, None, loss, deviations=delta)
    problem.embed(start, **options)
    return problem


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("noise", [0.3, 0.1, 0.03])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_a_good_start_is_no_solution_where_a_much_better_one_is_near(loss, noise, unit):
    flat, delta = nearly_flat(noise)
    loss = HuberLoss(0.1 * unit) if loss == "huber" else loss
    found = embedded(loss, unit * flat, unit * delta)
    best = embedded(loss, unit * flat, unit * delta, tol=1e-14, max_iter=1000)
    assert found.value <= 1.02 * best.value
    assert found.result.status is Status.CONVERGED


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_a_start_that_is_as_good_as_exact_is_returned(loss):
    flat, delta = nearly_flat(0.0)
    found = embedded(loss, flat, delta)
    assert found.result.n_iter == 0 and found.result.converged


@pytest.mark.parametrize("tol", [0.0, 1e-12, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize("repulsion", [None, "all", "normalized"])
def test_a_solve_has_converged_if_its_reason_says_so(repulsion, tol):
    edges = random_graph(np.random.default_rng(0), 30, 90)
    weights = None if repulsion else np.where(np.arange(len(edges)) % 3, 1.0, -1.0)
    for penalty in ("cauchy",) if repulsion else ("cauchy", "log"):
        functions = ("quadratic", penalty)
        problem = MDE(30, 2, edges, functions, weights=weights, repulsion=repulsion)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            problem.embed(random_state=0, tol=tol)
        result = problem.result
        unit = problem._scale().gradient
        assert result.converged == result.reason.endswith(f"is at most tol={tol:g}")
        # Up to the rounding of a last projection onto the centred embeddings.
        assert result.converged == (result.residual_norm <= tol * unit)


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_a_loss_with_a_wrong_gradient_warns_after_any_number_of_iterations(size):
    flat, delta = nearly_flat(0.3)

    def wrong(delta, d):
        return (d - delta) ** 2 + 0.1 * d.detach() * delta

    with pytest.warns(ConvergenceWarning, match=r"stopped early.*right gradient"):
        problem = embedded(wrong, size * flat, delta)
    assert problem.result.status is Status.NO_DESCENT
    assert problem.result.n_iter > 2


@pytest.mark.parametrize("weight", [1e11, 1e16])
def test_a_pair_whose_rounding_errors_hide_all_other_pairs_warns(weight):
    # Which solves stop early depends on rounding errors, and so on the machine.
    poor = 0
    for seed in range(1, 6):
        rng = np.random.default_rng(seed)
        edges = random_graph(rng, 60, 400)
        weights = np.where(rng.random(len(edges)) < 0.4, 1.0, -1.0).astype(np.float32)
        start = Centered().initialize(60, 2, rng, torch.float32, "cpu")

        def solved(first, edges=edges, weights=weights, start=start):
            weights = np.concatenate([[first], weights[1:]]).astype(np.float32)
            objective = objective_of(edges, 60, 2, ("quadratic", "log"), weights=weights)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                return solve(LBFGS(), objective, Centered(), start), [
                    str(w.message) for w in caught
                ]

        best, found = solved(100.0)[0], solved(weight)
        if found[0].status is Status.NO_DESCENT and found[0].value > 2 * best.value:
            poor += 1
            assert any("stopped early" in text and "a few weights" in text for text in found[1])
    assert poor


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["absolute", "squared", "huber", "cubic", "sammon", "logistic"])
def test_an_optimum_up_to_rounding_errors_does_not_warn(loss, dtype):
    for noise in (0.3, 0.03):
        flat, delta = nearly_flat(noise)
        found = embedded(loss, flat.astype(dtype), delta.astype(dtype), tol=0.0, max_iter=2000)
        assert not found.result.converged
        assert torch.isfinite(found.X).all()
