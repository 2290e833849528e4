"""The quasi-Newton direction against the textbook's two-loop recursion."""

import numpy as np
import pytest
import torch

from skmde.core.kernels import compiled_backend as backend_module
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.solvers.history import CurvaturePairs

SHAPE = (40, 3)
BACKENDS = [CompiledBackend(), TorchBackend(torch.device("cpu"))]


def two_loop(pairs, g):
    """Nocedal and Wright, algorithm 7.4, in float64: -B^{-1} g from pairs (s, y), oldest first."""
    q = g.copy()
    alphas = []
    for s, y in reversed(pairs):
        alpha = (s @ q) / (s @ y)
        alphas.append(alpha)
        q -= alpha * y
    s, y = pairs[-1]
    r = (s @ y) / (y @ y) * q
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        beta = (y @ r) / (s @ y)
        r += (alpha - beta) * s
    return -r


class Run:
    """A history that is fed with pairs of a quadratic function, and the pairs kept beside it."""

    def __init__(self, memory_size, dtype=torch.float64, backend=None, seed=0):
        self.rng = np.random.default_rng(seed)
        self.length = int(np.prod(SHAPE))
        A = self.rng.normal(size=(self.length, self.length))
        self.hessian = A @ A.T / self.length + 0.1 * np.eye(self.length)
        like = torch.zeros(SHAPE, dtype=dtype)
        self.history = CurvaturePairs(memory_size, like, backend or CompiledBackend())
        self.dtype, self.memory_size = dtype, memory_size
        self.x = self.rng.normal(size=self.length)
        self.pairs = []

    @property
    def gradient(self):
        return self.tensor(self.hessian @ self.x)

    def tensor(self, flat):
        return torch.from_numpy(np.asarray(flat)).reshape(SHAPE).to(self.dtype)

    def step(self, curvature=1.0):
        """Stage and accept the pair of a random step; with negative curvature it is refused."""
        before = self.gradient
        s = self.rng.normal(size=self.length)
        self.x = self.x + s
        after = self.gradient if curvature > 0 else before + curvature * self.tensor(s)
        dots = self.history.stage(self.tensor(s), torch.zeros_like(after), after, before)
        kept = self.history.accept(np.asarray(dots, dtype=np.float64))
        if kept:
            pair = self.tensor(s), after - before
            self.pairs.append(tuple(p.double().numpy().ravel() for p in pair))
            self.pairs = self.pairs[-self.memory_size :]
        self.after = after
        return kept

    def compare(self, rtol):
        V, slope = self.history.direction(self.after, float(self.after.double().square().sum()))
        want = two_loop(self.pairs, self.after.double().numpy().ravel())
        size = np.abs(want).max()
        np.testing.assert_allclose(V.double().numpy().ravel(), want, rtol=0, atol=rtol * size)
        exact = float((self.after.double() * V.double()).sum())
        assert slope == pytest.approx(exact, rel=10 * rtol)
        assert slope < 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("memory_size", [1, 2, 5])
def test_direction_equals_the_two_loop_recursion_before_and_after_the_memory_is_full(
    memory_size, backend
):
    run = Run(memory_size, backend=backend)
    for k in range(3 * memory_size + 2):
        assert run.step()
        assert len(run.history) == min(k + 1, memory_size)
        run.compare(rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_direction_in_float32(backend):
    run = Run(10, dtype=torch.float32, backend=backend)
    for _ in range(14):
        assert run.step()
        run.compare(rtol=1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pairs_without_curvature_are_left_out_but_their_gradient_counts(backend):
    run = Run(3, backend=backend)
    for curvature in (1, 1, -1, -1, 1, -1, 1, 1, -1):
        assert run.step(curvature) == (curvature > 0)
        run.compare(rtol=1e-9)
    assert len(run.history) == 3


def test_first_direction_is_steepest_descent():
    history = CurvaturePairs(4, torch.zeros(SHAPE), CompiledBackend())
    G = torch.randn(SHAPE, generator=torch.Generator().manual_seed(0))
    V, slope = history.direction(G, 12.5)
    assert torch.equal(V, -G)
    assert slope == -12.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_clear_goes_back_to_steepest_descent_and_starts_anew(backend):
    run = Run(3, backend=backend)
    for _ in range(5):
        run.step()
    run.history.clear()
    run.pairs.clear()
    assert len(run.history) == 0
    V, slope = run.history.direction(run.after, 1.0)
    assert torch.equal(V, -run.after) and slope == -1.0
    for _ in range(5):
        assert run.step()
        run.compare(rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_trial_that_is_not_finite_leaves_no_trace(backend):
    run = Run(3, backend=backend)
    for fault in (np.nan, np.inf):
        run.step()
        broken = torch.full(SHAPE, fault, dtype=run.dtype)
        run.history.stage(broken, run.after, broken, run.after)
        # The line search went on to a finite trial: its pair takes the same place.
        assert run.step()
        run.compare(rtol=1e-9)
        # The line search failed: the pairs are forgotten, and the free place holds the fault.
        run.history.stage(broken, run.after, broken, run.after)
        run.history.clear()
        run.pairs.clear()
        for _ in range(2):
            assert run.step()
            run.compare(rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pair_whose_numbers_overflow_is_left_out(backend):
    run = Run(3, dtype=torch.float32, backend=backend)
    assert run.step() and run.step()
    before = run.after
    run.after = torch.full(SHAPE, 1e25, dtype=torch.float32)
    dots = run.history.stage(
        run.tensor(np.ones(run.length)), torch.zeros_like(before), run.after, before
    )
    assert np.isinf(np.asarray(dots)).any()
    assert not run.history.accept(np.asarray(dots, dtype=np.float64))
    run.compare(rtol=1e-3)


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_whether_a_pair_is_kept_does_not_depend_on_the_scale_of_the_function(scale):
    run = Run(3)
    run.hessian *= scale
    for _ in range(4):
        assert run.step()
        run.compare(rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
def test_pairs_of_rounding_noise_are_left_out(scale):
    history = CurvaturePairs(3, torch.zeros(2, 1), CompiledBackend())
    s = torch.tensor([[1.0], [0.0]])
    G = torch.tensor([[0.0], [scale]])
    noisy = G + torch.tensor([[1e-9 * scale], [scale]])
    assert not history.accept(history.stage(s, torch.zeros_like(s), noisy, G))
    assert history.accept(history.stage(s, 0 * s, noisy + torch.tensor([[1e-2 * scale], [0.0]]), G))


def test_no_change_of_the_gradient_is_no_pair():
    history = CurvaturePairs(3, torch.zeros(SHAPE), CompiledBackend())
    G = torch.ones(SHAPE)
    assert not history.accept(history.stage(torch.ones(SHAPE), torch.zeros(SHAPE), G, G))


def test_bits_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr("skmde.core.kernels.compiled_backend._NUMBERS_PER_PIECE", 16)
    assert len(backend_module._vector_pieces(int(np.prod(SHAPE)))) == 8
    directions = []
    for n_threads in (1, 2, 4):
        run = Run(4, dtype=torch.float32, backend=CompiledBackend(n_threads))
        for _ in range(6):
            run.step()
        directions.append(run.history.direction(run.after, 1.0))
    for V, slope in directions[1:]:
        assert torch.equal(V, directions[0][0])
        assert slope == directions[0][1]
