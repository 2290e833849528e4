"""Nearest neighbours: who they are, whichever back end finds them."""

import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from neighbor_tables import by_definition, recall
from scipy.spatial.distance import cdist, cityblock

from skmde.preprocessing.neighbors.search import NeighborIndex, nearest_neighbors
from skmde.preprocessing.neighbors.selection import clamp_neighbors

BACKENDS = "skmde.preprocessing.neighbors.backends"
DENSE_SEARCHES = ["exact", "torch", "faiss"]


@pytest.fixture(params=DENSE_SEARCHES)
def algorithm(request, monkeypatch):
    if request.param == "faiss":
        pytest.importorskip("faiss")
    if request.param == "torch":  # whatever the size, compute on the device
        monkeypatch.setattr(f"{BACKENDS}.torch._FEW", 0)
    return request.param


# Every back end.


def test_tables_have_the_stated_types_and_order(cloud, algorithm):
    indices, distances, index = nearest_neighbors(cloud, 15, algorithm=algorithm, random_state=0)
    assert indices.shape == distances.shape == (2000, 15)
    assert indices.dtype == np.int32 and distances.dtype == np.float64
    assert index.algorithm_ == algorithm
    assert (indices != np.arange(2000)[:, None]).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 15 for row in indices.tolist())


def test_neighbors_are_the_nearest(cloud, algorithm):
    truth, D = by_definition(cdist(cloud, cloud), 15)
    indices, distances, _ = nearest_neighbors(cloud, 15, algorithm=algorithm, random_state=0)
    if algorithm in ("exact", "torch"):
        np.testing.assert_array_equal(indices, truth)
        np.testing.assert_allclose(distances, D, rtol=1e-12 if algorithm == "exact" else 1e-6)
    else:
        assert recall(indices, truth) > 0.97
        real = cdist(cloud, cloud)[np.arange(2000)[:, None], indices]
        np.testing.assert_allclose(distances, real, rtol=1e-5)


def test_copies_of_a_row_are_neighbors_at_distance_zero(algorithm):
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 70)), 30, axis=0)
    indices, distances, index = nearest_neighbors(X, 5, algorithm=algorithm, random_state=0)
    assert (distances == 0).all()
    assert (indices // 30 == np.arange(90)[:, None] // 30).all()
    assert (indices != np.arange(90)[:, None]).all()
    again, zero = index.kneighbors(X, 5, exclude_self=True)
    np.testing.assert_array_equal(again, indices)
    assert (zero == 0).all()


def test_row_without_exclusion_finds_itself(cloud, algorithm):
    index = NeighborIndex(algorithm=algorithm, random_state=0).fit(cloud)
    indices, distances = index.kneighbors(cloud[:50], 3)
    np.testing.assert_array_equal(indices[:, 0], np.arange(50))
    assert (distances[:, 0] == 0).all()


def test_row_does_not_depend_on_batch(cloud, algorithm):
    index = NeighborIndex(algorithm=algorithm, random_state=0).fit(cloud)
    rng = np.random.default_rng(1)
    Q = cloud[:60] + 0.05 * rng.standard_normal((60, 80))
    indices, distances = index.kneighbors(Q, 10)
    order = rng.permutation(60)
    shuffled, _ = index.kneighbors(Q[order], 10)
    np.testing.assert_array_equal(shuffled, indices[order])
    for i in (0, 17, 59):
        alone, there = index.kneighbors(Q[i : i + 1], 10)
        np.testing.assert_array_equal(alone[0], indices[i])
        np.testing.assert_array_equal(there[0], distances[i])


def test_result_does_not_depend_on_threads(cloud, algorithm):
    first, D = nearest_neighbors(cloud, 10, algorithm=algorithm, random_state=0, n_jobs=1)[:2]
    for n_jobs in (2, 4):
        indices, distances, _ = nearest_neighbors(
            cloud, 10, algorithm=algorithm, random_state=0, n_jobs=n_jobs
        )
        np.testing.assert_array_equal(indices, first)
        np.testing.assert_array_equal(distances, D)


def test_index_answers_several_threads_at_once(cloud, algorithm):
    index = NeighborIndex(algorithm=algorithm, random_state=0).fit(cloud)
    expected = index.kneighbors(cloud[:200], 5)[0]
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: index.kneighbors(cloud[:200], 5)[0], range(8)):
            np.testing.assert_array_equal(answer, expected)


