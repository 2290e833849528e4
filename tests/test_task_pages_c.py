"""The pages on months, inverses, densities and t-SNE, on fewer samples: what they say holds."""

from pathlib import Path

from scripts import run_script, without_a_screen

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(page, **smaller):
    with without_a_screen():
        return run_script(EXAMPLES / f"{page}.py", **smaller)


def test_soft_anchors_keep_items_where_they_were():
    page = run("tasks/plot_16_over_time", **{"n_items, n_months, n_movers": "200, 3, 10"})
    steps = {name: step for name, (_, step, _) in page["figures"].items()}
    assert steps["soft anchors"] < steps["start from the last"]


def test_map_brings_back_more_of_the_data_than_two_principal_components():
    page = run("tasks/plot_17_back_to_data", n_train=500, n_steps=50)
    assert page["back"]["map"] > page["back"]["PCA"] + 0.2
    assert max(page["recall"], key=page["recall"].get) == "transform"


def test_weights_by_distance_keep_densities():
    page = run("tasks/plot_19_density", **{"n_each, n_digits": "80, 200"})
    assert page["densities"]["groups", "by distance"] > page["densities"]["groups", "default"] + 0.3


def test_tsne_from_parts_reaches_about_the_divergence_of_tsne():
    page = run("parameters/plot_tsne_settings", n_samples=320)
    assert page["divergences"]["skmde"] < 1.1 * page["divergences"]["scikit-learn"]
