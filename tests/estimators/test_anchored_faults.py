"""Inputs that break embedding libraries, given to the anchored estimators."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmde import AnchoredClassifier, AnchoredMDE

RNG = np.random.default_rng(0)
X60 = RNG.standard_normal((60, 5))
UNSEEN = RNG.standard_normal((10, 5))
Y60 = np.full((60, 2), np.nan)
Y60[::6] = RNG.standard_normal((10, 2))
LABELS = np.full(60, -1)
LABELS[::6] = [0, 1, 2, 1, 2, 0, 1, 2, 0, 1]

MODELS = [
    (AnchoredMDE(random_state=0), Y60),
    (AnchoredMDE(attractive_penalty="log1p", repulsive_penalty="log", random_state=0), Y60),
    (AnchoredMDE(loss="squared", random_state=0), Y60),
    (AnchoredClassifier(random_state=0), LABELS),
]
BY_MODEL = pytest.mark.parametrize(
    ("model", "y"), MODELS, ids=["quadratic", "log1p", "loss", "classifier"]
)


def result(model, X, y, **params):
    """Coordinates or probabilities of the fitted rows, and of themselves as unseen rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        fitted = clone(model).set_params(**params).fit(X, y)
    if isinstance(fitted, AnchoredMDE):
        return fitted.embedding_, fitted.transform(X)
    return fitted.label_distributions_, fitted.predict_proba(X)


def assert_same(model, X, y, expected, atol=1e-6, **params):
    found, again = result(model, X, y, **params)
    np.testing.assert_allclose(found, expected, atol=atol)
    np.testing.assert_allclose(again, expected, atol=atol)


@BY_MODEL
def test_row_01_one_sample_is_an_error(model, y):
    with pytest.raises(ValueError, match=r"1 sample.*minimum of 2"):
        clone(model).fit(X60[:1], y[:1])


@BY_MODEL
def test_row_04_too_many_neighbours_are_clamped_with_one_warning(model, y):
    with pytest.warns(UserWarning, match="n_neighbors=100") as record:
        clone(model).set_params(n_neighbors=100).fit(X60, y)
    assert len(record) == 1


def test_row_05_any_number_of_components():
    y = np.full((10, 30), np.nan)
    y[:3] = RNG.standard_normal((3, 30))
    embedding, _ = result(AnchoredMDE(), X60[:10], y)
    assert embedding.shape == (10, 30)
    # the anchors span a plane, and so do all
    assert np.linalg.matrix_rank(embedding - embedding[0], tol=1e-6) == 2


@BY_MODEL
def test_row_09_one_column_and_a_constant_column(model, y):
    line = X60[:, :1]
    expected, _ = result(model, line, y)
    assert np.isfinite(expected).all()
    if not model.get_params().get("repulsive_penalty"):
        assert_same(model, np.hstack([line, np.ones((60, 1))]), y, expected)


@BY_MODEL
def test_row_18_a_shift_does_not_matter(model, y):
    if isinstance(model, AnchoredMDE):
        model = clone(model).set_params(max_iter=5)  # later, rounding decides which way to go
    expected, _ = result(model, np.round(X60, 3), y)
    found, _ = result(model, np.round(X60, 3) + 2.0**20, y)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@BY_MODEL
def test_row_19_bytes_do_not_wrap_around(model, y):
    numbers = RNG.integers(0, 256, (60, 5)).astype(np.uint8)
    expected, _ = result(model, numbers.astype(np.float64), y)
    assert_same(model, numbers, y, expected)
    assert_same(model, torch.tensor(numbers), y, expected)


