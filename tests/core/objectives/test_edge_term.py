"""Value and gradient of the average distortion, and that threads change no bit of them."""

import numpy as np
import pytest
import torch
from kernel_cases import LOSSES, PENALTIES

from skmde import losses, penalties
from skmde.core.kernels import compiled_backend as backend_module
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.kernels.compiled_backend import edge_pieces
from skmde.core.objectives.edge_term import EdgeTerm, distances, distortions
from skmde.core.objectives.edges import EdgeList
from skmde.functions.base import Loss

N = 30
TORCH = TorchBackend(torch.device("cpu"))


def random_edges(rng, n=N, p=200):
    edges = rng.integers(0, n, (p, 2))
    return edges[edges[:, 0] != edges[:, 1]]


def make(edges, distortion, m, *, dtype=torch.float64, n=N, backend=None, **arguments):
    edge_list = EdgeList.build(edges, n, distortion, dtype=dtype, **arguments)
    return EdgeTerm(edge_list, n, m, dtype=dtype, backend=backend or CompiledBackend())


def central_differences(function, X, h=1e-6):
    G = torch.zeros_like(X)
    for k in range(X.numel()):
        step = torch.zeros_like(X)
        step.view(-1)[k] = h
        G.view(-1)[k] = (function(X + step) - function(X - step)) / (2 * h)
    return G


