"""scikit-learn's ColumnTransformer over data frames of polars and of another pandas than usual."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmde import PreserveDistances, PreserveNeighbors

PIXELS = [f"pixel{k}" for k in range(10, 14)]


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    return request.param


@pytest.fixture
def frame(digits, library):
    X, y = digits
    columns = {name: X[:, 10 + k] for k, name in enumerate(PIXELS)}
    columns["kind"] = np.where(y > 4, "high", "low")
    return pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)


def both(library):
    return ColumnTransformer(
        [
            ("near", PreserveNeighbors(random_state=0), PIXELS),
            ("far", PreserveDistances(n_components=1, random_state=0), PIXELS[:2]),
            ("kind", OneHotEncoder(sparse_output=False), ["kind"]),
        ]
    ).set_output(transform=library)


def test_frames_in_and_out(frame, library):
    transformer = both(library)
    out = transformer.fit_transform(frame[:500])
    assert type(out) is type(frame)
    assert list(out.columns) == [
        "near__preserveneighbors0",
        "near__preserveneighbors1",
        "far__preservedistances0",
        "kind__kind_high",
        "kind__kind_low",
    ]
    expected = PreserveNeighbors(random_state=0).fit(frame[PIXELS][:500].to_numpy())
    np.testing.assert_array_equal(out.to_numpy()[:, :2], expected.embedding_)
    unseen = transformer.transform(frame[500:])
    assert type(unseen) is type(frame)
    np.testing.assert_array_equal(
        unseen.to_numpy()[:, :2], expected.transform(frame[PIXELS][500:].to_numpy())
    )


def test_columns_in_another_order_are_an_error(frame):
    estimator = PreserveNeighbors(random_state=0).fit(frame[PIXELS])
    assert estimator.feature_names_in_.tolist() == PIXELS
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(frame[PIXELS[::-1]])


def test_the_rest_of_a_pipeline_names_its_columns(frame, library):
    scaler = StandardScaler().set_output(transform=library)
    estimator = PreserveNeighbors(random_state=0).set_output(transform=library)
    out = estimator.fit_transform(scaler.fit_transform(frame[PIXELS]))
    assert list(out.columns) == estimator.get_feature_names_out().tolist()
