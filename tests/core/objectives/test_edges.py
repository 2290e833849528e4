"""The edge list: what it accepts, how it sorts, and how it finds back to the caller's order."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from skmde.core.objectives import edges as edges_module
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList, as_edges
from skmde.penalties import Log, Log1p, Quadratic


def build(edges, n_items=6, distortion="quadratic", **arguments):
    return EdgeList.build(edges, n_items, distortion, **arguments)


EDGES = np.array([[4, 1], [0, 2], [5, 0], [2, 1], [3, 5]])


@st.composite
def weighted_edges(draw):
    n = draw(st.integers(2, 8))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1])
    edges = draw(st.lists(pair, min_size=1, max_size=30))
    weights = draw(
        st.lists(st.integers(-3, 3).map(float), min_size=len(edges), max_size=len(edges))
    )
    return n, np.array(edges), np.array(weights)


@given(weighted_edges())
def test_segments_split_by_sign_and_edges_are_sorted_inside(problem):
    n, edges, weights = problem
    stored = build(edges, n, (Log1p(), Log()), weights=weights)
    assert sum(s.stop - s.start for s in stored.segments) == len(stored) == len(edges)
    position = 0
    for segment in stored.segments:
        assert segment.start == position < segment.stop
        position = segment.stop
        w = stored.weights[segment.start : segment.stop]
        repels = segment.function == Log()
        assert bool((w < 0).all()) if repels else bool((w >= 0).all())
        keys = list(
            zip(
                stored.i[segment.start : segment.stop].tolist(),
                stored.j[segment.start : segment.stop].tolist(),
                strict=True,
            )
        )
        assert keys == sorted(keys)
        assert all(i < j for i, j in keys)


@given(weighted_edges())
def test_callers_order_is_restored(problem):
    n, edges, weights = problem
    stored = build(edges, n, (Log1p(), Log()), weights=weights)
    np.testing.assert_array_equal(stored.to_callers_order(stored.weights), weights)
    pairs = stored.to_callers_order(torch.stack([stored.i, stored.j], dim=1))
    np.testing.assert_array_equal(pairs, np.sort(edges, axis=1))


def test_weights_and_deviations_follow_their_edges():
    stored = build(EDGES, distortion="squared", weights=np.arange(5.0), deviations=[4, 3, 2, 1, 0])
    np.testing.assert_array_equal(stored.weights, [1, 2, 3, 0, 4])  # (0,2) (0,5) (1,2) (1,4) (3,5)
    np.testing.assert_array_equal(stored.deviations, [3, 2, 1, 4, 0])
    np.testing.assert_array_equal(stored.to_callers_order(stored.deviations), [4, 3, 2, 1, 0])


def test_sorted_edges_are_not_moved():
    assert build(np.array([[0, 1], [0, 2], [1, 2]])).order is None


def test_weights_default_to_one():
    np.testing.assert_array_equal(build(EDGES).weights, np.ones(5))


def test_one_function_for_both_signs_is_one_segment():
    for distortion in ("log1p", ("log1p", "log1p"), (None, "log1p"), ("log1p", None)):
        sign = -1.0 if distortion == (None, "log1p") else 1.0
        stored = build(EDGES, distortion=distortion, weights=sign * np.ones(5))
        assert [(s.start, s.stop, s.function) for s in stored.segments] == [(0, 5, Log1p())]
    assert len(build(EDGES, distortion="log1p", weights=[1, -1, 1, -1, 1]).segments) == 1


def test_zero_weights_are_with_those_that_attract():
    stored = build(EDGES, distortion=("log1p", "log"), weights=[0.0, -1, 0, 1, -1])
    assert [s.stop - s.start for s in stored.segments] == [3, 2]


@pytest.mark.parametrize("with_deviations", [False, True])
def test_callable_gets_its_edges_in_the_callers_order(with_deviations):
    deviations = np.arange(5.0) if with_deviations else None
    stored = build(
        EDGES, distortion=lambda *d: d[-1], weights=[1, -2, 3, -4, 5.0], deviations=deviations
    )
    assert stored.order is None
    np.testing.assert_array_equal(stored.weights, [1, -2, 3, -4, 5])


def test_callables_for_each_sign_get_their_edges_in_the_callers_order():
    def attract(d):
        return d

    weights = [1, -2, 3, -4, 5.0]
    for pair in ((attract, "log"), ("log1p", attract), (attract, lambda d: -1 / d)):
        stored = build(EDGES, distortion=pair, weights=weights)
        np.testing.assert_array_equal(stored.weights, [1, 3, 5, -2, -4])
        np.testing.assert_array_equal(stored.to_callers_order(stored.weights), weights)


@pytest.mark.parametrize(
    "kind",
    [
        np.asarray,
        np.ndarray.tolist,
        torch.from_numpy,
        np.uint8,
        np.uint64,
        np.int16,
        np.asfortranarray,
    ],
)
def test_edges_of_any_integer_kind(kind):
    stored = build(kind(EDGES))
    np.testing.assert_array_equal(stored.i, [0, 0, 1, 1, 3])
    np.testing.assert_array_equal(stored.j, [2, 5, 2, 4, 5])
    assert stored.i.dtype == stored.j.dtype == torch.int32


def test_inputs_are_neither_written_to_nor_kept():
    edges = np.array([[0, 1], [0, 2], [1, 2]])
    weights = np.ones(3, np.float32)
    deviations = torch.ones(3)
    stored = build(edges, distortion="squared", weights=weights, deviations=deviations)
    stored.weights.fill_(7)
    stored.deviations.fill_(7)
    stored.i.fill_(2)
    np.testing.assert_array_equal(edges, [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(weights, 1)
    np.testing.assert_array_equal(deviations, 1)


@pytest.mark.filterwarnings("error")
def test_read_only_arrays_are_accepted():
    arrays = np.array([[0, 1], [1, 2]]), np.ones(2, np.float32), np.ones(2, np.float32)
    for array in arrays:
        array.flags.writeable = False
    stored = build(arrays[0], distortion="squared", weights=arrays[1], deviations=arrays[2])
    assert not np.shares_memory(stored.weights.numpy(), arrays[1])


def test_to_changes_the_type_of_weights_and_deviations_only():
    stored = build(EDGES, distortion="squared", deviations=np.ones(5)).to(dtype=torch.float64)
    assert stored.weights.dtype == stored.deviations.dtype == torch.float64
    assert stored.i.dtype == torch.int32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": np.zeros((0, 2), int)}, r"at least one row; got shape \(0, 2\)"),
        ({"edges": np.zeros((3, 3), int)}, r"shape \(p, 2\).*got shape \(3, 3\)"),
        ({"edges": [0, 1]}, r"got shape \(2,\)"),
        ({"edges": EDGES.astype(float)}, "must hold integers.*float64"),
        ({"edges": np.array([["a", "b"]])}, "must hold integers"),
        ({"edges": EDGES == 0}, "must hold integers.*bool"),
        ({"edges": [[0, 6]]}, "name item 6, but there are 6 items, numbered 0 to 5"),
        ({"edges": [[-1, 3]]}, "name item -1"),
        (
            {"edges": [[0, 1], [2, 2], [3, 3]]},
            r"edge 1 pairs item 2 with itself \(2 such edges\); remove",
        ),
        ({"weights": np.ones(4)}, r"weights must have shape \(5,\).*got \(4,\)"),
        ({"weights": np.ones((5, 1))}, r"got \(5, 1\)"),
        (
            {"weights": [1, 1, np.nan, np.inf, 1]},
            "weights holds 2 values that are NaN or infinite; omit",
        ),
        ({"weights": ["a"] * 5}, "weights must be numbers; got dtype <U1"),
        ({"weights": np.ones(5, complex)}, "weights must be numbers; got dtype complex128"),
        (
            {"deviations": [0, 1, -0.5, 1, 1], "distortion": "squared"},
            "must be at least 0; the smallest is -0.5",
        ),
        ({"deviations": np.ones(3), "distortion": "squared"}, r"deviations must have shape \(5,\)"),
        (
            {"deviations": np.ones(5), "distortion": ("log1p", "log")},
            "must be one loss, not a pair",
        ),
        ({"distortion": ("log1p", "log", "log")}, "got a sequence of 3"),
        (
            {"distortion": (None, "log"), "weights": np.ones(5)},
            "attractive penalty is None, but some weights are positive",
        ),
        (
            {"distortion": ("log1p", None), "weights": -np.ones(5)},
            "repulsive penalty is None, but some weights are negative",
        ),
        ({"distortion": None}, r"attractive penalty is None.*\(1 where none are given\)"),
        ({"distortion": Log(exponent=-1.0)}, "Log: exponent"),
        ({"distortion": ("log1p", Log(exponent=-1.0))}, "Log: exponent"),
    ],
)
def test_wrong_input_is_refused_with_what_was_seen(arguments, message):
    arguments = {"edges": EDGES, **arguments}
    with pytest.raises(ValueError, match=message):
        build(**arguments)


def test_loss_without_deviations_is_refused():
    from skmde.losses import SquaredLoss

    with pytest.raises(ValueError, match=r"SquaredLoss is a loss.*pass these as deviations="):
        build(EDGES, distortion=SquaredLoss())


def test_penalty_with_deviations_is_refused():
    with pytest.raises(TypeError, match="is a penalty; pass a loss"):
        build(EDGES, distortion=Quadratic(), deviations=np.ones(5))


def test_classes_are_refused():
    with pytest.raises(TypeError, match=r"class Quadratic; pass an instance"):
        build(EDGES, distortion=Quadratic)


def test_as_edges_takes_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(EDGES, columns=["a", "b"])
    np.testing.assert_array_equal(as_edges(frame, 6), EDGES)


def test_joined_lists_keep_their_functions_and_the_order_of_the_caller():
    first = EdgeList.build([[2, 1], [0, 1]], 4, Log1p(), weights=[1.0, 2.0])
    second = EdgeList.build([[3, 2], [0, 3], [0, 2]], 4, (Quadratic(), Log()), weights=[3, -4, 5])
    both = first.joined(second)
    assert len(both) == 5
    spans = [(s.start, s.stop, type(s.function)) for s in both.segments]
    assert spans == [(0, 2, Log1p), (2, 4, Quadratic), (4, 5, Log)]
    given = both.to_callers_order(both.weights)
    assert given.tolist() == [1.0, 2.0, 3.0, -4.0, 5.0]
    pairs = torch.stack([both.to_callers_order(both.i), both.to_callers_order(both.j)], dim=1)
    assert pairs.tolist() == [[1, 2], [0, 1], [2, 3], [0, 3], [0, 2]]
    ordered = EdgeList.build([[0, 1]], 4, Log1p())
    assert ordered.joined(ordered).order is None


def test_edges_of_many_items_come_tile_by_tile(monkeypatch):
    rng = np.random.default_rng(0)
    n = 100
    pairs = np.array([pair for pair in rng.integers(0, n, (500, 2)) if pair[0] != pair[1]])
    weights = rng.choice([-1.0, 1.0], len(pairs))
    functions = ("log1p", "log")
    plain = EdgeList.build(pairs, n, functions, weights=weights, dtype=torch.float64)
    monkeypatch.setattr(edges_module, "_TILE", 16)
    tiled = EdgeList.build(pairs, n, functions, weights=weights, dtype=torch.float64)
    keys = [
        (float(w) < 0, int(i) // 16, int(j) // 16, int(i), int(j))
        for i, j, w in zip(tiled.i, tiled.j, tiled.weights, strict=True)
    ]
    assert keys == sorted(keys)
    X = torch.from_numpy(rng.standard_normal((n, 2)))
    values, gradients = zip(
        *(
            EdgeTerm(each, n, 2, dtype=torch.float64).value_and_gradient(X)
            for each in (plain, tiled)
        ),
        strict=True,
    )
    assert float(values[0]) == pytest.approx(float(values[1]), rel=1e-12)
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(np.sort(pairs[tiled.order], axis=1)[:, 0], tiled.i)
