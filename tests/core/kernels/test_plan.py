"""Items too far apart for one lattice."""

import itertools

import numpy as np
import pytest
import torch
from all_pairs_cases import (
    backend_sums,
    compiled_sums,
    exact_energy,
    exact_sums,
    relative_errors,
    scattered,
)

from skmde import penalties
from skmde.core.kernels.backend import TorchBackend
from skmde.core.kernels.lattice import plan as planning
from skmde.core.kernels.lattice.convolution import ACCURACIES, Accuracy, Lattice
from skmde.core.kernels.lattice.layouts import Layout, Layouts
from skmde.core.kernels.lattice.plan import Plan
from skmde.functions.registry import resolve_penalty

N = 3000
FAST = ACCURACIES["fast"].grid(1.0)
CAUCHY = penalties.Cauchy()
LAYOUTS = Layouts(CAUCHY, ACCURACIES["fast"])


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
    energy = Lattice._energy

    def counting(self, X, charges, low, high, ranks=None):
        _, shape = self.grid.box(low, high)
        seen.append(np.prod(2 * np.array(shape)))
        return energy(self, X, charges, low, high, ranks)

    monkeypatch.setattr(Lattice, "_energy", counting)
    return seen


@pytest.fixture
def cut_always(monkeypatch):
    monkeypatch.setattr(planning, "ENOUGH", 0)
    monkeypatch.setattr(planning, "ENOUGH_PER_ITEM", 64)