def by_autograd(formula, X, edges):
    """Mean of ``formula(d)`` over the edges in the caller's order, and its gradient."""
    X = X.clone().requires_grad_()
    i, j = torch.as_tensor(edges).T
    value = formula((X[i] - X[j]).norm(dim=1)).mean()
    (gradient,) = torch.autograd.grad(value, X)
    return float(value.detach()), gradient


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_gradient_of_weighted_penalties_equals_autograd_of_the_formula(m):
    rng = np.random.default_rng(m)
    edges = random_edges(rng)
    w = torch.from_numpy(rng.normal(size=len(edges)))
    X = torch.from_numpy(rng.normal(size=(N, m)))

    def formula(d):
        return w * torch.where(w > 0, torch.log1p(d**1.5), torch.log(-torch.expm1(-d)))

    value, gradient = make(edges, ("log1p", "log"), m, weights=w).value_and_gradient(X)
    want = by_autograd(formula, X, edges)
    assert value == pytest.approx(want[0], rel=1e-12)
    torch.testing.assert_close(gradient, want[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_gradient_of_weighted_losses_equals_autograd_of_the_formula(m):
    rng = np.random.default_rng(m)
    edges = random_edges(rng)
    w, delta = torch.from_numpy(rng.gamma(2.0, size=(2, len(edges))))
    X = torch.from_numpy(rng.normal(size=(N, m)))
    problem = make(edges, "weighted_squared", m, weights=w, deviations=delta)
    value, gradient = problem.value_and_gradient(X)
    want = by_autograd(lambda d: w * ((d - delta) / delta) ** 2, X, edges)
    assert value == pytest.approx(want[0], rel=1e-12)
    torch.testing.assert_close(gradient, want[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_gradient_equals_central_differences_for_every_function(compiled):
    rng = np.random.default_rng(0)
    edges = random_edges(rng, n=6, p=14)
    w = rng.normal(size=len(edges))
    delta = rng.gamma(3.0, size=len(edges))
    X = torch.from_numpy(3 * rng.normal(size=(6, 2)))
    for function in PENALTIES + LOSSES:
        if isinstance(function, penalties.Barrier):
            function = penalties.Barrier(rho=0.01)
        extra = {"deviations": delta} if isinstance(function, Loss) else {}
        backend = CompiledBackend() if compiled else TORCH
        problem = make(edges, function, 2, n=6, weights=w, backend=backend, **extra)
        _, gradient = problem.value_and_gradient(X)
        want = central_differences(lambda Z, f=problem: float(f.value_and_gradient(Z)[0]), X)
        scale = float(gradient.abs().max()) + 1e-3
        assert float((gradient - want).abs().max()) < 1e-6 * scale, function


@pytest.mark.parametrize("distortion", [("log1p", lambda d: -1 / d), (lambda d: d**2, "log")])
def test_compiled_and_callable_segments_add_up(distortion):
    rng = np.random.default_rng(1)
    edges = random_edges(rng)
    w = rng.normal(size=len(edges))
    X = torch.from_numpy(rng.normal(size=(N, 2)))
    mixed = make(edges, distortion, 2, weights=w)
    assert len(mixed._sums) == 2
    names = {True: "inverse_power", False: "quadratic"}
    plain = tuple(
        part if isinstance(part, str) else names[k == 1] for k, part in enumerate(distortion)
    )
    value, gradient = mixed.value_and_gradient(X)
    want_value, want_gradient = make(edges, plain, 2, weights=w).value_and_gradient(X)
    assert float(value) == pytest.approx(want_value, rel=1e-12)
    torch.testing.assert_close(gradient, want_gradient, rtol=1e-10, atol=1e-12)


def test_penalty_with_one_parameter_for_each_edge():
    rng = np.random.default_rng(2)
    edges = random_edges(rng)
    lengths = torch.from_numpy(rng.gamma(2.0, size=len(edges)))
    X = torch.from_numpy(rng.normal(size=(N, 2)))
    problem = make(edges, lambda d: (d - lengths) ** 2, 2)
    value, gradient = problem.value_and_gradient(X)
    want = make(edges, "squared", 2, deviations=lengths).value_and_gradient(X)
    assert float(value) == pytest.approx(want[0], rel=1e-12)
    torch.testing.assert_close(gradient, want[1], rtol=1e-10, atol=1e-12)


def test_loss_with_one_parameter_for_each_edge():
    rng = np.random.default_rng(3)
    edges = random_edges(rng)
    delta, power = torch.from_numpy(rng.gamma(2.0, size=(2, len(edges))))
    X = torch.from_numpy(rng.normal(size=(N, 2)))
    problem = make(edges, lambda delta, d: power * (d - delta) ** 2, 2, deviations=delta)
    value, gradient = problem.value_and_gradient(X)
    want = make(edges, "squared", 2, deviations=delta, weights=power).value_and_gradient(X)
    assert float(value) == pytest.approx(want[0], rel=1e-12)
    torch.testing.assert_close(gradient, want[1], rtol=1e-10, atol=1e-12)


def test_module_as_penalty():
    class Scaled(torch.nn.Module):
        def __init__(self, edges):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.arange(float(edges), dtype=torch.float64))

        def forward(self, d):
            return self.scale * d**2

    rng = np.random.default_rng(4)
    edges = random_edges(rng)
    X = torch.from_numpy(rng.normal(size=(N, 2)))
    value, gradient = make(edges, Scaled(len(edges)), 2).value_and_gradient(X)
    weights = np.arange(float(len(edges)))
    want = make(edges, "quadratic", 2, weights=weights).value_and_gradient(X)
    assert float(value) == pytest.approx(want[0], rel=1e-12)
    torch.testing.assert_close(gradient, want[1], rtol=1e-10, atol=1e-12)
    assert not gradient.requires_grad


def test_subclass_with_its_own_mathematics_does_not_get_the_kernel_of_its_parent():
    class Doubled(penalties.Quadratic):
        def value(self, d):
            return 2 * d**2

        def slope(self, d):
            return torch.full_like(d, 4.0)

    edges = random_edges(np.random.default_rng(5))
    X = torch.randn(N, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    value, gradient = make(edges, Doubled(), 2).value_and_gradient(X)
    plain, plain_gradient = make(edges, "quadratic", 2).value_and_gradient(X)
    assert float(value) == pytest.approx(2 * plain)
    torch.testing.assert_close(gradient, 2 * plain_gradient)


@pytest.mark.parametrize("loss", [losses.AbsoluteLoss(), lambda delta, d: (d - delta).abs()])
def test_distances_and_distortions_are_in_the_callers_order(loss):
    rng = np.random.default_rng(6)
    edges = random_edges(rng)
    w, delta = rng.gamma(2.0, size=(2, len(edges)))
    X = rng.normal(size=(N, 3))
    problem = make(edges, loss, 3, weights=w, deviations=delta)
    d = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    embedding = torch.from_numpy(X)
    np.testing.assert_allclose(distances(problem.edges, embedding), d, rtol=1e-12)
    np.testing.assert_allclose(
        distortions(problem.edges, embedding), w * abs(d - delta), rtol=1e-10
    )
    value, _ = problem.value_and_gradient(embedding)
    assert float(value) == pytest.approx(float(distortions(problem.edges, embedding).mean()))


def test_distortions_of_both_signs_are_in_the_callers_order():
    rng = np.random.default_rng(7)
    edges = random_edges(rng)
    w = rng.normal(size=len(edges))
    X = rng.normal(size=(N, 2))
    problem = make(edges, ("linear", "quadratic"), 2, weights=w)
    d = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    want = w * np.where(w > 0, d, d**2)
    np.testing.assert_allclose(distortions(problem.edges, torch.from_numpy(X)), want, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("m", [2, 3])
def test_bits_do_not_depend_on_the_number_of_threads(monkeypatch, dtype, m):
    monkeypatch.setattr(backend_module, "_EDGES_PER_PIECE", 1000)
    monkeypatch.setattr(backend_module, "_SMALL", 100)
    rng = np.random.default_rng(8)
    n, p = 400, 20_000
    edges = random_edges(rng, n, p)
    w = rng.normal(size=len(edges))
    X = torch.from_numpy(rng.normal(size=(n, m))).to(dtype)
    results = []
    for n_threads in (1, 2, 4):
        backend = CompiledBackend(n_threads)
        problem = make(edges, ("log1p", "log"), m, dtype=dtype, n=n, backend=backend, weights=w)
        assert len(edge_pieces([len(edges)], n * m)) > 10
        results += [problem.value_and_gradient(X) for _ in range(3)]
    for value, gradient in results[1:]:
        assert value == results[0][0]
        assert torch.equal(gradient, results[0][1])


@pytest.mark.parametrize("counts", [[2000], [1400, 600], [1, 299, 1700, 5]])
def test_pieces_cover_all_edges_of_each_run_once(monkeypatch, counts):
    monkeypatch.setattr(backend_module, "_EDGES_PER_PIECE", 300)
    pieces = edge_pieces(counts, 100)
    assert len(pieces) >= sum(counts) / 300
    covered = sorted((run, k) for run, start, stop in pieces for k in range(start, stop))
    assert covered == [(run, k) for run, count in enumerate(counts) for k in range(count)]


def test_many_pieces_and_one_give_the_same_gradient(monkeypatch):
    rng = np.random.default_rng(10)
    edges = random_edges(rng, 100, 3000)
    X = torch.from_numpy(rng.normal(size=(100, 2)))
    one = make(edges, "log1p", 2, n=100).value_and_gradient(X)
    monkeypatch.setattr(backend_module, "_EDGES_PER_PIECE", 200)
    many = make(edges, "log1p", 2, n=100)
    for _ in range(2):  # the second time, the parts must be clear again
        value, gradient = many.value_and_gradient(X)
        assert value == pytest.approx(one[0], rel=1e-12)
        torch.testing.assert_close(gradient, one[1], rtol=1e-10, atol=1e-14)


def test_number_of_pieces_is_bounded(monkeypatch):
    monkeypatch.setattr(backend_module, "_EDGES_PER_PIECE", 10)
    assert len(edge_pieces([5000], 100)) == backend_module._MAX_PIECES
    # Each piece has a gradient of its own: fewer pieces where gradients are large.
    assert len(edge_pieces([5000], 1000)) == int(5 / backend_module._EDGES_PER_ENTRY)
    assert len(edge_pieces([5000], 10_000)) == backend_module._MIN_PIECES


@pytest.mark.parametrize(
    ("function", "is_loss"),
    [
        (penalties.Logistic(), False),
        (penalties.Log(exponent=2.5), False),
        (losses.SoftFractionalLoss(), True),
        (lambda d: torch.log1p(d**1.3), False),
        (lambda delta, d: torch.tanh(d - delta) ** 2 + torch.nn.functional.softplus(d), True),
    ],
)
def test_bits_of_the_torch_path_do_not_depend_on_torchs_threads(function, is_loss):
    rng = np.random.default_rng(12)
    n, p = 500, 150_011
    edges = random_edges(rng, n, p)
    w, delta = rng.gamma(2.0, size=(2, len(edges))).astype(np.float32)
    extra = {"deviations": delta} if is_loss else {}
    X = torch.from_numpy(rng.normal(size=(n, 2)).astype(np.float32))
    edge_list = EdgeList.build(edges, n, function, weights=w, **extra)
    problem = EdgeTerm(edge_list, n, 2, backend=TORCH)
    before = torch.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2, 3, 4):
            torch.set_num_threads(n_threads)
            results.append(problem.value_and_gradient(X))
    finally:
        torch.set_num_threads(before)
    for value, gradient in results[1:]:
        assert float(value) == float(results[0][0])
        assert torch.equal(gradient, results[0][1])


def test_long_callables_with_one_parameter_for_each_edge_see_all_edges_at_once():
    rng = np.random.default_rng(13)
    edges = random_edges(rng, 100, 60_000)
    lengths = torch.from_numpy(rng.gamma(2.0, size=len(edges)))
    X = torch.from_numpy(rng.normal(size=(100, 2)))
    by_callable = make(edges, lambda d: (d - lengths) ** 2, 2, n=100)
    by_loss = make(edges, "squared", 2, n=100, deviations=lengths)
    torch.testing.assert_close(
        by_callable.value_and_gradient(X)[1], by_loss.value_and_gradient(X)[1]
    )
    torch.testing.assert_close(distortions(by_callable.edges, X), distortions(by_loss.edges, X))
