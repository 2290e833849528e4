"""datamapplot's pictures of an embedding, whose clusters carry labels."""

import datamapplot
import numpy as np
import pytest

from skmde import PreserveNeighbors


@pytest.fixture(scope="module")
def coordinates(digits):
    return PreserveNeighbors(random_state=0).fit_transform(digits[0])


@pytest.fixture(scope="module")
def names(digits):
    return np.array([f"digit {k}" for k in digits[1]])


def test_a_picture_labels_every_cluster(coordinates, names, tmp_path):
    figure, ax = datamapplot.create_plot(
        coordinates, names, title="Handwritten digits", use_medoids=True, use_system_fonts=True
    )
    labels = {text.get_text() for text in ax.texts}
    assert set(names) <= labels
    figure.savefig(tmp_path / "digits.png")
    assert (tmp_path / "digits.png").stat().st_size > 10_000


def test_rows_without_a_label_and_float32(coordinates, names):
    unlabelled = np.where(names == "digit 3", "Unlabelled", names)
    _, ax = datamapplot.create_plot(
        coordinates.astype(np.float32), unlabelled, darkmode=True, use_system_fonts=True
    )
    assert "digit 3" not in {text.get_text() for text in ax.texts}
