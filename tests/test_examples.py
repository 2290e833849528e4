"""The example scripts run as a user would run them."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

import skmde
from skmde.constraints import check_constraint

EXAMPLES = Path(__file__).parents[1] / "examples"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _run(script, *arguments):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(skmde.__file__).parents[1]),  # the package under test
        "OMP_WAIT_POLICY": "PASSIVE",  # t-SNE's threads spin for a minute on a busy machine
    }
    command = [sys.executable, EXAMPLES / script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_digits_demo_prints_its_figures_and_draws_a_picture(tmp_path):
    picture = tmp_path / "digits.png"
    printed = _run("plot_digits.py", "--output", picture)
    (figures,) = re.findall(r"skmde PreserveNeighbors +(\S+) +(\S+) +(\S+)", printed)
    _, distortion, trustworthiness = map(float, figures)
    assert distortion > 0
    assert trustworthiness >= 0.975
    assert "scikit-learn TSNE" in printed
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


@pytest.fixture(scope="module")
def sphere():
    return runpy.run_path(str(EXAMPLES / "plot_sphere.py"))


@pytest.mark.parametrize("radius", [0.1, 1.0, 50.0])
def test_sphere_is_a_constraint_for_any_radius(sphere, radius):
    check_constraint(sphere["Sphere"](radius), n_items=20, n_components=3)


def test_sphere_projects_the_origin_onto_the_sphere(sphere):
    constraint = sphere["Sphere"](2.0)
    assert constraint.violation(constraint.project(torch.zeros(4, 3))) == 0


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_twelve_points_on_a_sphere_form_an_icosahedron(sphere, radius):
    points = sphere["spread"](12, radius)
    distances = np.sort(pdist(points))
    edge_length = radius / np.sin(2 * np.pi / 5)
    np.testing.assert_allclose(distances[:30], edge_length, rtol=1e-3)
    np.testing.assert_allclose(distances[-6:], 2 * radius, rtol=1e-3)


def test_sphere_example_draws_a_picture(tmp_path):
    picture = tmp_path / "sphere.png"
    assert "12 points on a sphere of radius 2" in _run("plot_sphere.py", "--output", picture)
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


@pytest.fixture(scope="module")
def graph_drawings():
    return runpy.run_path(str(EXAMPLES / "plot_graphs.py"))["monograph_drawings"]()


def test_complete_graph_becomes_a_circle_under_the_cubic_penalty(graph_drawings):
    (drawing,) = (d for d in graph_drawings if d.title.startswith("Complete graph"))
    np.testing.assert_allclose(np.linalg.norm(drawing.coordinates, axis=1), np.sqrt(2), rtol=1e-3)
    angles = np.sort(np.arctan2(*drawing.coordinates.T))
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / 20, rtol=0.03)


def test_dodecahedron_is_a_spectral_layout_under_the_quadratic_penalty(graph_drawings):
    (drawing,) = (d for d in graph_drawings if d.title.startswith("Dodecahedron"))
    i, j = np.array(drawing.graph.edges).T
    squares = ((drawing.coordinates[i] - drawing.coordinates[j]) ** 2).sum()
    eigenvalue = 3 - np.sqrt(5)  # the smallest but 0, of the graph's Laplacian; three times there
    assert squares == pytest.approx(20 * 2 * eigenvalue, rel=1e-5)


def test_graphs_example_draws_its_pictures(tmp_path):
    edges = [(k, k + 1) for k in range(59)] + [(k, k + 10) for k in range(50)]
    network = tmp_path / "lattice.npz"
    np.savez(network, edges=np.array(edges), section=np.repeat(list("abcdefghij"), 6))
    pictures = tmp_path / "graphs.png", tmp_path / "network.png"
    printed = _run(
        "plot_graphs.py",
        "--output",
        pictures[0],
        "--data",
        network,
        "--network-output",
        pictures[1],
    )
    stresses = [float(figure) for figure in re.findall(r"loss, stress (\S+)", printed)]
    assert len(stresses) == 7
    assert max(stresses) < 0.4
    assert "60 nodes, 1770 path lengths" in printed
    for picture in pictures:
        assert picture.read_bytes().startswith(PNG_SIGNATURE)


@pytest.fixture(scope="module")
def quadratic():
    return runpy.run_path(str(EXAMPLES / "plot_quadratic.py"))


def test_rolled_strip_is_even_and_as_long_as_its_spiral(quadratic):
    roll = quadratic["rolled_strip"](4000, width=0.0)
    order = np.argsort(roll.along)
    steps = np.linalg.norm(np.diff(roll.X[order], axis=0), axis=1)
    along = np.diff(roll.along[order])
    assert steps.sum() == pytest.approx(along.sum(), rel=0.03)
    assert along.max() < 5 * along.mean()


def test_isomap_weights_unroll_the_strip(quadratic):
    roll = quadratic["rolled_strip"]()
    parameters, _ = quadratic["METHODS"]["isomap"]
    embedding = skmde.QuadraticMDE(weights="isomap", **parameters).fit_transform(roll.X)
    for column, truth in zip(embedding.T, (roll.along, roll.across), strict=True):
        assert abs(np.corrcoef(column, truth)[0, 1]) > 0.99


def test_quadratic_example_draws_a_picture(tmp_path):
    picture = tmp_path / "quadratic.png"
    printed = _run("plot_quadratic.py", "--output", picture)
    for weights in ("pca", "kernel_pca", "lle", "laplacian", "normalized_laplacian", "isomap"):
        assert re.search(rf"^{weights} +eigenvalues", printed, re.MULTILINE)
    assert ("mvu is left out" in printed) != ("mvu  " in printed)
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


def test_counts_in_place_of_samples_keep_kinds_apart(tmp_path):
    picture = tmp_path / "counts.png"
    few = ["--n-samples", "8000", "--n-groups", "400", "--step", "3.5"]
    printed = _run("plot_counts.py", "--output", picture, *few)
    accuracy = re.findall(r"^(.*): 8,000 samples, .* accuracy (\S+)$", printed, re.MULTILINE)
    assert [name for name, _ in accuracy] == ["k-means", "grid", "random sample"]
    assert min(float(figure) for _, figure in accuracy[:2]) > 0.95
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


def test_explore_example_writes_a_page(tmp_path):
    page = tmp_path / "digits.html"
    printed = _run("plot_explore.py", "--output", page)
    (n_pairs,) = re.findall(r"1797 digits, (\d+) pairs of neighbours with different", printed)
    assert 0 < int(n_pairs) < 60
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_grid_search_example_draws_a_picture(tmp_path):
    picture = tmp_path / "grid_search.png"
    few = ["--n-samples", "120", "--n-draws", "2", "--n-jobs", "1"]
    printed = _run("plot_grid_search.py", "--output", picture, *few)
    score, accuracy = map(float, re.findall(r"best (?:score|accuracy) (\S+):", printed))
    assert 0.1 < score < 1 and 0.5 < accuracy <= 1
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


def test_judging_finds_wrong_labels_and_draws_a_picture(tmp_path):
    picture = tmp_path / "judging.png"
    printed = _run("plot_judging.py", "--samples", "300", "--fits", "1", "--output", picture)
    (area,) = re.findall(r"with an AUC of (\S+)", printed)
    assert float(area) > 0.95
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


def test_displays_example_draws_its_pictures(tmp_path):
    printed = _run("plot_displays.py", "--folder", tmp_path, "--n-samples", "150")
    assert printed.count("Picture: ") == 3
    for name in ("maps", "compare", "diagrams"):
        picture = tmp_path / f"displays_{name}.png"
        assert picture.read_bytes().startswith(PNG_SIGNATURE)
