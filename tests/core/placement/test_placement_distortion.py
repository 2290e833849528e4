"""Value, gradient and Hessian of one item's distortion among anchored items."""

import numpy as np
import pytest
import torch
from labels import label

from skmde.core.placement.distortion import AnchoredDistortion
from skmde.core.placement.losses import AnchoredLoss
from skmde.functions.adapters import CallableLoss, CallablePenalty
from skmde.functions.kinds import D_FLOOR
from skmde.functions.registry import NAMED_LOSSES, resolve_loss
from skmde.losses import LOSSES, HuberLoss, PowerLoss, SoftFractionalLoss
from skmde.penalties import (
    Barrier,
    Cauchy,
    Cubic,
    Hinge,
    Huber,
    InversePower,
    Linear,
    Log,
    Log1p,
    Logistic,
    LogRatio,
    Power,
    Quadratic,
    Sigmoid,
)

ATTRACTIVE = [
    Linear(),
    Quadratic(),
    Cubic(),
    Power(1.3),
    Huber(1.0),
    Logistic(),
    Log1p(),
    Sigmoid(),
    Hinge(),
    Barrier(0.01),
    CallablePenalty(lambda d: torch.log1p(d * d)),
]
REPULSIVE = [
    *(Log(), Log(2.0), InversePower(), LogRatio(), Cauchy(), Cauchy(0.3)),
    *(Linear(), Hinge(), Power(1.7)),
]


def problem(attractive, repulsive, m, q=6, k=9, R=11, n=40, seed=0):
    rng = np.random.default_rng(seed)
    anchors = 2 * rng.normal(size=(n, m))
    distortion = AnchoredDistortion(anchors)
    weights = rng.choice([0.0, 1.0, 2.0], size=(q, k))
    weights[:, 0] = 1.0
    distortion.add_terms(rng.integers(n, size=(q, k)), weights, attractive)
    if repulsive is not None:
        distortion.add_terms(rng.integers(n, size=(q, R)), np.full((q, R), -0.3), repulsive)
    return distortion, 2 * rng.normal(size=(q, m))


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("penalty", ATTRACTIVE, ids=label)
def test_derivatives_of_attraction_match_differences(penalty, m):
    check_derivatives(*problem(penalty, None, m))


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("penalty", REPULSIVE, ids=label)
def test_derivatives_with_repulsion_match_differences(penalty, m):
    check_derivatives(*problem(Log1p(), penalty, m))


