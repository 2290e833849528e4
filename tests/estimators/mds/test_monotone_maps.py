"""PreserveDistances(monotone=...): the order of distances, and straight lines of them."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import rankdata, spearmanr
from sklearn.isotonic import IsotonicRegression

from skmde import Anchored, PreserveDistances, SquaredLoss
from skmde.plotting import ShepardDisplay

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
D = squareform(pdist(X))
FEW = D[:18, :18]
KINDS = [True, "interval", "ratio"]
every_kind = pytest.mark.parametrize("monotone", KINDS)


def fit(X=D, pair_weights=None, **params):
    settings = {"metric": "precomputed", "monotone": True, "random_state": 0, **params}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return PreserveDistances(**settings).fit(X, pair_weights=pair_weights)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_an_increasing_function_of_the_distances_gives_the_same_map(ties):
    rough = np.round(FEW, 1)  # with ties
    np.fill_diagonal(rough, 0.0)
    whole = fit(rough, ties=ties)
    ranks = squareform(rankdata(squareform(rough), method="dense"))
    for other in (rough**2, np.log1p(rough) * 1e20, 1e-20 * rough, ranks):
        assert np.array_equal(fit(other, ties=ties).embedding_, whole.embedding_)
    d = pdist(whole.embedding_)
    assert np.sqrt(np.mean(d**2)) == pytest.approx(1.0)


def test_ordinal_stress_and_disparities_are_those_of_isotonic_regression():
    estimator = fit()
    d = pdist(estimator.embedding_)
    expected = IsotonicRegression().fit_transform(estimator.distances_, d)
    np.testing.assert_allclose(estimator.disparities_, expected, atol=1e-12)
    stress = np.sqrt(((d - expected) ** 2).sum() / (d**2).sum())
    assert estimator.stress_ == pytest.approx(stress)
    assert estimator.start_values_ == pytest.approx([stress**2])
    assert estimator.distortion_ == pytest.approx(np.mean((d - expected) ** 2))
    assert estimator.distortions().average == pytest.approx(estimator.distortion_)
    assert estimator.stress_ < fit(monotone="interval").stress_ < fit(monotone="ratio").stress_


def test_interval_maps_do_not_depend_on_an_offset_of_the_distances():
    plain = fit(FEW, monotone="interval")
    moved = fit(5 + 3 * FEW, monotone="interval")
    np.testing.assert_allclose(moved.embedding_, plain.embedding_, atol=1e-4)
    assert moved.stress_ == pytest.approx(plain.stress_, rel=1e-6)


def test_ratio_maps_keep_the_distances_in_their_unit():
    ratio, metric = fit(1000 * D, monotone="ratio"), fit(1000 * D, monotone=False, loss="squared")
    np.testing.assert_allclose(ratio.disparities_, ratio.distances_)
    assert ratio.stress_ <= metric.stress_ * (1 + 1e-6)
    assert ratio.stress_ == pytest.approx(metric.stress_, rel=0.05)
    assert metric.disparities_ is None


def test_exact_order_in_one_to_three_dimensions_is_kept():
    for m in (1, 2, 3):
        plane = RNG.standard_normal((20, m))
        estimator = fit(squareform(pdist(plane)) ** 3, n_components=m, n_init=3)
        assert estimator.stress_ < 0.02
        assert spearmanr(pdist(plane), pdist(estimator.embedding_)).statistic > 0.995


def test_an_integer_weight_counts_as_repeated_pairs():
    w = RNG.integers(1, 4, D.shape)
    w = np.triu(w, 1) + np.triu(w, 1).T
    estimator = fit(pair_weights=w.astype(float))
    d, mass = pdist(estimator.embedding_), squareform(w)
    fitted = IsotonicRegression().fit(np.repeat(estimator.distances_, mass), np.repeat(d, mass))
    expected = fitted.predict(estimator.distances_)
    np.testing.assert_allclose(estimator.disparities_, expected, atol=1e-12)
    squares = (mass * d**2).sum()
    assert estimator.stress_ == pytest.approx(np.sqrt((mass * (d - expected) ** 2).sum() / squares))
    assert squares / mass.sum() == pytest.approx(1.0)


def test_missing_pairs_are_recovered_and_sparse_is_dense():
    plane = RNG.standard_normal((40, 2))
    full = squareform(pdist(plane)) ** 2
    held = np.triu(RNG.random(full.shape) < 0.1, 1)
    some = np.where(held | held.T, np.inf, full)
    estimator = fit(some)
    assert estimator.n_unreachable_ == held.sum() == len(pdist(plane)) - len(estimator.distances_)
    found, known = squareform(pdist(estimator.embedding_))[held], full[held]
    whole = squareform(pdist(fit(full).embedding_))[held]
    assert spearmanr(known, found).statistic >= 0.95 * spearmanr(known, whole).statistic
    i, j = np.nonzero(np.isfinite(some) & ~np.eye(40, dtype=bool))
    stored = sp.csr_array((some[i, j], (i, j)), shape=full.shape)
    assert np.array_equal(fit(stored).embedding_, estimator.embedding_)


@every_kind
def test_unseen_rows(monotone):
    estimator = fit(X, metric="euclidean", monotone=monotone)
    assert np.array_equal(estimator.transform(X[:5]), estimator.embedding_[:5])
    # a row that is left out comes near its place
    away = np.linalg.norm(estimator._leave_one_out(X, np.arange(40)) - estimator.embedding_, axis=1)
    size = np.sqrt(np.mean(pdist(estimator.embedding_) ** 2))
    assert np.median(away) < 0.2 * size
    new = np.concatenate([RNG.standard_normal((4, 3)), 100 * np.ones((1, 3))])
    placed = estimator.transform(new)
    assert np.isfinite(placed).all()
    np.testing.assert_allclose(estimator.transform(new[1:2]), placed[1:2], rtol=1e-7)
    assert -1 < estimator.score(new) < 0
    again = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(again.transform(new), placed)
    old = estimator.embedding_.copy()
    estimator.extend(new)
    assert np.array_equal(estimator.embedding_[:40], old)
    assert len(estimator.disparities_) == len(estimator.edges_) == 5 * 40 + 10
    assert estimator.distortions().average == pytest.approx(estimator.distortion_, rel=1e-6)


def test_transform_depends_on_the_order_of_distances_alone():
    new = cdist(RNG.standard_normal((5, 3)), X)
    found = fit(FEW**2).transform(new[:, :18] ** 2)
    assert np.array_equal(found, fit(FEW).transform(new[:, :18]))


@every_kind
def test_constraints_paths_and_sampled_pairs(monotone):
    values = RNG.standard_normal((4, 2))
    anchored = fit(monotone=monotone, constraint=Anchored([0, 1, 2, 3], values))
    assert np.array_equal(anchored.embedding_[:4], values)
    standardized = fit(monotone=monotone, constraint="standardized").embedding_
    np.testing.assert_allclose(standardized.T @ standardized / 40, np.eye(2), atol=1e-6)
    paths = fit(X, metric="euclidean", n_neighbors=6, monotone=monotone)
    assert paths.stress_ < 0.3
    sampled = fit(monotone=monotone, max_pairs=400)
    assert len(sampled.disparities_) == 400
    assert sampled.stress_ < 0.3


def test_held_out_pairs_and_shepard_diagrams():
    estimator = fit(X, metric="euclidean")
    check = estimator.redundancy_check(X)
    assert check.ratio < 5
    assert ShepardDisplay.from_estimator(estimator) is not None


def test_a_map_of_far_groups_warns_that_it_is_degenerate():
    groups = np.concatenate([X[:20], X[20:] + 100])
    estimator = PreserveDistances(monotone=True, random_state=0)
    with pytest.warns(UserWarning, match="degenerate: 4.% of the pairs practically coincide"):
        estimator.fit(groups)
    assert np.isfinite(estimator.embedding_).all()
    fit(groups, metric="euclidean", monotone="interval")


def test_equal_distances_and_similarities_warn():
    equal = np.ones((8, 8)) - np.eye(8)
    with pytest.warns(UserWarning, match="All 28 pairs have the same distance, 1, so there is no"):
        found = PreserveDistances(metric="precomputed", monotone=True, random_state=0).fit(equal)
    assert 0 < found.stress_ < 0.5
    with pytest.warns(UserWarning, match="The diagonal of X, from 1 on, is larger than all other"):
        PreserveDistances(metric="precomputed", monotone=True, random_state=0).fit(np.exp(-FEW))
    for diagonal in (1.0, np.inf):  # it does not count
        marked = np.where(np.eye(18), diagonal, FEW)
        assert fit(marked).stress_ == fit(FEW).stress_
    with pytest.raises(ValueError, match="Are these similarities"):
        fit(-D)
    with pytest.raises(ValueError, match="NaN"):
        fit(np.where(D > 2, np.nan, D))


def test_equal_rows_and_two_or_three_rows_are_finite():
    with pytest.warns(UserWarning, match="same distance, 0"):
        found = PreserveDistances(monotone=True, random_state=0).fit(np.ones((20, 3)))
    assert np.isfinite(found.embedding_).all()
    assert not fit(np.ones((20, 3)), metric="euclidean", monotone="ratio").embedding_.any()
    for n in (2, 3):
        assert np.isfinite(fit(D[:n, :n]).embedding_).all()


def test_a_loss_other_than_the_squared_one_is_refused():
    stress = [fit(FEW, loss=loss).stress_ for loss in ("squared", SquaredLoss(), None)]
    assert stress[0] == stress[1] == stress[2]
    with pytest.raises(ValueError, match=r"monotone=True minimises .* got 'absolute'"):
        fit(loss="absolute")
    with pytest.raises(TypeError, match="use monotone"):
        PreserveDistances(metric_mds=False)
