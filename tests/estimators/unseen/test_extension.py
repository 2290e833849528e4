"""Growing maps: further samples join, those that were there stay to the last bit."""

import pickle
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from slowly import slow

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors
from skmde.losses import AbsoluteLoss

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
OLD, NEW = X[:60], X[60:]
N = len(OLD)
D = pairwise_distances(X)
PLACES = np.full((N, 2), np.nan)
PLACES[::6] = RNG.standard_normal((10, 2))

GRAPH = nx.connected_watts_strogatz_graph(90, 6, 0.2, seed=0)
for _, _, edge in GRAPH.edges(data=True):
    edge["weight"] = RNG.uniform(0.5, 2.0)
W = nx.to_scipy_sparse_array(GRAPH, format="csr")
TABLES = np.argsort(D, axis=1)[:, 1:8], np.sort(D, axis=1)[:, 1:8]


def tables(rows, last):
    """Neighbour tables of some rows, without neighbours from `last` on."""
    indices, distances = (table[rows] for table in TABLES)
    return np.where(indices < last, indices, -1), distances


def square(matrix):
    return matrix[:N][:, :N], matrix[N:]


CASES = {
    "neighbors": (PreserveNeighbors(), OLD, NEW),
    "neighbors, float32": (PreserveNeighbors(), OLD.astype(np.float32), NEW.astype(np.float32)),
    "neighbors, sparse": (PreserveNeighbors(), sp.csr_array(OLD), sp.csr_array(NEW)),
    "neighbors, standardized": (PreserveNeighbors(repulsive_penalty=None), OLD, NEW),
    "neighbors, max_distance": (PreserveNeighbors(max_distance=2.5), OLD, NEW),
    "neighbors, cosine": (PreserveNeighbors(metric="cosine", n_components=3), OLD, NEW),
    "neighbors, matrix": (PreserveNeighbors(metric="precomputed"), *square(D)),
    "neighbors, graph": (PreserveNeighbors(metric="precomputed"), *square(W)),
    "neighbors, similarities": (PreserveNeighbors(metric="affinity"), *square(W)),
    "neighbors, paths": (PreserveNeighbors(metric="graph", n_neighbors=8), *square(W)),
    "neighbors, tables": (
        PreserveNeighbors(metric="precomputed"),
        tables(slice(None, N), N),
        tables(slice(N, None), 90),
    ),
    "distances": (PreserveDistances(), OLD, NEW),
    "distances, float32": (PreserveDistances(), OLD.astype(np.float32), NEW.astype(np.float32)),
    "distances, sammon": (PreserveDistances(loss="sammon", metric="manhattan"), OLD, NEW),
    "distances, standardized": (PreserveDistances(constraint="standardized"), OLD, NEW),
    "distances, paths": (PreserveDistances(n_neighbors=8), OLD, NEW),
    "distances, matrix": (PreserveDistances(metric="precomputed"), *square(D)),
    "distances, stored": (PreserveDistances(metric="precomputed"), *square(W)),
    "distances, graph": (PreserveDistances(metric="graph"), *square(W)),
    "distances, paths in a matrix": (
        PreserveDistances(metric="precomputed", n_neighbors=8),
        *square(D),
    ),
    "anchored": (AnchoredMDE(), OLD, NEW),
    "anchored, pushed": (
        AnchoredMDE(attractive_penalty="log1p", repulsive_penalty="log"),
        OLD,
        NEW,
    ),
    "anchored, affinity": (AnchoredMDE(metric="affinity"), *square(W)),
    "anchored, loss": (AnchoredMDE(loss="squared"), OLD, NEW),
    "anchored, graph": (AnchoredMDE(loss="squared", metric="graph"), *square(W)),
    "anchored, soft": (AnchoredMDE(anchor_weight=1.0), OLD, NEW),
}
RARE = {
    "neighbors, float32",
    "neighbors, max_distance",
    "distances, float32",
    "distances, sammon",
    "distances, standardized",
    "distances, paths in a matrix",
}
CASE = pytest.mark.parametrize("name", [slow(name)[0] if name in RARE else name for name in CASES])


