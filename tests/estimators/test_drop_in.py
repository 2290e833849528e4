"""PreserveNeighbors where other programs expect UMAP, t-SNE or PyMDE.

Each test does to the estimator what the named program does, without the program. Numbers are
those of the list of drop-in uses.
"""

import inspect
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import HDBSCAN
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, make_s_curve
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmde import Huber, InversePower, Log, Log1p, PreserveNeighbors

DIGITS, LABELS = (part[:400] for part in load_digits(return_X_y=True))
# No two distances are equal, so every search finds the same neighbours.
UNTIED = DIGITS + np.random.default_rng(0).normal(scale=0.01, size=DIGITS.shape)


def test_use_01_bertopic():
    """Fits with y, and without if that fails; sets random_state and transforms afterwards."""
    embeddings = np.random.default_rng(0).standard_normal((120, 32)).astype(np.float32)
    y = np.repeat([-1, 0, 1], 40)
    model = PreserveNeighbors(n_components=5, n_neighbors=15, metric="cosine", random_state=0)
    reduced = model.fit_transform(embeddings, y=y)
    assert reduced.shape == (120, 5)
    assert reduced.dtype == np.float32
    assert np.isfinite(reduced).all()
    np.testing.assert_array_equal(clone(model).fit(embeddings).transform(embeddings), reduced)
    model.random_state = 42
    unseen = embeddings[:7] + np.float32(0.01)
    assert model.transform(unseen).shape == (7, 5)
    assert model.transform(unseen).dtype == np.float32


@pytest.mark.parametrize(
    "convert",
    [np.asarray, torch.tensor, sp.csr_matrix, lambda X: pd.DataFrame(X, columns=list("abcdef"))],
)
def test_use_02_scvi(convert):
    """``mde(data, device, seed, **kwargs)``: any container in, a standardized array out."""

    def mde(data, device=None, seed=0, **kwargs):
        defaults = {
            "n_components": 2,
            "constraint": "standardized",
            "repulsive_fraction": 0.7,
            "n_neighbors": 15,
        }
        estimator = PreserveNeighbors(device=device, random_state=seed, **{**defaults, **kwargs})
        return estimator.fit_transform(data.values if isinstance(data, pd.DataFrame) else data)

    latent = np.random.default_rng(0).standard_normal((150, 6)).astype(np.float32)
    Y = mde(convert(latent), device="cpu", seed=3)
    assert isinstance(Y, np.ndarray)
    assert Y.dtype == np.float32
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(Y.T @ Y / 150, np.eye(2), atol=1e-4)
    np.testing.assert_array_equal(Y, mde(latent, seed=3))
    assert mde(convert(latent), n_components=3).shape == (150, 3)


def test_use_03_scanpy():
    """An array of principal components, and a matrix of distances to neighbours without selves."""
    obsm, obsp = {"X_pca": UNTIED[:, 10:40].astype(np.float32)}, {}
    obsp["distances"] = kneighbors_graph(obsm["X_pca"], 14, mode="distance").astype(np.float32)
    mde = PreserveNeighbors(random_state=0, n_neighbors=14, init="quadratic")
    obsm["X_mde"] = mde.fit_transform(obsm["X_pca"])
    given = PreserveNeighbors(metric="precomputed", random_state=0).fit(obsp["distances"])
    assert obsm["X_mde"].shape == given.embedding_.shape == (400, 2)
    assert given.embedding_.dtype == np.float32
    np.testing.assert_allclose(given.embedding_, obsm["X_mde"], atol=1e-4)
    stored = obsp["distances"].astype(bool).astype(np.float32)
    assert abs(given.graph_ - (stored + stored.T)).max() == 0


def test_use_04_compare_manifold_methods():
    """scikit-learn's example of that name gives every learner the same few arguments."""
    points, colour = make_s_curve(300, random_state=0)
    params = {"n_neighbors": 12, "n_components": 2, "random_state": 0, "max_iter": 100}
    learner = PreserveNeighbors(**params)
    assert set(params) <= set(inspect.signature(PreserveNeighbors).parameters)
    np.testing.assert_array_equal(
        learner.fit_transform(points), learner.fit_transform(points, colour)
    )


def test_use_05_neighbours_transformer_in_front():
    train, unseen = UNTIED[:300], UNTIED[300:]
    pipeline = make_pipeline(
        KNeighborsTransformer(mode="distance", n_neighbors=10),
        PreserveNeighbors(metric="precomputed", random_state=0),
    )
    Y = pipeline.fit_transform(train)
    direct = PreserveNeighbors(n_neighbors=10, init="quadratic", random_state=0).fit(train)
    np.testing.assert_allclose(Y, direct.embedding_, atol=1e-4)
    # the graph of unseen rows has k + 1 entries a row, for a training row with itself
    coordinates = pipeline.transform(unseen)
    assert coordinates.shape == (100, 2)
    classifier = KNeighborsClassifier(5).fit(Y, LABELS[:300])
    score = classifier.score(coordinates, LABELS[300:])
    assert score > 0.75
    assert abs(score - classifier.score(direct.transform(unseen), LABELS[300:])) <= 0.05
    np.testing.assert_array_equal(pipeline.transform(train), Y)
    connectivity = make_pipeline(
        KNeighborsTransformer(mode="connectivity", n_neighbors=11),  # counts the sample itself
        PreserveNeighbors(metric="precomputed", random_state=0),
    )
    np.testing.assert_allclose(connectivity.fit_transform(train), Y, atol=1e-4)


