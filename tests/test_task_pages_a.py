"""The pages of tasks 1 to 7 run, and what their texts say of the results is so."""

from pathlib import Path

import numpy as np
import pytest
from scripts import run_script, without_a_screen

TASKS = Path(__file__).parents[1] / "examples" / "tasks"


@pytest.fixture
def run():
    """The names that a page has defined, by the start of its file name; figures are closed."""

    def run_page(start):
        (page,) = TASKS.glob(f"plot_{start}_*.py")
        return run_script(page)

    with without_a_screen():
        yield run_page


def test_table_keeps_kinds_apart_only_if_it_is_scaled(run):
    page = run("01")
    of_a_kind = page["knn_accuracy"]
    assert of_a_kind(page["embedding"], page["kind"]) > 0.95
    assert of_a_kind(page["unscaled"], page["kind"]) < 0.75


def test_texts_lie_with_their_modules(run):
    page = run("02")
    for fitted in (page["by_words"], page["by_vectors"]):
        assert page["knn_accuracy"](fitted.embedding_, page["subjects"]) > 0.8
    assert page["new"].getnnz(axis=1).argmin() == 3  # the recipe
    assert len(page["topics"]) > 5 and any("filter" in words for words in page["topics"].values())


def test_clusters_of_digits_come_back_and_those_of_nothing_do_not(run):
    page = run("03")
    assert page["adjusted_rand_score"](page["digits"], page["found"]) > 0.7
    assert page["on_data"].max() < 0 < page["on_map"].max()
    widths, gaps = page["widths_and_gaps"](page["map_of_blobs"].embedding_)
    assert widths[2] < 2.5 and gaps[2] / gaps[0] < 3  # 3 and 8 in the data
    agreement = {name: figures[1] for name, figures in page["outcome"].items()}
    assert agreement["digits"] > 0.6 > 0.3 > max(agreement["shuffled"], agreement["one Gaussian"])


def test_what_is_unlike_the_map_is_an_outlier_and_extend_gives_it_a_region(run):
    page = run("04")
    share = {
        kind: 1 - page["estimator"].is_supported(rows).mean() for kind, rows in page["new"].items()
    }
    assert share["known digits"] < 0.1 and share["fours"] > 0.8 and share["mixed pixels"] > 0.95
    assert page["purity"](page["extended"].embedding_[1000:]) > 0.9
    assert np.array_equal(page["extended"].embedding_[:1000], page["before"])
    assert np.array_equal(page["growing"].embedding_[:300], page["first"])
    assert len(page["growing"].embedding_) == 900


def test_better_starts_and_weights_help_with_gaps(run):
    page = run("05")
    assert page["restarted"].stress_ < 0.95 * page["plain"].stress_
    errors = {}
    for name, fitted in page["maps"].items():
        aligned = page["align"](fitted.embedding_, page["truth"])
        errors[name] = np.linalg.norm(aligned - page["truth"], axis=1).mean()
    assert errors["weighted"] < errors["better start"] < errors["gaps left out"]
    of_pairs = page["pdist"](page["restarted"].embedding_)[page["travelled"]]
    squares = (of_pairs - page["restarted"].distances_) ** 2
    of_athens = (page["pairs"] == page["names"].index("Athens")).any(axis=1)
    assert np.isclose(page["per_city"][1], np.sqrt(squares[of_athens].mean()), rtol=1e-4)
    assert page["same"]


def test_each_layout_of_a_network_keeps_what_it_is_for(run):
    page = run("06")
    figures, novel = page["figures"], page["novel"]
    by_paths, by_links = (figures(page[key], novel, "length") for key in ("by_paths", "by_links"))
    assert by_paths[0] > by_links[0] and by_paths[1] < by_links[1]
    fitted = page["all_paths"], page["neighbors"]
    near = [page["knn_accuracy"](each.embedding_, page["block"]) for each in fitted]
    assert near[0] < 0.8 < 0.95 < near[1]
    rows = [list(page["network"]).index(name) for name in page["fixed"]]
    assert np.array_equal(page["placed"].embedding_[rows], list(page["fixed"].values()))


def test_anchors_stay_and_forces_find_the_wrong_one(run):
    page = run("07")
    assert np.array_equal(page["plan"].embedding_[:6], page["where"][:6])
    assert page["pull"].argmax() == 4
    error = page["error"]
    assert error(page["mended"].embedding_) < error(page["wrong"].embedding_)
    assert error(page["soft"].embedding_) < error(page["fixed"].embedding_)
    assert len(page["by_names"].embedding_) > 150
