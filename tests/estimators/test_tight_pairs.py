"""One pair of near duplicates never stalls the rest of an embedding, and is kept itself."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from slowly import slow

from skmde import AnchoredMDE, PreserveDistances
from skmde.functions.registry import NAMED_LOSSES

POINTS = np.random.default_rng(0).standard_normal((60, 10))
PLACES = 5 * np.random.default_rng(1).standard_normal((3, 2))
ANCHORS = np.array([0, 5, 7])
LOSSES = sorted(set(NAMED_LOSSES) - {"weighted_squared"})
STEEP = ["kamada_kawai", "sammon", "fractional", "soft_fractional"]
GAPS = [1e-2, 1e-4, 1e-6, 1e-8]
# Local minima, and kinks at which the solver ends, differ by some percent.
CLOSE = 1.04


def doubled(gap, rows=(0, 30)):
    copies = POINTS[list(rows)] + gap * np.random.default_rng(2).standard_normal((len(rows), 10))
    return np.vstack([POINTS, copies])


def fitted(estimator, X, **fit_parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # there are kinks
        return estimator.fit(X, **fit_parameters)


def length_of_pair(estimator):
    return float(np.linalg.norm(estimator.embedding_[0] - estimator.embedding_[60]))


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_near_duplicates_do_not_stall_the_rest(loss, gap):
    def estimator():
        return PreserveDistances(loss=loss, random_state=0)

    plain, other = fitted(estimator(), POINTS), fitted(estimator(), doubled(gap))
    assert other.distortion_ <= CLOSE * plain.distortion_
    assert other.stress_ <= CLOSE * plain.stress_


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("loss", ["kamada_kawai", "fractional", "soft_fractional"])
def test_a_pair_under_a_relative_loss_keeps_its_distance(loss, gap):
    X = doubled(gap)
    for init in ("classical", "random"):
        found = fitted(PreserveDistances(loss=loss, init=init, random_state=0), X)
        want = np.linalg.norm(X[0] - X[60])
        assert length_of_pair(found) == pytest.approx(want, rel=0.2)


@pytest.mark.parametrize("gap", [1e-2, *slow(1e-4, 1e-6), 1e-8])
@pytest.mark.parametrize("loss", STEEP)
def test_a_random_start_tears_no_pair(loss, gap):
    starts = range(3)

    def best(X):
        return min(
            fitted(PreserveDistances(loss=loss, init="random", random_state=k), X).distortion_
            for k in starts
        )

    assert best(doubled(gap)) <= 1.1 * best(POINTS)


@pytest.mark.parametrize("gap", [1e-4, 1e-8])
@pytest.mark.parametrize("loss", STEEP)
def test_standardized_embeddings_are_solved_too(loss, gap):
    def estimator():
        return PreserveDistances(loss=loss, constraint="standardized", random_state=0)

    plain, other = fitted(estimator(), POINTS), fitted(estimator(), doubled(gap))
    assert other.n_iter_ > 5
    assert other.distortion_ <= CLOSE * plain.distortion_


@pytest.mark.parametrize("weight", [None, *slow(1.0, 100.0)])
@pytest.mark.parametrize("loss", LOSSES)
def test_anchored_embeddings_are_solved_too(loss, weight):
    def found(gap):
        estimator = AnchoredMDE(loss=loss, anchor_weight=weight, random_state=0)
        return fitted(estimator, doubled(gap), anchors=ANCHORS, anchor_values=PLACES)

    # A copy of an anchored row is held there, so only gaps can be compared.
    values = [found(gap).distortion_ for gap in (1e-1, 1e-5, 1e-8)]
    assert max(values) <= 1.06 * min(values)


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_weights_of_pairs_do_the_same_as_a_loss(gap):
    X = doubled(gap)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    weights = np.divide(1.0, D**2, out=np.zeros_like(D), where=D > 0)
    own = PreserveDistances(loss="squared", metric="precomputed", random_state=0)
    own.fit(D, pair_weights=weights)
    named = PreserveDistances(loss="kamada_kawai", metric="precomputed", random_state=0).fit(D)
    assert own.distortion_ == pytest.approx(named.distortion_, rel=0.01)
    assert length_of_pair(own) == pytest.approx(D[0, 60], rel=0.05)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("loss", LOSSES)
def test_small_clusters_in_the_plane_keep_their_inner_distances(loss, size):
    X = size * np.random.default_rng(0).random((40, 2))
    X[20:, 0] += 1.0
    found = PreserveDistances(loss=loss, random_state=0).fit(X).embedding_
    for cluster in (slice(20), slice(20, None)):
        np.testing.assert_allclose(pdist(found[cluster]), pdist(X[cluster]), rtol=1e-5)


def test_float32_data_are_solved_as_well_and_give_float32():
    X = doubled(1e-3).astype(np.float32)
    X[60:] = np.nextafter(X[[0, 30]], np.float32(np.inf))
    plain = fitted(PreserveDistances(loss="kamada_kawai", random_state=0), POINTS)
    found = fitted(PreserveDistances(loss="kamada_kawai", random_state=0), X)
    assert found.embedding_.dtype == np.float32
    assert found.distortion_ <= CLOSE * plain.distortion_