def test_pickle_gives_the_same_answers_in_another_process(cloud, tmp_path):
    algorithms = DENSE_SEARCHES if importlib.util.find_spec("faiss") else DENSE_SEARCHES[:-1]
    indexes = [NeighborIndex(algorithm=name, random_state=0).fit(cloud) for name in algorithms]
    indexes.append(NeighborIndex(metric="cosine").fit(np.vstack([cloud, np.zeros((2, 80))])))
    indexes.append(NeighborIndex(metric=cityblock).fit(cloud[:100]))
    Q = cloud[:20] + 0.01
    answers = [index.kneighbors(Q, 5) for index in indexes]
    (tmp_path / "indexes").write_bytes(pickle.dumps((indexes, Q)))
    script = (
        "import pathlib, pickle\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "indexes, Q = pickle.loads((folder / 'indexes').read_bytes())\n"
        "answers = [index.kneighbors(Q, 5) for index in indexes]\n"
        "(folder / 'answers').write_bytes(pickle.dumps(answers))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    found = pickle.loads((tmp_path / "answers").read_bytes())
    for (indices, distances), (expected, D) in zip(found, answers, strict=True):
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(distances, D)


def test_queries_change_no_state(cloud, algorithm):
    index = NeighborIndex(algorithm=algorithm, random_state=0).fit(cloud)
    before = pickle.dumps(index)
    index.kneighbors(cloud[:300] + 0.1, 7)
    assert pickle.dumps(index) == before


@pytest.mark.parametrize(
    ("shift", "factor"), [(1e6, 1.0), (1e8, 1.0), (0.0, 1e25), (0.0, 1e-25), (1e30, 1e25)]
)
def test_shift_and_scale_do_not_matter(cloud, algorithm, shift, factor):
    X = cloud[:600]
    truth, _, _ = nearest_neighbors(X, 10, algorithm=algorithm, random_state=0)
    indices, distances, _ = nearest_neighbors(
        X * factor + shift, 10, algorithm=algorithm, random_state=0
    )
    assert recall(indices, truth) > 0.999
    real = cdist(X, X)[np.arange(600)[:, None], indices]
    np.testing.assert_allclose(distances / factor, real, rtol=1e-5)


@pytest.mark.parametrize("n_features", [20, 90])
def test_lists_find_neighbors_in_data_without_structure(n_features):
    """The lists hold no clusters then, and projected distances say little."""
    X = np.random.default_rng(0).standard_normal((3000, n_features))
    truth, _, _ = nearest_neighbors(X, 10, algorithm="exact")
    indices, _, _ = nearest_neighbors(X, 10, algorithm="faiss")
    assert recall(indices, truth) > 0.9


def test_approximate_searches_fill_every_row(algorithm):
    """More neighbours than the visited lists hold."""
    X = np.random.default_rng(0).standard_normal((500, 3))
    indices, distances, _ = nearest_neighbors(X, 450, algorithm=algorithm, random_state=0)
    assert (indices >= 0).all() and np.isfinite(distances).all()


def test_all_rows_equal(algorithm):
    indices, distances, _ = nearest_neighbors(
        np.full((20, 3), 0.1), 4, algorithm=algorithm, random_state=0
    )
    assert (distances == 0).all()
    assert (indices[10] == [0, 1, 2, 3]).all()


# Size of the neighbourhood.


def test_more_neighbors_than_rows_are_clamped_with_one_warning():
    X = np.arange(5.0)[:, None]
    with pytest.warns(UserWarning, match="n_neighbors=7") as record:
        indices, _, _ = nearest_neighbors(X, 7)
    assert len(record) == 1
    assert indices.shape == (5, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clamp_neighbors(4, 5) == 4


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3"])
def test_neighbor_count_is_checked(bad):
    with pytest.raises(ValueError, match="at least 1"):
        nearest_neighbors(np.eye(4), bad)


def test_one_sample_is_refused():
    for X, metric in ((np.ones((1, 3)), "euclidean"), (np.zeros((1, 1)), "precomputed")):
        with pytest.raises(ValueError, match="1 sample"):
            nearest_neighbors(X, 2, metric=metric)
    with pytest.raises(ValueError, match="1 sample"):
        nearest_neighbors(np.ones((1, 3)), None, max_distance=1.0)


def test_two_samples():
    indices, distances, _ = nearest_neighbors(np.array([[0.0], [2.0]]), 1)
    assert indices.tolist() == [[1], [0]] and distances.tolist() == [[2.0], [2.0]]


def test_one_neighbor_is_not_the_row_itself():
    X = np.array([[0.0], [0.0], [5.0], [6.0]])
    assert nearest_neighbors(X, 1)[0].ravel().tolist() == [1, 0, 3, 2]


def test_ties_go_to_the_lower_index():
    X = np.array([[0.0], [1.0], [-1.0], [2.0], [-2.0], [1.0]])
    indices, _, _ = nearest_neighbors(X, 2)
    assert indices[0].tolist() == [1, 2]
    assert indices[1].tolist() == [5, 0]


def test_max_distance_leaves_out_the_far():
    X = np.array([[0.0], [1.0], [3.0], [30.0]])
    indices, distances, _ = nearest_neighbors(X, 2, max_distance=2.0)
    assert indices.tolist() == [[1, -1], [0, 2], [1, -1], [-1, -1]]
    assert distances[0].tolist() == [1.0, np.inf]


def test_radius_takes_all_within(cloud):
    D = cdist(cloud, cloud)
    np.fill_diagonal(D, np.inf)
    radius = np.quantile(D, 0.02)
    indices, distances, _ = nearest_neighbors(cloud, None, max_distance=radius)
    np.testing.assert_array_equal((indices >= 0).sum(axis=1), (D <= radius).sum(axis=1))
    assert distances[np.isfinite(distances)].max() <= radius
    assert (indices >= 0).any(axis=0).all()


def test_radius_that_would_not_fit_says_what_it_would_need(monkeypatch):
    monkeypatch.setattr("skmde.preprocessing.neighbors.radius._MAX_ENTRIES", 1000)
    X = np.random.default_rng(0).standard_normal((100, 2))
    with pytest.raises(ValueError, match=r"GB.*max_distance"):
        nearest_neighbors(X, None, max_distance=100.0)


def test_neither_count_nor_radius_is_an_error():
    with pytest.raises(ValueError, match="n_neighbors and max_distance are both None"):
        nearest_neighbors(np.eye(3), None)


@pytest.mark.parametrize("bad", [0, -1.0, "far"])
def test_radius_is_checked(bad):
    with pytest.raises(ValueError, match="positive"):
        nearest_neighbors(np.eye(3), 1, max_distance=bad)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 25), st.integers(1, 4)),
        elements=st.integers(-3, 3).map(float),
    ),
    st.integers(1, 24),
)
def test_exact_search_agrees_with_the_definition_on_ties(X, k):
    k = min(k, len(X) - 1)
    indices, distances, _ = nearest_neighbors(X, k, algorithm="exact")
    truth, D = by_definition(cdist(X, X), k)
    np.testing.assert_array_equal(indices, truth)
    np.testing.assert_array_equal(distances, D)


