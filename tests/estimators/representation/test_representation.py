"""What notebooks show of estimators: scikit-learn's diagram, facts and a thumbnail."""

import html
import time

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

X = load_iris().data[::3]
n = len(X)
COORDINATES = np.where(np.arange(n)[:, None] % 5 == 0, X[:, :2], np.nan)
LABELS = np.where(np.arange(n) % 5 == 0, load_iris().target[::3], -1)

CASES = {
    "neighbors": (PreserveNeighbors(random_state=0, max_iter=20), {}),
    "line": (PreserveNeighbors(1, random_state=0, max_iter=20), {}),
    "sampled": (PreserveNeighbors(3, repulsion="sampled", random_state=0, max_iter=20), {}),
    "distances": (PreserveDistances(random_state=0, max_iter=20), {}),
    "quadratic": (QuadraticMDE(), {}),
    "pca": (QuadraticMDE(4, weights="pca"), {}),
    "anchored": (AnchoredMDE(), {"y": COORDINATES}),
    "soft": (AnchoredMDE(loss="squared", anchor_weight=2.0), {"y": COORDINATES}),
    "classifier": (AnchoredClassifier(), {"y": LABELS}),
}


def fitted(name):
    estimator, data = CASES[name]
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        return clone(estimator).fit(X, **data)


def facts_of(shown):
    """The facts of the table, by name."""
    rows = shown.split('class="skmde-facts">')[1].split("</tbody>")[0].split("<tr>")[1:]
    cells = [row.replace("</th>", "").replace("</td></tr>", "").split("<td>") for row in rows]
    return {name.split('<th scope="row">')[1]: html.unescape(fact) for name, fact in cells}


@pytest.mark.parametrize("name", CASES)
def test_a_fitted_estimator_shows_facts_and_a_thumbnail_below_the_diagram(name):
    estimator = fitted(name)
    shown = estimator._repr_html_()
    diagram, below = shown.split("<style>.skmde-facts")
    assert "sk-top-container" in diagram and type(estimator).__name__ in diagram
    assert below.count("<svg") == 1 and "<script" not in below
    assert len(below) < 60_000
    found = facts_of(shown)
    own = getattr(estimator, "embedding_estimator_", estimator)
    assert found["items"].startswith(f"{n} in {own.embedding_.shape[1]} dimension")
    assert found["average distortion"] == f"{own.distortion_:.4g}"
    assert found["iterations"] == str(own.n_iter_)
    assert found.get("stopped") == getattr(own, "stop_reason_", None)
    bundle = estimator._repr_mimebundle_()
    assert facts_of(bundle["text/html"]) == found
    assert bundle["text/plain"] == repr(estimator)


def test_facts_say_which_pairs_and_which_constraint():
    estimator = fitted("neighbors")
    found = facts_of(estimator._repr_html_())
    assert found["attract"] == f"{len(estimator.weights_)} pairs under {estimator._rule.attractive}"
    assert found["repel"].startswith("all pairs under Cauchy()")
    assert found["constraint"] == "centered"

    sampled = fitted("sampled")
    n_repel = int((sampled.weights_ < 0).sum())
    assert facts_of(sampled._repr_html_())["repel"].startswith(f"{n_repel} pairs under ")

    distances = facts_of(fitted("distances")._repr_html_())
    assert distances["pairs"] == f"all {n * (n - 1) // 2:,}" and "Absolute" in distances["loss"]
    assert "fixed items" in facts_of(fitted("anchored")._repr_html_())["constraint"]
    assert "soft anchors of weight 2" in facts_of(fitted("soft")._repr_html_())["constraint"]
    assert facts_of(fitted("classifier")._repr_html_())["classes"] == "3"


def test_after_an_extension_the_fitted_items_are_fixed():
    estimator = PreserveNeighbors(random_state=0, max_iter=20).fit(X[:40]).extend(X[40:])
    found = facts_of(estimator._repr_html_())
    assert found["items"].startswith(f"{n} ") and found["constraint"] == "anchored, 40 fixed items"


@pytest.mark.parametrize("name", ["neighbors", "distances", "quadratic", "anchored", "soft"])
def test_a_compact_estimator_still_shows_its_facts(name):
    assert "average distortion" in facts_of(fitted(name).compact()._repr_html_())


@pytest.mark.parametrize("name", CASES)
def test_without_a_fit_or_as_text_nothing_is_added(name):
    estimator, _ = CASES[name]
    assert "skmde-facts" not in estimator._repr_html_()
    with sklearn.config_context(display="text"):
        one = fitted(name)
        assert not hasattr(one, "_repr_html_")
        assert list(one._repr_mimebundle_()) == ["text/plain"]


@pytest.mark.parametrize(
    "damage",
    [
        {"embedding_": None},
        {"embedding_": np.zeros((3, 0))},
        {"weights_": "none"},
        {"distortion_": None},
        {"_rule": None},
        {"stop_reason_": 3},
    ],
)
def test_of_a_damaged_estimator_the_diagram_remains(damage):
    estimator = fitted("neighbors")
    vars(estimator).update(damage)
    shown = estimator._repr_html_()
    assert "sk-top-container" in shown and "skmde-facts" not in shown


def test_texts_are_escaped():
    class Pull:
        def __call__(self, d):
            return d**2

        def __repr__(self):
            return "<script>alert(1)</script>"

    estimator = PreserveNeighbors(
        attractive_penalty=Pull(), repulsion="sampled", random_state=0, max_iter=2
    )
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        shown = estimator.fit(X)._repr_html_()
    assert "<script>alert" not in shown
    assert "<script>alert(1)</script>" in facts_of(shown)["attract"]


def test_pipelines_and_searches_keep_their_diagram():
    pipeline = make_pipeline(StandardScaler(), PreserveNeighbors(random_state=0, max_iter=5)).fit(X)
    search = GridSearchCV(PreserveDistances(max_iter=5), {"loss": ["squared"]}, cv=2).fit(X)
    for holder, held in ((pipeline, "PreserveNeighbors"), (search, "PreserveDistances")):
        assert held in holder._repr_html_()
    # scikit-learn's own function, too
    assert "PreserveNeighbors" in estimator_html_repr(pipeline[-1])


def test_a_million_items_are_shown_at_once():
    estimator = fitted("neighbors")
    rng = np.random.default_rng(0)
    estimator.embedding_ = rng.normal(size=(1_000_000, 2)).astype(np.float32)
    start = time.perf_counter()
    shown = estimator._summary()
    assert time.perf_counter() - start < 2  # hundredths, on a machine with nothing else to do
    assert "1,000,000 in 2 dimensions" in shown and "every 1,000th item" in shown
    assert len(shown) < 60_000
