"""A constraint of one's own: the least that it needs, and the mistakes that the checker finds."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from skmde.constraints import (
    Anchored,
    Centered,
    Constraint,
    Standardized,
    check_constraint,
)

ROOT = Path(__file__).parents[2]


def _normal(n, m):
    return torch.from_numpy(np.random.default_rng(0).standard_normal((n, m)))


class Sphere(Constraint):
    """The least that a constraint of one's own needs."""

    def __init__(self, radius=1.0):
        self.radius = radius

    def project(self, Z):
        return self.radius * Z / Z.norm(dim=1, keepdim=True)

    def project_tangent(self, X, Z):
        return Z - (X * Z).sum(dim=1, keepdim=True) * X / self.radius**2


def test_two_methods_make_a_constraint():
    sphere = Sphere(2.0)
    X = sphere.initialize(9, 3, np.random.default_rng(0), torch.float64, "cpu")
    torch.testing.assert_close(X.norm(dim=1), torch.full((9,), 2.0).double())
    assert sphere.violation(3 * X) == pytest.approx(2)
    assert sphere.needs_projection and sphere.name == "sphere"
    sphere.validate(1, 1)


def test_a_constraint_without_its_projections_says_which_is_missing():
    Z = torch.zeros(2, 2)
    with pytest.raises(NotImplementedError, match=r"Constraint must define project\(Z\)"):
        Constraint().project(Z)
    with pytest.raises(NotImplementedError, match="must define project_tangent"):
        Constraint().project_tangent(Z, Z)


@pytest.mark.parametrize("radius", [0.01, 1.0, 300.0])
def test_checker_accepts_the_example_for_any_radius(radius):
    example = runpy.run_path(str(ROOT / "examples" / "plot_sphere.py"))
    check_constraint(example["Sphere"](radius), 12, 3)


class _UnscaledNormal(Sphere):
    def project_tangent(self, X, Z):
        return Z - (X * Z).sum(dim=1, keepdim=True) * X


class _HalfWay(Sphere):
    def project(self, Z):
        return (Z + super().project(Z)) / 2

    def initialize(self, *args):
        return super().project(_normal(*args[:2]))


class _Oblique(Sphere):
    """Removes the radial part along a wrong direction: idempotent, not orthogonal."""

    def project_tangent(self, X, Z):
        slanted = X.roll(1, dims=1) + 2 * X
        radial = (X * Z).sum(dim=1, keepdim=True) / (X * slanted).sum(dim=1, keepdim=True)
        return Z - radial * slanted


class _OtherSet(Sphere):
    """Tangents of a smaller set: the points of the sphere with a fixed first column."""

    def project_tangent(self, X, Z):
        normals = X.clone()
        normals[:, 0] = 0
        normals = normals / normals.norm(dim=1, keepdim=True)
        T = Z - (normals * Z).sum(dim=1, keepdim=True) * normals
        T[:, 0] = 0
        return T


class _InPlace(Sphere):
    def project(self, Z):
        return Z.mul_(self.radius / Z.norm(dim=1, keepdim=True))


class _InPlaceTangent(Sphere):
    def project_tangent(self, X, Z):
        return Z.sub_((X * Z).sum(dim=1, keepdim=True) * X / self.radius**2)


class _OneType(Sphere):
    def project(self, Z):
        return super().project(Z.double())


class _Infeasible(Sphere):
    def initialize(self, *args):
        return _normal(*args[:2])


class _Violated(Sphere):
    def violation(self, X):
        return 1.0


class _NotFinite(Sphere):
    def project_tangent(self, X, Z):
        return super().project_tangent(X, Z) / 0


