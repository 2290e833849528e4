"""Inputs that break other embedding libraries: the rows that apply to PreserveNeighbors.

Numbers in the names are those of the rows in the list of faults: what each input is, and that it
gives finite points or an error that says what to do.
"""

import os
import pickle
import signal
import sys
import threading
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from fault_cases import assert_finite, n_distinct
from fault_inputs import sparse_forms
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, kneighbors_graph
from slowly import slow

from skmde import Anchored, PreserveNeighbors

RNG = np.random.default_rng(0)
X60 = RNG.standard_normal((60, 5))
UNSEEN = RNG.standard_normal((20, 5))
needs_faiss = pytest.mark.skipif(find_spec("faiss") is None, reason="needs faiss")
FAISS = pytest.param("faiss", marks=needs_faiss)


def fit(X, **params):
    """A seeded fit in which every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        return PreserveNeighbors(random_state=0, **params).fit(X)


def embed(X, **params):
    return fit(X, **params).embedding_


def test_row_01_one_sample_is_an_error():
    with pytest.raises(ValueError, match=r"1 sample.*minimum of 2"):
        PreserveNeighbors().fit(X60[:1])
    with pytest.raises(ValueError, match=r"1 sample.*at least 2"):
        PreserveNeighbors(metric="precomputed").fit((np.array([[-1]]), np.array([[0.0]])))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 20])
def test_rows_02_03_07_few_samples_with_defaults(n):
    Y = embed(X60[:n])
    assert_finite(Y, (n, 2))
    distances = pairwise_distances(Y)[~np.eye(n, dtype=bool)]
    # spread: no pair has come together, none has flown away
    assert distances.min() > 1e-3
    assert distances.max() < 100


def test_row_03_all_others_are_neighbours():
    Y = embed(X60[:20], n_neighbors=19)
    assert n_distinct(Y) == 20
    assert Y.std() > 0.1


def test_row_05_as_many_components_as_fit():
    assert_finite(embed(X60[:10], n_components=9), (10, 9))
    assert_finite(embed(X60[:10], n_components=9, constraint="standardized"), (10, 9))
    for n_components in (10, 11):
        message = f"n_components={n_components} must be less.*n_samples=10; use at most 9"
        with pytest.raises(ValueError, match=message):
            PreserveNeighbors(n_components=n_components).fit(X60[:10])
        with pytest.raises(ValueError, match="at most 9 components"):
            PreserveNeighbors(n_components=n_components, constraint="standardized").fit(X60[:10])


def test_row_06_one_neighbour_is_another_sample():
    estimator = fit(X60, n_neighbors=1)
    nearest = NearestNeighbors(n_neighbors=2).fit(X60).kneighbors(X60, return_distance=False)[:, 1]
    expected = sp.csr_array((np.ones(60), (np.arange(60), nearest)), shape=(60, 60))
    np.testing.assert_array_equal(
        estimator.graph_.toarray(), (expected + expected.T).toarray().astype(np.float32)
    )
    assert_finite(estimator.embedding_, (60, 2))


def test_row_08_all_rows_equal():
    for params in ({}, {"constraint": "standardized"}, {"init": "pca"}, {"metric": "cosine"}):
        Y = embed(np.ones((20, 3)), **params)
        assert_finite(Y, (20, 2))
        assert Y.std() > 0.1
        assert n_distinct(Y) == 20


def test_row_08_all_rows_equally_far():
    assert n_distinct(embed(np.eye(50))) == 50


def test_row_09_one_column_and_a_constant_column():
    for X in (X60[:, :1], np.zeros((20, 1)), np.c_[X60, np.full(60, 1e6)]):
        assert_finite(embed(X), (len(X), 2))
        assert_finite(embed(X, init="pca"), (len(X), 2))
    # a constant changes no distance
    np.testing.assert_allclose(embed(np.c_[X60, np.zeros(60)]), embed(X60), atol=1e-5)


@pytest.mark.parametrize("algorithm", ["exact", FAISS, "torch"])
def test_row_10_copies_stay_together(algorithm):
    X = np.repeat(X60[:3], 30, axis=0)
    estimator = fit(X, neighbors_algorithm=algorithm)
    Y = estimator.embedding_
    group = np.repeat(np.arange(3), 30)
    near = NearestNeighbors(n_neighbors=6).fit(Y).kneighbors(return_distance=False)
    assert (group[near] == group[:, None]).all()
    # neighbours are found among the copies, and no sample is its own
    assert estimator.graph_.diagonal().max() == 0
    rows, columns = estimator.graph_.nonzero()
    assert (group[rows] == group[columns]).all()


def test_row_12_stored_zeros_are_edges():
    X = np.repeat(X60[:20], 2, axis=0)
    graph = KNeighborsTransformer(mode="distance", n_neighbors=4).fit_transform(X)
    assert (graph.data == 0).sum() == 80  # itself and its copy
    estimator = fit(graph, metric="precomputed")
    copies = np.arange(0, 40, 2)
    assert (estimator.graph_[copies, copies + 1] == 2).all()
    assert estimator.graph_.diagonal().max() == 0


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_row_13_a_line_keeps_its_order(shift):
    line = np.linspace(0, 1, 200)
    order = np.random.default_rng(1).permutation(200)
    X = np.outer(line, [1.0, 2.0, -1.0])[order] + shift
    Y = np.empty((200, 2))
    Y[order] = embed(X)
    first = PCA(1).fit_transform(Y)[:, 0]
    rank = np.argsort(np.argsort(first))
    rank = rank if rank[0] < rank[-1] else 199 - rank
    # neighbours on the line may swap, no more
    assert np.abs(rank - np.arange(200)).max() <= 5


def test_row_13_a_long_line_bends_but_does_not_fold():
    line = np.linspace(0, 1, 1000)
    order = np.random.default_rng(1).permutation(1000)
    Y = np.empty((1000, 2))
    Y[order] = embed(line[order, None])
    near = NearestNeighbors(n_neighbors=5).fit(Y).kneighbors(return_distance=False)
    assert np.abs(near - np.arange(1000)[:, None]).max() <= 15


@pytest.mark.parametrize("constraint", ["centered", "standardized"])
def test_row_14_an_initial_array_with_coincident_rows(constraint):
    for init in (np.zeros((60, 2)), np.repeat(UNSEEN[:, :2], 3, axis=0)):
        before = init.copy()
        Y = embed(X60, init=init, constraint=constraint)
        assert_finite(Y, (60, 2))
        assert n_distinct(Y) == 60
        np.testing.assert_array_equal(Y, embed(X60, init=init, constraint=constraint))
        np.testing.assert_array_equal(init, before)


@pytest.mark.parametrize("init", ["quadratic", "pca"])
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X * 1e25,
        lambda X: X * 1e-25,
        lambda X: X * 1e98,
        lambda X: X * 1e-98,
        lambda X: (X * 1e37).astype(np.float32),
    ],
    ids=["1e25", "1e-25", "1e98", "1e-98", "1e37 in float32"],
)
def test_row_18_scale_does_not_matter(change, init):
    plain, changed = fit(X60, init=init), fit(change(X60), init=init)
    np.testing.assert_array_equal(changed.graph_.toarray(), plain.graph_.toarray())
    if init == "pca" and change(X60).dtype == np.float32:
        # the principal components have other rounding errors, which grow in the course of a solve
        assert changed.distortion_ == pytest.approx(plain.distortion_, rel=0.05)
        return
    atol = 0.01 if init == "pca" else 0.0
    np.testing.assert_allclose(changed.embedding_, plain.embedding_, rtol=0, atol=atol)
    np.testing.assert_allclose(
        changed.transform(change(UNSEEN)), plain.transform(UNSEEN), rtol=0, atol=max(atol, 1e-5)
    )


def test_row_18_a_shift_does_not_matter():
    plain = fit(X60)
    shifted = fit(X60 + 1e8)  # moves the entries to multiples of 1.5e-8
    np.testing.assert_array_equal(shifted.graph_.toarray(), plain.graph_.toarray())
    np.testing.assert_allclose(shifted.embedding_, plain.embedding_, atol=1e-3)
    np.testing.assert_allclose(shifted.transform(UNSEEN + 1e8), plain.transform(UNSEEN), atol=1e-3)


def test_row_19_bytes_do_not_wrap_around():
    counts = RNG.integers(0, 256, (60, 5))
    expected = fit(counts.astype(float))
    for X in (counts.astype(np.uint8), torch.tensor(counts, dtype=torch.uint8), counts > 300):
        if X.dtype == bool:
            assert_finite(embed(X), (60, 2))
            continue
        estimator = fit(X)
        np.testing.assert_array_equal(estimator.embedding_, expected.embedding_)
        unseen = X.flip(1) if isinstance(X, torch.Tensor) else X[:, ::-1]
        np.testing.assert_array_equal(
            estimator.transform(unseen), expected.transform(counts[:, ::-1].astype(float))
        )


@pytest.mark.parametrize("algorithm", ["exact", FAISS, "torch"])
def test_row_20_cosine_with_zero_and_opposite_rows(algorithm):
    X = np.concatenate([X60, -X60[:10], np.zeros((3, 5))])
    estimator = fit(X, metric="cosine", neighbors_algorithm=algorithm)
    assert_finite(estimator.embedding_, (73, 2))
    # a zero row is at distance 1 even from itself, and yet known
    np.testing.assert_array_equal(estimator.transform(X[70:]), estimator.embedding_[[70, 70, 70]])
    np.testing.assert_array_equal(estimator.transform(X[:70]), estimator.embedding_[:70])


def test_row_22_half_precision_tensors():
    tensor = torch.tensor(X60)
    np.testing.assert_array_equal(embed(tensor.bfloat16()), embed(tensor.bfloat16().float()))
    assert embed(tensor.half()).dtype == np.float64


@pytest.mark.parametrize("form", sparse_forms(np.eye(3)))
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_rows_24_25_sparse_data_is_as_good_as_dense(form, metric):
    X = np.where(np.abs(X60) > 0.5, X60, 0.0)
    unseen = np.where(np.abs(UNSEEN) > 0.5, UNSEEN, 0.0)
    dense = fit(X, metric=metric)
    sparse = fit(sparse_forms(X)[form], metric=metric)
    np.testing.assert_array_equal(sparse.embedding_, dense.embedding_)
    np.testing.assert_array_equal(
        sparse.transform(sparse_forms(unseen)[form]), dense.transform(unseen)
    )
    np.testing.assert_array_equal(sparse.transform(sparse_forms(X)[form]), sparse.embedding_)


def test_row_25_a_square_sparse_matrix_is_data_unless_precomputed():
    graph = kneighbors_graph(X60, 5, mode="distance")
    as_data = embed(graph)
    np.testing.assert_array_equal(as_data, embed(graph.toarray()))
    assert not np.allclose(as_data, embed(graph, metric="precomputed"))


def test_row_26_data_distances_graph_and_tables_are_one():
    # distances have no principal components: "auto" starts elsewhere
    params = {"n_neighbors": 7, "init": "quadratic"}
    raw = embed(X60, **params)
    distances = pairwise_distances(X60)
    graph = kneighbors_graph(X60, 7, mode="distance")
    values, indices = NearestNeighbors(n_neighbors=7).fit(X60).kneighbors()
    for X in (distances, graph, (indices, values), torch.tensor(distances)):
        given = embed(X, metric="precomputed", **params)
        np.testing.assert_allclose(given, raw, atol=1e-5)


def test_row_27_rows_of_unequal_length():
    graph = sp.lil_array(kneighbors_graph(X60, 7, mode="distance"))
    graph[0] = 0  # no neighbours of its own
    graph[1, 2:] = 1.0  # nearly all
    with pytest.warns(UserWarning, match="precomputed distances are not symmetric"):
        estimator = PreserveNeighbors(metric="precomputed", random_state=0).fit(graph.tocsr())
    assert_finite(estimator.embedding_, (60, 2))
    stored = graph.toarray() != 0
    np.testing.assert_array_equal(estimator.graph_.toarray(), stored.astype(np.float32) + stored.T)


@pytest.mark.parametrize("init", ["quadratic", "pca", "random"])
@pytest.mark.parametrize(("n_blobs", "size"), [(2, 6), (4, 6), (2, 30), (4, 15), (4, 100)])
def test_row_32_blobs_far_apart(n_blobs, size, init):
    rng = np.random.default_rng(0)
    centres = 100.0 * np.eye(5)[:n_blobs]
    X = np.concatenate([rng.standard_normal((size, 5)) + centre for centre in centres])
    estimator = fit(X, init=init)
    Y = estimator.embedding_
    blob = np.repeat(np.arange(n_blobs), size)
    assert sp.csgraph.connected_components(estimator.graph_)[0] == n_blobs
    assert_finite(Y, (n_blobs * size, 2))
    assert n_distinct(Y) == n_blobs * size
    means = np.array([Y[blob == b].mean(axis=0) for b in range(n_blobs)])
    radii = [np.linalg.norm(Y[blob == b] - means[b], axis=1).max() for b in range(n_blobs)]
    for a in range(n_blobs):
        assert radii[a] > 0.05
        for b in range(a):
            assert np.linalg.norm(means[a] - means[b]) > radii[a] + radii[b]


X1000 = np.random.default_rng(5).standard_normal((1000, 8))
X1000[:, :2] += 6 * np.random.default_rng(6).integers(0, 3, (1000, 2))
UNSEEN8 = np.random.default_rng(7).standard_normal((20, 8)) + 3


@pytest.fixture(scope="module", params=["exact", FAISS, *slow("pynndescent"), "torch"])
def fitted(request):
    """An estimator fitted to a thousand rows by each search."""
    return fit(X1000, neighbors_algorithm=request.param, max_iter=30)


def test_row_33_unseen_rows_do_not_see_each_other(fitted):
    together = fitted.transform(UNSEEN8)
    assert_finite(together, (20, 2))
    alone = np.concatenate([fitted.transform(row[None]) for row in UNSEEN8])
    order = np.random.default_rng(0).permutation(20)
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-7)
    np.testing.assert_allclose(fitted.transform(UNSEEN8[order]), together[order], rtol=0, atol=1e-7)
    np.testing.assert_allclose(fitted.transform(UNSEEN8[5:9]), together[5:9], rtol=0, atol=1e-7)


def test_row_34_training_rows_among_unseen_rows(fitted):
    together = fitted.transform(np.concatenate([UNSEEN8[:10], X1000, UNSEEN8[10:]]))
    np.testing.assert_array_equal(together[10:-10], fitted.embedding_)
    np.testing.assert_allclose(
        np.concatenate([together[:10], together[-10:]]),
        fitted.transform(UNSEEN8),
        rtol=0,
        atol=1e-7,
    )


@pytest.mark.parametrize(
    "metric",
    ["cosine", "correlation", "manhattan", "nan_euclidean", "tsss", "seuclidean", "canberra"],
)
def test_row_34_under_other_metrics(metric):
    estimator = fit(X60, metric=metric)
    np.testing.assert_array_equal(estimator.transform(X60[7:20]), estimator.embedding_[7:20])


@pytest.mark.parametrize("factor", [10.0, 1e6, 1e30, 1e98])
def test_row_38_a_row_far_outside(factor):
    estimator = fit(X60)
    Y = estimator.transform(factor * UNSEEN)
    assert_finite(Y, (20, 2))
    assert np.abs(Y).max() < 100 * np.abs(estimator.embedding_).max()


def test_row_39_precomputed_distances_of_unseen_samples():
    search = NearestNeighbors(n_neighbors=5).fit(X60)
    raw = fit(X60, n_neighbors=5, init="quadratic")
    expected = raw.transform(UNSEEN)
    full = pairwise_distances(UNSEEN, X60)
    graph = search.kneighbors_graph(UNSEEN, mode="distance")
    values, indices = search.kneighbors(UNSEEN)
    for train in (pairwise_distances(X60), kneighbors_graph(X60, 5, mode="distance")):
        estimator = fit(train, metric="precomputed", n_neighbors=5)
        for unseen in (full, graph, sp.coo_array(graph), (indices, values)):
            np.testing.assert_allclose(estimator.transform(unseen), expected, atol=1e-4)
    with pytest.raises(ValueError, match=r"59 features.*expecting 60"):
        estimator.transform(full[:, :59])
    with pytest.raises(ValueError, match="index 60 is out of range"):
        estimator.transform((indices + 60 - indices.max(), values))


def test_row_39_unseen_samples_without_any_distance():
    estimator = fit(kneighbors_graph(X60, 5, mode="distance"), metric="precomputed")
    centre = estimator.embedding_.mean(axis=0)
    np.testing.assert_allclose(
        estimator.transform(sp.csr_array((3, 60))), [centre, centre, centre], atol=1e-6
    )
    assert estimator.score(sp.csr_array((3, 60))) == 0.0


@pytest.mark.slow
def test_row_42_same_bits_with_pynndescent():
    # here, as it takes half a minute to compile in each process
    found = set()
    before = torch.get_num_threads()
    try:
        for threads, n_jobs in ((1, 1), (2, None), (1, 2)):
            torch.set_num_threads(threads)
            estimator = fit(X1000, neighbors_algorithm="pynndescent", max_iter=30, n_jobs=n_jobs)
            found.add((estimator.embedding_.tobytes(), estimator.transform(UNSEEN8).tobytes()))
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1


def test_row_42_another_seed_is_another_embedding_only_if_something_is_drawn():
    def fit(X, **params):
        return PreserveNeighbors(**params).fit(X)

    first, second = (fit(X60, random_state=seed).embedding_ for seed in (0, 1))
    np.testing.assert_array_equal(first, second)
    first, second = (fit(X60, random_state=seed, repulsion="sampled").embedding_ for seed in (0, 1))
    assert not np.array_equal(first, second)
    generator = np.random.RandomState(0)
    first, second = (
        fit(X60, random_state=generator, repulsion="sampled").embedding_ for _ in range(2)
    )
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("random_state", [0, None])
@pytest.mark.parametrize("params", [{}, {"init": "random"}, {"init": "pca"}])
def test_row_43_global_random_states_are_untouched(random_state, params):
    numpy_before, torch_before = np.random.get_state(), torch.get_rng_state()
    estimator = PreserveNeighbors(random_state=random_state, **params).fit(X60)
    estimator.transform(UNSEEN)
    estimator.score(UNSEEN)
    numpy_after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(numpy_before, numpy_after, strict=True))
    assert torch.equal(torch_before, torch.get_rng_state())


def test_row_43_no_seed_means_a_fresh_one():
    np.random.seed(0)
    first = PreserveNeighbors(init="random").fit(X60).embedding_
    np.random.seed(0)
    assert not np.array_equal(first, PreserveNeighbors(init="random").fit(X60).embedding_)


def test_row_47_grid_search_slices_both_axes_of_distances():
    distances = pairwise_distances(X60)
    estimator = PreserveNeighbors(init="quadratic", random_state=0)
    search = GridSearchCV(estimator, {"n_neighbors": [4, 6]}, cv=3)
    raw = clone(search).fit(X60)
    given = search.set_params(estimator__metric="precomputed").fit(distances)
    for name in ("split0_test_score", "split1_test_score", "split2_test_score"):
        np.testing.assert_allclose(given.cv_results_[name], raw.cv_results_[name], atol=0.02)


def test_row_48_read_only_distances_and_graphs():
    distances = pairwise_distances(X60)
    graph = kneighbors_graph(X60, 5, mode="distance")
    for array in (distances, graph.data, graph.indices, graph.indptr):
        array.flags.writeable = False
    for X in (distances, graph):
        estimator = fit(X, metric="precomputed")
        assert_finite(estimator.transform(X[:3]), (3, 2))


def test_row_49_pickled_with_any_search(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(UNSEEN8), fitted.transform(UNSEEN8))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_row_51_a_few_samples_that_only_attract_warn_of_nothing(n):
    # Items coincide at the optimum, where the slope of log1p is as steep as rounding allows.
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(n, 2))
        embed(X, repulsive_penalty=None, n_neighbors=min(3, n - 1))


def test_row_52_devices():
    expected = embed(X60)
    for device in ("cpu", torch.device("cpu"), "cpu:0"):
        np.testing.assert_array_equal(embed(X60, device=device), expected)
    if not torch.cuda.is_available():
        np.testing.assert_array_equal(embed(X60, device="auto"), expected)
        np.testing.assert_allclose(
            embed(X60, device="auto", neighbors_algorithm="torch"), expected, atol=1e-5
        )
        for device in ("cuda", torch.device("cuda"), "cuda:1", "gpu", "meta"):
            with pytest.raises(ValueError, match="is not available; this machine has cpu"):
                PreserveNeighbors(device=device).fit(X60)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_row_52_a_gpu_by_any_name():
    results = [embed(X60, device=d) for d in ("cuda", torch.device("cuda"), "auto", "cuda:0")]
    for Y in results:
        np.testing.assert_allclose(Y, results[0], atol=1e-3)
    assert_finite(results[0], (60, 2))


def interrupt(state):
    if state.iteration == 3:
        raise KeyboardInterrupt


def test_row_54_an_interrupted_fit_leaves_no_trace():
    estimator = PreserveNeighbors(random_state=0, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X60)
    assert vars(estimator) == vars(PreserveNeighbors(random_state=0, callbacks=[interrupt]))
    with pytest.raises(NotFittedError):
        estimator.transform(X60)
    estimator.set_params(callbacks=None).fit(X60)
    before = dict(vars(estimator))
    coordinates = estimator.transform(UNSEEN)
    estimator.callbacks = before["callbacks"] = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(pd.DataFrame(UNSEEN[:, :3], columns=list("abc")))
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(estimator.transform(UNSEEN), coordinates)


def test_row_54_a_failed_fit_leaves_no_trace():
    estimator = fit(X60)
    coordinates = estimator.transform(UNSEEN)
    for broken in (UNSEEN[:, :3] * np.nan, UNSEEN[:1, :3]):
        with pytest.raises(ValueError):
            estimator.fit(broken)
        np.testing.assert_array_equal(estimator.transform(UNSEEN), coordinates)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_row_54_a_signal_during_a_long_fit():
    X = np.random.default_rng(0).standard_normal((2000, 5))
    started = threading.Event()
    estimator = PreserveNeighbors(
        random_state=0,
        max_iter=100_000,
        tol=0,
        n_jobs=2,
        callbacks=[lambda state: started.set()],
    )

    def press():
        started.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    # a process that was started in the background ignores Ctrl-C
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(X)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not hasattr(estimator, "embedding_")
    # the pool of threads is still in order
    assert_finite(embed(X60, n_jobs=2), (60, 2))


def test_anchors_come_back_to_the_last_digit():
    anchors = np.array([[100000.123456, 1 / 3], [-0.1, 1e-9]])
    constraint = Anchored([3, 7], anchors)
    with pytest.warns(UserWarning, match="may stay near where they started"):
        Y = PreserveNeighbors(constraint=constraint, random_state=0).fit_transform(X60)
    np.testing.assert_array_equal(Y[[3, 7]], anchors)


def test_an_objective_without_a_minimum_prints_no_warnings_of_numpy():
    X = np.random.default_rng(0).normal(size=(20, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        Y = embed(
            X,
            attractive_penalty="sigmoid",
            repulsive_penalty="inverse_power",
            repulsive_fraction=20,
            n_neighbors=1,
            tol=0,
        )
    assert_finite(Y, (20, 2))


def test_callbacks_in_an_array():
    seen = []
    calls = np.array([seen.append, lambda state: len(seen) >= 3])
    model = PreserveNeighbors(callbacks=calls, random_state=0).fit(X60)
    assert model.n_iter_ == 3


@pytest.mark.filterwarnings("error")
def test_distances_that_rounding_put_below_zero():
    D = 1 - np.corrcoef(X60)
    D[np.diag_indices(60)] = -2.3e-16
    D[2, 4] = D[4, 2] = -1e-16
    before = D.copy()
    assert_finite(embed(D, metric="precomputed"), (60, 2))
    np.testing.assert_array_equal(D, before)
    with pytest.raises(ValueError, match=r"must not be negative, got -0\.1"):
        embed(np.where(D == D[2, 4], -0.1, D), metric="precomputed")


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.uint64])
def test_unsigned_neighbor_indices(kind):
    indices = np.array([[1], [0], [1]], kind)
    assert_finite(embed((indices, np.ones((3, 1))), metric="precomputed"), (3, 2))


def test_unseen_rows_of_a_neighbor_graph_have_as_many_neighbors_as_of_raw_data():
    graphs = KNeighborsTransformer(n_neighbors=5).fit(X60)
    from_graph = PreserveNeighbors(metric="precomputed", random_state=0)
    from_graph.fit(graphs.transform(X60))
    from_data = PreserveNeighbors(n_neighbors=5, init="quadratic", random_state=0).fit(X60)
    np.testing.assert_array_equal(from_graph.embedding_, from_data.embedding_)
    np.testing.assert_allclose(  # scikit-learn's graph stores one neighbour more for unseen rows
        from_graph.transform(graphs.transform(UNSEEN)), from_data.transform(UNSEEN), atol=1e-6
    )


@pytest.mark.parametrize("metric", ["dice", "sokalsneath"])
def test_boolean_rows_without_a_true_entry(metric):
    X = np.random.default_rng(0).random((20, 4)) < 0.2
    assert_finite(embed(X, metric=metric), (20, 2))


@needs_faiss
def test_faiss_with_a_handful_of_rows(capfd):
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert_finite(embed(X, neighbors_algorithm="faiss"), (20, 2))
    one = np.concatenate([np.zeros((7, 2)), [[1.0, 1.0]]])
    assert_finite(embed(one, neighbors_algorithm="faiss", metric="cosine"), (8, 2))
    assert capfd.readouterr().err == ""
