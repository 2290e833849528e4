"""The warm start of neighbour maps."""

import math

import numpy as np
import pytest
import torch
from core_problems import random_graph
from sklearn.datasets import load_digits

from skmde import MDE, Centered
from skmde.core.kernels.backend import CompiledBackend, Step, TorchBackend
from skmde.core.objectives.attraction_repulsion import AttractionRepulsion
from skmde.core.objectives.total import Total
from skmde.core.solvers.base import solve
from skmde.core.solvers.result import Status
from skmde.core.solvers.rising_repulsion import RisingRepulsion
from skmde.preprocessing import edges_from_graph, nearest_neighbors, neighbor_graph


def random_problem(n=60, **arguments):
    arguments = {"repulsion": "all", **arguments}
    edges = random_graph(np.random.default_rng(0), n, 4 * n)
    return MDE(n, 2, edges, arguments.pop("distortion", ("log1p", "cauchy")), **arguments)


def start(n=60, seed=0):
    X = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    return X - X.mean(dim=0)


def digits_problem(repulsion):
    indices, distances, _ = nearest_neighbors(load_digits().data[:500], 15)
    edges, weights = edges_from_graph(neighbor_graph(indices, distances))
    mde = MDE(500, 2, edges, ("log1p", "cauchy"), weights=weights, repulsion=repulsion)
    return mde, 1e-2 * start(500)


def run(mde, X, callbacks=(), **settings):
    objective = mde._objective(X.dtype)
    return RisingRepulsion(**settings).minimize(objective, mde.constraint, X, callbacks)


def test_other_objectives_are_refused():
    plain = random_problem(repulsion=None)
    objective = plain._objective(torch.float32)
    assert type(objective) is Total
    with pytest.raises(TypeError, match="an attraction and a repulsion; got Total"):
        solve(RisingRepulsion(), objective, Centered(), start())
    repelling = random_problem()._objective(torch.float32)
    assert isinstance(repelling, AttractionRepulsion)
    RisingRepulsion().check(repelling)


@pytest.mark.parametrize("repulsion", ["all", "normalized"])
def test_it_lowers_the_objective_of_digits(repulsion):
    mde, X = digits_problem(repulsion)
    given = X.clone()
    result = run(mde, X, max_more=0)
    assert torch.equal(X, given)
    assert result.n_iter == 185
    assert result.status is Status.MAX_ITER
    values = result.history.value
    assert values[-1] < values[0] - 0.1 * abs(values[0])
    assert result.value == values[-1]
    # L-BFGS, which goes on from there, ends lower than one that starts from scratch
    mde.embed(given)
    assert mde.value < result.value
    objective = mde._objective(torch.float32)
    value, gradient = objective.value_and_gradient(result.X)
    assert result.value == pytest.approx(float(value), rel=1e-6)
    centred = gradient - gradient.mean(dim=0)
    assert result.residual_norm == pytest.approx(float(centred.norm()), rel=1e-4)


def test_items_do_not_jump():
    seen = [start().numpy()]
    result = run(random_problem(), start(), [lambda s: seen.append(s.X)], max_step=0.05)
    moves = np.linalg.norm(np.diff(seen, axis=0), axis=2)
    assert len(moves) == result.n_iter
    assert 0.01 < moves.max() <= 0.1  # centring adds no more than the longest move


def test_repulsion_rises_in_stages():
    # the embedding is small in the first stage, and grows as the repulsion rises
    sizes = []
    run(random_problem(), 1e-2 * start(), [lambda s: sizes.append(np.abs(s.X).max())])
    assert max(sizes[:50]) < 0.5 * sizes[-1]


@pytest.mark.parametrize("repulsion", ["all", "normalized"])
def test_the_last_stage_goes_on_while_it_gains(repulsion):
    mde, X = digits_problem(repulsion)
    result = run(mde, X, max_more=500)
    values, attraction = result.history.value, mde._objective(torch.float32).mean_weight
    decreases = np.array([values[k - 25] - values[k] for k in range(185, result.n_iter + 1)])
    assert (decreases[:-1] >= attraction / 20).all()
    assert decreases[-1] < attraction / 20
    # a random start is far from a solution of the normalized problem, whose repulsion adapts
    assert (result.n_iter > 188) == (repulsion == "normalized")
    if repulsion == "normalized":
        assert run(mde, X, max_more=3).n_iter == 188


