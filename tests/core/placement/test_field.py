"""The frozen field of the training items, against exact sums."""

import numpy as np
import pytest
import torch
from all_pairs_cases import scattered

from skmde import penalties
from skmde.core.kernels.lattice import plan as planning
from skmde.core.kernels.lattice.convolution import FROZEN, Lattice
from skmde.core.placement.field import FrozenField
from skmde.functions.registry import resolve_penalty

ON_LATTICE = 1e-4, 2e-3, 2e-2  # errors of value, gradient and Hessian
EXACT = 1e-9, 1e-9, 1e-9


def exact_field(items, strengths, points, scale=1.0):
    """Sum of s / (1 + (d / scale)^2), its gradient and its Hessian."""
    E = (points[:, None] - items[None]) / scale
    m = points.shape[1]
    k = 1 / (1 + (E**2).sum(axis=2))
    value = k @ strengths
    gradient = np.stack([-2 * (k**2 * E[:, :, a]) @ strengths for a in range(m)], axis=1)
    hessian = np.empty((len(points), m, m))
    for a in range(m):
        for b in range(m):
            bend = 8 * k**3 * E[:, :, a] * E[:, :, b] - (a == b) * 2 * k**2
            hessian[:, a, b] = bend @ strengths
    return value, gradient / scale, hessian / scale**2


def read(field, points):
    q, m = points.shape
    value, rounding = np.zeros((2, q))
    gradient, hessian = np.zeros((q, m)), np.zeros((q, m, m))
    field.add(points, value, rounding, gradient, hessian)
    assert (rounding >= 0).all()
    return value, gradient, hessian


def assert_close(got, want, *limits):
    for a, b, limit in zip(got, want, limits, strict=True):
        assert np.linalg.norm(a - b) <= limit * np.linalg.norm(b)


@pytest.fixture
def nodes(monkeypatch):
    """Numbers of nodes of all lattices."""
    seen = []
    potential = Lattice.potential

    def counting(self, *arguments):
        P, origin = potential(self, *arguments)
        seen.append(P.size)
        return P, origin

    monkeypatch.setattr(Lattice, "potential", counting)
    return seen


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_inside_and_outside_the_lattice(m, scale):
    items = scattered(2000, 40, m) * scale
    strengths = np.random.default_rng(1).gamma(1.0, size=len(items))
    field = FrozenField(items, strengths, penalties.Cauchy(scale))
    assert field.total == pytest.approx(strengths.sum(), rel=1e-12)
    rng = np.random.default_rng(2)
    inside = np.concatenate([items[:50], (rng.random((200, m)) * 40 - 13) * scale])
    want = exact_field(items, strengths, inside, scale)
    assert_close(read(field, inside), want, *ON_LATTICE)
    outside = rng.normal(size=(50, m)) * 10 * scale + 200 * scale
    assert_close(read(field, outside), exact_field(items, strengths, outside, scale), *EXACT)


def test_gradient_and_hessian_are_derivatives():
    items = scattered(500, 10)
    field = FrozenField(items, np.ones(500), penalties.Cauchy())
    points = scattered(20, 10, seed=5)
    _, gradient, hessian = read(field, points)
    for a in range(2):
        step = 1e-5 * np.eye(2)[a]
        after, before = read(field, points + step), read(field, points - step)
        np.testing.assert_allclose((after[0] - before[0]) / 2e-5, gradient[:, a], atol=1e-4)
        np.testing.assert_allclose((after[1] - before[1]) / 2e-5, hessian[:, a], atol=1e-3)


def test_a_place_does_not_depend_on_the_batch():
    far = np.concatenate([scattered(1500, 30), scattered(1500, 30, seed=1) + 1e5])
    for items in (scattered(3000, 30), far):
        field = FrozenField(items, np.ones(3000), penalties.Cauchy())
        points = np.concatenate([scattered(40, 60, seed=4), [[1e5, 1e5], [500.0, 0.0]]])
        together = read(field, points)
        for rows in ([3], [41], [40, 3], np.arange(42)[::-1]):
            for a, b in zip(read(field, points[rows]), together, strict=True):
                np.testing.assert_array_equal(a, b[rows])


def test_same_bits_for_any_number_of_threads():
    items, points = scattered(20_000, 30), scattered(50, 30, seed=4)
    one, four = (
        read(FrozenField(items, np.ones(20_000), penalties.Cauchy(), k), points) for k in (1, 4)
    )
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("m", [1, 2])
def test_items_far_apart_do_not_need_an_enormous_lattice(monkeypatch, nodes, m):
    monkeypatch.setattr(planning, "PAIRS_PER_NODE", 0)
    monkeypatch.setattr(planning, "ENOUGH", 1 << 20)
    one = scattered(1500, 30, m)
    items = np.concatenate([one, one[::-1] + 1e5, np.full((1, m), 1e9)])
    items[[0, 2000]] = items[[2000, 0]]  # the groups are not consecutive
    strengths = np.random.default_rng(1).gamma(1.0, size=len(items))
    field = FrozenField(items, strengths, penalties.Cauchy())
    assert sum(nodes) <= FROZEN.max_nodes
    assert 1 <= len(nodes) <= 3
    points = np.concatenate([one[:30], one[:30] + 1e5 + 0.5, one[:5] + 5e4, one[:5] + 1e9])
    assert_close(read(field, points), exact_field(items, strengths, points), *ON_LATTICE)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_items_without_a_scale(nodes, m):
    items = np.random.default_rng(0).random((500, m)) * 1e7
    field = FrozenField(items, np.ones(500), penalties.Cauchy())
    assert sum(nodes) <= FROZEN.max_nodes
    points = items[:20] + 0.3
    assert_close(read(field, points), exact_field(items, np.ones(500), points), *ON_LATTICE)


@pytest.mark.parametrize("name", ["log", "log_ratio", "inverse_power"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_penalties_that_are_infinite_at_distance_0(name, m):
    penalty = resolve_penalty(name)
    items = scattered(2000, 40, m)
    strengths = np.random.default_rng(1).gamma(1.0, size=len(items))
    field = FrozenField(items, strengths, penalty)
    rng = np.random.default_rng(2)
    points = np.concatenate([items[:50] + 0.01, rng.random((200, m)) * 40 - 13])
    E = points[:, None] - items[None]
    d = torch.tensor(np.linalg.norm(E, axis=2))
    want = -(penalty.value(d).numpy() @ strengths)
    forces = penalty.slope(d).numpy() * strengths
    slopes = -np.einsum("qn,qnm->qm", forces, E)
    value, gradient, hessian = read(field, points)
    assert np.linalg.norm(value - want) < 1e-4 * np.linalg.norm(want)
    assert np.linalg.norm(gradient - slopes) < 2e-3 * np.linalg.norm(slopes)
    bends = penalty.curvature(d).numpy() * strengths - forces
    unit = E / d.numpy()[:, :, None]
    bend = -np.einsum("qn,qna,qnb->qab", bends, unit, unit)
    bend -= forces.sum(axis=1)[:, None, None] * np.eye(m)
    assert np.linalg.norm(hessian - bend) < 2e-2 * np.linalg.norm(bend)
