"""Embeddings whose coordinates are between bounds: a box, and the numbers of at least 0.

A coordinate at a bound may not move beyond it, and is free to move away from it. So the tangent
cone at X is a product of lines, half-lines and points, one for each coordinate, and all projections
are taken coordinate by coordinate.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from skmde._utils.validation import as_host_array
from skmde.constraints.base import FILLED
from skmde.constraints.cached import CachingConstraint

Tensor = torch.Tensor


class Box(CachingConstraint):
    """Embeddings whose coordinates are between bounds.

    Do not modify arrays of bounds in place after the first use: an instance caches them as tensors.

    Parameters
    ----------
    low, high : None, float or array-like, default=0.0 and 1.0
        The bounds, in the units of the embedding: a number for all coordinates, an array of shape
        (n_components,), or one of shape (n_items, n_components) with bounds for each item. None
        means no bound, and so does an infinite entry. Equal bounds fix a coordinate.

    Raises
    ------
    ValueError
        If the box is empty, a bound is NaN, or its shape does not match. The error is raised at the
        first use, not by the constructor.

    See Also
    --------
    Disc : Embeddings whose items are within a radius of a point: a disc, or a ball.
    NonNegative : Embeddings whose coordinates are at least 0.

    Notes
    -----
    Distances do not depend on the position of an embedding. So a starting point that is not in the
    box is moved: to the middle of two bounds, or near a single one. A component that is too long
    for the box is shrunk to nine tenths of it. If items have bounds of their own, the starting
    point is only projected.

    In float32, bounds are rounded inwards.

    Examples
    --------
    >>> import torch
    >>> from skmde import Box
    >>> box = Box(low=[0.0, 0.0], high=[2.0, 1.0])
    >>> box.project(torch.tensor([[3.0, 0.5], [-1.0, 4.0]]))
    tensor([[2.0000, 0.5000],
            [0.0000, 1.0000]])
    """

    has_boundary = True

    def __init__(self, low: Any = 0.0, high: Any = 1.0) -> None:
        self.low = low
        self.high = high

    @property
    def acts_on_rows(self) -> bool:  # type: ignore[override]
        """Whether all items have the same bounds."""
        return all(bound.ndim < 2 for bound in self._bounds())

    def project(self, Z: Tensor) -> Tensor:
        low, high = self._tensors(Z)
        return torch.minimum(torch.maximum(Z, low), high)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        low, high = self._tensors(X)
        leaves = ((X <= low) & (Z < 0)) | ((X >= high) & (Z > 0))
        return torch.where(leaves, 0.0, Z)

    def held(self, Z: Tensor) -> Tensor:
        low, high = self._tensors(Z)
        return (Z < low) | (Z > high)

    def arrange(self, X: Tensor) -> Tensor:
        low, high = self._tensors(X)
        inside = bool((X >= low).all()) and bool((X <= high).all())
        if low.ndim == 2 or high.ndim == 2 or inside:
            return X
        first, last = X.amin(dim=0), X.amax(dim=0)
        span = last - first
        shrunk = torch.where(span > high - low, FILLED * (high - low) / span, 1.0)
        X = first + shrunk * (X - first)
        span = shrunk * span
        last, margin = first + span, (1 - FILLED) * span
        middle = low / 2 + high / 2 - (first / 2 + last / 2)
        below = torch.where(high == torch.inf, low + margin - first, middle)
        move = torch.where(low == -torch.inf, high - margin - last, below)
        within = (first >= low) & (last <= high)
        return X + torch.where(within, 0.0, move)

    def validate(self, n_items: int, n_components: int) -> None:
        low, high = self._bounds()
        for name, bound in (("low", low), ("high", high)):
            fits = bound.shape in ((), (n_components,), (n_items, n_components))
            if not fits:
                raise ValueError(
                    f"{name} of a {type(self).__name__} has shape {bound.shape}; it must be a "
                    f"number, or have shape ({n_components},), one bound for each component, or "
                    f"({n_items}, {n_components}), one for each item and component."
                )
            if np.isnan(bound).any():
                raise ValueError(
                    f"{name} of a {type(self).__name__} holds NaN; use None, or an infinite entry, "
                    "where there is no bound."
                )
        low, high = np.broadcast_arrays(low, high)
        empty = (low > high) | (low == np.inf) | (high == -np.inf)
        if empty.any():
            place = np.unravel_index(int(np.argmax(empty)), empty.shape)
            names = ("item", "component")[-len(place) :] if place else ()
            where = ", ".join(f"{name} {k}" for name, k in zip(names, place, strict=True))
            raise ValueError(
                f"The box is empty{' for ' * bool(where)}{where}: it goes from low={low[place]:g} "
                f"to high={high[place]:g}. Each lower bound must be at most the upper one."
            )

    def diameter(self, n_components: int) -> float:
        low, high = self._bounds()
        if max(low.ndim, high.ndim) == 2:
            low, high = low.min(axis=0), high.max(axis=0)  # the least box that holds all items
        sides = np.broadcast_to(np.asarray(high) - np.asarray(low), (n_components,))
        return float(np.hypot.reduce(sides))

    def restricted(self, items: Any) -> Box:
        restricted = copy.copy(self)  # a copy keeps further parameters of a subclass
        for name, bound in zip(("low", "high"), self._bounds(), strict=True):
            if bound.ndim == 2:
                setattr(restricted, name, bound[items])
        return restricted

    def finish(self, X: Tensor) -> Tensor:
        return self.project(X)

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds as arrays of float64, infinite where there is none."""
        found: tuple[np.ndarray, np.ndarray] = self._cached()["arrays"]
        return found

    def _tensors(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """The bounds with the dtype and device of `like`, rounded inwards."""
        cache = self._cached()
        key = (like.device, like.dtype, like.shape)
        if key not in cache:
            self.validate(*like.shape)
            cache[key] = tuple(
                torch.as_tensor(bound).to(like) for bound in _rounded(*self._bounds(), like.dtype)
            )
        found: tuple[Tensor, Tensor] = cache[key]
        return found

    def _source(self) -> tuple[Any, ...]:
        return self.low, self.high

    def _converted(self, *source: Any) -> tuple[Any, ...]:
        low, high = source
        return _bound(low, "low", -np.inf), _bound(high, "high", np.inf)


class NonNegative(Box):
    """Embeddings whose coordinates are at least 0.

    See Also
    --------
    Box : Any bounds; also how a starting point is moved into the set.

    Examples
    --------
    >>> import torch
    >>> from skmde import NonNegative
    >>> NonNegative().project(torch.tensor([[3.0, -0.5]]))
    tensor([[3., 0.]])
    """

    low = 0.0
    high = None

    def __init__(self) -> None:
        pass


def _bound(given: Any, name: str, missing: float) -> np.ndarray:
    if given is None:
        return np.asarray(missing)
    array = np.asarray(as_host_array(given))
    if array.dtype.kind == "O":
        flat = [missing if entry is None else entry for entry in array.ravel()]
        array = np.array(flat).reshape(array.shape)
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} of a box must hold numbers: {error}.") from error


def _rounded(low: np.ndarray, high: np.ndarray, dtype: torch.dtype) -> tuple[Any, Any]:
    """The bounds in a dtype, such that its numbers between them are in the box."""
    if dtype == torch.float64:
        return low, high
    with np.errstate(over="ignore"):
        near_low, near_high = low.astype(np.float32), high.astype(np.float32)
    infinity = np.float32(np.inf)
    inner_low = np.where(near_low < low, np.nextafter(near_low, infinity), near_low)
    inner_high = np.where(near_high > high, np.nextafter(near_high, -infinity), near_high)
    empty = inner_low > inner_high  # no number of this dtype is in the box
    return np.where(empty, near_low, inner_low), np.where(empty, near_low, inner_high)