# Which back end, and what stays outside.


def test_auto_is_exact_where_that_is_cheap_and_faiss_elsewhere(cloud, monkeypatch):
    assert NeighborIndex().fit(cloud).algorithm_ == "exact"
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._CHEAP_EUCLIDEAN", 1e6)
    for metric in ("euclidean", "cosine", "sqeuclidean", "correlation"):
        assert NeighborIndex(metric=metric).fit(cloud).algorithm_ == "faiss"


def test_auto_without_faiss_is_exact_until_pynndescent_is_quicker(cloud, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._CHEAP_EUCLIDEAN", 1e6)
    assert NeighborIndex().fit(cloud).algorithm_ == "exact"
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._AS_SLOW_AS_COMPILING", 1e6)
    monkeypatch.setattr(f"{BACKENDS}.descent.DescentSearch", lambda *args: None)
    assert NeighborIndex().fit(cloud).algorithm_ == "pynndescent"
    with pytest.raises(ImportError, match="skmde\\[faiss\\]"):
        NeighborIndex(algorithm="faiss").fit(cloud)


@pytest.mark.parametrize(
    ("metric", "chosen"),
    [
        ("manhattan", "pynndescent"),
        ("nan_euclidean", "exact"),  # which pynndescent does not have
        (cityblock, "exact"),  # which it could not compile
        (numba.njit(lambda a, b: np.abs(a - b).sum()), "pynndescent"),
    ],
)
def test_auto_takes_pynndescent_for_many_rows_and_its_metrics(metric, chosen, cloud, monkeypatch):
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._CHEAP_OTHER", 1e6)
    monkeypatch.setattr("skmde.preprocessing.neighbors.index._CHEAP_CALLABLE", 1e3)
    monkeypatch.setattr(f"{BACKENDS}.descent.DescentSearch", lambda *args: None)
    assert NeighborIndex(metric=metric).fit(cloud[:500]).algorithm_ == chosen


def test_cosine_neighbors_by_lists(cloud):
    truth, _, _ = nearest_neighbors(cloud, 10, metric="cosine")
    indices, distances, _ = nearest_neighbors(
        cloud * 1e-20, 10, metric="cosine", algorithm="faiss", random_state=0
    )
    assert recall(indices, truth) > 0.97
    real = cdist(cloud, cloud, "cosine")[np.arange(2000)[:, None], indices]
    np.testing.assert_allclose(distances, real, rtol=1e-4, atol=1e-7)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_search_in_a_forked_child(cloud):
    """After a search in the parent, a child searches too: no pool of threads is shared."""
    index = NeighborIndex(algorithm="faiss", random_state=0, n_jobs=2).fit(cloud)
    expected = index.kneighbors(cloud, 3)[0]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        answer = pool.apply_async(index.kneighbors, (cloud, 3)).get(timeout=120)
    np.testing.assert_array_equal(answer[0], expected)


def test_unknown_algorithm_is_refused():
    with pytest.raises(ValueError, match="'fast'"):
        nearest_neighbors(np.eye(3), 1, algorithm="fast")


def test_algorithm_that_cannot_serve_the_metric_is_refused():
    with pytest.raises(ValueError, match="'manhattan'"):
        nearest_neighbors(np.eye(3), 1, metric="manhattan", algorithm="faiss")


def test_device_names():
    X = np.random.default_rng(0).standard_normal((60, 3))
    expected = nearest_neighbors(X, 4)[0]
    for device in ("auto", "cpu", torch.device("cpu"), None):
        found = nearest_neighbors(X, 4, algorithm="torch", device=device)[0]
        np.testing.assert_array_equal(found, expected)
    missing = "cuda:7" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ValueError, match=f"'{missing}' is not available"):
        nearest_neighbors(X, 4, algorithm="torch", device=missing)


