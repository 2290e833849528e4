"""Progress in a notebook: bars where they are asked for, and nothing otherwise."""

import json
import re

import nbclient
import nbformat
import pytest

SETUP = """
import warnings
import numpy as np
from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE
X = np.random.default_rng(0).standard_normal((100, 4))
y = np.full((100, 2), np.nan)
y[::10] = X[::10, :2]
warnings.filterwarnings("ignore", "The solve ended at max_iter")  # of 20 iterations, as asked
"""
QUIET = """
for estimator in (
    PreserveNeighbors(), PreserveDistances(), QuadraticMDE(), AnchoredMDE(loss="squared")
):
    estimator.fit(X, y)
    estimator.transform(X + 0.1)
"""
BARS = """
PreserveNeighbors(verbose=1, max_iter=20, tol=0).fit(X)
AnchoredMDE(loss="squared", verbose=1, max_iter=20, tol=0).fit(X, y)
None
"""
SCIKIT_LEARNS = """
from sklearn.callback import ProgressBar
PreserveNeighbors(max_iter=20, tol=0).set_callbacks(ProgressBar()).fit(X)
None
"""


@pytest.fixture(scope="module")
def notebook():
    """The cells, run by a kernel of their own."""
    cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, QUIET, BARS, SCIKIT_LEARNS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def test_nothing_is_shown_unless_asked_for(notebook):
    assert notebook.cells[0].outputs == notebook.cells[1].outputs == []


def test_a_bar_is_a_widget(notebook):
    outputs = notebook.cells[2].outputs
    kind = "application/vnd.jupyter.widget-view+json"
    shown = [output for output in outputs if output.output_type == "display_data"]
    assert len(shown) == 2
    assert all(kind in output.data for output in shown)
    said = [output for output in outputs if output.output_type != "display_data"]
    assert {output.name for output in said} == {"stderr"}
    lines = "".join(output.text for output in said).splitlines()
    assert [line for line in lines if not re.fullmatch(r"\w+: [\d.]+ s", line)] == []
    widgets = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    bars = [w["state"] for w in widgets.values() if w["model_name"] == "FloatProgressModel"]
    assert [(bar["value"], bar["max"]) for bar in bars] == [(20.0, 20.0)] * 2


def test_scikit_learns_bar(notebook):
    pytest.importorskip("sklearn.callback")
    outputs = notebook.cells[3].outputs
    assert outputs and not any(output.output_type == "error" for output in outputs)
    # written into a widget, at the end with all that was done
    assert "PreserveNeighbors - fit" in json.dumps(notebook.metadata.widgets)
    assert "100%" in json.dumps(notebook.metadata.widgets)
