"""A numerical test of the two projections of a constraint, for authors of constraints.

Let P be the projection onto a smooth set, and T the projection onto its tangent space at a
feasible X. Three properties hold, and implementations often violate one of them: P(P(Z)) = P(Z);
T is an orthogonal projection; and T is the derivative of P at X.

At the boundary of a set, T projects onto a cone, and three other properties hold: T is positively
homogeneous; the part that it removes from a direction is orthogonal to what it leaves, and makes no
acute angle with any other tangent (Moreau's decomposition); and T is the one-sided derivative of P.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.base import clone

from skmde.constraints.rows import holds_each_row

if TYPE_CHECKING:
    from skmde.constraints.base import Constraint

Tensor = torch.Tensor

_RTOL = 1e-6
_STEP = 1e-4  # of central differences, whose error is the squared step times the curvature
_FORWARD = 1e-5  # of one-sided differences, extrapolated; few coordinates are so near a boundary
_HINT = ". If the set has a boundary, has_boundary must be True"
_FAR = (1.0, 1e3)  # sizes of random moves that lead to the boundary


def check_constraint(
    constraint: Constraint, n_items: int, n_components: int, *, random_state: int = 0
) -> None:
    """Check that a constraint's projections have the properties that the solver relies on.

    The checks use float64, random embeddings, and gradients of random functions of their
    distances. They include what the attributes `is_free`, `fixes_unit`, `fixes_position`,
    `acts_on_rows` and `fixed_items` promise. If the set `has_boundary`, tangent cones are checked
    inside and at the boundary, and so is what `held` and `project_face` say of it.

    Parameters
    ----------
    constraint : Constraint
        The constraint to check.
    n_items, n_components : int
        Shape of the embeddings.
    random_state : int, default=0
        Seed of the random embeddings.

    Raises
    ------
    AssertionError
        If a property does not hold. The message says which one, by how much, and what to look for.

    Examples
    --------
    >>> from skmde.constraints import Standardized, check_constraint
    >>> check_constraint(Standardized(), n_items=20, n_components=3)
    """
    constraint.validate(n_items, n_components)
    clone(constraint)
    generator = np.random.default_rng(random_state)
    X = constraint.initialize(n_items, n_components, generator, torch.float64, "cpu")
    _require_like(X, torch.empty(n_items, n_components).double(), "The embedding of initialize")
    noise = torch.from_numpy(generator.standard_normal((n_items, n_components)))
    _check_projection(constraint, X, X + noise * _size(X))
    if constraint.has_boundary:
        ends = [constraint.project(X + far * _spread(X) * noise) for far in _FAR]
        for at in (X, *ends):
            directions = [
                torch.from_numpy(generator.standard_normal((n_items, n_components)))
                for _ in range(2)
            ]
            _check_cone(constraint, at, *directions)
            _check_face(constraint, at, *directions)
    else:
        for at in (X, constraint.project(X + _spread(X) * noise)):
            gradients = [_gradient(at, generator) for _ in range(2)]
            _check_tangent(constraint, at, *gradients)
    _check_promises(constraint, X, noise * _size(X))


def _check_projection(constraint: Constraint, X: Tensor, Z: Tensor) -> None:
    for dtype in (torch.float64, torch.float32):
        given = Z.to(dtype)
        projected = constraint.project(given)
        _require_like(projected, given, "project(Z)")
        _require(
            torch.equal(given, Z.to(dtype)), "project(Z) changed Z: compute a new tensor instead."
        )
    _require_close(
        constraint.project(X), X, "initialize must give a feasible X, but project(X) is not X"
    )
    projected = constraint.project(Z)
    _require_close(
        constraint.project(projected),
        projected,
        "project is not idempotent: project(project(Z)) is not project(Z)",
    )
    violation = constraint.violation(projected)
    _require(
        violation <= _RTOL,
        f"violation(project(Z)) is {violation:.2g}; it must be 0 up to rounding.",
    )


def _check_tangent(constraint: Constraint, X: Tensor, Z: Tensor, other: Tensor) -> None:
    copies = X.clone(), Z.clone()
    T = constraint.project_tangent(X, Z)
    _require_like(T, Z, "project_tangent(X, Z)")
    _require(
        torch.equal(X, copies[0]) and torch.equal(Z, copies[1]),
        "project_tangent changed X or Z: compute a new tensor instead.",
    )
    _require_close(
        constraint.project_tangent(X, T),
        T,
        "project_tangent is not idempotent: projecting a tangent changes it. A possible cause is "
        "a normal vector that is not scaled to unit length",
        scale=_size(Z),
    )
    tangent = constraint.project_tangent(X, other)
    for direction in (T, tangent):
        inner = float(((Z - T) * direction).sum())
        _require(
            abs(inner) <= _RTOL * float(Z.norm() * other.norm()),
            f"project_tangent is not orthogonal: the part that it removes from Z has inner product "
            f"{inner:.2g} with a tangent; it must be 0{_HINT}.",
        )
    step = _STEP * _size(X) / (_size(Z) or 1.0)
    ahead, behind = constraint.project(X + step * Z), constraint.project(X - step * Z)
    _require_close(
        (ahead - behind) / (2 * step),
        T,
        "project_tangent(X, Z) is not the derivative of project at X in the direction Z (by "
        f"central differences): one of the two is wrong, or they belong to different sets{_HINT}",
        scale=_size(Z),
    )


def _check_cone(constraint: Constraint, X: Tensor, Z: Tensor, other: Tensor) -> None:
    copies = X.clone(), Z.clone()
    T = constraint.project_tangent(X, Z)
    _require_like(T, Z, "project_tangent(X, Z)")
    _require(
        torch.equal(X, copies[0]) and torch.equal(Z, copies[1]),
        "project_tangent changed X or Z: compute a new tensor instead.",
    )
    scale = _size(Z)
    _require_close(
        constraint.project_tangent(X, T),
        T,
        "project_tangent is not idempotent: projecting a tangent changes it",
        scale=scale,
    )
    _require_close(
        constraint.project_tangent(X, 3 * Z),
        3 * T,
        "project_tangent is not that of a cone: three times Z must give three times the result",
        scale=scale,
    )
    limit = _RTOL * float(Z.norm() * other.norm())
    inner = float(((Z - T) * T).sum())
    _require(
        abs(inner) <= limit,
        f"project_tangent is not orthogonal: the part that it removes from Z has inner product "
        f"{inner:.2g} with what it leaves; it must be 0.",
    )
    for direction in (other, -other, -Z):
        inner = float(((Z - T) * constraint.project_tangent(X, direction)).sum())
        _require(
            inner <= limit,
            f"project_tangent does not remove the part of Z that leaves the set: this part has "
            f"inner product {inner:.2g} with a tangent; it must be at most 0.",
        )
    step = _FORWARD * _spread(X) / (scale or 1.0)
    whole, half = ((constraint.project(X + t * Z) - X) / t for t in (step, step / 2))
    _require_close(
        2 * half - whole,
        T,
        "project_tangent(X, Z) is not the one-sided derivative of project at X in the direction Z: "
        "one of the two is wrong, or they belong to different sets",
        scale=scale,
    )


def _check_face(constraint: Constraint, X: Tensor, V: Tensor, Z: Tensor) -> None:
    held = constraint.held(X + _spread(X) * V)
    shapes = [(len(X), 1), tuple(X.shape)]
    _require(
        isinstance(held, torch.Tensor) and held.dtype == torch.bool and held.shape in shapes,
        f"held(Z) must return a tensor of bool of shape {shapes[0]} or {shapes[1]}.",
    )
    F = constraint.project_face(X, Z, held)
    _require_like(F, Z, "project_face(X, Z, held)")
    _require_close(
        constraint.project_face(X, F, held),
        F,
        "project_face is not idempotent: projecting a direction of the face changes it",
        scale=_size(Z),
    )
    limit = _RTOL * float(Z.norm() * V.norm())
    inner = float(((Z - F) * constraint.project_face(X, V, held)).sum())
    _require(
        abs(inner) <= limit,
        f"project_face is not orthogonal: the part that it removes from Z has inner product "
        f"{inner:.2g} with a direction of the face; it must be 0.",
    )
    pressed = V - constraint.project_tangent(X, V)
    _require_close(
        constraint.project_face(X, pressed, held),
        torch.zeros_like(Z),
        "project_face must remove the part of a direction that leaves the set, but does not",
        scale=_size(V),
    )
    inner = float((pressed * (F - constraint.project_tangent(X, F))).sum())
    _require(
        inner <= limit,
        "project_face leaves a direction in which a held part leaves the set, or is held twice.",
    )


def _check_promises(constraint: Constraint, X: Tensor, Z: Tensor) -> None:
    """Check what the set's attributes promise, at a feasible X and at any Z."""
    if constraint.is_free:
        Z = Z - Z.mean(dim=0)
        _require_close(
            constraint.project(Z),
            Z,
            "is_free promises that every embedding of mean 0 is in the set, but project moves one",
        )
    if not constraint.fixes_position:
        shifted = X - X.mean(dim=0)
        _require_close(
            constraint.project(shifted),
            shifted,
            "fixes_position = False promises that an embedding stays in the set when its mean is "
            "subtracted, but project moves it",
        )
    _require_close(
        constraint.arrange(X), X, "arrange(X) must not move a feasible X, but it does", _size(X)
    )
    if len(X) > 1:
        longest, most = float(torch.nn.functional.pdist(X).max()), constraint.diameter(X.shape[1])
        _require(
            longest <= most * (1 + _RTOL),
            f"diameter promises that items are at most {most:.6g} apart, but two items of an "
            f"embedding of the set are {longest:.6g} apart.",
        )
    if constraint.acts_on_rows:
        _require(
            holds_each_row(constraint, Z.numpy()),
            "acts_on_rows = True promises that project treats each row in the same way, whatever "
            "the other rows are, but it does not",
        )
    if constraint.fixes_unit and len(X) > 1:
        length = constraint.natural_length(*X.shape)
        found = float(torch.nn.functional.pdist(X).square().mean().sqrt())
        _require(
            abs(found - length) <= 10 * _RTOL * length,
            f"fixes_unit promises that natural_length, {length:.6g}, is the root mean square of "
            f"the distances of all pairs, but it is {found:.6g} for an embedding of the set.",
        )
    _require_close(
        constraint.finish(X), X, "finish(X) must not move a feasible X, but it does", _size(X)
    )
    _check_fixed_items(constraint, X)


