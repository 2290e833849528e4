"""No unit of weights, losses, data or anchors changes what an estimator returns."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from skmde import AnchoredMDE, HuberLoss, PreserveDistances, PreserveNeighbors
from skmde.functions.registry import NAMED_LOSSES

DIGITS = load_digits().data[:200]
PLANE = np.random.default_rng(0).random((60, 2))
FACTORS = [1e-12, 1e-6, 1e6, 1e12]
# Largest ratio of the distortions of two solves that differ by rounding alone.
CLOSE = 1.02


def assert_as_good(distortion, plain):
    assert plain > 0
    assert distortion <= CLOSE * plain


@pytest.mark.parametrize("loss", sorted(set(NAMED_LOSSES) - {"weighted_squared"}))
def test_the_unit_of_pair_weights_does_not_matter(loss):
    D = pairwise_distances(30 * DIGITS)
    weights = 1 / (D + np.eye(len(D)) * D.max()) ** 2
    np.fill_diagonal(weights, 0)

    def fitted(factor):
        estimator = PreserveDistances(
            loss=loss, metric="precomputed", init="random", random_state=0, max_iter=60
        )
        return estimator.fit(D, pair_weights=factor * weights)

    plain = fitted(1 / weights.mean())
    assert plain.n_iter_ > 5
    for factor in (1.0, *FACTORS):
        other = fitted(factor)
        assert other.n_iter_ > 5
        assert_as_good(other.distortion_ / factor, plain.distortion_ * weights.mean())


@pytest.mark.parametrize("init", ["pca", "random"])
@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-6, 1e3, 1e12])
def test_a_loss_whose_length_follows_the_data_gives_the_same_map(unit, init):
    def fitted(unit):
        loss = HuberLoss(5.0 * unit)
        return PreserveDistances(loss=loss, init=init, random_state=0).fit(unit * DIGITS)

    plain, other = fitted(1.0), fitted(unit)
    assert other.stress_ == pytest.approx(plain.stress_, rel=0.02)
    assert_as_good(other.distortion_ / unit**2, plain.distortion_)


@pytest.mark.parametrize("loss", ["huber", "logistic"])
@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-6])
def test_data_far_below_the_length_of_a_loss_are_solved(loss, unit):
    start = PreserveDistances(loss=loss, max_iter=0, random_state=0).fit(unit * DIGITS)
    # For short residuals, the Huber loss is the squared one and the logistic loss the absolute one.
    limit = {"huber": "squared", "logistic": "absolute"}[loss]
    want = PreserveDistances(loss=limit, random_state=0).fit(unit * DIGITS)
    found = PreserveDistances(loss=loss, random_state=0).fit(unit * DIGITS)
    assert found.distortion_ < 0.9 * start.distortion_
    assert found.stress_ == pytest.approx(want.stress_, rel=0.02)


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1e-4, 1e4])
@pytest.mark.parametrize("loss", sorted(set(NAMED_LOSSES) - {"weighted_squared"}))
def test_anchors_in_any_unit_are_followed(loss, unit):
    anchors = np.arange(8)
    start = unit * (PLANE + 0.02 * np.random.default_rng(1).normal(size=PLANE.shape))
    found = AnchoredMDE(loss=loss, init=start, random_state=0).fit(
        unit * PLANE, anchors=anchors, anchor_values=unit * PLANE[anchors]
    )
    # The cubic loss is flat near its minimum. The start is off by 0.06.
    atol = 0.02 if loss == "cubic" else 0.004
    np.testing.assert_allclose(found.embedding_ / unit, PLANE, atol=atol)


@pytest.mark.parametrize("init", ["auto", "random"])
def test_small_anchors_under_a_penalty_with_an_offset_are_followed(init):
    # Above the floor of the distances in slopes, 1e-7, which smooths the kink of a penalty at 0.
    unit = 1e-5

    def attraction(penalty):
        estimator = AnchoredMDE(
            attractive_penalty=penalty, n_neighbors=6, init=init, random_state=0, max_iter=2000
        )
        anchors = np.arange(8)
        estimator.fit(PLANE, anchors=anchors, anchor_values=unit * PLANE[anchors])
        i, j = estimator.edges_.T
        d = np.linalg.norm(estimator.embedding_[i] - estimator.embedding_[j], axis=1)
        return np.mean(estimator.weights_ * d)

    # log(1 + exp(3 d)) is log(2) + 1.5 d + 9/8 d^2 there.
    assert attraction("logistic") < 1.05 * attraction("linear")


@pytest.mark.parametrize("estimator", [PreserveDistances, PreserveNeighbors, AnchoredMDE])
def test_what_stopped_the_solve_is_told(estimator):
    y = np.full((200, 2), np.nan)
    y[:10] = DIGITS[:10, 20:22]
    options = {"attractive_penalty": "huber"} if estimator is AnchoredMDE else {}
    if estimator is PreserveDistances:
        options = {"loss": "squared"}

    def fitted(**settings):
        return estimator(random_state=0, **options, **settings).fit(DIGITS, y)

    short = fitted(max_iter=2)
    assert not short.converged_
    assert short.stop_reason_.startswith("max_iter=2 iterations were done; the residual norm, ")
    loose = fitted(tol=1e3)
    assert loose.converged_
    assert "at most tol=1000" in loose.stop_reason_
    stopped = fitted(callbacks=[lambda state: state.iteration >= 3])
    assert not stopped.converged_
    assert stopped.stop_reason_ == "a callback returned True"


@pytest.mark.parametrize("factor", [2.0**-200, 2.0**-133, 2.0**-40, 2.0**40, 2.0**133])
@pytest.mark.parametrize(
    ("function", "degree"),
    [
        ({"attractive_penalty": "linear"}, 1),
        ({"attractive_penalty": "cubic"}, 3),
        ({"attractive_penalty": "quadratic"}, 2),
        ({"loss": "absolute"}, 1),
        ({"loss": "squared"}, 2),
        ({"loss": "cubic"}, 3),
    ],
)
def test_forces_and_distortions_follow_the_unit_of_the_anchors(function, degree, factor):
    def fitted(factor):
        estimator = AnchoredMDE(**function, max_iter=20, random_state=0)
        values = factor * PLANE[:4]
        return estimator.fit(factor * PLANE, anchors=[0, 1, 2, 3], anchor_values=values[::-1])

    plain, other = fitted(1.0), fitted(factor)
    forces = other.forces_ / factor ** (degree - 1)
    np.testing.assert_allclose(
        forces, plain.forces_, rtol=0.01, atol=0.01 * abs(plain.forces_).max()
    )
    assert other.distortion_ / factor**degree == pytest.approx(plain.distortion_, rel=0.01)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_distances_far_below_the_zero_of_a_loss_are_refused(loss):
    for estimator, anchors in (
        (PreserveDistances(loss=loss), {}),
        (AnchoredMDE(loss=loss), {"anchors": [0, 1], "anchor_values": 1e-45 * PLANE[:2]}),
    ):
        with pytest.raises(ValueError, match=r"the longest original distance .* smaller unit"):
            estimator.fit(1e-45 * PLANE, **anchors)