def fitted(name):
    estimator, old, _ = CASES[name]
    y = PLACES if isinstance(estimator, AnchoredMDE) else None
    return clone(estimator).set_params(random_state=0).fit(old, y)


@CASE
def test_old_rows_stay_and_new_ones_have_no_force_left(name):
    estimator = fitted(name)
    old = estimator.embedding_
    before = old.tobytes()
    new = CASES[name][2]
    assert estimator.set_params(max_iter=3000, tol=1e-7).extend(new) is estimator
    Y = estimator.embedding_
    assert Y.shape == (90, old.shape[1]) and Y.dtype == old.dtype
    assert Y[:N].tobytes() == before
    assert np.isfinite(Y).all()
    assert len(np.unique(Y[N:], axis=0)) == 90 - N
    # every pair that was embedded has a further sample
    assert (estimator.edges_ >= N).any(axis=1).all()
    kinked = isinstance(getattr(estimator, "_loss", None), AbsoluteLoss)  # kinks keep a force
    assert estimator.residual_norm_ < (0.1 if kinked else 2e-4)


@CASE
def test_the_value_is_not_above_that_of_transform(name):
    alone, together = fitted(name), fitted(name)
    new = CASES[name][2]
    together.extend(new)
    history = together.history_["value"]
    assert history[-1] <= history[0] * (1 + 1e-6)
    assert together.distortion_ == pytest.approx(history[-1], rel=1e-4, abs=1e-9)
    assert alone.embedding_.shape == (N, alone.embedding_.shape[1])


@CASE
def test_twice_the_same_bits_also_after_pickle(name):
    first, second = fitted(name), pickle.loads(pickle.dumps(fitted(name)))
    new = CASES[name][2]
    np.testing.assert_array_equal(
        first.extend(new).embedding_, second.extend(new).embedding_, strict=True
    )


ROWS = [name for name, (_, _, new) in CASES.items() if new is NEW]


@pytest.mark.parametrize("name", ROWS)
def test_grown_maps_transform_and_grow_on(name):
    estimator = fitted(name).extend(NEW[:20])
    before = estimator.embedding_.copy()
    # a sample that joined is known
    np.testing.assert_allclose(estimator.transform(X[50:80]), before[50:], rtol=0, atol=1e-12)
    unseen = estimator.transform(NEW[20:])
    np.testing.assert_array_equal(unseen[3], estimator.transform(NEW[23:24])[0])
    estimator.extend(NEW[20:])
    np.testing.assert_array_equal(estimator.embedding_[:80], before)
    assert estimator.n_features_in_ == 4


@pytest.mark.parametrize(
    "name", ["neighbors, matrix", "distances, matrix", "distances, graph", "anchored, affinity"]
)
def test_grown_maps_of_matrices_take_a_column_for_each_sample(name):
    estimator = fitted(name).extend(CASES[name][2])
    matrix = D if "matrix" in name else W
    assert estimator.n_features_in_ == 90
    assert estimator.transform(matrix[:5]).shape == (5, 2)
    with pytest.raises(ValueError, match="90 features"):
        estimator.transform(matrix[:5][:, :N])
    one = np.zeros((1, 91)) if "matrix" in name else sp.csr_array(np.eye(1, 91))
    one[0, :90] = matrix[:1] if "matrix" in name else matrix[:1].toarray()
    assert estimator.extend(one).embedding_.shape == (91, 2)


def test_graph_of_the_grown_map_is_that_of_a_fit_to_all():
    for params in ({}, {"n_neighbors": 3}, {"max_distance": 2.5}, {"metric": "manhattan"}):
        params = {"n_neighbors": 5, **params}
        grown = PreserveNeighbors(random_state=0, **params).fit(OLD).extend(NEW)
        whole = PreserveNeighbors(random_state=0, **params).fit(X)
        assert abs(grown.graph_ - whole.graph_).max() == 0
        params["metric"] = "precomputed"
        for form in (np.asarray, sp.csr_array):
            matrices = (form(pairwise_distances(A, X)) for A in (OLD, NEW))
            old, new = matrices
            whole = PreserveNeighbors(random_state=0, **params).fit(form(D))
            grown = PreserveNeighbors(random_state=0, **params).fit(old[:, :N]).extend(new)
            assert abs(grown.graph_ - whole.graph_).max() == 0