def check_derivatives(distortion, points, h=1e-6):
    rows = np.arange(len(points))
    at = distortion.expand(points, rows)
    np.testing.assert_allclose(at.value, distortion.values(points, rows), rtol=1e-13)
    for i, step in enumerate(h * np.eye(points.shape[1])):
        up, down = distortion.expand(points + step, rows), distortion.expand(points - step, rows)
        slopes = (up.value - down.value) / (2 * h)
        np.testing.assert_allclose(at.gradient[:, i], slopes, rtol=1e-6, atol=1e-7)
        bends = (up.gradient - down.gradient) / (2 * h)
        np.testing.assert_allclose(at.hessian[:, i], bends, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(at.hessian, at.hessian.transpose(0, 2, 1))


def test_the_value_is_the_average_over_absolute_weights():
    anchors = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    distortion = AnchoredDistortion(anchors)
    distortion.add_terms(np.array([[0, 1]]), np.array([[1.0, 2.0]]), Quadratic())
    distortion.add_terms(np.array([[2]]), np.array([[-0.5]]), Linear())
    value = distortion.values(np.zeros((1, 2)), np.array([0]))
    np.testing.assert_allclose(value, (1 * 0 + 2 * 25 - 0.5 * 1) / 3.5)


@pytest.mark.parametrize("penalty", [*ATTRACTIVE[:-2], *REPULSIVE], ids=label)
@pytest.mark.parametrize("weight", [2.0, -2.0])
def test_all_is_finite_on_top_of_an_anchor_and_very_far_away(penalty, weight):
    distortion = AnchoredDistortion(np.zeros((1, 2)))
    points = np.array([[0.0, 0.0], [1e-300, 0.0], [1e-9, 1e-9], [1e-7, 0.0], [1e20, -1e20]])
    q = len(points)
    distortion.add_terms(np.zeros((q, 1), dtype=np.int64), np.full((q, 1), weight), penalty)
    found = distortion.expand(points, np.arange(q))
    for part in found:
        assert np.isfinite(part).all()
    np.testing.assert_array_equal(found.gradient[0], 0.0)


def test_below_the_floor_a_parabola_continues_value_and_slope():
    floor = 0.1
    distortion = AnchoredDistortion(np.zeros((1, 1)), floor)
    distortion.add_terms(np.zeros((3, 1), dtype=np.int64), np.ones((3, 1)), Linear())
    found = distortion.expand(np.array([[0.1], [0.05], [0.0]]), np.arange(3))
    # d^2 / (2 floor) + floor / 2
    np.testing.assert_allclose(found.value, [0.1, 0.0625, 0.05])
    np.testing.assert_allclose(found.gradient[:, 0], [1.0, 0.5, 0.0])
    np.testing.assert_allclose(found.hessian[1:, 0, 0], 10.0)
    assert AnchoredDistortion(np.zeros((1, 1)), 0.0).floor == D_FLOOR


def test_a_pair_of_weight_0_does_not_exist_even_where_its_penalty_is_infinite():
    anchors = np.array([[0.0, 0.0], [5.0, 0.0]])
    distortion = AnchoredDistortion(anchors)
    distortion.add_terms(np.array([[0, 1]]), np.array([[0.0, 1.0]]), Barrier(1.0))
    found = distortion.expand(np.array([[0.5, 0.0]]), np.array([0]))
    np.testing.assert_allclose(found.value, 4.5 - np.log(3.5))


def expansions(distortion, points, rows):
    found = distortion.expand(points, rows)
    return np.column_stack([found.value, found.gradient, found.hessian.reshape(len(rows), -1)])


@pytest.mark.parametrize(
    "penalty",
    [
        *(Power(1.7), Logistic(), Log1p(), Log(), Log(2.5), LogRatio(), Sigmoid(), Huber()),
        Cauchy(),
        CallablePenalty(lambda d: torch.nn.functional.softplus(d) ** 1.3),
    ],
    ids=label,
)
@pytest.mark.parametrize("R", [7, 3001])
def test_a_row_has_the_same_bits_in_any_batch_and_for_any_number_of_threads(penalty, R):
    # The elements at the end of a tensor and of a thread's piece are rounded differently by
    # softplus and powers in torch; those at the end of a compiled loop may be.
    q = 1000 if R < 100 else 20
    distortion, points = problem(penalty, penalty, m=3, q=q, R=R, n=500)
    rows = np.arange(q)
    together = expansions(distortion, points, rows)
    for r in range(0, q, 13):
        alone = expansions(distortion, points[r : r + 1], rows[r : r + 1])
        np.testing.assert_array_equal(alone[0], together[r])
    order = np.random.default_rng(1).permutation(q)[: q // 2]
    np.testing.assert_array_equal(expansions(distortion, points[order], order), together[order])
    threads = torch.get_num_threads()
    try:
        for n_threads in (1, 2, 3):
            torch.set_num_threads(n_threads)
            np.testing.assert_array_equal(expansions(distortion, points, rows), together)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("penalty", [*ATTRACTIVE[:-1], *REPULSIVE], ids=label)
def test_a_penalty_in_torch_is_the_same_function_as_compiled(penalty, m):
    arguments = penalty.get_params()
    in_torch = type("Subclass", (type(penalty),), {})(**arguments)
    assert penalty.kernel_parameters() is not None
    assert in_torch.kernel_parameters() is None
    compiled, points = problem(Log1p(2.0), penalty, m, k=70, R=300)
    reference, _ = problem(CallablePenalty(lambda d: torch.log1p(d * d)), in_torch, m, k=70, R=300)
    rows = np.arange(len(points))
    found = expansions(compiled, points, rows)
    wanted = expansions(reference, points, rows)
    scale = np.abs(wanted).max(axis=0)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * scale.max())
    np.testing.assert_allclose(
        compiled.values(points, rows), reference.values(points, rows), rtol=1e-11
    )


class Learned(torch.nn.Module):
    """A float32 network of one distance."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.a = torch.nn.Parameter(torch.rand(1, 8, generator=generator))
        self.b = torch.nn.Parameter(torch.rand(8, 1, generator=generator))

    def forward(self, d):
        return (torch.tanh(d[:, None] @ self.a) @ self.b)[:, 0]


def test_a_module_is_called_in_its_own_dtype():
    distortion, points = problem(CallablePenalty(Learned()), None, m=2)
    rows = np.arange(len(points))
    found = distortion.expand(points, rows)
    h = 1e-2
    for i, step in enumerate(h * np.eye(2)):
        up, down = distortion.values(points + step, rows), distortion.values(points - step, rows)
        np.testing.assert_allclose(found.gradient[:, i], (up - down) / (2 * h), atol=1e-3)
    # The rounding is that of float32.
    assert (found.rounding > 1e-8 * np.abs(found.value)).all()


CALLABLE_LOSS = CallableLoss(lambda delta, d: (torch.log1p(d) - torch.log1p(delta)) ** 2)
LOSS_CASES = [
    *(resolve_loss(name) for name in sorted(NAMED_LOSSES)),
    HuberLoss(0.3),
    PowerLoss(1.5),
    SoftFractionalLoss(2.0),
    CALLABLE_LOSS,
]


def loss_problem(loss, m, unit=1.0, q=6, n=9, seed=0):
    rng = np.random.default_rng(seed)
    anchors, deviations = rng.normal(size=(n, m)), rng.uniform(0.1, 3, size=(q, n))
    deviations[0, :3] = 0.0
    weights = rng.choice([0.0, 1.0, 2.0], size=(q, n))
    weights[:, 0] = 1.0
    return AnchoredLoss(anchors, deviations, weights, loss, unit), rng.normal(size=(q, m))


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("loss", LOSS_CASES, ids=label)
def test_derivatives_of_losses_match_differences(loss, m, epsilon):
    distortion, points = loss_problem(loss, m)
    check_derivatives(distortion.smoothed(epsilon), points, h=1e-7)


@pytest.mark.parametrize("unit", [1.0, 0.25, 8.0])
@pytest.mark.parametrize("loss", LOSS_CASES, ids=label)
def test_losses_are_averages_of_their_definition_in_any_unit(loss, unit):
    distortion, points = loss_problem(loss, 3, unit)
    d = np.linalg.norm(points[:, None] - distortion.anchors, axis=2)
    pairs = torch.from_numpy(unit * distortion.deviations), torch.from_numpy(unit * d)
    expected = np.average(loss.value(*pairs), weights=distortion.weights, axis=1)
    ratio = distortion.values(points, np.arange(len(points))) / expected
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    if unit == 1.0 and distortion._divisor == 1.0:
        np.testing.assert_allclose(ratio, 1.0)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_in_torch_is_the_same_function_as_compiled(name, epsilon):
    loss = LOSSES[name]()
    subclass = type("Subclass", (LOSSES[name],), {})()
    compiled, points = loss_problem(loss, 2, 0.5)
    in_torch, _ = loss_problem(subclass, 2, 0.5)
    rows = np.arange(len(points))
    ours = expansions(compiled.smoothed(epsilon), points, rows)
    reference = expansions(in_torch.smoothed(epsilon), points, rows)
    factor = ours[0, 0] / reference[0, 0]
    np.testing.assert_allclose(ours, factor * reference, rtol=1e-6, atol=1e-9)


def test_rounding_a_kink_makes_the_absolute_loss_smooth_and_hardly_changes_it():
    anchors, rows = np.zeros((1, 1)), np.arange(5)
    deviations = np.full((5, 1), 2.0)
    sharp = AnchoredLoss(anchors, deviations, np.ones((5, 1)), LOSSES["absolute"]())
    points = np.array([[1.0], [1.99], [2.0], [2.01], [3.0]])
    found = sharp.smoothed(0.1).expand(points, rows)
    r = points[:, 0] - 2.0
    np.testing.assert_allclose(found.value, np.sqrt(r**2 + 0.01) - 0.1, atol=1e-15)
    np.testing.assert_allclose(found.gradient[:, 0], r / np.sqrt(r**2 + 0.01))
    np.testing.assert_allclose(found.hessian[:, 0, 0], 0.01 / (r**2 + 0.01) ** 1.5)
    assert not sharp.smooth
    np.testing.assert_allclose(sharp.smoothed(0.1).smoothed(0.0).values(points, rows), abs(r))


@pytest.mark.parametrize("epsilon", [0.0, 1e-6])
@pytest.mark.parametrize("loss", LOSS_CASES, ids=label)
def test_losses_are_finite_on_top_of_an_anchor_and_far_away(loss, epsilon):
    deviations = np.array([[0.0], [1e-12], [1.0], [1e15]])
    for x in (0.0, 1e-300, 1e-9, 1e15):
        distortion = AnchoredLoss(np.zeros((1, 2)), deviations, np.ones((4, 1)), loss)
        found = distortion.smoothed(epsilon).expand(np.full((4, 2), x), np.arange(4))
        for part in found:
            assert np.isfinite(part).all()


@pytest.mark.parametrize("loss", [*LOSS_CASES[-3:], LOSSES["logistic"]()], ids=label)
@pytest.mark.parametrize("n", [7, 3001])
def test_a_row_of_losses_has_the_same_bits_in_any_batch(loss, n):
    q = 1000 if n < 100 else 20
    distortion, points = loss_problem(loss, 3, q=q, n=n)
    rows = np.arange(q)
    together = expansions(distortion, points, rows)
    for r in range(0, q, 13):
        alone = expansions(distortion, points[r : r + 1], rows[r : r + 1])
        np.testing.assert_array_equal(alone[0], together[r])
    order = np.random.default_rng(1).permutation(q)[: q // 2]
    np.testing.assert_array_equal(expansions(distortion, points[order], order), together[order])


def test_a_multiple_of_a_loss_in_torch_is_the_same_function():
    def multiple(factor):
        return CallableLoss(lambda delta, d: factor * (d - delta) ** 2)

    one, points = loss_problem(multiple(1.0), 2)
    other, _ = loss_problem(multiple(1e-12), 2)
    rows = np.arange(len(points))
    np.testing.assert_allclose(one.values(points, rows), other.values(points, rows))


class LearnedLoss(torch.nn.Module):
    """A float32 network of two distances."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(0.7))

    def forward(self, delta, d):
        assert d.dtype == self.scale.dtype
        return self.scale * (d - delta) ** 2


def test_a_module_of_two_distances_is_called_in_its_own_dtype():
    distortion, points = loss_problem(CallableLoss(LearnedLoss()), 2)
    found = distortion.expand(points, np.arange(len(points)))
    assert (found.rounding > 1e-8 * np.abs(found.value)).all()
