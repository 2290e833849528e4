"""What the README shows works: its Python blocks, run in order, and the files it points to."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names():
    """The names that the README's blocks, run one after the other, leave behind."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
    return names


def test_embedding_has_the_shape_the_readme_says(names):
    assert names["embedding"].shape == (len(names["X_train"]), 2)


def test_grown_map_has_the_old_rows_and_then_the_new_ones(names):
    n, grown = len(names["X_train"]), names["embedder"]
    assert grown.graph_.shape == (n + len(names["X_test"]),) * 2
    np.testing.assert_array_equal(grown.embedding_[:n], names["embedding"])


def test_a_row_alone_is_placed_as_in_its_batch(names):
    np.testing.assert_allclose(names["alone"], names["unseen"][:1], atol=1e-7)


def test_pipeline_classifies_unseen_digits(names):
    assert names["classifier"].score(names["X_test"], names["y_test"]) > 0.9


def test_search_ranks_the_exponents_by_finite_scores(names):
    assert np.isfinite(names["search"].cv_results_["mean_test_score"]).all()


def test_square_is_recovered_from_its_side_and_diagonal_lengths(names):
    np.testing.assert_allclose(
        np.asarray(names["problem"].distances()), names["lengths"], atol=1e-3
    )


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README))
def test_linked_file_exists(target):
    assert (ROOT / target).is_file()
