"""Path lengths, unseen rows and searches on the workers of a Dask cluster on this machine."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors
from skmde.preprocessing import shortest_paths

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, which listen on this machine only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture
def on_dask(cluster):
    with joblib.parallel_config("dask", wait_for_workers_timeout=60):
        yield cluster


@pytest.fixture
def no_connections():
    """The cluster's processes connect to each other; this replaces the fixture of all tests."""


def n_tasks(client):
    """Number of tasks that each worker has finished."""
    return client.run(lambda dask_worker: len(dask_worker.state.log))


def graph():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 400, size=(2, 1500))
    keep = i != j
    lengths = sp.coo_array((1.0 + rng.random(keep.sum()), (i[keep], j[keep])), shape=(400, 400))
    lengths = lengths.tocsr()
    return lengths.maximum(lengths.T)


@pytest.mark.parametrize("options", [{}, {"max_pairs": 3000, "random_state": 0}, {"max_length": 4}])
def test_path_lengths(on_dask, options):
    lengths = graph()
    before = n_tasks(on_dask)
    found = shortest_paths(lengths, **options)
    assert all(n_tasks(on_dask)[worker] > before[worker] for worker in before)
    with joblib.parallel_config("sequential"):
        expected = shortest_paths(lengths, **options)
    np.testing.assert_array_equal(found.distances, expected.distances)


def estimators(digits):
    X, _ = digits
    places = np.full((300, 2), np.nan)
    places[:10] = np.random.default_rng(0).normal(size=(10, 2))
    few = {"random_state": 0, "max_iter": 30}
    return [
        PreserveNeighbors(**few).fit(X[:300]),
        PreserveDistances(**few).fit(X[:300]),
        AnchoredMDE(**few).fit(X[:300], places),
    ]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_unseen_rows(on_dask, digits, number):
    X, _ = digits
    with joblib.parallel_config("sequential"):
        estimator = estimators(digits)[number]
        expected = estimator.transform(X[300:])
    before = n_tasks(on_dask)
    placed = estimator.transform(X[300:])
    assert all(n_tasks(on_dask)[worker] > before[worker] for worker in before)
    np.testing.assert_allclose(placed, expected, rtol=1e-6, atol=1e-6)


def test_a_search_for_parameters(on_dask, digits):
    X, _ = digits
    search = GridSearchCV(
        PreserveNeighbors(random_state=0, max_iter=20), {"n_neighbors": [5, 15]}, cv=2
    )
    found = search.fit(X[:200]).cv_results_["mean_test_score"]
    with joblib.parallel_config("sequential"):
        expected = search.fit(X[:200]).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, expected)


def test_several_starts(on_dask, digits):
    X, _ = digits
    estimator = PreserveDistances(random_state=0, max_iter=20, n_init=3)
    found = estimator.fit(X[:100]).start_values_
    with joblib.parallel_config("sequential"):
        np.testing.assert_array_equal(found, estimator.fit(X[:100]).start_values_)
