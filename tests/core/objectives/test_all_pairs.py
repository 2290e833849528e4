"""All pairs without lists of them: the same problem as with lists."""

import numpy as np
import pytest
import torch

from skmde import MDE, Constraint
from skmde.core.kernels import compiled_backend as backend_module
from skmde.core.kernels.backend import CompiledBackend
from skmde.core.objectives.all_pairs import AllPairs, AllPairsTerm
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.functions.registry import resolve_loss, resolve_penalty
from skmde.losses import LOSSES
from skmde.penalties import PENALTIES, Barrier
from skmde.preprocessing import all_edges


def both(n, m, distortion, dtype=torch.float64, n_threads=1, **arguments):
    """The same objective without and with lists of pairs."""
    pairs = AllPairs.build(n, distortion, dtype=dtype, **arguments)
    assert isinstance(pairs, AllPairs)
    listed = EdgeList.build(all_edges(n), n, distortion, dtype=dtype, **arguments)
    backend = CompiledBackend(n_threads)
    term = AllPairsTerm.build(pairs, m, dtype=dtype, backend=backend)
    assert term is not None
    return term, EdgeTerm(listed, n, m, dtype=dtype, backend=backend)


def assert_same(objectives, X, rtol):
    (value, gradient), (expected, expected_gradient) = (
        objective.value_and_gradient(X) for objective in objectives
    )
    assert value == pytest.approx(float(expected), rel=rtol)
    atol = rtol * float(expected_gradient.abs().max())
    torch.testing.assert_close(gradient, expected_gradient, rtol=rtol, atol=atol)
    assert gradient.is_contiguous()


def embedding(n, m, dtype=torch.float64, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=(n, m)), dtype=dtype)


