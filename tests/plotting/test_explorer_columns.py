"""Classes, numbers and texts of `explore`: what is shown of each item."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from explorer_pages import MIXED, N, X, data_of, texts_of

from skmde.plotting import explore


def columns_of(**arguments):
    return data_of(explore(X, **arguments))["columns"]


def test_labels_of_mixed_types_are_told_apart_by_their_text():
    (column,) = columns_of(labels=MIXED)
    missing, one = "(missing)", "1"
    expected = [one, one, one, missing, missing, "(empty)", "True", "raw", "é", missing, missing]
    assert texts_of(column) == [*expected, "2.5"]
    assert column["texts"][column["missing"]] == missing == column["texts"][-1]


@pytest.mark.parametrize(
    "labels, order",
    [
        ([10, 9, 2, 1], ["1", "2", "9", "10"]),
        (["10", "9", "-2", "1"], ["-2", "1", "9", "10"]),
        (["run 10", "run 9", "Run 2", "a"], ["a", "Run 2", "run 9", "run 10"]),
        ([1.5, float("nan"), 2.0, -1.0], ["-1", "1.5", "2", "(missing)"]),
        ([None, "b", "a", None], ["a", "b", "(missing)"]),
        ([True, False, True, True], ["False", "True"]),
        (["9" * 5000, "10", "x", ""], ["10", "9" * 5000, "(empty)", "x"]),
        (pd.Categorical(["mid", "low", None, "high"], ["low", "mid", "high", "never"]),
         ["low", "mid", "high", "(missing)"]),
        (pd.Series(["b", "a", "c", "b"], dtype="category"), ["a", "b", "c"]),
        (pd.Series([3, None, 1, 2], dtype="Int64"), ["1", "2", "3", "(missing)"]),
        (pl.Series(["b", None, "a", "c"]), ["a", "b", "c", "(missing)"]),
        (np.ma.masked_equal([3, 9, 1, 2], 9), ["1", "2", "3", "(missing)"]),
    ],
    ids=["integers", "digits", "words and digits", "floats", "None", "booleans", "long digits",
         "categories", "series of categories", "Int64", "polars", "masked"],
)  # fmt: skip
def test_classes_have_the_order_that_a_reader_expects(labels, order):
    (column,) = data_of(explore(X[:4], labels=labels))["columns"]
    assert column["texts"] == order
    # each item has its own class
    assert len({column["texts"][code] for code in column["codes"]}) == len(order)


def test_three_hundred_classes_need_two_bytes_each():
    labels = np.arange(900) % 300
    (column,) = data_of(explore(np.random.default_rng(0).normal(size=(900, 2)), labels=labels))[
        "columns"
    ]
    assert column["codes"].dtype == np.uint16
    assert texts_of(column) == [str(label) for label in labels]


@pytest.mark.parametrize("labels", [np.arange(N), list(range(N)), np.linspace(0, 1, N)])
def test_labels_are_classes_even_if_they_are_numbers(labels):
    (column,) = columns_of(labels=labels)
    assert len(column["texts"]) == N


def test_colours_are_numbers_or_classes_by_their_values():
    def kind(values):
        column = data_of(explore(np.zeros((60, 2)), color_by={"c": values}))["columns"][0]
        return "numbers" if "numbers" in column else "classes"

    assert kind(np.linspace(0, 1, 60)) == "numbers"
    assert kind(np.arange(60)) == "numbers"
    assert kind(np.arange(60) % 20) == "classes"
    assert kind([0.5, None] * 30) == "numbers"
    assert kind([0.5, "x"] * 30) == "classes"
    assert kind([True, False] * 30) == "classes"
    assert kind(pd.Categorical(np.arange(60))) == "classes"
    assert kind([None] * 60) == "classes"
    assert kind(np.arange("2000", "2060", dtype="datetime64[Y]")) == "classes"


def test_numbers_that_are_not_finite_stay_outside_the_range():
    values = [1.0, 5.0, np.nan, np.inf, -np.inf, *range(7)]
    (column,) = columns_of(color_by={"c": values})
    assert (column["low"], column["high"]) == (0.0, 6.0)
    (column,) = columns_of(color_by={"c": np.full(N, np.nan)})
    assert (column["low"], column["high"]) == (None, None)


@pytest.mark.parametrize("value", [2**24 + 1, 2**31, 1e300])
def test_large_numbers_are_not_rounded(value):
    (column,) = columns_of(hover={"id": np.full(N, value)})
    assert np.all(column["numbers"] == value)


FRAME = pd.DataFrame({"name": list("abcdefghijkl"), "size": np.arange(N) * 0.5, "kind": ["p"] * N})


@pytest.mark.parametrize(
    "table",
    [FRAME, pl.DataFrame(FRAME.to_dict("list")), FRAME.to_dict("list")],
    ids=["pandas", "polars", "dict"],
)
def test_color_by_names_columns_of_hover(table):
    data = data_of(explore(X, hover=table, color_by=["size", "kind"]))
    assert [column["name"] for column in data["columns"]] == ["size", "kind", "name"]
    assert data["colorings"] == [0, 1]
    assert texts_of(data["columns"][2]) == list("abcdefghijkl")


def test_colourings_have_the_names_that_are_known():
    def names(color_by, **others):
        data = data_of(explore(X, color_by=color_by, **others))
        return [data["columns"][k]["name"] for k in data["colorings"]]

    series = pd.Series(np.arange(N), name="age")
    assert names(series) == ["age"]
    assert names([series, np.arange(N)]) == ["age", "color 2"]
    assert names(np.arange(N)) == ["color"]
    assert names(list("aabbccddeeff")) == ["color"]
    assert names({"a": series, "b": series}, labels=series) == ["age", "a", "b"]
    assert names("kind", hover=FRAME) == ["kind"]


@pytest.mark.parametrize("argument", ["labels", "hover", "color_by"])
@pytest.mark.parametrize("length", [0, 1, N - 1, N + 1])
def test_a_wrong_length_is_refused(argument, length):
    with pytest.raises(ValueError, match=rf"has {length} values, but the embedding has 12 rows"):
        explore(X, **{argument: np.arange(length)})


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"labels": np.zeros((N, 2))}, r"labels has shape \(12, 2\)"),
        ({"labels": "one text"}, r"labels has shape \(\)"),
        ({"hover": {"a": [1]}}, r"hover\['a'\] has 1 values"),
        ({"color_by": {"a": [1]}}, r"color_by\['a'\] has 1 values"),
        ({"color_by": ["size"]}, "names 'size', but hover is no table"),
        ({"color_by": ["sizes"], "hover": FRAME}, "'sizes', but hover has the columns"),
    ],
    ids=["2-D", "one text", "hover", "color_by", "no table", "no column"],
)
def test_columns_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        explore(X, **arguments)