class _Array(Sphere):
    def project(self, Z):
        return super().project(Z).numpy()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (_UnscaledNormal, "project_tangent is not idempotent"),
        (_HalfWay, "project is not idempotent"),
        (_Oblique, "project_tangent is not orthogonal"),
        (_OtherSet, "not the derivative of project"),
        (_InPlace, r"project\(Z\) changed Z"),
        (_InPlaceTangent, "project_tangent changed X or Z"),
        (_OneType, r"float64; it must have shape \(8, 3\) and torch.float32"),
        (_Infeasible, "initialize must give a feasible X"),
        (_Violated, r"violation\(project\(Z\)\) is 1"),
        (_NotFinite, "not finite"),
        (_Array, "is not a tensor: ndarray"),
    ],
)
def test_checker_finds_the_mistake(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_constraint(kind(2.0), 8, 3)


def test_unit_radius_hides_a_normal_that_is_not_scaled():
    check_constraint(_UnscaledNormal(1.0), 8, 3)


def test_checker_refuses_a_constructor_that_changes_its_arguments():
    class Changed(Sphere):
        def __init__(self, radius=1.0):
            self.radius = np.array(radius)

    with pytest.raises(RuntimeError, match="Cannot clone"):
        check_constraint(Changed(1.0), 8, 3)


# What a set says of itself


class Whitened(Constraint):
    """Standardized embeddings, as a user would write them."""

    fixes_unit = True
    fixes_position = False

    def project(self, Z):
        return Standardized().project(Z)

    def project_tangent(self, X, Z):
        return Standardized().project_tangent(X, Z)

    def natural_length(self, n_items, n_components):
        return Standardized.natural_length(n_items, n_components)


class Unconstrained(Constraint):
    """All embeddings."""

    is_free = True
    fixes_position = False

    def project(self, Z):
        return Z.clone()

    def project_tangent(self, X, Z):
        return Z.clone()


class FirstAtOrigin(Constraint):
    """The first item has given coordinates, all 0."""

    fixed_items = np.array([0])
    n_components = 3

    @property
    def fixed_coordinates(self):
        return np.zeros((1, self.n_components))

    def project(self, Z):
        return torch.cat([torch.zeros_like(Z[:1]), Z[1:]])

    def project_tangent(self, X, Z):
        return self.project(Z)


def test_defaults_promise_nothing():
    sphere = Sphere()
    assert sphere.fixes_position and not sphere.fixes_unit and not sphere.is_free
    assert sphere.fixed_items.shape == (0,) and sphere.fixed_coordinates.size == 0
    assert sphere.restricted(np.arange(3)) is sphere
    X = _normal(4, 2)
    assert sphere.finish(X) is X
    with pytest.raises(NotImplementedError, match=r"Sphere has no natural length: .*fixes_unit"):
        sphere.natural_length(4, 2)


@pytest.mark.parametrize(
    ("constraint", "free", "unit", "position"),
    [
        (Centered(), True, False, False),
        (Standardized(), False, True, False),
        (Anchored([0], [[1.0]]), False, False, True),
    ],
    ids=repr,
)
def test_what_the_sets_of_skmde_say_of_themselves(constraint, free, unit, position):
    assert constraint.is_free == free
    assert constraint.fixes_unit == unit
    assert constraint.fixes_position == position


@pytest.mark.parametrize("constraint", [Centered(), Standardized()], ids=repr)
def test_sets_that_name_no_item_are_the_same_for_some_items(constraint):
    assert constraint.restricted(np.array([1, 3])) is constraint
    X = _normal(4, 2)
    assert constraint.finish(X) is X


@pytest.mark.parametrize("kind", [Whitened, Unconstrained, FirstAtOrigin])
def test_checker_accepts_promises_that_hold(kind):
    check_constraint(kind(), 8, 3)


def _with(kind, **attributes):
    return type(kind.__name__, (kind,), attributes)()


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (_with(Whitened, is_free=True), "is_free promises"),
        (_with(Sphere, fixes_position=False), "fixes_position = False promises"),
        (_with(Whitened, natural_length=lambda self, n, m: 1.0), r"natural_length, 1, .* is 2\.6"),
        (_with(Sphere, finish=lambda self, X: 2 * X), r"finish\(X\) must not move"),
        (_with(FirstAtOrigin, fixed_items=np.array([1])), r"X\[fixed_items\] must be"),
        (_with(FirstAtOrigin, fixed_items=np.array([0, 0])), "distinct and ascending"),
    ],
)
def test_checker_finds_promises_that_do_not_hold(constraint, message):
    with pytest.raises(AssertionError, match=message):
        check_constraint(constraint, 8, 3)


def test_checker_finds_a_restriction_that_keeps_the_old_indices():
    class Unmoved(Anchored):
        def restricted(self, items):
            return self

    check_constraint(Anchored([0, 4], np.zeros((2, 3))), 8, 3)
    with pytest.raises(AssertionError, match="by their position in items"):
        check_constraint(Unmoved([0, 4], np.zeros((2, 3))), 8, 3)
