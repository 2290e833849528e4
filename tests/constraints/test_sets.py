"""Boxes, discs, spheres and shared coordinates: projections, bad input, starting points."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from skmde import Box, Constraint, Disc, NonNegative, SameCoordinate, Sphere
from skmde.constraints import check_constraint

GROUPS = [0, 0, 1, 1, -1, 2, 2, 2, 1, 0, -1, 5]


def _normal(n, m, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, m)))


def _sets(m):
    every = np.tile(np.arange(12.0)[:, None], m)
    yield from (Box(), Box(-1e6, 1e6), Box(-1e-6, 1e-6), Box(None, 2.0), NonNegative())
    yield from (Box([0.0] * m, [1.0] * (m - 1) + [0.0]), Box(every, every + 1))
    yield from (Disc(), Disc(2.0, [5.0] * m), Disc(1e-6), Disc(1e6), Disc(1.0, [1e3] * m))
    yield from (SameCoordinate(GROUPS), SameCoordinate(GROUPS, -1, {0: 3.0, 5: 7.0}))
    if m > 1:
        yield from (Sphere(), Sphere(1e6), Sphere(1e-6))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_every_set_passes_the_checker(m):
    for constraint in _sets(m):
        for seed in range(2):
            check_constraint(constraint, 12, m, random_state=seed)


# The checker finds mistakes at a boundary


class _Clipped(Box):
    """A box without a cone: gradients pass the bounds."""

    def project_tangent(self, X, Z):
        return Z.clone()


class _Backwards(Box):
    """The cone of gradients, not of directions."""

    def project_tangent(self, X, Z):
        return -super().project_tangent(X, -Z)


class _Stuck(Box):
    """What is at a bound may not leave it."""

    def project_tangent(self, X, Z):
        return torch.where((X <= self.low) | (X >= self.high), 0.0, Z)


class _NotHeld(Box):
    def project_face(self, X, Z, held):
        return Z.clone()


class _Numbers(Box):
    def held(self, Z):
        return super().held(Z).double()


class _Moved(Box):
    def arrange(self, X):
        return X + 0.1


class _Narrow(Box):
    def diameter(self, n_components):
        return 0.1


class _Tilted(Disc):
    """A face whose projection is not orthogonal."""

    def project_face(self, X, Z, held):
        normals = X / X.norm(dim=1, keepdim=True)
        slanted = normals.roll(1, dims=1) + 2 * normals
        share = (normals * Z).sum(dim=1, keepdim=True) / (normals * slanted).sum(1, keepdim=True)
        return torch.where(held, Z - share * slanted, Z)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (_Clipped(), "not the one-sided derivative"),
        (_Backwards(), "not the one-sided derivative"),
        (_Stuck(), "does not remove the part|not the one-sided derivative"),
        (_NotHeld(), "project_face must remove the part"),
        (_Numbers(), "held"),
        (_Moved(), "arrange"),
        (_Narrow(), "diameter promises"),
        (_Tilted(), "project_face is not orthogonal"),
    ],
)
def test_checker_finds_mistakes_at_a_boundary(constraint, message):
    with pytest.raises(AssertionError, match=message):
        check_constraint(constraint, 12, 2)


def test_a_box_that_hides_its_boundary_is_told_so():
    class Hidden(Box):
        has_boundary = False

    with pytest.raises(AssertionError, match="has_boundary must be True"):
        check_constraint(Hidden(), 12, 2, random_state=1)


class OwnBall(Constraint):
    """The least that a set with a boundary needs: two methods and an attribute."""

    has_boundary = True

    def project(self, Z):
        return Z / Z.norm(dim=1, keepdim=True).clamp(min=1.0)

    def project_tangent(self, X, Z):
        edge = X.norm(dim=1, keepdim=True) >= 1 - 1e-9
        outwards = (X * Z).sum(dim=1, keepdim=True).clamp(min=0)
        return torch.where(edge, Z - outwards * X, Z)


def test_two_methods_and_an_attribute_make_a_set_with_a_boundary():
    check_constraint(OwnBall(), 12, 2)


# Bad input


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (Box(1.0, 0.0), "The box is empty: it goes from low=1 to high=0"),
        (Box([0.0, 3.0], [1.0, 2.0]), "empty for component 1: it goes from low=3 to high=2"),
        (
            Box(0.0, np.array([[1.0, 1.0], [1.0, -2.0], [1.0, 1.0]])),
            "empty for item 1, component 1",
        ),
        (Box(np.inf, None), "empty"),
        (Box(np.nan, 1.0), "low of a Box holds NaN"),
        (Box([0.0, 0.0, 0.0], 1.0), r"low of a Box has shape \(3,\); it must be a number"),
        (Box("a", 1.0), "low of a box must hold numbers"),
        (Disc(0.0), r"radius of a Disc must be a finite number above 0; got 0\.0"),
        (Disc(np.inf), "radius of a Disc"),
        (Disc(1.0, [0.0]), "center of a Disc must hold 2 finite numbers"),
        (Disc(1.0, [0.0, np.nan]), "center of a Disc must hold 2 finite numbers"),
        (Sphere(-1.0), "radius of a Sphere"),
        (Sphere(1.0, "yes"), "great_circle of a Sphere must be True or False"),
        (SameCoordinate([0, 1]), "groups of a SameCoordinate has 2 entries, but there are 3 items"),
        (
            SameCoordinate([0, 1, 1], 2),
            "component of a SameCoordinate must be an integer from 0 to 1",
        ),
        (SameCoordinate([0, 1, 1], 0, {7: 1.0}), "holds the group 7, but no item is in it"),
        (SameCoordinate([0, 1, 1], 0, {1: np.nan}), "must be a finite number"),
        (SameCoordinate([0, 1, 1], 0, [1.0, 2.0]), "must be a dict"),
        (SameCoordinate([[0], [1], [1]]), "one group for each item"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(constraint, message):
    with pytest.raises(ValueError, match=message):
        constraint.validate(3, 2)
    with pytest.raises(ValueError, match=message):
        constraint.project(torch.zeros(3, 2))


def test_a_sphere_needs_two_components():
    with pytest.raises(ValueError, match="at least 2"):
        Sphere().validate(4, 1)


# Parameters


def test_sets_are_cloned_and_pickled_after_use_and_follow_their_parameters():
    for constraint in _sets(2):
        Z = _normal(12, 2)
        projected = constraint.project(Z)
        for copy in (clone(constraint), pickle.loads(pickle.dumps(constraint))):
            assert repr(copy) == repr(constraint)
            assert torch.equal(copy.project(Z), projected)
    box = Box(0.0, 1.0)
    box.project(Z)
    box.set_params(high=0.5)
    assert float(box.project(Z).max()) == 0.5
    assert NonNegative().get_params() == {}


def test_bounds_may_be_missing():
    box = Box([None, 0.0], [-1.0, np.inf])
    Z = torch.tensor([[-5.0, -5.0], [5.0, 5.0]])
    assert torch.equal(box.project(Z), torch.tensor([[-5.0, 0.0], [-1.0, 5.0]]))


def test_float32_stays_within_bounds_that_it_cannot_represent():
    box = Box([0.1, 0.3], [0.7, 0.9])
    X = box.project(100 * _normal(50, 2).float()).double()
    low, high = (torch.tensor(x, dtype=torch.float64) for x in ([0.1, 0.3], [0.7, 0.9]))
    assert bool(((X >= low) & (X <= high)).all())
    equal = Box(0.1, 0.1).project(torch.zeros(2, 2))
    assert torch.equal(equal, torch.full((2, 2), 0.1))


def test_a_disc_does_not_overflow():
    Z = torch.tensor([[3e30, 4e30], [1e-30, 0.0]])
    torch.testing.assert_close(Disc(5.0).project(Z), torch.tensor([[3.0, 4.0], [1e-30, 0.0]]))
    torch.testing.assert_close(Sphere(5.0).project(Z), torch.tensor([[3.0, 4.0], [5.0, 0.0]]))
    assert torch.equal(Sphere(5.0).project(torch.zeros(1, 2)), torch.tensor([[5.0, 0.0]]))


def test_sets_act_on_rows_unless_items_have_bounds_of_their_own():
    assert Box().acts_on_rows and NonNegative().acts_on_rows
    assert Disc().acts_on_rows and Sphere().acts_on_rows
    own = Box(np.zeros((3, 2)), np.arange(6.0).reshape(3, 2))
    assert not own.acts_on_rows and not SameCoordinate([0]).acts_on_rows
    part = own.restricted(np.array([0, 2]))
    assert torch.equal(
        part.project(torch.full((2, 2), 9.0)), torch.tensor([[0.0, 1.0], [4.0, 5.0]])
    )


def test_groups_are_restricted_with_their_values():
    layers = SameCoordinate(["a", "b", None, "a"], values={"a": 1.0, "b": 2.0})
    part = layers.restricted(np.array([0, 2, 3]))
    assert part.values == {"a": 1.0}
    X = part.project(torch.zeros(3, 2))
    assert X[:, 0].tolist() == [1.0, 0.0, 1.0]
    assert layers.fixes_position and not SameCoordinate([0, 0]).fixes_position


# Starting points


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(
    "constraint", [Box(2.0, 3.0), Box([0.0, -9.0], [None, -8.0]), Disc(0.5, [7, 7])]
)
def test_a_start_outside_keeps_its_shape_in_the_set(constraint, size):
    start = size * _normal(30, 2) - 40.0
    X = constraint.arrange(start)
    assert constraint.violation(X) == 0  # nothing is cut off by the projection
    for column in range(2):  # each component is shifted and shrunk
        slope, offset = np.polyfit(start[:, column], X[:, column], 1)
        assert 0 < slope <= 1 + 1e-9
        np.testing.assert_allclose(slope * start[:, column] + offset, X[:, column], rtol=1e-6)
    assert constraint.arrange(X) is X


def test_a_start_goes_to_where_given_groups_are():
    layers = SameCoordinate([0, 0, 1, -1], values={0: 100.0})
    start = _normal(4, 2)
    X = layers.arrange(start)
    assert float(X[:2, 0].mean()) == pytest.approx(100)
    torch.testing.assert_close(X - X[0], start - start[0])


def test_great_circles_are_arcs_with_their_derivatives():
    sphere = Sphere(3.0, great_circle=True)
    angle = torch.tensor([0.0, 1e-9, 0.3, 2.0, 3.1], dtype=torch.float64)
    d = 6 * torch.sin(angle / 2)
    g, first, second = sphere.own_distance(d)
    torch.testing.assert_close(g, 3 * angle, rtol=1e-10, atol=0)
    torch.testing.assert_close(first, 1 / torch.cos(angle / 2))
    ahead, behind = (sphere.own_distance(d + h)[1] for h in (1e-6, -1e-6))
    torch.testing.assert_close(second[2:], ((ahead - behind) / 2e-6)[2:], rtol=1e-4, atol=0)
    opposite = sphere.own_distance(torch.tensor([6.0, 7.0], dtype=torch.float64))
    assert all(bool(torch.isfinite(x).all()) for x in opposite)
    assert float(opposite[0][0]) == pytest.approx(3 * np.pi, abs=1e-5)
