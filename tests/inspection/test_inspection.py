"""Trust in single points: forces, sharpness, leave-one-out, stability and the table of all."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances, roc_auc_score

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE
from skmde.core.placement.by_neighbors import place_by_neighbors
from skmde.inspection import forces_on, leave_one_out, point_report, sharpness, stability
from skmde.metrics import item_recall, neighborhood_recall

X, Y = (part[:150] for part in load_digits(return_X_y=True))


@pytest.fixture(scope="module")
def neighbors():
    return PreserveNeighbors(random_state=0).fit(X)


@pytest.fixture(scope="module")
def distances():
    return PreserveDistances(loss="squared", random_state=0).fit(X)


# Forces


def test_forces_balance_at_a_minimum():
    estimator = PreserveDistances(loss="squared", tol=1e-9, max_iter=3000, random_state=0).fit(X)
    for item in (0, 77):
        found = forces_on(estimator, item, n=200)
        assert len(found.others) == 149
        assert (np.diff(found.sizes) <= 0).all()
        np.testing.assert_allclose(found.forces.sum(axis=0), found.total, atol=1e-9)
        assert np.linalg.norm(found.total) < 1e-3 * found.sizes.sum()
        d = pairwise_distances(estimator.embedding_)[item, found.others]
        original = pairwise_distances(X)[item, found.others]
        np.testing.assert_allclose(found.sizes, 2 * np.abs(d - original), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(found.pulls, d > original)


def test_forces_of_all_pairs_are_minus_the_gradient(neighbors):
    gradient, _ = neighbors._solved_problem().item_derivatives()
    for item in (3, 140):
        found = forces_on(neighbors, item, n=10_000)
        np.testing.assert_allclose(found.total, -gradient[item], rtol=1e-6, atol=1e-9)
        kinds = np.array(found.kinds)
        assert found.pulls[(kinds == "pair")].all()
        assert not found.pulls[kinds == "repulsion of all pairs"].any()
        assert np.count_nonzero(kinds == "repulsion of all pairs") == 149


def test_a_soft_anchor_is_pulled():
    places = np.full((150, 2), np.nan)
    places[:20] = np.random.default_rng(0).standard_normal((20, 2))
    estimator = AnchoredMDE(anchor_weight=3.0).fit(X, places)
    found = forces_on(estimator, 4, n=1000)
    at = found.kinds.index("pull of the anchor")
    expected = 6.0 * (places[4] - estimator.embedding_[4])
    np.testing.assert_allclose(found.forces[at], expected)
    assert found.others[at] == 4
    np.testing.assert_allclose(found.total, 0, atol=1e-6)


def test_forces_have_names(neighbors):
    names = [f"digit {label}" for label in Y]
    found = forces_on(neighbors, 7, n=3, names=names)
    assert len(found.names) == 3 and set(found.names) <= set(names)
    assert list(found.to_frame()["name"]) == found.names
    assert "digit" in repr(found) and "digit" in found._repr_html_()
    with pytest.raises(ValueError, match="names must hold 150 names"):
        forces_on(neighbors, 7, names=names[:3])
    for item in (150, -1, 1.5, True):
        with pytest.raises(ValueError, match="item must be an index from 0 to 149"):
            forces_on(neighbors, item)


def test_a_callable_that_may_depend_on_all_pairs_has_no_forces_of_single_ones():
    estimator = PreserveNeighbors(
        attractive_penalty=lambda d: d**2, repulsion="sampled", max_iter=5, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    with pytest.raises(ValueError, match=r"subclass of skmde\.Penalty"):
        forces_on(estimator, 0)
    assert np.isfinite(sharpness(estimator)).all()


# Sharpness


def test_sharpness_counts_the_pairs_of_a_quadratic_problem():
    estimator = QuadraticMDE(random_state=0).fit(X)
    degrees = estimator.graph_.sum(axis=1)
    np.testing.assert_allclose(sharpness(estimator), 2 * degrees, rtol=1e-6)


def test_an_item_that_nothing_holds_has_no_sharpness():
    line = np.append(np.arange(20.0), 1000.0)[:, None]
    estimator = PreserveNeighbors(
        max_distance=3.0, n_components=1, repulsion="sampled", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sharpness(estimator.fit(line))
    assert np.argmin(np.abs(found)) == 20


# Leave-one-out


def _without(estimator, item):
    """The placement among the other items alone."""
    others = np.delete(np.arange(150), item)
    own = np.array([item])
    indices, weights = estimator._neighbors.of_others(X[own], own)
    place = np.searchsorted(others, indices)
    return place_by_neighbors(
        estimator.embedding_[others],
        place,
        weights,
        *estimator._rule.penalties,
        np.arange(149),
        estimator.repulsive_weight_,
        neighbors_repel=True,
    )[0]


def test_an_item_does_not_repel_itself(neighbors):
    items = np.array([0, 50, 149])
    found = leave_one_out(neighbors, X, items)
    for item, place in zip(items, found.coordinates, strict=True):
        expected = _without(neighbors, item)
        assert np.linalg.norm(place - expected) < 1e-3 * found.radius
    away = np.linalg.norm(found.coordinates - neighbors.embedding_[items], axis=1)
    np.testing.assert_allclose(found.displacement, away / found.radius)


def test_items_of_exact_distances_stay_where_they_are():
    plane = np.random.default_rng(0).random((60, 2))
    estimator = PreserveDistances(loss="squared", tol=1e-9, random_state=0).fit(plane)
    assert leave_one_out(estimator, plane).displacement.max() < 1e-4


def test_items_that_were_moved_away_are_displaced(neighbors, distances):
    for estimator in (neighbors, distances):
        moved = type(estimator)(random_state=0).fit(X)
        moved.embedding_ = moved.embedding_.copy()
        moved.embedding_[17] = 5 * moved.embedding_.max(axis=0)
        found = leave_one_out(moved, X)
        assert found.displacement.argmax() == 17


def test_samples_of_weight_0_are_not_left_out():
    weights = np.ones(150)
    weights[:5] = 0
    estimator = PreserveNeighbors(max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, sample_weight=weights)
    found = leave_one_out(estimator, X)
    assert np.isnan(found.displacement[:5]).all()
    assert np.isfinite(found.displacement[5:]).all()


@pytest.mark.parametrize("metric", ["precomputed", "manhattan"])
def test_other_metrics_leave_one_out(metric):
    D = pairwise_distances(X) if metric == "precomputed" else X
    for cls in (PreserveNeighbors, PreserveDistances):
        estimator = cls(metric=metric, max_iter=50, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = leave_one_out(estimator.fit(D), D, [3, 4])
        assert (found.displacement < 1).all()


def test_leave_one_out_says_what_it_needs(neighbors):
    with pytest.raises(ValueError, match="X has 10 rows, but the estimator was fitted to 150"):
        leave_one_out(neighbors, X[:10])
    for items in ([150], [-1], [0.5], [], [[1]]):
        with pytest.raises(ValueError, match=r"items (has|must hold) positions|selects no item"):
            leave_one_out(neighbors, X, items)
    with pytest.raises(ValueError, match="by all inner products at once"):
        leave_one_out(QuadraticMDE(weights="pca").fit(X), X)
    with pytest.raises(NotFittedError):
        leave_one_out(PreserveNeighbors(), X)


# Stability


def test_a_fit_that_ignores_the_seed_is_stable(neighbors):
    found = stability(neighbors, X, n=2, subsample=None)
    assert found.overall < 1e-9
    assert (found.kept_neighbors == 1).all()


def test_subsamples_move_items():
    estimator = QuadraticMDE(weights="pca").fit(X)
    found = stability(estimator, X, n=4, subsample=0.5)
    assert 0.01 < found.overall < 0.6
    assert 0.3 < np.nanmean(found.kept_neighbors) < 1
    with parallel_config("threading"):
        again = stability(estimator, X, n=4, subsample=0.5, n_jobs=2)
    np.testing.assert_array_equal(again.displacement, found.displacement)
    less = stability(estimator, X, n=4, subsample=0.95)
    assert less.overall < found.overall


def test_noise_is_less_stable_than_structure():
    rng = np.random.default_rng(0)
    structure = np.concatenate([rng.normal(size=(50, 5)) + 20 * k for k in range(3)])
    noise = rng.normal(size=(150, 20))
    kept = [
        stability(QuadraticMDE(1, weights="pca").fit(A), A, n=3).overall for A in (structure, noise)
    ]
    assert 5 * kept[0] < kept[1]


def test_stability_says_what_it_needs(neighbors):
    D = pairwise_distances(X)
    with pytest.raises(ValueError, match="n must be at least 1"):
        stability(neighbors, X, n=0)
    for subsample in (0, 1.0, "half"):
        with pytest.raises(ValueError, match="subsample must be above 0 and below 1"):
            stability(neighbors, X, subsample=subsample)
    with pytest.raises(ValueError, match="X has 10 rows"):
        stability(neighbors, X[:10])
    estimator = PreserveDistances(metric="precomputed", max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(D)
    with pytest.raises(ValueError, match="A subsample needs rows of data"):
        stability(estimator, D, subsample=0.5)
    assert stability(estimator, D, n=1).n_fits == 1


# The table


def test_the_table_has_a_row_for_each_item(neighbors):
    found = stability(neighbors, X, n=2, subsample=0.9)
    report = point_report(neighbors, X, Y, stability=found)
    np.testing.assert_array_equal(report["recall"], item_recall(X, neighbors.embedding_))
    assert report["recall"].mean() == pytest.approx(
        neighborhood_recall(X, neighbors.embedding_, 15)
    )
    np.testing.assert_array_equal(report["sharpness"], sharpness(neighbors))
    np.testing.assert_array_equal(report["displacement"], found.displacement)
    table = report.to_structured()
    assert table.shape == (150,)
    np.testing.assert_array_equal(table["leave_one_out"], report["leave_one_out"])
    assert list(report.to_frame().columns) == list(report.columns)
    assert repr(report).endswith("... and 140 more items")
    assert report._repr_html_().count("<tr>") == 51


def test_the_table_of_some_items(distances):
    report = point_report(distances, X, items=[5, 9])
    whole = point_report(distances, X)
    assert list(report.columns) == ["recall", "distortion", "sharpness", "leave_one_out"]
    for name, column in report.columns.items():
        np.testing.assert_allclose(column, whole[name][[5, 9]], rtol=1e-9)


def test_columns_that_an_estimator_lacks_are_left_out():
    report = point_report(QuadraticMDE(weights="pca").fit(X), X, Y)
    assert list(report.columns) == ["recall"]


def test_the_table_finds_wrong_labels(neighbors):
    labels = Y.copy()
    labels[:4] = (labels[:4] + 5) % 10
    report = point_report(neighbors, X, labels)
    assert roc_auc_score(np.arange(150) < 4, report["label_disagreement"]) > 0.95


def test_recall_of_sampled_items():
    shares = item_recall(X, X[:, :2] + X[:, 20:22], 5, sample=30, random_state=0)
    assert np.isfinite(shares).sum() == 30
