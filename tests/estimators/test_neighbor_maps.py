"""The default map of PreserveNeighbors: all pairs repel, and nothing is drawn at random."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, make_blobs, make_swiss_roll
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph

from skmde import AnchoredMDE, Cauchy, Log1p, PreserveNeighbors
from skmde.metrics import align, neighborhood_recall
from skmde.preprocessing import connected_components, nearest_neighbors

RNG = np.random.default_rng(0)
DIGITS, LABELS = load_digits(return_X_y=True)
# without ties, so that the order of the rows says nothing about the neighbours
UNTIED = DIGITS + 1e-3 * RNG.standard_normal(DIGITS.shape)
MANY = make_blobs(3000, 10, centers=12, random_state=0)[0]  # above the size of exact sums


def fit(X=UNTIED, **params):
    return PreserveNeighbors(**{"random_state": 0, **params}).fit(X)


@pytest.fixture(scope="module")
def digits():
    return fit()


def shared(A, B, k=15):
    """Share of the nearest neighbours that two maps have in common."""
    return neighborhood_recall(A, B, n_neighbors=k)


def distance(A, B):
    """Root mean square distance after alignment, relative to the size of the map."""
    A = A - A.mean(axis=0)
    return np.sqrt(np.mean((align(B, A) - A) ** 2) / np.mean(A**2))


def test_it_keeps_neighbours_and_classes(digits):
    Y = digits.embedding_
    assert neighborhood_recall(UNTIED, Y, n_neighbors=15) > 0.59
    assert trustworthiness(UNTIED, Y, n_neighbors=15) > 0.985
    assert KNeighborsClassifier(10).fit(Y, LABELS).score(Y, LABELS) > 0.97
    radius = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    assert np.median(radius) > 0.4 * radius.max()  # no island far out


def test_nothing_depends_on_the_order_of_the_rows_or_on_the_seed(digits):
    order = RNG.permutation(len(UNTIED))
    shuffled = fit(UNTIED[order], random_state=1)
    np.testing.assert_array_equal(shuffled.embedding_, digits.embedding_[order])
    assert shuffled.distortion_ == digits.distortion_
    weights = RNG.uniform(0.5, 2.0, 300)
    order = RNG.permutation(300)
    plain, shuffled = PreserveNeighbors(), PreserveNeighbors()
    plain.fit(UNTIED[:300], sample_weight=weights)
    shuffled.fit(UNTIED[:300][order], sample_weight=weights[order])
    assert shared(plain.embedding_[order], shuffled.embedding_) > 0.8


@pytest.mark.parametrize("params", [{}, {"repulsion": "normalized"}, {"n_components": 1}])
def test_bits_do_not_depend_on_the_number_of_threads(params):
    fits = [fit(MANY, n_jobs=n_jobs, **params) for n_jobs in (1, 2, 4)]
    unseen = MANY[:50] + 0.1
    for other in fits[1:]:
        np.testing.assert_array_equal(other.embedding_, fits[0].embedding_)
        np.testing.assert_array_equal(other.transform(unseen), fits[0].transform(unseen))


def test_distortion_is_the_explicit_sum(digits):
    for estimator in (digits, fit(MANY), fit(UNTIED[:300], repulsive_weight=0.1)):
        Y, (i, j) = estimator.embedding_.astype(float), estimator.edges_.T
        near = ((Y[i] - Y[j]) ** 2).sum(axis=1)
        attraction = estimator.weights_ @ np.log1p(near)
        norms = (Y**2).sum(axis=1)
        squares = np.maximum(norms[:, None] + norms - 2 * Y @ Y.T, 0)
        repulsion = (1 / (1 + squares)).sum() / 2 - len(Y) / 2
        found = (attraction + estimator.repulsive_weight_ * repulsion) / len(i)
        assert estimator.distortion_ == pytest.approx(found, rel=1e-3)


def along_the_map(Y, along):
    """Largest correlation of a component of the map with a position along a sheet."""
    return np.abs(np.corrcoef(Y.T, along)[:2, 2]).max()


def test_a_sheet_is_unrolled():
    X, along = make_swiss_roll(2000, noise=0.05, random_state=0)
    estimator = fit(X)
    assert estimator.repulsive_weight_ == pytest.approx(0.225)
    assert along_the_map(estimator.embedding_, along) > 0.95
    assert neighborhood_recall(X, estimator.embedding_, n_neighbors=15) > 0.79
    distances = pairwise_distances(X)
    found = fit(distances, metric="precomputed").embedding_
    assert along_the_map(found, along) > 0.95


def test_a_noisy_sheet_is_unrolled():
    X, along = make_swiss_roll(5000, noise=0.5, random_state=0)
    estimator = fit(X)
    assert estimator.repulsive_weight_ == 1.0  # its dimension is above that of a sheet
    assert along_the_map(estimator.embedding_, along) > 0.8
    assert along_the_map(fit(X, init="pca").embedding_, along) < 0.6


def body_with_limb(n=15_000):
    """Points on a sphere and on a thin tube that is bent away from it."""
    t, angle = RNG.random(n // 20), 2 * np.pi * RNG.random(n // 20)
    tube = np.stack([0.06 * np.cos(angle), 0.06 * np.sin(angle), 0.97 + 2 * t], axis=1)
    tube[:, 0] += t**2
    body = RNG.standard_normal((n - len(tube), 3))
    return np.concatenate([body / np.linalg.norm(body, axis=1, keepdims=True), tube])


def longest_gap(X, Y):
    """A long distance of neighbours in a map, relative to their median."""
    indices, _, _ = nearest_neighbors(X, 15)
    lengths = np.linalg.norm(Y[indices] - Y[:, None], axis=2)
    return np.quantile(lengths, 0.999) / np.median(lengths)


def test_a_closed_surface_and_its_thin_limb_stay_whole():
    X = body_with_limb()
    assert longest_gap(X, fit(X).embedding_) < 15
    torn = fit(X, attractive_penalty=Log1p(2.0))
    assert longest_gap(X, torn.embedding_) > 25


def test_a_flat_start_has_the_size_of_its_solution():
    X, _ = make_swiss_roll(1000, noise=0.05, random_state=0)
    first, last = fit(X, max_iter=0), fit(X)
    sizes = [np.sqrt(np.mean(each.embedding_**2)) for each in (first, last)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.3)
    # the size is that of least distortion, whatever the weight
    for weight in (0.005, 0.5):
        start = fit(X, max_iter=0, repulsive_weight=weight)
        for factor in (0.5, 2.0):
            other = fit(X, max_iter=0, repulsive_weight=weight, init=factor * start.embedding_)
            assert other.distortion_ > start.distortion_


@pytest.mark.filterwarnings("ignore::skmde.ConvergenceWarning")
@pytest.mark.parametrize("metric", ["cosine", "correlation", "sqeuclidean"])
def test_metrics_that_are_squares_say_the_same_of_the_dimension(metric):
    # A sphere of three dimensions: half of that, as squares of distances have it, counts as flat.
    X = np.random.default_rng(0).normal(size=(300, 5))
    X -= X.mean(axis=1, keepdims=True)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    plain, other = fit(X, max_iter=2), fit(X, metric=metric, max_iter=2)
    assert other.repulsive_weight_ == plain.repulsive_weight_ == 1.0
    assert (other.graph_ != plain.graph_).nnz == 0


def test_repulsive_weight_is_a_knob_for_tightness():
    sizes, scores = [], []
    for weight in (0.03, 0.3, 3.0):
        estimator = fit(UNTIED[:600], repulsive_weight=weight)
        assert estimator.repulsive_weight_ == weight
        sizes.append(np.sqrt(np.mean(estimator.embedding_**2)))
        scores.append(neighborhood_recall(UNTIED[:600], estimator.embedding_, n_neighbors=15))
    assert sizes == sorted(sizes)
    assert scores == sorted(scores)


def test_one_far_row_leaves_the_picture_of_the_rest():
    X = UNTIED[:800]
    expected = fit(X).embedding_
    found = fit(np.vstack([X, np.full(64, 1e4)])).embedding_
    assert distance(expected, found[:800]) < 0.4
    assert shared(expected, found[:800]) > 0.85
    assert np.abs(found).max() < 2 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["isolated node", "path"])
def test_loose_ends_leave_the_picture_of_the_rest(kind):
    n, further = 800, 1 if kind == "isolated node" else 20
    graph = kneighbors_graph(UNTIED[:n], 15, mode="distance")
    expected = fit(graph, metric="precomputed").embedding_
    grown = sp.lil_array((n + further, n + further))
    grown[:n, :n] = graph
    if kind == "path":
        nodes = [0, *range(n, n + further)]
        for a, b in itertools.pairwise(nodes):
            grown[a, b] = grown[b, a] = 1.0
    found = fit(grown.tocsr(), metric="precomputed").embedding_
    assert distance(expected, found[:n]) < 0.4
    assert shared(expected, found[:n]) > 0.85
    assert np.abs(found).max() < 2 * np.abs(expected).max()


def test_parts_without_a_link_stay_close_and_apart():
    X = np.concatenate([RNG.standard_normal((40, 5)) + 100 * k for k in range(4)])
    estimator = fit(X, n_neighbors=10)
    n_parts, labels = connected_components(estimator.graph_)
    assert n_parts == 4
    Y = estimator.embedding_
    centers = np.array([Y[labels == k].mean(axis=0) for k in range(4)])
    radii = np.array([np.linalg.norm(Y[labels == k] - centers[k], axis=1).max() for k in range(4)])
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2) - radii[:, None] - radii
    gaps = gaps[np.triu_indices(4, 1)]
    assert gaps.min() == pytest.approx(4.0, abs=0.01)


def test_transform_puts_unseen_rows_among_their_kind(digits):
    estimator = fit(UNTIED[:1200])
    unseen = UNTIED[1200:]
    placed = estimator.transform(unseen)
    classifier = KNeighborsClassifier(10).fit(estimator.embedding_, LABELS[:1200])
    assert classifier.score(placed, LABELS[1200:]) > 0.9
    np.testing.assert_array_equal(estimator.transform(unseen[[3]]), placed[[3]])
    own = neighborhood_recall(UNTIED[:1200], estimator.embedding_, n_neighbors=15)
    assert estimator.score(unseen) > own - 0.1


def test_extend_lets_all_pairs_repel():
    estimator = fit(UNTIED[:600])
    before = estimator.embedding_.copy()
    estimator.extend(UNTIED[600:800])
    np.testing.assert_array_equal(estimator.embedding_[:600], before)
    classifier = KNeighborsClassifier(10).fit(before, LABELS[:600])
    assert classifier.score(estimator.embedding_[600:], LABELS[600:800]) > 0.85
    assert (estimator.weights_ > 0).all()


@pytest.mark.parametrize("repulsion", ["all", "normalized", "sampled"])
def test_anchored_maps_repel_alike(repulsion):
    X, Y = UNTIED[:400], fit(UNTIED[:400]).embedding_
    anchors = np.arange(0, 400, 2)
    estimator = AnchoredMDE(
        attractive_penalty=Log1p(2.0),
        repulsive_penalty=Cauchy(),
        repulsion=repulsion,
        n_neighbors=15,
        random_state=0,
    ).fit(X, anchors=anchors, anchor_values=Y[anchors])
    np.testing.assert_array_equal(estimator.embedding_[anchors], Y[anchors])
    classifier = KNeighborsClassifier(5).fit(Y[anchors], LABELS[anchors])
    free = np.setdiff1d(np.arange(400), anchors)
    assert classifier.score(estimator.embedding_[free], LABELS[free]) > 0.85
    assert np.isfinite(estimator.transform(UNTIED[400:410])).all()


def test_what_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match=r"repulsive_fraction=2\.0 .* all pairs repel"):
        fit(UNTIED[:100], repulsion="all", repulsive_fraction=2.0)
    with pytest.raises(ValueError, match="must be below 0, as that of 'cauchy' is"):
        fit(UNTIED[:100], repulsion="normalized", repulsive_penalty="quadratic")
    for kind in ("all", "normalized"):
        with pytest.raises(ValueError, match="its penalty must be a built-in one"):
            fit(UNTIED[:100], repulsion=kind, repulsive_penalty=lambda d: -1 / (1 + d))
    with pytest.raises(ValueError, match=r"With repulsive_weight=0 a centered .* one point"):
        fit(UNTIED[:60], repulsive_weight=0.0)
    assert fit(UNTIED[:60], repulsive_weight=0.0, constraint="standardized").embedding_.std() > 0.9


def test_auto_samples_where_all_pairs_would_cost_too_much_or_are_not_meant():
    for params in ({"n_components": 4}, {"constraint": "standardized"}, {"repulsive_fraction": 1}):
        assert (fit(UNTIED[:200], **params).weights_ < 0).any()
    for params in (
        {},
        {"n_components": 1},
        {"n_components": 3},
        {"repulsive_penalty": Cauchy(2.0)},
    ):
        assert (fit(UNTIED[:200], **params).weights_ > 0).all()
    assert (fit(UNTIED[:200], n_components=4, repulsion="all").weights_ > 0).all()


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("n_components", [1, 2])
def test_few_samples(n, n_components):
    for repulsion in ("all", "normalized"):
        Y = fit(RNG.standard_normal((n, 4)), n_components=n_components, repulsion=repulsion)
        assert np.isfinite(Y.embedding_).all()
        assert len(np.unique(Y.embedding_, axis=0)) == n


@pytest.mark.parametrize(
    ("params", "recall", "trust"),
    [
        ({"repulsive_penalty": "inverse_power", "repulsive_fraction": 20}, 0.53, 0.98),
        ({"n_components": 1}, 0.2, 0.78),
    ],
)
def test_many_pairs_that_repel_steeply_leave_no_knot(params, recall, trust):
    Y = fit(repulsion="sampled", **params).embedding_
    assert neighborhood_recall(UNTIED, Y, n_neighbors=15) > recall
    assert trustworthiness(UNTIED, Y, n_neighbors=15) > trust


@pytest.mark.parametrize("repulsion", ["all", "normalized"])
def test_barriers_between_all_pairs_do_not_throw_items_out(repulsion):
    for penalty in ("inverse_power", "log_ratio"):
        Y = fit(UNTIED[:600], repulsion=repulsion, repulsive_penalty=penalty).embedding_
        assert neighborhood_recall(UNTIED[:600], Y, n_neighbors=15) > 0.6
        radius = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
        assert radius.max() < 4 * np.median(radius)


def test_a_given_start_keeps_its_size():
    init = RNG.standard_normal((100, 2))
    params = {"repulsion": "sampled", "repulsive_penalty": "inverse_power", "max_iter": 0}
    Y = fit(UNTIED[:100], init=init, **params).embedding_
    np.testing.assert_allclose(Y, init - init.mean(axis=0), atol=1e-5)


def test_equal_rows():
    assert np.isfinite(fit(np.ones((30, 3))).embedding_).all()


@pytest.mark.parametrize("n", [30, 60, 100, 200, 500])
@pytest.mark.parametrize("n_features", [1, 2])
def test_few_samples_of_a_line_or_a_sheet_do_not_collapse(n, n_features):
    X = np.random.default_rng(1).random((n, n_features))
    Y = fit(X, n_components=n_features).embedding_
    assert Y.std() > 0.3
    assert neighborhood_recall(X, Y, n_neighbors=min(15, n // 4)) > 0.7


@pytest.mark.parametrize("share", [0.25, 0.4, 0.5, 0.7])
@pytest.mark.parametrize("n", [30, 100, 300])
@pytest.mark.parametrize("n_features", [1, 2])
def test_many_neighbors_do_not_draw_a_line_or_a_sheet_together(n_features, n, share):
    X = np.random.default_rng(1).random((n, n_features))
    Y = fit(X, n_components=n_features, n_neighbors=int(share * n)).embedding_
    assert Y.std() > 0.1
    assert np.corrcoef(pdist(X), pdist(Y))[0, 1] > 0.65


@pytest.mark.parametrize("n", [300, 600])
def test_elongated_sheets_keep_their_width(n):
    X = np.random.default_rng(0).random((n, 2)) * [10, 1]
    found = fit(X).embedding_
    wide = np.linalg.svd(found - found.mean(axis=0), compute_uv=False)
    assert wide[1] / wide[0] > 0.03  # 0.1 in the data; 0.01 if the sheet becomes a line
    assert neighborhood_recall(X, found, n_neighbors=15) > 0.8
