"""A constraint of one's own: the least that it needs, and the mistakes that the checker finds."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from skmde.constraints import Constraint, check_constraint

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
        (_OneType, r"float64; it must have those asked for, \(8, 3\) and torch.float32"),
        (_Infeasible, "initialize must give a feasible X"),
        (_Violated, r"violation\(project\(Z\)\) is 1"),
        (_NotFinite, "not finite"),
        (_Array, "is no tensor: ndarray"),
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
