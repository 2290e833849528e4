"""matplotlib is an extra: what is said where it is not installed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skmde
from skmde import plotting

CALLS = {
    "EmbeddingDisplay": lambda display: display.from_embedding(np.eye(3)),
    "CompareEmbeddingsDisplay": lambda display: display.from_embeddings(np.eye(3), np.eye(3)),
    "ShepardDisplay": lambda display: display.from_distances([1.0], [1.0]),
    "ConvergenceDisplay": lambda display: display.from_history(
        {"value": [1.0], "residual_norm": [1.0]}
    ),
    "PenaltyDisplay": lambda display: display.from_functions("log1p"),
    "DistortionDisplay": lambda display: display.from_distortions([1.0]),
}


def test_every_display_is_tried():
    assert set(CALLS) == {name for name in plotting.__all__ if name.endswith("Display")}


def test_a_film_needs_matplotlib(monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "skmde\[plot\]"'):
        plotting.animate([np.eye(3), np.eye(3)])


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_extra(name, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "skmde\[plot\]"'):
        CALLS[name](getattr(plotting, name))


def test_the_module_is_imported_without_matplotlib():
    code = (
        "import sys, skmde\n"
        "print('skmde.plotting' in sys.modules)\n"
        "skmde.plotting.EmbeddingDisplay\n"
        "print(*(name for name in ('matplotlib', 'torch') if name in sys.modules))"
    )
    folder = Path(skmde.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    assert run.stdout.split("\n")[:2] == ["False", ""]