def _check_fixed_items(constraint: Constraint, X: Tensor) -> None:
    items = np.asarray(constraint.fixed_items)
    if not len(items):
        return
    values = torch.from_numpy(np.asarray(constraint.fixed_coordinates))
    _require(bool((np.diff(items) > 0).all()), "fixed_items must be distinct and ascending.")
    _require_close(X[items], values, "X[fixed_items] must be fixed_coordinates, but is not")
    some = np.setdiff1d(np.arange(len(X)), np.setdiff1d(np.arange(len(X)), items)[:1])
    restricted = constraint.restricted(some)
    _require(
        np.array_equal(some[restricted.fixed_items], items),
        "restricted(items) must number its fixed_items by their position in items.",
    )


def _gradient(X: Tensor, generator: np.random.Generator) -> Tensor:
    """Gradient at X of a weighted sum of squared distances with random weights of both signs."""
    n = len(X)
    weights = torch.from_numpy(generator.standard_normal((n, n)))
    weights = weights + weights.T
    return weights.sum(dim=1, keepdim=True) * X - weights @ X


def _size(X: Tensor) -> float:
    """Root mean square of the entries."""
    return float(X.square().mean().sqrt())


def _spread(X: Tensor) -> float:
    """Root mean square from the mean; a set may be far from the origin. 1 if all is 0."""
    return _size(X - X.mean(dim=0)) or _size(X) or 1.0


def _require(condition: bool, message: str) -> None:
    # Not an assert statement: python -O removes those.
    if not condition:
        raise AssertionError(message)


def _require_like(result: Tensor, given: Tensor, what: str) -> None:
    _require(isinstance(result, torch.Tensor), f"{what} is not a tensor: {type(result).__name__}.")
    _require(
        result.shape == given.shape and result.dtype == given.dtype,
        f"{what} has shape {tuple(result.shape)} and {result.dtype}; it must have shape "
        f"{tuple(given.shape)} and {given.dtype}.",
    )
    _require(bool(torch.isfinite(result).all()), f"{what} has entries that are not finite.")


def _require_close(
    result: Tensor, expected: Tensor, message: str, scale: float | None = None
) -> None:
    error = float((result - expected).abs().max())
    limit = 10 * _RTOL * (_size(expected) if scale is None else scale)
    _require(error <= limit, f"{message} (largest difference {error:.2g}, limit {limit:.2g}).")
