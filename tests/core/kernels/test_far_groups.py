"""Items too far apart for one lattice."""

import numpy as np
import pytest
import torch
from all_pairs_cases import backend_sums, compiled_sums, exact_energy, relative_errors, scattered

from skmde.core.kernels import far_groups
from skmde.core.kernels.backend import TorchBackend
from skmde.core.kernels.far_groups import plan_groups
from skmde.core.kernels.lattice import ACCURACIES, Grid, Lattice

N = 3000
FAST = ACCURACIES["fast"].grid(1.0)


def with_outlier(far):
    return np.concatenate([scattered(N, 60), [[far, far / 3]]])


def two_clusters(far):
    return np.concatenate([scattered(N // 2, 60), scattered(N // 2, 60, seed=1) + far])


def diagonal(length):
    return np.linspace(0, length, N)[:, None] * [1.0, 1.0]


CASES = {
    "one outlier": with_outlier(1e4),
    "farther than a float32 can be squared": with_outlier(1e30),
    "two clusters": two_clusters(1e5),
    "on three scales": np.concatenate([two_clusters(1e4), [[1e7, 0.0], [1e7, 5.0]]]),
    "a diagonal": diagonal(1e5),
    "everywhere": np.random.default_rng(0).random((N, 2)) * 1e6,
}


@pytest.fixture
def lattices(monkeypatch):
    """Numbers of nodes of all lattices that are used."""
    seen = []
    energy = Lattice.energy

    def counting(self, X, charges, low, high):
        _, shape = self.grid.box(low, high)
        seen.append(4 * shape[0] * shape[1])
        return energy(self, X, charges, low, high)

    monkeypatch.setattr(Lattice, "energy", counting)
    return seen


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_items_far_apart(lattices, case, dtype):
    X = CASES[case].astype(dtype)
    charges = np.random.default_rng(2).gamma(1.0, size=len(X))
    want = exact_energy(X, charges)
    for accuracy, limits in (("fast", (1e-3, 5e-2)), ("precise", (1e-4, 2e-4))):
        got = compiled_sums(X, accuracy, charges)
        assert np.all(np.array(relative_errors(got, want)) < limits), accuracy
    assert max(lattices, default=0) <= 2**26


def test_one_dimension():
    X = with_outlier(1e9)[:, :1]
    assert np.all(np.array(relative_errors(compiled_sums(X, "fast"), exact_energy(X))) < 5e-2)


@pytest.mark.parametrize("case", ["one outlier", "two clusters", "a diagonal"])
def test_same_bits_for_any_number_of_threads_and_any_former_call(case):
    X = CASES[case].astype(np.float32)
    value, gradient = compiled_sums(X, "fast")
    again, same = compiled_sums(X, "fast", n_threads=4)
    assert again == value
    np.testing.assert_array_equal(same, gradient)


def test_torch_backend_gives_the_same():
    for case in ("one outlier", "two clusters"):
        X = CASES[case].astype(np.float32)
        value, gradient = compiled_sums(X, "fast")
        same, slopes = backend_sums(TorchBackend(torch.device("cpu")), X, "fast")
        assert same == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(slopes, gradient, atol=1e-5 * abs(gradient).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers_give_finite_results(dtype):
    huge = np.finfo(dtype).max
    X = np.concatenate([scattered(N, 60), [[huge, -huge], [-huge, huge]]]).astype(dtype)
    value, gradient = compiled_sums(X, "fast")
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(exact_energy(X[:-2])[0], rel=1e-3)


def test_an_outlier_is_a_group_of_its_own():
    plan = plan_groups(with_outlier(1e5), FAST)
    assert sorted(plan.order) == list(range(N + 1))
    np.testing.assert_array_equal(plan.order[plan.inverse], np.arange(N + 1))
    ((start, stop, factor),) = plan.groups
    assert (stop - start, factor) == (N, 1)
    one_by_one = (N + 1 - plan.stops).sum()
    assert one_by_one == N  # the pairs of the outlier


def test_each_pair_is_summed_once():
    grid = Grid(3, 0.5, 1 << 16)
    X = np.concatenate([scattered(N, 60), scattered(500, 3000), scattered(N, 60, seed=3) + 4000])
    plan = plan_groups(X, grid)
    n = len(X)
    assert len(plan.groups) >= 2
    assert (np.diff(plan.stops) >= 0).all()
    assert (plan.stops > np.arange(n)).all()
    for start, stop, _ in plan.groups:
        assert (plan.stops[start:stop] == stop).all()
    rest = np.ones(n, dtype=bool)
    for start, stop, _ in plan.groups:
        rest[start:stop] = False
    np.testing.assert_array_equal(plan.stops[rest], np.flatnonzero(rest) + 1)


def test_coarser_spacing_if_too_many_pairs_are_left(monkeypatch, lattices):
    monkeypatch.setattr(far_groups, "MAX_PAIRS", 1000)
    X = CASES["everywhere"]
    ((start, stop, factor),) = plan_groups(X, FAST).groups
    assert (start, stop) == (0, N)
    grid = FAST.coarser(factor)
    assert grid.fits(X.min(axis=0), X.max(axis=0))
    assert not FAST.coarser(factor // 2).fits(X.min(axis=0), X.max(axis=0))
    value, gradient = compiled_sums(X, "fast")
    assert len(lattices) == 1
    assert np.isfinite(gradient).all()
    assert -N * (N - 1) / 2 < value < 0


def test_a_group_that_cannot_be_cut_gets_a_coarser_lattice_alone(monkeypatch):
    monkeypatch.setattr(far_groups, "MAX_PAIRS", 2 * N)
    X = np.concatenate([diagonal(1e4), [[1e6, 0.0]]])
    groups = plan_groups(X, FAST).groups
    assert len(groups) == 1
    assert groups[0].stop - groups[0].start == N
    assert groups[0].factor > 1


@pytest.mark.parametrize("size", [1.0, 1e30, 1e300])
def test_number_of_nodes_of_enormous_boxes(size):
    low, high = np.array([-size, -size]), np.array([size, size])
    assert FAST.fits(low, high) == (size == 1.0)
    assert FAST.n_nodes(low, high) == (np.inf if size > 1 else FAST.n_nodes(low, high))