def test_use_06_yellowbrick():
    """``Manifold(manifold=est)`` clones nothing and calls fit_transform(X, y)."""

    class Visualizer(BaseEstimator):
        def __init__(self, manifold=None):
            self.manifold = manifold

        def fit_transform(self, X, y=None):
            return self.manifold.fit_transform(X, y)

    visualizer = Visualizer(PreserveNeighbors(random_state=0))
    assert "manifold__n_neighbors" in visualizer.get_params()
    assert visualizer.set_params(manifold__n_neighbors=7).manifold.n_neighbors == 7
    assert visualizer.fit_transform(DIGITS[:50], LABELS[:50]).shape == (50, 2)


def test_use_07_hdbscan_after_it():
    pipeline = make_pipeline(
        StandardScaler(), PreserveNeighbors(random_state=0), HDBSCAN(min_cluster_size=15, copy=True)
    )
    found = pipeline.fit_predict(DIGITS)
    assert adjusted_rand_score(LABELS, found) > 0.5


def test_use_07_grid_search_over_the_exponent(tmp_path):
    pipeline = Pipeline(
        [
            ("embed", PreserveNeighbors(attractive_penalty=Log1p(), random_state=0, max_iter=50)),
            ("classify", KNeighborsClassifier(5)),
        ],
        memory=str(tmp_path),
    )
    search = GridSearchCV(
        pipeline,
        {"embed__attractive_penalty__exponent": [1.0, 1.5, 2.0]},
        n_jobs=2,
        cv=2,
        error_score="raise",
    ).fit(DIGITS[:200], LABELS[:200])
    assert (search.cv_results_["mean_test_score"] > 0.5).all()
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert pipeline.get_params()["embed__attractive_penalty__exponent"] == 1.5


def test_use_07_grid_search_over_penalties_and_names():
    search = GridSearchCV(
        PreserveNeighbors(random_state=0, max_iter=50),
        [
            {"attractive_penalty": [Log1p(), Huber(0.5), "quadratic", Log1p(2.0)]},
            {"repulsive_penalty": [Log(), InversePower(), None], "constraint": ["standardized"]},
        ],
        n_jobs=2,
        cv=2,
        error_score="raise",
    ).fit(DIGITS[:200])
    scores = search.cv_results_["mean_test_score"]
    assert ((scores > 0.2) & (scores <= 1)).all()
    assert len(set(scores)) > 4


def test_use_07_cross_validation_by_its_own_score():
    scores = cross_val_score(PreserveNeighbors(random_state=0), DIGITS, cv=3)
    assert ((scores > 0.2) & (scores <= 1)).all()


def test_use_08_column_transformer_with_set_output():
    frame = pd.DataFrame(DIGITS[:100, 10:14], columns=list("abcd"), index=np.arange(100) + 1000)
    frame["kind"] = np.where(LABELS[:100] > 4, "high", "low")
    transformer = ColumnTransformer(
        [
            ("map", PreserveNeighbors(random_state=0), ["a", "b", "c", "d"]),
            ("kind", OneHotEncoder(sparse_output=False), ["kind"]),
        ]
    ).set_output(transform="pandas")
    out = transformer.fit_transform(frame)
    assert out.columns.tolist() == [
        "map__preserveneighbors0",
        "map__preserveneighbors1",
        "kind__kind_high",
        "kind__kind_low",
    ]
    assert (out.index == frame.index).all()
    unseen = transformer.transform(frame.iloc[10:15])
    np.testing.assert_array_equal(unseen.iloc[:, :2], out.iloc[10:15, :2])


def test_use_09_pipeline_of_many_steps_passes_y_along():
    """imbalanced-learn's Pipeline calls ``fit_transform(X, y)`` on resampled rows."""
    keep = np.sort(np.random.default_rng(0).choice(400, 200, replace=False))
    estimator = PreserveNeighbors(random_state=0)
    Y = estimator.fit_transform(DIGITS[keep], LABELS[keep])
    np.testing.assert_array_equal(estimator.transform(DIGITS)[keep], Y)


def test_use_10_umap_plot_and_datamapplot():
    mapper = PreserveNeighbors(n_neighbors=10, random_state=0).fit(DIGITS)
    assert mapper.embedding_.shape == (400, 2)
    coo = mapper.graph_.tocoo()
    assert coo.shape == (400, 400)
    assert (coo.data > 0).all()
    assert coo.row.max() < 400
    assert mapper.metric == "euclidean"
    assert mapper.n_neighbors == 10


@pytest.mark.parametrize("params", [{}, {"attractive_penalty": Log1p(2.0)}, {"metric": "cosine"}])
def test_persistence(tmp_path, params):
    estimator = PreserveNeighbors(random_state=0, **params).fit(DIGITS[:200])
    expected = estimator.transform(DIGITS[200:])
    joblib.dump(estimator, tmp_path / "estimator.joblib")
    copies = pickle.loads(pickle.dumps(estimator)), joblib.load(tmp_path / "estimator.joblib")
    for again in copies:
        np.testing.assert_array_equal(again.transform(DIGITS[200:]), expected)
        assert again.score(DIGITS[200:]) == estimator.score(DIGITS[200:])
    # the training rows twice, as they were given (for `extend`) and as they are searched, and a few
    # numbers for each of them
    assert len(pickle.dumps(estimator)) < 3.2 * DIGITS[:200].nbytes
