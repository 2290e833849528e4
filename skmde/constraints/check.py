"""A numerical test of the two projections of a constraint, for authors of constraints.

Let P be the projection onto a smooth set, and T the projection onto its tangent space at a
feasible X. Three properties hold, and implementations often violate one of them: P(P(Z)) = P(Z);
T is an orthogonal projection; and T is the derivative of P at X.
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


def check_constraint(
    constraint: Constraint, n_items: int, n_components: int, *, random_state: int = 0
) -> None:
    """Check that a constraint's projections have the properties that the solver relies on.

    The checks use float64, random embeddings, and gradients of random functions of their
    distances. They include what the attributes `is_free`, `fixes_unit`, `fixes_position`,
    `acts_on_rows` and `fixed_items` promise.

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
    gradients = [_gradient(X, generator) for _ in range(2)]
    _check_tangent(constraint, X, *gradients)
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
            f"{inner:.2g} with a tangent; it must be 0.",
        )
    step = _STEP * _size(X) / (_size(Z) or 1.0)
    ahead, behind = constraint.project(X + step * Z), constraint.project(X - step * Z)
    _require_close(
        (ahead - behind) / (2 * step),
        T,
        "project_tangent(X, Z) is not the derivative of project at X in the direction Z (by "
        "central differences): one of the two is wrong, or they belong to different sets",
        scale=_size(Z),
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
