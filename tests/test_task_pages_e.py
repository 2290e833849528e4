"""The pages on spheres, steps and numbers of components: what they say holds, on fewer samples."""

from pathlib import Path

import numpy as np
import pytest
from scripts import run_script, without_a_screen

from skmde.constraints import check_constraint

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(monkeypatch):
    """The names that a page has defined; figures are closed."""
    monkeypatch.setattr("torch.set_num_threads", lambda n: None)
    monkeypatch.syspath_prepend(str(EXAMPLES / "parameters"))

    def run_page(page, **smaller):
        return run_script(EXAMPLES / f"{page}.py", **smaller)

    with without_a_screen():
        yield run_page


def test_data_that_go_round_are_kept_on_a_sphere_and_on_a_torus(run):
    page = run("tasks/plot_18_sphere_torus", **{"n_rows, n_new": "300, 50", "n_year": "300"})
    check_constraint(page["Torus"]((0.5, 2.0, 3.0)), n_items=10, n_components=6)
    assert page["cities_found"]["globe"][0] > 0.95 > page["cities_found"]["plane"][0]
    (recall, correlation), plane = page["sun_found"]["radius 2"], page["sun_found"]["plane"]
    assert recall > plane[0] and correlation > 0.95 > plane[1] + 0.2
    assert page["off"]["radius 2"] < min(page["off"]["PCA, 3"], 15)
    assert max(page["hours"].values()) < 1
    recall, correlation = page["torus_found"]["torus"]
    assert recall > page["torus_found"]["plane"][0]
    assert correlation > 0.9 > page["torus_found"]["plane"][1] + 0.2
    assert page["digits_found"]["sphere"] == pytest.approx(page["digits_found"]["plane"], abs=0.05)
    on_torus = page["on_torus"]
    circles = on_torus.transform(page["year"][:5] + 0.01).reshape(5, 2, 2)
    np.testing.assert_allclose(np.linalg.norm(circles, axis=2), 1.5, rtol=1e-5)


def test_steps_solve_the_problem_of_the_estimator(run):
    page = run("parameters/plot_steps", n_samples=200)
    np.testing.assert_allclose(page["values"][:20], page["first"][:20], rtol=1e-3)
    assert float(page["problem"].value) == pytest.approx(page["estimator"].distortion_, rel=0.02)
    assert page["recalls"][0] == pytest.approx(page["recalls"][1], abs=0.03)
    # the solver's phases, which the page names by their iterations
    rising, settled = page["values"][55], page["values"][49]
    assert rising > settled > page["values"][-1]


def test_components_keep_distances_and_few_are_enough_for_neighbors(run):
    page = run("parameters/plot_n_components", n_samples=200, dimensions="[1, 2, 10]")
    recall = {key: figures[0] for key, figures in page["found"].items()}
    ways = "neighbours, all repel", "distances"
    gains = [recall[way, 10] - recall[way, 2] for way in ways]
    assert abs(gains[0]) < 0.05 and gains[1] > 0.2
    stress = page["stress"]["11 rows at equal distances"]
    assert stress[10] < 1e-4 < 0.3 < stress[2] < stress[1]
