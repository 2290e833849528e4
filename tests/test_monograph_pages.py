"""The gallery's figures of the monograph, and the page of benchmarks.

Scripts run as sphinx-gallery runs them, with fewer rows. What they find is checked where the
monograph says what it should be.
"""

import re
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scripts import run_script, without_a_screen
from sklearn.manifold import TSNE

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "examples" / "monograph"


class FirstColumns:
    """Stands in for t-SNE and UMAP, which take seconds and do not matter here."""

    def __init__(self, **parameters):
        pass

    def fit_transform(self, X):
        return np.array(X, dtype=float)[:, :2]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a script with other constants; its names and what it printed."""
    pytest.importorskip("networkx")
    monkeypatch.setattr(TSNE, "fit_transform", FirstColumns.fit_transform)
    umap = ModuleType("umap")
    umap.__spec__, umap.UMAP = ModuleSpec("umap", None), FirstColumns
    monkeypatch.setitem(sys.modules, "umap", umap)
    monkeypatch.delenv("SKMDE_DATA", raising=False)

    def run(name, **constants):
        names = run_script(SCRIPTS / name, **constants)
        return names, capsys.readouterr().out

    with without_a_screen():
        yield run


def test_a_cubic_penalty_leaves_no_pair_as_far_apart_as_a_quadratic_one(run):
    names, _ = run("plot_02_small_graphs.py")
    assert names["distances"]["cubic"].max() < 0.8 * names["distances"]["quadratic"].max()
    assert names["stress"]["Centred"] < names["stress"]["Seven anchors"] < 0.4


def test_forty_iterations_come_within_half_a_percent_of_the_optimum(run):
    sizes = "[(1000, 10_000, 2), (1000, 10_000, 10)]"
    names, _ = run("plot_07_quadratic_table.py", SIZES=sizes)
    assert all(-1e-5 < gap < 0.005 for gap in names["gaps"].values())


def test_pairs_of_two_digits_are_among_the_most_distorted_ones(run):
    names, _ = run("plot_08_images_quadratic.py")
    count, different = names["count"], names["different"]
    assert different[:count].mean() > 4 * different.mean()


def test_number_and_weight_of_dissimilar_pairs_have_similar_effects(run):
    names, printed = run("plot_08_images_repulsion.py", N_ROWS=300, RATIOS=(0.5, 4.0))
    correlations = [float(r) for r in re.findall(r"weight: correlation (\S+)", printed)]
    assert len(correlations) == 2 and min(correlations) > 0.6
    spread = [np.ptp(names["by_number"][f"{r:g} x pairs"], axis=0).min() for r in (0.5, 4)]
    assert spread[1] < spread[0]  # with more repulsion the standardized map has no far arms


def test_authors_with_many_links_are_near_the_centre_of_the_network(run):
    names, _ = run("plot_09_network.py", N_AUTHORS=300)
    radii = [np.median(names["radius"][quarter]) for quarter in names["quarters"]]
    assert radii[0] < radii[1] < radii[3]


def test_counties_near_each_other_vote_alike(run):
    names, _ = run("plot_10_counties.py", N_COUNTIES=400)
    known = names["known"]
    assert names["knn_r2"](names["Y"][known], names["share"][known]) > 0.5


def test_made_up_rows_spoil_pca_and_not_the_robust_embedding(run):
    names, _ = run("plot_11_genes.py", N_PEOPLE=300)
    found = names["found"]
    assert found["skmde", "corrupted"] > found["skmde", "clean"] - 0.1 > 0.5
    assert found["PCA", "corrupted"] < found["PCA", "clean"] - 0.1
    assert ("UMAP", "corrupted") in found


def test_worst_pairs_of_cells_join_types_more_often_than_others(run):
    names, _ = run("plot_12_cells.py", N_CELLS=500)
    assert names["knn_accuracy"](names["Y"], names["kind"]) > 0.8
    assert names["two"] > names["overall"]


def test_the_page_of_benchmarks_is_what_its_script_writes():
    command = [sys.executable, ROOT / "benchmarks" / "page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_of_benchmarks_names_command_and_machine_for_each_table():
    page = (ROOT / "doc" / "benchmarks.rst").read_text(encoding="utf-8")
    assert page.count(".. list-table::") == page.count("``benchmarks/results/") > 20
    shown = set(re.findall(r"``benchmarks/results/(\w+)\.json``", page))
    files = {path.stem for path in (ROOT / "benchmarks" / "results").glob("*.json")}
    # optima are an input, and the other pages of `explore` are of an older version
    assert files - shown <= {"quadratic_optima", "explorer"}
    assert "PaCMAP" in page.split("Maps of neighbours")[0]  # what skmde loses at comes first
