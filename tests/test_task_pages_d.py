"""The pages on kinds of input, several sources and labels at fit: what they say holds."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scripts import run_script, without_a_screen
from sklearn.metrics import pairwise_distances

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

TASKS = Path(__file__).parents[1] / "examples" / "tasks"


def run(page, **smaller):
    with without_a_screen():
        return run_script(TASKS / f"{page}.py", **smaller)


def test_columns_side_by_side_keep_what_each_source_knows():
    page = run("plot_20_several_sources", n_digits=180)
    for data in ("products", "digits"):
        agreement = {way: page["agreement"][data, way] for way in page["ways"]}
        best_alone = max(agreement["source 1"], agreement["source 2"])
        assert min(agreement[way] for way in page["ways"][2:]) > best_alone
        assert abs(agreement["columns"] - agreement["distances"]) < 0.05
    of_products = {way: page["agreement"]["products", way] for way in page["ways"]}
    assert of_products["columns"] > of_products["union"] + 0.1
    assert page["told"]["table of neighbours"] > page["told"]["means"] + 0.4


def test_map_helps_with_few_labels_and_proves_nothing_by_its_own():
    smaller = {"n_train, n_test": "300, 200", "shares_known, n_splits": "(0.15, 1.0), 2"}
    page = run("plot_21_labels_and_new_rows", **smaller)
    few, every = page["means"][0.15], page["means"][1.0]
    of_maps = [share for name, share in few.items() if name.startswith("map")]
    of_data = [share for name, share in few.items() if name.startswith("data")]
    assert min(of_maps) > max(of_data) and every["data, SVC"] > every["map"]
    labelled, placed = zip(*page["illusion"].values(), strict=True)
    assert labelled[-1] - labelled[0] > 0.1 > placed[-1] - placed[0]
    assert page["placed"].shape == (200, 2)


D = pairwise_distances(np.random.default_rng(0).normal(size=(60, 4)))
GAPS = np.where(D > np.quantile(D, 0.8), np.inf, D)
GRAPH = csr_array(np.where(D > np.quantile(D, 0.2), 0, D))
OF_DISTANCES = ["laplacian", "normalized_laplacian", "classical_mds", "isomap"]
# The first table of doc/inputs.rst: X, its metric, and what takes it beside PreserveNeighbors.
INPUTS = {
    "NaN": (
        np.where(D == 0, np.nan, D),
        "nan_euclidean",
        "distances anchored loss classifier",
        OF_DISTANCES,
    ),
    "distances": (D, "precomputed", "distances anchored loss classifier", OF_DISTANCES),
    "gaps": (GAPS, "precomputed", "distances anchored loss classifier", OF_DISTANCES),
    "neighbours": (
        (np.argsort(D)[:, 1:6], np.sort(D)[:, 1:6]),
        "precomputed",
        "anchored classifier",
        ["laplacian", "normalized_laplacian", "isomap"],
    ),
    "similarities": (np.exp(-D), "affinity", "anchored classifier", []),
    "graph": (GRAPH, "graph", "distances loss", []),
}


def _is_taken(estimator, X, *y):
    try:
        estimator.fit(X, *y)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.filterwarnings("ignore")  # of few iterations, and of parts of graphs
def test_table_of_inputs_says_what_each_estimator_takes(kind):
    X, metric, takers, weights = INPUTS[kind]
    brief = {"metric": metric, "random_state": 0, "max_iter": 2}
    places = np.full((60, 2), np.nan)
    places[:5] = np.random.default_rng(1).normal(size=(5, 2))
    labels = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    assert _is_taken(PreserveNeighbors(**brief), X)
    taken = {
        "distances": _is_taken(PreserveDistances(**brief), X),
        "anchored": _is_taken(AnchoredMDE(**brief), X, places),
        "loss": _is_taken(AnchoredMDE(loss="squared", **brief), X, places),
        "classifier": _is_taken(AnchoredClassifier(metric=metric), X, labels),
    }
    assert {name for name, is_taken in taken.items() if is_taken} == set(takers.split())
    by_weights = {
        name: _is_taken(QuadraticMDE(weights=name, metric=metric), X)
        for name in [*OF_DISTANCES, "lle"]
    }
    assert {name for name, is_taken in by_weights.items() if is_taken} == set(weights)
