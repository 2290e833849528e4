"""The pages on several sources and on labels at fit, on fewer samples: what they say holds."""

from pathlib import Path

from scripts import run_script, without_a_screen

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
        assert agreement["columns"] >= agreement["union"]
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