@pytest.mark.parametrize("m", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [2, 3, 40, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_all_sizes(n, m, weighted):
    rng = np.random.default_rng(1)
    p = n * (n - 1) // 2
    arguments = {"deviations": rng.gamma(2.0, size=p)}
    if weighted:
        arguments["weights"] = rng.gamma(2.0, size=p)
    assert_same(both(n, m, "squared", **arguments), embedding(n, m), 1e-11)


def test_rows_longer_than_a_block(monkeypatch):
    n = 2 * 2048 + 37
    rng = np.random.default_rng(1)
    deviations = rng.gamma(2.0, size=n * (n - 1) // 2).astype(np.float32)
    objectives = both(n, 2, "absolute", torch.float32, deviations=deviations)
    assert_same(objectives, embedding(n, 2, torch.float32), 3e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_every_loss(name, dtype):
    deviations = np.random.default_rng(2).gamma(2.0, size=780)
    rtol = 1e-11 if dtype == torch.float64 else 1e-4
    assert_same(both(40, 2, name, dtype, deviations=deviations), embedding(40, 2, dtype), rtol)


@pytest.mark.parametrize("name", sorted(PENALTIES))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_every_penalty(name, sign):
    penalty = Barrier(rho=1e-9) if name == "barrier" else name
    weights = sign * np.random.default_rng(3).gamma(2.0, size=780)
    assert_same(both(40, 2, penalty, weights=weights), embedding(40, 2), 1e-11)


def test_coincident_and_distant_items_are_finite():
    X = torch.zeros(50, 2)
    X[25:] = 1e9
    for name in LOSSES:
        pairs = AllPairs.build(50, name, deviations=np.full(1225, 2.0))
        term = AllPairsTerm.build(pairs, 2, dtype=torch.float32, backend=CompiledBackend())
        value, gradient = term.value_and_gradient(X)
        assert np.isfinite(value) and torch.isfinite(gradient).all()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_bits_do_not_depend_on_threads(n_threads, monkeypatch):
    monkeypatch.setattr(backend_module, "_PAIRS_PER_PIECE", 500)
    monkeypatch.setattr(backend_module, "_SMALL", 10)
    deviations = np.random.default_rng(4).gamma(2.0, size=300 * 299 // 2)
    X = embedding(300, 2, torch.float32)
    pairs = AllPairs.build(300, "absolute", deviations=deviations)
    answers = []
    for threads in (1, n_threads, n_threads):
        backend = CompiledBackend(threads)
        objective = AllPairsTerm.build(pairs, 2, dtype=torch.float32, backend=backend)
        answers += [objective.value_and_gradient(X), objective.value_and_gradient(X)]
    for value, gradient in answers:
        assert value == answers[0][0]
        assert torch.equal(gradient, answers[0][1])


@pytest.mark.parametrize("n", [2, 3, 10, 1000, 2500])
def test_pieces_cover_every_row_once(n, monkeypatch):
    monkeypatch.setattr(backend_module, "_PAIRS_PER_PIECE", 7)
    pieces = backend_module.row_pieces(n)
    rows = np.concatenate([np.arange(start, stop) for start, stop in pieces])
    np.testing.assert_array_equal(rows, np.arange(n - 1))


def test_mde_over_all_pairs():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(30, 2))
    edges = all_edges(30)
    deviations = np.linalg.norm(truth[edges[:, 0]] - truth[edges[:, 1]], axis=1)
    weights = rng.gamma(2.0, size=len(edges))
    problem = MDE(30, 2, None, "squared", deviations=deviations, weights=weights)
    listed = MDE(30, 2, edges, "squared", deviations=deviations, weights=weights)
    np.testing.assert_array_equal(problem.edges, edges)
    start = truth + 0.1 * rng.normal(size=truth.shape)
    X = problem.embed(start, tol=1e-9)
    assert problem.value < 1e-12
    np.testing.assert_allclose(X, listed.embed(start, tol=1e-9), atol=1e-6)
    np.testing.assert_allclose(problem.distances(), listed.distances(X))
    np.testing.assert_allclose(problem.distortions(start), listed.distortions(start))
    assert problem.average_distortion(start) == pytest.approx(listed.average_distortion(start))
    np.testing.assert_array_equal(
        problem.high_distortion_pairs(start)[0], listed.high_distortion_pairs(start)[0]
    )
    assert "435 edges" in repr(problem)


def test_mde_over_all_pairs_with_a_callable():
    deviations = np.random.default_rng(6).gamma(2.0, size=190)
    start = embedding(20, 2)
    by_name = MDE(20, 2, None, "squared", deviations=deviations)
    by_callable = MDE(20, 2, None, lambda delta, d: (d - delta) ** 2, deviations=deviations)
    np.testing.assert_allclose(
        by_callable.embed(start, max_iter=20), by_name.embed(start, max_iter=20), atol=1e-6
    )


def test_attraction_and_repulsion_between_all_pairs():
    weights = np.random.default_rng(7).normal(size=190)
    start = embedding(20, 2)
    free = MDE(20, 2, None, ("log1p", "log"), weights=weights)
    listed = MDE(20, 2, all_edges(20), ("log1p", "log"), weights=weights)
    assert free.average_distortion(start) == listed.average_distortion(start)
    repelled = MDE(20, 2, None, ("log1p", "log"), weights=-np.abs(weights))
    assert isinstance(repelled._edges, AllPairs)
    listed = MDE(20, 2, all_edges(20), ("log1p", "log"), weights=-np.abs(weights))
    assert repelled.average_distortion(start) == pytest.approx(listed.average_distortion(start))


def test_arguments_are_copied_and_not_written_to():
    deviations = np.full(190, 1.0)
    weights = np.full(190, 1.0)
    for array in (deviations, weights):
        array.flags.writeable = False
    problem = MDE(20, 2, None, "squared", deviations=deviations, weights=weights)
    before = problem.average_distortion(embedding(20, 2))
    for array in (deviations, weights):
        array.flags.writeable = True
        array[:] = 5.0
    assert problem.average_distortion(embedding(20, 2)) == before


def test_a_problem_moves_to_another_dtype():
    problem = MDE(20, 2, None, "squared", deviations=np.ones(190, np.float32))
    assert problem.embed(embedding(20, 2, torch.float32), max_iter=2).dtype == torch.float32
    assert problem.embed(embedding(20, 2), max_iter=2).dtype == torch.float64
    assert problem.to("cpu") is problem


@pytest.mark.parametrize(
    ("n", "arguments", "message"),
    [
        (1, {}, "n_items is 1, so there are no pairs; at least 2 items"),
        (5, {"deviations": np.ones(9)}, r"deviations must have shape \(10,\).*got \(9,\)"),
        (5, {"deviations": np.full(10, np.nan)}, "10 values that are NaN"),
        (5, {"deviations": -np.ones(10)}, "at least 0; the smallest is -1"),
        (5, {"deviations": np.ones(10), "weights": np.ones(3)}, r"weights must have shape \(10,\)"),
    ],
)
def test_bad_arguments(n, arguments, message):
    with pytest.raises(ValueError, match=message):
        MDE(n, 2, None, "squared", **arguments)


def test_a_users_constraint():
    class Box(Constraint):
        def project(self, Z):
            return Z.clamp(-1, 1)

        def project_tangent(self, X, Z):
            return torch.where((X.abs() >= 1) & (X * Z < 0), torch.zeros_like(Z), Z)

    problem = MDE(10, 2, None, "absolute", Box(), deviations=np.full(45, 9.0))
    X = problem.embed(random_state=0)
    assert float(X.abs().max()) <= 1


def test_functions_are_resolved():
    assert AllPairs.build(3, "squared", deviations=np.ones(3)).function == resolve_loss("squared")
    assert AllPairs.build(3, "huber").function == resolve_penalty("huber")
