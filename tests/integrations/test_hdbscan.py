"""HDBSCAN, the package and scikit-learn's, as the last step of a pipeline."""

import hdbscan
import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skmde import Log1p, PreserveNeighbors


@pytest.mark.parametrize(
    "clusterer",
    [hdbscan.HDBSCAN(min_cluster_size=15), HDBSCAN(min_cluster_size=15, copy=True)],
    ids=["hdbscan", "scikit-learn"],
)
def test_clusters_of_digits(clusterer, digits):
    X, y = digits
    pipeline = make_pipeline(
        StandardScaler(), PreserveNeighbors(repulsive_weight=0.1, random_state=0), clusterer
    )
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) > 0.6


def test_unseen_rows_fall_into_the_clusters_of_their_like(digits):
    X, y = digits
    embedder = PreserveNeighbors(n_components=5, random_state=0).fit(X[:500])
    clusterer = hdbscan.HDBSCAN(min_cluster_size=15, prediction_data=True)
    clusterer.fit(embedder.embedding_)
    labels, strengths = hdbscan.approximate_predict(clusterer, embedder.transform(X[500:]))
    assert adjusted_rand_score(y[500:][labels >= 0], labels[labels >= 0]) > 0.6
    assert np.mean(labels >= 0) > 0.5
    assert ((strengths >= 0) & (strengths <= 1)).all()


def test_search_over_the_penalty_for_the_best_clusters(digits):
    X, y = digits

    def agreement(pipeline, X, y):
        return adjusted_rand_score(y, pipeline[-1].labels_) if len(X) == len(y) == 600 else 0.0

    pipeline = Pipeline(
        [
            ("embed", PreserveNeighbors(attractive_penalty=Log1p(), random_state=0)),
            ("cluster", hdbscan.HDBSCAN(min_cluster_size=15)),
        ]
    )
    search = GridSearchCV(
        pipeline,
        {"embed__attractive_penalty__exponent": [1.0, 2.0], "cluster__min_samples": [1, 5]},
        scoring=agreement,
        cv=[(np.arange(600), np.arange(600))],
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > 0.6
    assert len(search.cv_results_["params"]) == 4