@BY_MODEL
@pytest.mark.parametrize("metric", ["cosine", "jaccard"])
def test_rows_20_21_zero_rows(model, y, metric):
    X = X60.copy()
    X[[0, 5, 7]] = 0
    X[8] = -X[9]
    if metric == "jaccard":
        X = X > 0.5
    estimator = clone(model).set_params(metric=metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
        placed = getattr(estimator, "transform", getattr(estimator, "predict_proba", None))(X)
    assert np.isfinite(placed).all()


@BY_MODEL
def test_rows_22_24_containers_of_rows(model, y):
    X = np.where(np.abs(X60) > 0.2, X60, 0.0)
    expected, _ = result(model, X, y)
    frame = pd.DataFrame(X, columns=list("abcde"))
    for form in (X.tolist(), frame, torch.tensor(X), sp.coo_array(X), sp.csc_array(X)):
        assert_same(model, form, y, expected)
    int64 = sp.csr_array(X)
    int64.indices, int64.indptr = int64.indices.astype(np.int64), int64.indptr.astype(np.int64)
    assert_same(model, int64, y, expected)
    y = pd.DataFrame(y) if y.ndim == 2 else pd.Series(y)
    assert_same(model, frame, y, expected)


@BY_MODEL
def test_row_23_strings(model, y):
    with pytest.raises(ValueError, match=r"string"):
        clone(model).fit(np.full((60, 2), "a"), y)


@BY_MODEL
def test_row_25_a_square_sparse_matrix_is_data_unless_precomputed(model, y):
    X = np.maximum(RNG.standard_normal((60, 60)), 0)
    expected, _ = result(model, X, y)
    assert_same(model, sp.csr_array(X), y, expected)


@BY_MODEL
def test_rows_29_30_distances(model, y):
    D = squareform(pdist(X60))
    expected, _ = result(model, X60, y)
    found, _ = result(model, D, y, metric="precomputed")
    np.testing.assert_allclose(found, expected, atol=1e-3)
    estimator = clone(model).set_params(metric="precomputed")
    lopsided = D.copy()
    lopsided[3, 4] += 1
    with pytest.warns(UserWarning, match="not symmetric"):
        clone(estimator).fit(lopsided, y)
    negative = D.copy()
    negative[3, 4] = negative[4, 3] = -1
    with pytest.raises(ValueError, match="Negative values in data"):
        clone(estimator).fit(negative, y)
    apart = D.copy()
    apart[3, 4] = apart[4, 3] = np.inf
    kept = apart.copy()
    clone(estimator).fit(apart, y)
    np.testing.assert_array_equal(apart, kept)


def test_row_44_set_output_keeps_names_and_index():
    frame = pd.DataFrame(X60, index=[f"row {k}" for k in range(60)])
    out = AnchoredMDE().set_output(transform="pandas").fit_transform(frame, Y60)
    assert list(out.columns) == ["anchoredmde0", "anchoredmde1"]
    assert list(out.index) == list(frame.index)


def test_row_45_pipeline_with_memory_and_grid_search(tmp_path):
    pipeline = make_pipeline(StandardScaler(), AnchoredMDE(), memory=str(tmp_path))
    expected = AnchoredMDE().fit_transform(StandardScaler().fit_transform(X60), Y60)
    np.testing.assert_array_equal(pipeline.fit_transform(X60, Y60), expected)

    def error(estimator, X, y):
        return -np.nanmean((estimator.transform(X) - y) ** 2)

    known = RNG.standard_normal((60, 2))
    search = GridSearchCV(AnchoredMDE(), {"n_neighbors": [2, 8]}, scoring=error, cv=3, n_jobs=2)
    assert search.fit(X60, known).best_params_["n_neighbors"] in (2, 8)


def test_row_47_grid_search_slices_both_axes_of_distances():
    D, truth = squareform(pdist(X60)), (X60[:, 0] > 0).astype(int)
    grid = {"n_neighbors": [3, 5]}
    by_rows = GridSearchCV(AnchoredClassifier(), grid, cv=3).fit(X60, truth)
    by_distance = GridSearchCV(AnchoredClassifier(metric="precomputed"), grid, cv=3).fit(D, truth)
    scores = "mean_test_score"
    np.testing.assert_allclose(by_rows.cv_results_[scores], by_distance.cv_results_[scores])


@BY_MODEL
def test_row_48_read_only_memory_maps(model, y, tmp_path):
    expected, _ = result(model, X60, y)
    np.save(tmp_path / "X.npy", X60)
    assert_same(model, np.load(tmp_path / "X.npy", mmap_mode="r"), y, expected)


@BY_MODEL
def test_row_51_a_default_fit_prints_and_warns_nothing(model, y, capfd):
    result(model, X60, y)
    assert capfd.readouterr() == ("", "")


@BY_MODEL
def test_row_52_a_device_that_is_not_there(model, y):
    with pytest.raises(ValueError, match="device"):
        clone(model).set_params(device="nonsense").fit(X60, y)


@BY_MODEL
def test_row_54_an_interrupted_fit_leaves_no_trace(model, y):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    estimator = clone(model).set_params(metric=interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X60, y)
    assert vars(estimator) == vars(clone(estimator))
