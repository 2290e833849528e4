"""What `explore` writes into its page, and what it refuses. tests/browser opens the pages."""

import base64
import hashlib
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from explorer_pages import MIXED, N, X, data_of, parse, texts_of
from hypothesis import given, settings, strategies as st

from skmde.plotting import explore

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "&lt;b&gt; \u2028 \u2029 \x00 \\u003c",
    "Ünïcödé 漢字 עברית 🦊",
    "\ud800",
    "@@script@@ @@data@@",
    "x" * 10_000,
    "",
    "' onload=alert(1) \"",
    "]]>",
]


# Coordinates


def test_coordinates_keep_their_shape_in_one_unit():
    components = np.column_stack(data_of(explore(X))["components"])
    assert np.abs(components).max() == 1
    spread = X - (X.min(axis=0) + X.max(axis=0)) / 2
    np.testing.assert_allclose(components, spread / np.abs(spread).max(), atol=1e-6)


@pytest.mark.parametrize("shift, scale", [(1e6, 1.0), (0.0, 1e-300), (0.0, 1e300), (-1e9, 1e3)])
def test_coordinates_do_not_depend_on_the_unit(shift, scale):
    moved = data_of(explore(X * scale + shift))["components"]
    np.testing.assert_allclose(moved, data_of(explore(X))["components"], atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 2), (5, 2), (1, 1), (5, 3)])
def test_points_that_coincide_are_at_the_centre(shape):
    components = data_of(explore(np.full(shape, 7.5)))["components"]
    assert np.all(components[0] == 0)
    assert len(components) == max(2, shape[1])
    assert all(np.isfinite(x).all() for x in components)


@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 10])
def test_each_component_travels(n_components):
    Z = np.random.default_rng(1).normal(size=(N, n_components))
    data = data_of(explore(Z))
    assert len(data["components"]) == max(2, n_components)
    assert data["names"] == [f"component {k + 1}" for k in range(n_components)]


def test_one_component_is_spread_over_a_narrow_band():
    data = data_of(explore(X[:, :1]))
    order = np.argsort(data["components"][0])
    assert np.array_equal(order, np.argsort(X[:, 0]))
    assert np.abs(data["components"][1]).max() <= np.float32(0.15)
    assert len(np.unique(data["components"][1])) == N


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coordinates_that_are_not_finite_are_refused(bad):
    Z = X.copy()
    Z[[3, 7], 1] = bad
    with pytest.raises(ValueError, match=r"in 2 of 12 rows, the first of them row 3\. Leave"):
        explore(Z)


@pytest.mark.parametrize(
    "embedding, message",
    [
        (X[:, 0], r"shape \(12,\); expected \(n_samples, n_components\)"),
        (X[:0], r"shape \(0, 2\): there is nothing to show"),
        (X[:, :0], "there is nothing to show"),
        (np.ones((4, 11)), "11 components, but at most 10 can be shown. Embed the data first"),
        (X[None], "expected"),
        (X * 1j, "type complex128; expected real numbers"),
        ([["a", "b"]], "expected real numbers"),
        ("digits", "expected real numbers"),
        (None, "neither an array of numbers nor an estimator"),
        (object(), "neither an array of numbers nor an estimator"),
        (np.ma.masked_greater(X, 1.0), "masked entries"),
        (sp.csr_array(X), "neither an array of numbers"),
    ],
    ids=["1-D", "no rows", "no columns", "11 columns", "3-D", "complex", "texts", "text", "None",
         "object", "masked", "sparse"],
)  # fmt: skip
def test_what_is_no_embedding_is_refused(embedding, message):
    with pytest.raises(ValueError, match=message):
        explore(embedding)


def test_estimators_and_data_frames_are_embeddings():
    of_array = data_of(explore(X))["components"]
    fitted = SimpleNamespace(embedding_=X)
    np.testing.assert_array_equal(data_of(explore(fitted))["components"], of_array)
    frame = data_of(explore(pd.DataFrame(X, columns=["left", "right"])))
    np.testing.assert_array_equal(frame["components"], of_array)
    assert frame["names"] == ["left", "right"]


# Text is data


