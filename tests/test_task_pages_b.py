"""The second half of the task pages, on fewer samples: they run, and what their text says holds."""

from pathlib import Path

import numpy as np
import pytest
from scripts import run_script, without_a_screen

TASKS = Path(__file__).parents[1] / "examples" / "tasks"


@pytest.fixture(autouse=True)
def no_screen():
    with without_a_screen():
        yield


def run(page, **smaller):
    return run_script(TASKS / f"{page}.py", **smaller)


def test_few_labels_are_better_than_none_and_shuffled_ones_draw_a_picture():
    page = run("plot_08_few_labels", n_samples=300)
    correct, unknown = page["correct"][page["unknown"]], page["unknown"]
    assert correct.mean() > page["supervised"] > 0.4
    order = np.argsort(page["probability"][unknown])
    assert correct[order[-50:]].mean() > correct[order[:50]].mean()
    assert page["nonsense"][0.0] < 0.3 < 0.9 < page["nonsense"][10.0]


def test_search_score_is_local_and_no_distortion():
    page = run("plot_09_search", n_samples=150)
    best, worst = page["maps"]["best"], page["maps"]["worst"]
    assert page["own"] > page["new"]
    assert best.score(page["unseen"]) > worst.score(page["unseen"])
    assert best.distortion_ > worst.distortion_


def test_compared_maps_win_in_one_kind_each_and_random_starts_differ():
    page = run("plot_10_compare", n_samples=200)
    best = page["table"].best
    assert best("recall_15") == best("trustworthiness") == "neighbours"
    assert best("triplets") == best("stress") == "PCA"
    assert 0.1 < page["between"] <= 2
    assert abs(np.subtract(*page["recall_random"])) < 0.05
    assert page["stable"].kept_neighbors[0] > 0


def test_summaries_place_all_rows_and_an_interrupted_fit_goes_on():
    page = run("plot_13_large", **{"n_samples, n_groups": "1500, 150"})
    assert page["accuracy"] > 0.95
    np.testing.assert_array_equal(page["resumed"].embedding_, page["whole"].embedding_)
    assert page["interrupted"].callbacks
    assert page["plan"].fits


def test_own_functions_work_as_any_others():
    page = run("plot_14_own_functions", n_samples=150)
    squared, lopsided = page["too_long"].values()
    assert lopsided < squared
    assert page["errors"].max() < 1e-5
    nodes = page["layout"].embedding_
    gaps = np.linalg.norm(nodes[:, None] - nodes, axis=2)[~np.eye(len(nodes), dtype=bool)]
    assert gaps.min() > 0.1  # the tree is unfolded


def test_each_cause_of_a_bad_map_shows_in_its_number():
    page = run("plot_15_bad_map", n_samples=200)
    assert page["variances"].max() / page["variances"].sum() > 0.99
    assert page["recall_of_distinct"]["distinct rows"] > page["recall_of_distinct"]["with copies"]
    recall = {
        k: page["neighborhood_recall"](page["X"], fitted.embedding_)
        for k, fitted in page["by_number"].items()
    }
    assert recall[15] > max(recall[2], recall[60])
    assert page["connected_components"](page["by_number"][2].graph_)[0] > 1
    assert page["gaps"][200] < 2 * page["gaps"][20]
    np.testing.assert_array_equal(np.flatnonzero(page["far"]), [0, 1, 2])
    assert "max_iter=20" in page["short"].stop_reason_
    assert "Increase max_iter" in str(page["caught"][0].message)
    assert page["noise_recall"] < 0.75 * recall[15]