def test_distances_of_the_grown_map_are_those_of_a_fit_to_all():
    for params, old, new, everything in (
        ({"metric": "manhattan"}, OLD, NEW, X),
        ({"metric": "precomputed"}, *square(D), D),
        ({"metric": "precomputed"}, *square(sp.csr_array(D)), sp.csr_array(D)),
        ({"metric": "graph"}, *square(W), W),
        ({"n_neighbors": 6}, OLD, NEW, X),
        ({"n_neighbors": 6, "metric": "precomputed"}, *square(D), D),
    ):
        whole = PreserveDistances(random_state=0, max_iter=1, **params).fit(everything)
        grown = PreserveDistances(random_state=0, max_iter=1, **params).fit(old).extend(new)
        table = np.zeros((90, 90))
        table[tuple(whole.edges_.T)] = whole.distances_
        np.testing.assert_allclose(grown.distances_, table[tuple(grown.edges_.T)], rtol=1e-6)
        assert len(grown.distances_) == len(whole.distances_) - N * (N - 1) // 2
        assert grown.n_unreachable_ == 0


def test_stress_of_the_grown_map_is_that_of_its_pairs():
    estimator = PreserveDistances(loss="squared", random_state=0).fit(OLD).extend(NEW)
    i, j = estimator.edges_.T
    d = np.linalg.norm(estimator.embedding_[i] - estimator.embedding_[j], axis=1)
    delta = D[i, j]
    np.testing.assert_allclose(estimator.distances_, delta)
    assert estimator.stress_ == pytest.approx(np.sqrt(((d - delta) ** 2).sum() / (d**2).sum()))
    assert estimator.distortion_ == pytest.approx(np.mean((d - delta) ** 2))


def test_pairs_are_drawn_if_there_are_many():
    for params in ({}, {"n_neighbors": 8}):
        estimator = PreserveDistances(random_state=0, max_pairs=300, **params).fit(OLD).extend(NEW)
        edges = estimator.edges_
        assert len(edges) == len(np.unique(edges, axis=0)) == 300
        assert (edges[:, 1] >= N).all() and (edges[:, 0] < edges[:, 1]).all()
        # partners are old samples as often as chance has it
        assert 0.6 < np.mean(edges[:, 0] < N) < 0.95


def test_quadratic_samples_are_at_the_weighted_mean_of_their_neighbours():
    estimator = fitted("anchored, affinity").extend(CASES["anchored, affinity"][2])
    Y = estimator.embedding_
    mean = (W @ Y) / W.sum(axis=1)[:, None]
    np.testing.assert_allclose(Y[N:], mean[N:], atol=1e-9)
    np.testing.assert_array_equal(estimator.anchors_, np.arange(N))
    assert estimator.forces_.shape == (N, 2)


def test_a_group_without_its_like_gets_a_region_of_its_own():
    digits, y = load_digits(return_X_y=True)
    new = y >= 8
    digits, y = np.vstack([digits[~new], digits[new]]), np.append(y[~new], y[new])
    n = int((~new).sum())
    estimator = PreserveNeighbors(random_state=0).fit(digits[:n])
    alone = np.vstack([estimator.embedding_, estimator.transform(digits[n:])])
    together = estimator.extend(digits[n:]).embedding_
    scores = [KNeighborsClassifier(5).fit(Y, y).score(Y, y) for Y in (alone, together)]
    assert scores[1] > 0.97 > 0.94 > scores[0]