@pytest.mark.parametrize("n_threads", [2, 4])
def test_same_bits_for_any_number_of_threads(n_threads):
    one = run(random_problem(3000, n_jobs=1), start(3000), max_iter=20)
    more = run(random_problem(3000, n_jobs=n_threads), start(3000), max_iter=20)
    assert torch.equal(one.X, more.X)
    assert one.history.value == more.history.value


@pytest.mark.parametrize(
    "arguments",
    [
        {"repulsive_weight": 0.0},
        {"repulsive_weight": 0.0, "repulsion": "normalized"},
        {"item_weights": np.zeros(60)},
        {"weights": -np.ones(239)},  # no pair attracts
        {"distortion": ("log1p", "linear")},  # an energy below 0
        {"distortion": ("log1p", "log")},
    ],
)
@pytest.mark.filterwarnings("ignore::skmde.exceptions.ConvergenceWarning")
def test_unusual_energies(arguments):
    if "weights" in arguments:
        n_edges = len(random_problem().edges)
        arguments = {"weights": -np.ones(n_edges)}
    result = run(random_problem(**arguments), start(), max_more=0)
    # without repulsion, every start is spread out far enough
    is_spread = arguments.get("repulsive_weight") == 0.0 and "repulsion" not in arguments
    no_charges = "item_weights" in arguments
    assert result.n_iter == (0 if is_spread or no_charges else 185)
    assert bool(torch.isfinite(result.X).all())
    assert math.isfinite(result.value)
    random_problem(**arguments).embed(start(), max_iter=30)


def test_a_start_that_is_not_finite():
    result = run(random_problem(), torch.full((60, 2), torch.nan))
    assert result.status is Status.NOT_FINITE
    assert result.n_iter == 0


def test_the_last_finite_iterate_is_returned():
    mde = random_problem()
    objective = mde._objective(torch.float32)
    parts, count = objective.parts, iter(range(1000))

    def failing(X):
        value, *rest = parts(X)
        return (value if next(count) < 10 else math.nan), *rest

    objective.parts = failing
    states = []
    result = RisingRepulsion().minimize(objective, mde.constraint, start(), [states.append])
    assert result.n_iter == 9 == len(states)
    assert len(result.history.value) == 10
    assert result.n_evaluations == 11
    np.testing.assert_array_equal(result.X, states[-1].X)
    assert result.value == states[-1].value == result.history.value[-1]
    assert result.status is Status.NO_DESCENT


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_momentum_step_of_both_backends(dtype, m):
    compiled, reference = CompiledBackend(), TorchBackend(torch.device("cpu"))
    generator = torch.Generator().manual_seed(0)
    X, velocity, gradient = torch.randn(3, 500, m, generator=generator, dtype=dtype)
    velocity[:5] = gradient[:5] = 0.0
    gains = torch.rand(500, m, generator=generator, dtype=dtype) * 3
    gains[10:20] = 0.01
    states = [[X, velocity.clone(), gains.clone()] for _ in range(2)]
    step = Step(0.7, 0.9, 1.5)
    for _ in range(5):
        for state, backend in zip(states, (compiled, reference), strict=True):
            state[0] = backend.momentum_step(*state, gradient, step)
        for a, b in zip(*states, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    assert float(states[0][2].min()) == pytest.approx(0.01)
    lengths = torch.linalg.vector_norm(states[0][1], dim=1)
    assert float(lengths.max()) == pytest.approx(1.5, rel=1e-5)
    assert not torch.equal(states[0][0], X)
    torch.testing.assert_close(states[0][0][:5], X[:5])


def test_momentum_step_by_hand():
    X = torch.zeros(3, 1)
    velocity, gains = torch.tensor([[1.0], [1.0], [0.0]]), torch.ones(3, 1)
    gradient = torch.tensor([[-2.0], [2.0], [100.0]])
    out = CompiledBackend().momentum_step(X, velocity, gains, gradient, Step(0.5, 0.9, 4.0))
    # the first keeps its direction, the second turns, the third is shortened
    torch.testing.assert_close(gains, torch.tensor([[1.2], [0.8], [0.8]]))
    torch.testing.assert_close(velocity, torch.tensor([[0.9 + 1.2], [0.9 - 0.8], [-4.0]]))
    torch.testing.assert_close(out, velocity)
