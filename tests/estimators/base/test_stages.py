"""What a fit says of its stages while it runs."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors, QuadraticMDE

X = load_iris().data[::3]
PLACES = np.full((50, 2), np.nan)
PLACES[:8] = X[:8, :2]
STAGES = {
    PreserveNeighbors: ["neighbors", "edges", "init", "solve"],
    PreserveDistances: ["distances", "init", "anchors", "solve"],
    AnchoredMDE: ["pairs", "solve"],
    QuadraticMDE: ["weights", "solve"],
}


@pytest.mark.parametrize("cls", STAGES)
def test_verbose_prints_a_line_with_seconds_for_each_stage(cls, capsys):
    y = PLACES if cls is AnchoredMDE else None
    cls(verbose=1).fit(X, y)
    said = capsys.readouterr()
    lines = re.findall(r"^(\w+): [\d.e+-]+ s$", said.err.replace("\r", "\n"), flags=re.MULTILINE)
    assert lines == STAGES[cls]
    assert said.out == ""
    cls().fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_extend_says_its_stages_and_a_fit_that_fails_ends_them(capsys):
    estimator = PreserveDistances(verbose=1, max_iter=3, random_state=0).fit(X[:40])
    capsys.readouterr()
    estimator.extend(X[40:])
    assert "distances: " in capsys.readouterr().err
    with pytest.raises(ValueError, match="n_components"):
        estimator.set_params(n_components=80).fit(X)
    capsys.readouterr()
    PreserveDistances(max_iter=3, random_state=0).fit(X)
    assert capsys.readouterr().err == ""
