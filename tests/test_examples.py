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
