"""Anchored embeddings: the anchors stay where they are, and bad anchors are refused."""

import pickle

import numpy as np
import pytest
import torch

from skmde.constraints import Anchored


def test_anchored_puts_its_values_in_and_zeroes_their_rows():
    constraint = Anchored([3, 0], [[1.0, 2.0], [3.0, 4.0]])
    Z = torch.full((4, 2), 9.0)
    assert constraint.project(Z).tolist() == [[3, 4], [9, 9], [9, 9], [1, 2]]
    assert constraint.project_tangent(Z, Z).tolist() == [[0, 0], [9, 9], [9, 9], [0, 0]]
    assert (Z == 9).all()


def test_anchored_zeroes_rows_that_are_not_finite():
    Z = torch.full((2, 2), float("nan"))
    assert Anchored([0], [[1.0, 2.0]]).project_tangent(Z, Z)[0].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_anchored_takes_tensors_and_keeps_the_dtype(dtype):
    values = torch.tensor([[0.1, 0.2]], requires_grad=True)
    constraint = Anchored(torch.tensor([1]), values)
    X = constraint.project(torch.zeros(2, 2, dtype=dtype))
    assert X.dtype == dtype and not X.requires_grad
    torch.testing.assert_close(X[1], values.detach()[0].to(dtype))
    assert constraint.violation(X) < 1e-7


def test_anchored_takes_the_same_anchor_twice_with_one_value():
    constraint = Anchored([1, 1, 0], [[1.0], [1.0], [2.0]])
    assert constraint.project(torch.zeros(3, 1)).tolist() == [[2], [1], [0]]


def test_every_item_anchored_leaves_nothing_to_move():
    values = np.arange(6.0).reshape(3, 2)
    constraint = Anchored([2, 1, 0], values[::-1])
    X = constraint.initialize(3, 2, np.random.default_rng(0), torch.float64, "cpu")
    np.testing.assert_array_equal(X.numpy(), values)
    assert not constraint.project_tangent(X, torch.ones(3, 2)).any()


def test_anchored_starts_about_its_anchors():
    values = np.array([[1000.0, -50.0], [1010.0, -50.0]])
    constraint = Anchored([0, 1], values)
    X = constraint.initialize(2002, 2, np.random.default_rng(0), torch.float64, "cpu")
    free = X[2:].numpy()
    np.testing.assert_allclose(free.mean(axis=0), [1005.0, -50.0], atol=0.5)
    np.testing.assert_allclose(free.std(axis=0), np.sqrt(12.5), rtol=0.1)


def test_a_single_anchor_gets_a_start_of_unit_size():
    X = Anchored([0], [[7.0]]).initialize(1001, 1, np.random.default_rng(0), torch.float64, "cpu")
    assert float(X.std()) == pytest.approx(1, rel=0.1)


def test_anchored_violation_is_relative_to_the_anchors():
    constraint = Anchored([0], [[10.0, 0.0]])
    assert constraint.violation(torch.tensor([[11.0, 0.0], [500.0, 0.0]])) == pytest.approx(0.1)
    origin = Anchored([0], [[0.0, 0.0]])
    assert origin.violation(torch.tensor([[1.0, 0.0], [4.0, 0.0]])) == pytest.approx(0.25)
    assert origin.violation(torch.zeros(2, 2)) == 0


def test_anchored_follows_set_params():
    constraint = Anchored([0], [[1.0]])
    Z = torch.zeros(2, 1)
    constraint.project(Z)
    constraint.set_params(anchors=[1], values=[[5.0]])
    assert constraint.project(Z).tolist() == [[0], [5]]


def test_anchored_pickle_holds_its_parameters_alone():
    constraint = Anchored([0], [[1.0]])
    size = len(pickle.dumps(constraint))
    constraint.project(torch.zeros(2, 1))
    assert len(pickle.dumps(constraint)) == size


@pytest.mark.parametrize(
    ("anchors", "values", "message"),
    [
        ([0, 0], [[1.0, 1.0], [1.0, 2.0]], r"Item 0 is anchored twice, at \[1.0, 1.0\] and at"),
        ([5], [[0.0, 0.0]], "item 5, but there are 5 items: anchors must be from 0 to 4"),
        ([-1], [[0.0, 0.0]], "item -1: anchors must be 0 or more"),
        ([0, 3], [[0.0, 0.0], [np.nan, 0.0]], r"anchor 3 is \[nan, 0.0\]: values must be finite"),
        ([0], [[np.inf, 0.0]], "values must be finite"),
        ([0], [[0.0, 0.0, 0.0]], "3 columns, but the embedding has 2 components"),
        ([0, 1], [[0.0, 0.0]], r"shape \(2, n_components\), one row for each anchor; got shape"),
        ([0], [0.0], r"got shape \(1,\)"),
        ([0], [["a", "b"]], "must be numbers"),
        ([], np.empty((0, 2)), "one item or more"),
        ([0.5], [[0.0, 0.0]], "integers of shape .* dtype float64"),
        ([[0]], [[0.0, 0.0]], r"integers of shape \(n_anchors,\); got shape \(1, 1\)"),
        ([True, False], [[0.0, 0.0], [0.0, 0.0]], "Turn a mask into indices"),
    ],
)
def test_bad_anchors_are_refused_when_used(anchors, values, message):
    constraint = Anchored(anchors, values)
    with pytest.raises(ValueError, match=message):
        constraint.validate(5, 2)
    with pytest.raises(ValueError, match=message):
        constraint.project(torch.zeros(5, 2))


def test_fixed_items_are_the_anchors_in_ascending_order():
    constraint = Anchored([3, 0, 3], [[1, 2], [3, 4], [1, 2]])
    assert constraint.fixed_items.tolist() == [0, 3]
    np.testing.assert_array_equal(
        constraint.fixed_coordinates, np.array([[3.0, 4.0], [1.0, 2.0]]), strict=True
    )


def test_restricted_anchors_are_counted_among_the_items_that_stay():
    class Named(Anchored):
        def __init__(self, anchors, values, label="a"):
            super().__init__(anchors, values)
            self.label = label

    constraint = Named(torch.tensor([7, 2]), torch.tensor([[1.0], [5.0]]), label="b")
    constraint.validate(9, 1)
    some = constraint.restricted(np.array([1, 2, 4, 7, 8]))
    assert some.project(torch.zeros(5, 1)).ravel().tolist() == [0, 5, 0, 1, 0]
    assert type(some) is Named and some.label == "b"
    assert constraint.anchors.tolist() == [7, 2]
    assert constraint.fixed_items.tolist() == [2, 7]
    without = constraint.restricted(np.array([2, 3]))
    assert without.fixed_items.tolist() == [0] and without.fixed_coordinates.tolist() == [[5.0]]


def test_a_finished_solution_has_anchors_to_their_last_digit():
    constraint = Anchored([1], [[1.0 / 3.0, 0.1]])
    solution = constraint.project(torch.ones(2, 2)).double()
    assert solution[1].tolist() != [1.0 / 3.0, 0.1]
    assert constraint.finish(solution).tolist() == [[1.0, 1.0], [1.0 / 3.0, 0.1]]