def test_few_queries_do_not_travel_to_the_device(cloud, monkeypatch):
    monkeypatch.setattr(f"{BACKENDS}.torch._FEW", 0)
    index = NeighborIndex(algorithm="torch").fit(cloud)
    travelled = index.kneighbors(cloud[:5], 6)
    monkeypatch.setattr(f"{BACKENDS}.torch._FEW", np.inf)
    monkeypatch.setattr(f"{BACKENDS}.torch._sources", None)
    stayed = index.kneighbors(cloud[:5], 6)
    np.testing.assert_array_equal(stayed[0], travelled[0])
    np.testing.assert_allclose(stayed[1], travelled[1], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("group", [4, 64])
def test_rows_on_a_device_have_the_exact_neighbors(monkeypatch, dtype, group):
    X = np.random.default_rng(0).standard_normal((1001, 7)).astype(dtype) + 1e3
    X[40:60] = X[40]  # more copies than neighbours: ties are sorted by index
    X[700] = X[40] + dtype(1e-3)
    expected = nearest_neighbors(X, 6, algorithm="exact")[:2]
    for name, value in {"_FEW": 0, "_DIFFERENCES": (1000, 1000)}.items():
        monkeypatch.setattr(f"{BACKENDS}.torch.{name}", value)
    for name, value in {"_GROUP": group, "_BLOCK_ENTRIES": (100_000, 100_000)}.items():
        monkeypatch.setattr(f"{BACKENDS}.candidates.products.{name}", value)
    indices, distances = nearest_neighbors(X, 6, algorithm="torch")[:2]
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(distances, expected[1], rtol=1e-12)
    # a device without float64 leaves the distances to the CPU
    monkeypatch.setattr(f"{BACKENDS}.torch.has_float64", lambda device: False)
    indices, distances = nearest_neighbors(X, 6, algorithm="torch")[:2]
    np.testing.assert_array_equal(indices, expected[0])
    # not the last bit: compilers contract the sums of two kernels in different ways
    np.testing.assert_allclose(distances, expected[1], rtol=1e-15)


def test_a_gpu_takes_over_where_all_pairs_take_a_noticeable_time(monkeypatch):
    monkeypatch.setattr(NeighborIndex, "_device", lambda self: "cuda:0")
    monkeypatch.setattr(f"{BACKENDS}.torch.TorchSearch._torch_device", lambda self: None)
    few, many = (np.zeros((n, 50), np.float32) for n in (1000, 20_000))
    assert NeighborIndex(device="cuda").fit(few).algorithm_ == "exact"
    assert NeighborIndex(device="cuda").fit(many).algorithm_ == "torch"


def test_faiss_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"skmde\[faiss\]"):
        nearest_neighbors(np.eye(3), 1, algorithm="faiss")