# On lattices alone, each case takes seconds.
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("pairs_per_node", "dtype"),
    [
        *[pytest.param(0, dtype, marks=pytest.mark.slow) for dtype in (np.float32, np.float64)],
        (0.05, np.float32),
        (0.05, np.float64),
        (8, np.float32),
        (8, np.float64),
    ],
)
def test_sums_of_items_far_apart(monkeypatch, cut_always, lattices, case, pairs_per_node, dtype):
    # 0: all on lattices; 8: these few items have hardly any lattice
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", pairs_per_node)
    X = CASES[case].astype(dtype)
    charges = np.random.default_rng(2).gamma(1.0, size=len(X))
    want = exact_energy(X, charges)
    for accuracy, limits in (("fast", (1e-3, 5e-2)), ("precise", (1e-4, 2e-4))):
        got = compiled_sums(X, accuracy, charges)
        assert np.all(np.array(relative_errors(got, want)) < limits), accuracy
    assert max(lattices, default=0) <= 2**26
    if pairs_per_node == 0:
        assert len(lattices) >= 2


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["log", "inverse_power"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_penalties_that_are_split(monkeypatch, lattices, case, name, dtype):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", 0.05)
    monkeypatch.setattr(planning, "ENOUGH", 1 << 20)
    X, penalty = np.unique(CASES[case].astype(dtype), axis=0), resolve_penalty(name)
    charges = np.random.default_rng(2).gamma(1.0, size=len(X))
    value, gradient = exact_sums(X, penalty, charges)
    got, slopes = compiled_sums(X, "fast", charges, penalty=penalty)
    assert got == pytest.approx(value, rel=1e-3, abs=1e-12)
    assert np.linalg.norm(slopes - gradient) <= 5e-2 * np.linalg.norm(gradient) + 1e-12
    assert lattices


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_many_items_in_two_clusters(monkeypatch, cut_always, lattices, m):
    # if there are too many pairs for a loop, they are summed on a coarse lattice
    X = np.concatenate([scattered(15_000, 60, m), scattered(15_000, 60, m, seed=1) + 1e5])
    X = X.astype(np.float32)
    for penalty in (CAUCHY, penalties.InversePower(0.5)):
        monkeypatch.setattr(planning, "PAIRS_PER_NODE", 1)
        lattices.clear()
        value, gradient = compiled_sums(X, "fast", penalty=penalty)
        assert len(lattices) == 5
        monkeypatch.setattr(planning, "PAIRS_PER_NODE", 1e9)
        want, slopes = compiled_sums(X, "fast", penalty=penalty)
        assert len(lattices) == 5
        assert value == pytest.approx(want, rel=1e-3)
        assert np.linalg.norm(gradient - slopes) < 5e-2 * np.linalg.norm(slopes)


@pytest.fixture
def on_lattices(monkeypatch, cut_always):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", 0)


def test_one_dimension(on_lattices):
    X = with_outlier(1e9)[:, :1]
    assert np.all(np.array(relative_errors(compiled_sums(X, "fast"), exact_energy(X))) < 5e-2)


@pytest.mark.parametrize("case", ["one outlier", "two clusters", "a diagonal"])
@pytest.mark.parametrize("pairs_per_node", [0, 0.05])
def test_same_bits_for_any_number_of_threads(monkeypatch, cut_always, case, pairs_per_node):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", pairs_per_node)
    X = CASES[case].astype(np.float32)
    value, gradient = compiled_sums(X, "fast")
    again, same = compiled_sums(X, "fast", n_threads=4)
    assert again == value
    np.testing.assert_array_equal(same, gradient)


def test_torch_backend_gives_the_same(on_lattices):
    for case in ("one outlier", "two clusters"):
        X = CASES[case].astype(np.float32)
        value, gradient = compiled_sums(X, "fast")
        same, slopes = backend_sums(TorchBackend(torch.device("cpu")), X, "fast")
        assert same == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(slopes, gradient, atol=1e-5 * abs(gradient).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pairs_per_node", [0, 8])
def test_the_largest_numbers_give_finite_results(monkeypatch, cut_always, dtype, pairs_per_node):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", pairs_per_node)
    huge = np.finfo(dtype).max
    X = np.concatenate([scattered(N, 60), [[huge, -huge], [-huge, huge]]]).astype(dtype)
    value, gradient = compiled_sums(X, "fast")
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(exact_energy(X[:-2])[0], rel=1e-3)


def test_an_outlier_is_a_group_of_its_own(monkeypatch, cut_always):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", 0.05)
    plan = Plan(with_outlier(1e5), LAYOUTS)
    assert sorted(plan.order) == list(range(N + 1))
    np.testing.assert_array_equal(plan.order[plan.inverse], np.arange(N + 1))
    (group,) = plan.lattices
    assert (group.stop - group.start, group.sign, group.is_own) == (N, 1, True)
    assert group.layout == Layout(FAST)
    (pairs,) = plan.pairs
    assert (pairs.stop - pairs.start - pairs.stops).sum() == N  # those of the outlier


@pytest.mark.parametrize("pairs_per_node", [0, 0.001, 0.05, 1, 8])
@pytest.mark.parametrize("case", CASES)
def test_each_pair_is_summed_once(monkeypatch, cut_always, pairs_per_node, case):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", pairs_per_node)
    X = CASES[case][::6]
    n = len(X)
    plan = Plan(X, Layouts(CAUCHY, Accuracy(3, 0.5, max_nodes=1 << 16)))
    counts = np.zeros((n, n), dtype=int)
    for start, stop, stops in plan.pairs:
        assert (np.diff(stops) >= 0).all()
        assert (stops > np.arange(stop - start)).all()
        columns = np.arange(stop - start)
        counts[start:stop, start:stop] += columns[None] >= stops[:, None]
    for start, stop, layout, sign, is_own in plan.lattices:
        P = X[plan.order[start:stop]]
        assert layout.grid.fits(P.min(axis=0), P.max(axis=0))
        assert is_own or sign == -1 or stop - start < n or start == 0
        counts[start:stop, start:stop] += sign
    assert (counts[np.triu_indices(n, 1)] == 1).all()


@pytest.mark.slow
def test_groups_are_farther_apart_than_the_core_of_the_coarse_layout(monkeypatch, cut_always):
    # because that core is not corrected
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", 0)
    for m in (2, 3):
        X = np.concatenate([scattered(600, 60, m), scattered(600, 60, m, seed=1) + 500.0])
        X = np.concatenate([X, X + 1e5])
        plan = Plan(X, LAYOUTS)
        coarse = [part for part in plan.lattices if not part.is_own]
        assert len(coarse) >= 3
        for whole in (part for part in coarse if part.sign > 0):
            parts = [
                X[plan.order[part.start : part.stop]]
                for part in coarse
                if part.sign < 0 and part.layout == whole.layout
            ]
            for one, other in itertools.combinations(parts, 2):
                gap = np.linalg.norm(one[:, None] - other[None], axis=2).min()
                assert gap > whole.layout.radius


def test_nothing_is_cut_if_the_work_is_small_already(lattices):
    X = with_outlier(300)
    compiled_sums(X, "fast")
    assert len(lattices) == 1


@pytest.mark.parametrize("size", [1.0, 1e30, 1e300])
def test_number_of_nodes_of_enormous_boxes(size):
    low, high = np.array([-size, -size]), np.array([size, size])
    assert FAST.fits(low, high) == (size == 1.0)
    assert FAST.n_nodes(low, high) == (np.inf if size > 1 else FAST.n_nodes(low, high))