def test_hostile_texts_arrive_as_they_are_and_add_no_element():
    page = explore(
        X, labels=HOSTILE, hover=HOSTILE, color_by={HOSTILE[0]: HOSTILE}, title=HOSTILE[1]
    )
    plain = explore(X, labels=[""] * N, hover=[""] * N, color_by={"c": [""] * N}, title="")
    expected = [text or "(empty)" for text in HOSTILE]
    data = data_of(page)
    assert all(texts_of(column) == expected for column in data["columns"])
    assert data["columns"][1]["name"] == HOSTILE[0]
    assert [tag for tag, _ in parse(page).tags] == [tag for tag, _ in parse(plain).tags]
    assert "alert(1)" not in "".join(
        text for kind, text in parse(page).scripts if kind.get("type") != "application/json"
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(), min_size=3, max_size=3), st.text())
def test_any_text_arrives_as_it_is(texts, title):
    page = explore(X[:3], hover=texts, title=title)
    assert texts_of(data_of(page)["columns"][0]) == [text or "(empty)" for text in texts]
    (json_text,) = (t for kind, t in parse(page).scripts if kind.get("id") == "data")
    assert json_text.isascii() and not set("<>&") & set(json_text)
    page.html.encode("utf-8")


def test_only_the_script_of_the_package_may_run_and_nothing_is_fetched():
    page = explore(X, labels=HOSTILE)
    parsed = parse(page)
    (policy,) = (a["content"] for tag, a in parsed.tags if a.get("http-equiv"))
    (script,) = (text for attributes, text in parsed.scripts if not attributes)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}' 'unsafe-eval';" in policy
    assert policy.startswith("default-src 'none'")
    loading = [a.get(key) for _, a in parsed.tags for key in ("src", "href") if a.get(key)]
    assert loading == ["data:,"]


# Edges


def test_edges_are_pairs_without_loops():
    data = data_of(explore(X, edges=[(0, 1), (2, 2), (3, 11)]))
    assert data["edges"]["pairs"].tolist() == [0, 1, 3, 11]
    adjacency = np.zeros((N, N))
    adjacency[[0, 1, 3, 5, 5], [1, 0, 11, 5, 2]] = 1
    data = data_of(explore(X, edges=sp.csr_array(adjacency)))
    assert data["edges"]["pairs"].tolist() == [0, 1, 2, 5, 3, 11]
    assert data_of(explore(X, edges=[]))["edges"]["total"] == 0


def test_of_many_edges_a_part_is_drawn():
    pairs = np.random.default_rng(0).integers([0, 6], [6, 12], size=(50_000, 2))
    edges = data_of(explore(X, edges=pairs))["edges"]
    assert (edges["drawn"], edges["total"]) == (20_000, 50_000)
    assert len(edges["pairs"]) == 40_000


@pytest.mark.parametrize(
    "edges, message",
    [
        ([(0, N)], "indices from 0 to 12, but items are numbered from 0 to 11"),
        ([(-1, 2)], "indices from -1 to 2"),
        ([(0.5, 1)], "type float64; expected integers"),
        ([(0, 1, 2)], r"shape \(1, 3\); expected \(n_edges, 2\)"),
        (sp.eye_array(N + 1), r"shape \(13, 13\), but has to be \(12, 12\)"),
    ],
    ids=["too large", "negative", "floats", "triples", "matrix"],
)
def test_edges_that_do_not_fit_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        explore(X, edges=edges)


# The page


def test_the_page_is_saved_and_shown(tmp_path):
    page = explore(X, labels=HOSTILE, title="Näme", height=420)
    page.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text(encoding="utf-8") == page.html
    frame = parse(SimpleNamespace(html=page._repr_html_()))
    ((tag, attributes),) = frame.tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == page.html
    assert "allow-same-origin" not in attributes["sandbox"]
    assert "height: 420px" in attributes["style"]
    assert "Näme" in page.html
    assert len(repr(page)) < 100


def test_without_anywidget_a_widget_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match="pip install anywidget, or show the page itself"):
        explore(X).widget()


def test_the_same_input_gives_the_same_page():
    images = np.random.default_rng(0).random((N, 8, 8))
    pages = [explore(X, labels=MIXED, images=images).html for _ in range(2)]
    assert pages[0] == pages[1]


def test_inputs_are_not_changed():
    Z, labels, pairs = X.copy(), np.array(MIXED, dtype=object), np.array([[3, 1], [0, 0]])
    explore(Z, labels=labels, color_by={"c": labels}, edges=pairs)
    assert np.array_equal(Z, X) and pairs.tolist() == [[3, 1], [0, 0]]
    assert all(a is b for a, b in zip(labels, MIXED, strict=True))


def test_nothing_else_is_left_to_fill_in():
    assert not re.findall("@@[a-z]+@@", explore(X).html)