def test_global_random_states_are_untouched(cloud, algorithm):
    np.random.seed(3)
    torch.manual_seed(3)
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state().clone()
    nearest_neighbors(cloud, 5, algorithm=algorithm)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_far_queries_are_finite(cloud, algorithm):
    index = NeighborIndex(algorithm=algorithm, random_state=0).fit(cloud)
    for factor in (10, 1e20, 1e200):
        indices, distances = index.kneighbors(cloud[:3] * factor, 4)
        assert (indices >= 0).all() and np.isfinite(distances).all()


# pynndescent: one metric, since each is compiled anew.


def test_pynndescent(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 4)) + 1e8
    np.random.seed(3)
    state = np.random.get_state()[1].copy()
    indices, distances, index = nearest_neighbors(
        X, 10, metric="manhattan", algorithm="pynndescent", random_state=0
    )
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    D = cdist(X, X, "cityblock")
    assert recall(indices, by_definition(D, 10)[0]) > 0.97
    np.testing.assert_allclose(distances, D[np.arange(1200)[:, None], indices], rtol=1e-4)
    assert (indices != np.arange(1200)[:, None]).all()

    again = nearest_neighbors(
        X, 10, metric="manhattan", algorithm="pynndescent", random_state=0, n_jobs=2
    )
    np.testing.assert_array_equal(again[0], indices)

    Q = X[:40] + 0.01
    answer, there = index.kneighbors(Q, 6)
    assert recall(answer, np.argsort(cdist(Q, X, "cityblock"), axis=1)[:, :6]) > 0.9
    np.testing.assert_array_equal(index.kneighbors(Q[::-1], 6)[0], answer[::-1])
    np.testing.assert_array_equal(index.kneighbors(Q[3:4], 6)[1], there[3:4])
    restored = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(restored.kneighbors(Q, 6)[0], answer)
    # Wider than the graph that was built.
    assert index.kneighbors(None, 30)[0].min() >= 0


