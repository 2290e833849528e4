"""imbalanced-learn's pipelines, which resample rows before or after the estimator."""

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from skmde import PreserveNeighbors


@pytest.fixture
def imbalanced(digits):
    """Three digits in full, a fifth of the others; and rows that were left out."""
    X, y = digits
    keep = (y < 3) | (np.arange(len(y)) % 5 == 0)
    return X[keep], y[keep], X[~keep], y[~keep]


@pytest.mark.parametrize(
    "sampler",
    [
        RandomOverSampler(random_state=0),  # rows that are there several times
        RandomUnderSampler(random_state=0),
        SMOTE(k_neighbors=3, random_state=0),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_resampled_rows_are_embedded(sampler, imbalanced):
    X, y, unseen, of_unseen = imbalanced
    pipeline = make_pipeline(
        sampler, PreserveNeighbors(n_neighbors=5, random_state=0), KNeighborsClassifier(3)
    )
    found = pipeline.fit(X, y).predict(unseen)
    without = make_pipeline(sampler, KNeighborsClassifier(3)).fit(X, y).predict(unseen)
    lost = balanced_accuracy_score(of_unseen, without) - balanced_accuracy_score(of_unseen, found)
    assert lost < 0.15
    n_rows = len(sampler.fit_resample(X, y)[0])
    assert pipeline.named_steps["preserveneighbors"].embedding_.shape == (n_rows, 2)


def test_places_are_resampled(imbalanced):
    X, y, unseen, of_unseen = imbalanced
    pipeline = make_pipeline(
        PreserveNeighbors(n_components=5, random_state=0),
        SMOTE(k_neighbors=3, random_state=0),
        KNeighborsClassifier(3),
    )
    found = pipeline.fit(X, y).predict(unseen)
    assert balanced_accuracy_score(of_unseen, found) > 0.7


def test_targets_arrive_in_step_with_the_rows(imbalanced):
    X, y, unseen, _ = imbalanced
    pipeline = make_pipeline(
        RandomOverSampler(random_state=0), PreserveNeighbors(target_weight=1.0, random_state=0)
    )
    X_more, y_more = RandomOverSampler(random_state=0).fit_resample(X, y)
    expected = PreserveNeighbors(target_weight=1.0, random_state=0).fit(X_more, y_more)
    np.testing.assert_array_equal(pipeline.fit(X, y)[-1].embedding_, expected.embedding_)
    np.testing.assert_array_equal(pipeline.transform(unseen), expected.transform(unseen))
