"""Distortions of pairs, by item, segment and group: closed forms and bad input."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from skmde import metrics
from skmde.metrics import Distortions, distortions as module

PAIRS = np.array([[0, 1], [0, 2], [1, 2], [2, 3]])
VALUES = np.array([1.0, 4.0, 6.0, 3.0])
WEIGHTS = np.array([1.0, 2.0, 1.0, -1.0])


@pytest.fixture
def found():
    terms = {"repulsion of all pairs": np.array([0.5, 0.5, 1.0, 0.0, 0.0])}
    return Distortions(PAIRS, VALUES, WEIGHTS, 5, 4, terms)


def test_averages_of_items_and_segments(found):
    assert found.average == 4.0
    np.testing.assert_allclose(found.by_item(), [2.5, 3.5, 13 / 3, 3.0, np.nan])
    np.testing.assert_allclose(found.by_item("attract"), [2.5, 3.5, 5.0, np.nan, np.nan])
    np.testing.assert_allclose(found.by_item("repel"), [np.nan, np.nan, 3.0, 3.0, np.nan])
    np.testing.assert_allclose(found.shares(), np.array([3.0, 4.0, 7.5, 1.5, 0.0]) / 4)
    assert found.shares().sum() == found.average
    segments = found.by_segment()
    assert segments["attract"] == (11 / 3, 11.0, 3)
    assert segments["repel"] == (3.0, 3.0, 1)
    assert segments["repulsion of all pairs"].total == 2.0
    assert sum(part.total for part in segments.values()) == found.average * found.n_counted


def test_groups_are_compared_by_the_pairs_that_touch_them(found):
    groups = found.by_group(["a", "a", "b", "b", "c"])
    assert groups.groups.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(groups.mean, [11 / 3, 13 / 3, np.nan])
    assert groups.n_pairs.tolist() == [3, 3, 0]
    expected = metrics.distortion_by_group(VALUES, PAIRS, ["a", "a", "b", "b", "c"])
    np.testing.assert_allclose(groups.between.mean, expected.mean)
    compared = groups.compare("a", "b")
    assert compared.difference == pytest.approx(-2 / 3)
    assert compared.ratio == pytest.approx(11 / 13)
    with pytest.raises(ValueError, match="'d' is not a group; the groups are"):
        groups.compare("a", "d")


def test_a_pair_counts_once_for_a_group_that_both_items_are_in(found):
    overlapping = np.array([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]])
    groups = found.by_group(overlapping)
    np.testing.assert_allclose(groups.mean, [11 / 3, 14 / 4])
    assert groups.n_pairs.tolist() == [3, 4]


@pytest.mark.parametrize("n", [1, 3, 10])
def test_the_highest_come_first(found, n):
    pairs, values = found.high_distortion_pairs(n)
    assert values.tolist() == [6.0, 4.0, 3.0, 1.0][:n]
    assert pairs.tolist() == PAIRS[[2, 1, 3, 0]][:n].tolist()
    items, values = found.high_distortion_items(n)
    assert items.tolist() == [2, 1, 3, 0][:n]
    assert (np.diff(values) <= 0).all()


def test_equal_distortions_keep_their_order():
    found = Distortions(PAIRS, np.ones(4), WEIGHTS, 4, 4)
    assert found.high_distortion_pairs(2)[0].tolist() == PAIRS[:2].tolist()


def test_labels_of_items_among_others(found):
    shares = found.label_disagreement([0, 0, 1, 1, 1])
    np.testing.assert_allclose(shares, [2 / 3, 1 / 2, 1.0, np.nan, np.nan])


def test_only_the_shortest_pairs_tell_of_labels(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    pairs = np.array([(i, j) for i in range(40) for j in range(i + 1, 40)])
    d = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    labels, ones = rng.integers(0, 3, 40), np.ones(len(pairs))
    found = Distortions(pairs, ones, ones, 40, len(pairs), {}, d)
    near = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(return_distance=False)
    expected = (labels[near] != labels[:, None]).mean(axis=1)
    np.testing.assert_allclose(found.label_disagreement(labels, 4), expected)
    monkeypatch.setattr(module, "_BLOCK", 100)
    np.testing.assert_allclose(found.label_disagreement(labels, 4), expected)


def test_blocks_change_nothing(found, monkeypatch):
    labels = [0, 0, 1, 1, 1]
    whole = found.by_item(), found.label_disagreement(labels), found.by_group(labels).mean
    monkeypatch.setattr(module, "_BLOCK", 3)
    blocks = found.by_item(), found.label_disagreement(labels), found.by_group(labels).mean
    for one, other in zip(whole, blocks, strict=True):
        np.testing.assert_allclose(one, other)


def test_no_pairs_have_no_average():
    found = Distortions(np.empty((0, 2), int), np.empty(0), np.empty(0), 2, 0)
    assert found.average == 0.0
    assert np.isnan(found.by_item()).all()
    assert found.high_distortion_pairs()[1].tolist() == []
    assert np.isnan(found.by_segment()["attract"].mean)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f.by_item("attractive"), "segment must be 'attract', 'repel' or None"),
        (lambda f: f.high_distortion_pairs(0), "n must be at least 1; got 0"),
        (lambda f: f.high_distortion_items(2.5), "n must be an integer; got 2.5"),
        (lambda f: f.label_disagreement([0, 1]), "y has 2 entries, but there are 5 items"),
        (lambda f: f.by_group(["a"] * 6), "labels has 6 entries, but there are 5 items"),
        (lambda f: f.label_disagreement([0, "a", None, 1, 2]), "mixes labels of several types"),
    ],
    ids=["segment", "none", "half", "labels", "groups", "mixed"],
)
def test_bad_arguments_are_refused(found, call, message):
    with pytest.raises(ValueError, match=message):
        call(found)


def test_repr_is_short(found):
    assert repr(found) == "Distortions(4 pairs of 5 items, average 4)"
    assert repr(found.by_group([0, 0, 1, 1, 1])) == "GroupAverages(0: 3.67, 1: 4.33)"


MISSING = {
    "none": ["a", "a", "b", None, "b"],
    "nan": [0.0, 0.0, 1.0, np.nan, 1.0],
    "object": np.array(["a", "a", "b", float("nan"), "b"], dtype=object),
    "time": np.array(["2020", "2020", "2021", "NaT", "2021"], dtype="M8[Y]"),
}


@pytest.mark.parametrize("kind", [*MISSING, "categorical", "integers", "polars"])
def test_items_without_a_label_do_not_count(found, kind):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made = {
        "categorical": lambda: pandas.Categorical(MISSING["none"]),
        "integers": lambda: pandas.array([0, 0, 1, pandas.NA, 1], dtype="Int64"),
        "polars": lambda: polars.Series(MISSING["none"]),
    }
    labels = MISSING[kind] if kind in MISSING else made[kind]()
    # the pair of items 2 and 3 repels; item 3 has no label
    expected = [2 / 3, 0.5, 1.0, np.nan, np.nan]
    np.testing.assert_allclose(found.label_disagreement(labels), expected)
    groups = found.by_group(labels)
    assert len(groups.groups) == 2
    np.testing.assert_array_equal(groups.n_pairs, [3, 3])
    np.testing.assert_array_equal(groups.between.n_pairs, [[1, 2], [2, 0]])
    known = found.by_group(["a", "a", "b", "c", "b"])
    np.testing.assert_allclose(groups.mean, known.mean[:2])


def test_a_pair_of_two_items_without_labels_is_no_agreement():
    pairs = np.array([[0, 1], [0, 2]])
    found = Distortions(pairs, np.ones(2), np.ones(2), 3, 2)
    disagreement = found.label_disagreement([None, None, "a"])
    assert np.isnan(disagreement).all()


@pytest.mark.parametrize("labels", [iter("abcde"), set("abcde")], ids=["iterator", "set"])
def test_labels_in_no_order_or_only_once_are_refused(found, labels):
    with pytest.raises(ValueError, match="pass a list, an array or a series"):
        found.label_disagreement(labels)


def test_no_neighbours_have_no_disagreement():
    found = Distortions(PAIRS, VALUES, np.ones(4), 4, 4, distances=VALUES)
    for n in (0, -3):
        with pytest.raises(ValueError, match=f"n_neighbors must be at least 1; got {n}"):
            found.label_disagreement([0, 0, 1, 1], n_neighbors=n)