@pytest.mark.slow
def test_pynndescent_finds_neighbours_without_clusters_and_of_metrics_that_fit_the_data():
    rng = np.random.default_rng(0)
    hard = rng.standard_normal((5000, 32))  # without clusters, of high intrinsic dimension
    how = {"metric": "manhattan", "random_state": 0}
    indices, _, index = nearest_neighbors(hard, 15, algorithm="pynndescent", **how)
    truth, _, exact = nearest_neighbors(hard, 15, algorithm="exact", **how)
    assert recall(indices, truth) > 0.97
    Q = hard[:200] + 0.3 * rng.standard_normal((200, 32))
    assert recall(index.kneighbors(Q, 15)[0], exact.kneighbors(Q, 15)[0]) > 0.97

    # Metrics that fit the data are Euclidean here, too: the rows are mapped, and not their kind.
    skewed = rng.standard_normal((1200, 4)) @ rng.standard_normal((4, 4)) * [1, 10, 100, 1]
    for metric in ("seuclidean", "mahalanobis"):
        truth, D, _ = nearest_neighbors(skewed, 10, metric=metric, algorithm="exact")
        indices, distances, _ = nearest_neighbors(
            skewed, 10, metric=metric, algorithm="pynndescent", random_state=0
        )
        assert recall(indices, truth) > 0.99
        np.testing.assert_allclose(distances[:, 0], D[:, 0], rtol=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_all_rows_within_a_radius_by_either_way(metric, monkeypatch):
    X = np.random.default_rng(3).standard_normal((90, 4))
    X[10] = X[11]
    radius = {"euclidean": 1.5, "manhattan": 3.0, "cosine": 0.4}[metric]
    expected = NeighborIndex(metric=metric, algorithm="exact").fit(X).radius_neighbors(radius)
    monkeypatch.setattr(
        "skmde.preprocessing.neighbors.radius._BLOCK_ENTRIES", 700
    )  # several blocks
    found = nearest_neighbors(X, None, metric=metric, max_distance=radius)[:2]
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-12)


def test_too_many_rows_within_a_radius_are_an_error_at_once(monkeypatch):
    monkeypatch.setattr("skmde.preprocessing.neighbors.radius._MAX_ENTRIES", 1000)
    X = np.random.default_rng(3).standard_normal((90, 4))
    for algorithm in ("exact", "torch"):
        with pytest.raises(ValueError, match=r"Within max_distance=50\.0, some of the 90 rows"):
            nearest_neighbors(X, None, max_distance=50.0, algorithm=algorithm)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_distances_that_skip_missing_entries_do_not_know_where_rows_are(form):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((50, 4)), 3)
    holes = rng.random(X.shape) < 0.1
    near, far = (np.where(holes, np.nan, 1e-20 * (shift + X)) for shift in (0.0, 2.0**30))
    expected = nearest_neighbors(near, 5, metric="nan_euclidean", algorithm="exact")[1]
    found = nearest_neighbors(form(far), 5, metric="nan_euclidean", algorithm="exact")[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.slow  # a metric of its own, which is compiled for it
def test_pynndescent_keeps_proportional_rows_under_hellinger():
    """Rounding errors make the squares of their distances negative, whose roots are NaN."""
    rng = np.random.default_rng(0)
    base = rng.random((300, 6))
    X = np.vstack([base, base * rng.uniform(0.1, 3, (300, 1)), base * 7])
    index = NeighborIndex(metric="hellinger", algorithm="pynndescent", random_state=0).fit(X)
    for indices, distances in (index.kneighbors(None, 2), index.kneighbors(X + 0.0, 3)):
        assert np.isfinite(distances).all() and distances.max() < 1e-3
        np.testing.assert_array_equal(indices % 300, np.arange(900)[:, None] % 300 + 0 * indices)
