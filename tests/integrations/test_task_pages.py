"""The task pages about scanpy and BERTopic, which the gallery shows and does not run."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a page; the names that it defines, when it has written its picture."""

    def run_page(page):
        picture = tmp_path / "picture.png"
        monkeypatch.setattr(sys, "argv", [page, "--output", str(picture)])
        names = runpy.run_path(str(TASKS / page), run_name="__main__")
        assert picture.read_bytes().startswith(PNG_SIGNATURE)
        return names

    return run_page


def test_page_of_single_cells(run):
    page = run("11_single_cells.py")
    assert set(page["recall"]) <= set(page["adata"].obsm)
    assert page["recall"]["X_mde"] > page["recall"]["X_umap"]
    assert page["accuracy"]["X_mde"] > page["accuracy"]["X_umap"] - 0.05
    assert page["supported"].mean() > 0.8


def test_page_of_topics(run):
    page = run("12_topics.py")
    assert len(np.unique(page["topics"])) > 5
    assert page["agreement"] > 0.3
    assert "filter" in page["model"].get_topic_info(page["found"][0])["Name"].item()