def test_samples_without_a_chain_are_counted_and_finite():
    far = sp.csr_array((np.ones(2), ([0, 1], [N + 1, N])), shape=(2, N + 2))
    estimator = fitted("neighbors, graph")
    with pytest.warns(UserWarning, match="connects 2 new samples, in 1 connected components"):
        estimator.extend(far)
    assert np.isfinite(estimator.embedding_).all()
    estimator = fitted("anchored, affinity")
    with pytest.warns(UserWarning, match="connects 2 new samples"):
        estimator.extend(far)
    np.testing.assert_allclose(
        estimator.embedding_[N:], np.tile(estimator.embedding_[:N].mean(axis=0), (2, 1))
    )
    assert estimator.n_loose_ == 2


def test_copies_of_old_and_new_samples_end_apart_under_repulsion():
    estimator = PreserveNeighbors(random_state=0, repulsion="sampled").fit(OLD)
    estimator.extend(np.vstack([OLD[:3], OLD[:3], NEW[:2], NEW[:2]]))
    assert len(np.unique(estimator.embedding_, axis=0)) == N + 10
    assert np.isfinite(estimator.embedding_).all()


# What is refused leaves everything as it was


@CASE
def test_refused_samples_change_nothing(name):
    estimator = fitted(name)
    before = pickle.dumps(estimator)
    new = CASES[name][2]
    pair = isinstance(new, tuple)
    wrong = (new[0] + 1000, new[1]) if pair else new[:, :3]
    with pytest.raises(ValueError):
        estimator.extend(wrong)
    if not pair and not sp.issparse(new):
        bad = np.array(new)
        bad[0, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            estimator.extend(bad)
    assert pickle.dumps(estimator) == before


@pytest.mark.parametrize("kind", ["neighbors", "anchored"])
def test_unseen_samples_are_repelled_as_much_before_and_after(kind, monkeypatch):
    # More samples repel after the extension, each of them less.
    penalties = {"attractive_penalty": "log1p", "repulsive_penalty": "log", "random_state": 0}
    if kind == "neighbors":
        estimator = PreserveNeighbors(**penalties).fit(OLD)
        module = "skmde.estimators.neighborhoods.placing"
    else:
        estimator = AnchoredMDE(**penalties).fit(OLD, PLACES)
        module = "skmde.estimators.pairs.anchored"
    totals = []

    def record(anchors, indices, weights, attract, repel, *, repulsive_weight, **options):
        totals.append(len(options["repulsive_indices"]) * repulsive_weight)
        return np.zeros((len(indices), anchors.shape[1]))

    monkeypatch.setattr(f"{module}.place_by_neighbors", record)
    estimator.transform(NEW[:1])
    estimator.extend(NEW).transform(NEW[:1] + 0.1)
    before, *_, after = totals
    assert after == pytest.approx(before)


def test_errors_say_what_to_do():
    with pytest.raises(NotFittedError):
        PreserveNeighbors().extend(NEW)
    with pytest.raises(
        ValueError, match=r"90 columns, for the 60 fitted samples .*got shape \(30, 60"
    ):
        fitted("neighbors, matrix").extend(D[N:, :N])
    with pytest.raises(ValueError, match="unseen samples must be rows"):
        fitted("distances, graph").extend(GRAPH)
    with pytest.raises(ValueError, match="0 sample"):
        fitted("neighbors").extend(NEW[:0])
    mutable = OLD.copy()
    estimator = PreserveNeighbors(random_state=0).fit(mutable)
    mutable[3] += 1
    with pytest.raises(ValueError, match="modified since"):
        estimator.extend(NEW)


def test_interrupted_extension_leaves_the_map():
    estimator = fitted("neighbors")
    before = estimator.embedding_

    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimator.set_params(callbacks=[stop]).extend(NEW)
    assert estimator.embedding_ is before
    estimator.set_params(callbacks=None).extend(NEW)
    assert len(estimator.embedding_) == 90


def test_parameters_of_the_fit_count():
    changed, same = fitted("neighbors"), fitted("neighbors")
    changed.set_params(n_neighbors=2, attractive_penalty="cubic", repulsive_fraction=7.0)
    np.testing.assert_array_equal(changed.extend(NEW).embedding_, same.extend(NEW).embedding_)


def test_no_warning_in_the_plain_case():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        for name in ("neighbors", "distances", "anchored"):
            fitted(name).extend(CASES[name][2])
