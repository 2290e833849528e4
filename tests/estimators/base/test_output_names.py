"""Names of samples in the output of set_output."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors

CITIES = nx.relabel_nodes(nx.cycle_graph(12), {k: f"city {k}" for k in range(12)})
ANCHORS = {"anchors": [0, 4, 8], "anchor_values": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]}
CASES = [
    (PreserveNeighbors(metric="graph", max_iter=3), {}),
    (PreserveNeighbors(metric="affinity", max_iter=3), {}),
    (PreserveDistances(metric="graph", max_iter=3), {}),
    (AnchoredMDE(metric="graph", loss="squared", max_iter=3), ANCHORS),
    (AnchoredMDE(metric="affinity", max_iter=3), ANCHORS),
]


@pytest.mark.filterwarnings("ignore:The solve ended at max_iter")
@pytest.mark.parametrize(("estimator", "given"), CASES)
def test_the_index_of_a_frame_are_the_nodes_of_a_graph(estimator, given):
    plain = sklearn.clone(estimator).set_params(**_seeded(estimator))
    framed = sklearn.clone(plain).set_output(transform="pandas")
    names = list(CITIES.nodes)
    found = framed.fit_transform(CITIES, **given)
    assert list(found.index) == names
    assert list(found.columns) == list(framed.get_feature_names_out())
    values = plain.fit_transform(CITIES, **given)
    assert isinstance(values, np.ndarray)
    np.testing.assert_array_equal(found.to_numpy(), values)
    matrix = nx.to_pandas_adjacency(CITIES)
    assert list(framed.fit_transform(matrix, **given).index) == names
    # Rows for `transform` have an index of their own
    assert list(framed.transform(matrix.iloc[:3]).index) == names[:3]


def _seeded(estimator):
    return {"random_state": 0} if "random_state" in estimator.get_params() else {}


@pytest.mark.filterwarnings("ignore:The solve ended at max_iter")
def test_nodes_that_are_tuples_and_other_frames():
    grid = nx.grid_2d_graph(3, 4)
    estimator = PreserveDistances(metric="graph", max_iter=3, random_state=0)
    with sklearn.config_context(transform_output="pandas"):
        found = estimator.fit_transform(grid)
    assert isinstance(found, pd.DataFrame) and list(found.index) == list(grid.nodes)
    assert found.index.nlevels == 1
    pytest.importorskip("polars")
    framed = estimator.set_output(transform="polars").fit_transform(grid)
    assert type(framed).__module__.startswith("polars") and framed.shape == (12, 2)
