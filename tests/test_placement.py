"""The placement example: what it coordinates, and that its discs never touch."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import skmde

SCRIPT = Path(__file__).parents[1] / "examples" / "plot_placement.py"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(SCRIPT))


def test_cells_of_the_quadratic_placement_are_at_the_mean_of_what_they_are_wired_to(example):
    wires, pads, coordinates = example["netlist"]()
    estimator = example["place_circuit"](wires, pads, coordinates, "quadratic")
    X = estimator.embedding_
    np.testing.assert_array_equal(X[pads], coordinates)
    means = (wires @ X) / np.asarray(wires.sum(axis=1)).reshape(-1, 1)
    cells = np.delete(np.arange(len(X)), pads)
    np.testing.assert_allclose(X[cells], means[cells], atol=1e-8)
    np.testing.assert_allclose(estimator.forces_.sum(axis=0), 0, atol=1e-10)
    # a pad has one wire, which pulls it towards its end
    directions = X[wires[pads].toarray().argmax(axis=1)] - coordinates
    alignment = np.sum(estimator.forces_ * directions, axis=1)
    alignment /= np.linalg.norm(estimator.forces_, axis=1) * np.linalg.norm(directions, axis=1)
    np.testing.assert_allclose(alignment, 1)


def test_a_harsher_penalty_shortens_the_longest_wires(example):
    wires, pads, coordinates = example["netlist"]()

    def lengths(penalty):
        estimator = example["place_circuit"](wires, pads, coordinates, penalty)
        ends = estimator.embedding_[estimator.edges_]
        return np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), estimator.weights_

    quadratic, weights = lengths("quadratic")
    cubic, _ = lengths("cubic")
    huber, _ = lengths(skmde.Huber(0.1))
    assert cubic.max() < quadratic.max()
    assert weights @ huber < weights @ quadratic < weights @ cubic


@pytest.mark.parametrize(("n_discs", "diameter"), [(7, 1.0), (20, 0.01), (61, 1.0)])
def test_discs_never_touch(example, n_discs, diameter):
    centers, shortest = example["pack_discs"](n_discs, diameter, pull=10.0 / diameter)
    assert len(shortest) > 5
    assert shortest.min() > diameter
    assert pdist(centers).min() > diameter
    np.testing.assert_array_equal(centers[0], 0.0)
    # packed: of the circle around them they fill much more than at the start
    middle = centers - centers.mean(axis=0)
    radius = np.linalg.norm(middle, axis=1).max() + diameter / 2
    assert n_discs * (diameter / 2) ** 2 / radius**2 > 0.4


def test_example_draws_a_picture(tmp_path):
    picture = tmp_path / "placement.png"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--output", picture],
        env={**os.environ, "PYTHONPATH": str(Path(skmde.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "61 discs of diameter 1" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
