"""Anchored embeddings: some items stay in given coordinates (monograph, section 2.4.2)."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

import numpy as np
import torch

from skmde._utils.validation import as_host_array, check_not_masked
from skmde.constraints.base import relative_difference, standard_normal
from skmde.constraints.cached import CachingConstraint

Tensor = torch.Tensor


class Anchored(CachingConstraint):
    """Embeddings in which some items have given coordinates.

    Do not modify the arrays in place after the first use: an instance caches them as tensors.

    Parameters
    ----------
    anchors : array-like of int of shape (n_anchors,)
        Indices of the anchored items.
    values : array-like of shape (n_anchors, n_components)
        Their coordinates, in the units of the embedding.

    Raises
    ------
    ValueError
        If the anchors are not indices of items, an item is given two different coordinates, or a
        value is not finite. The error is raised at the first use, not by the constructor.

    See Also
    --------
    AnchoredMDE : Minimum-distortion embedding in which some samples have given coordinates.
    SameCoordinate : Embeddings in which the items of a group share one coordinate.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.2 (anchored embeddings).

    Examples
    --------
    >>> import torch
    >>> from skmde import Anchored
    >>> constraint = Anchored([0, 2], [[0.0, 0.0], [1.0, 1.0]])
    >>> constraint.project(torch.full((3, 2), 0.5))
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [1.0000, 1.0000]])
    """

    # The tangent projection zeroes the anchors' rows, so no step moves them.
    needs_projection = False
    acts_on_rows = False

    def __init__(self, anchors: Any, values: Any) -> None:
        self.anchors = anchors
        self.values = values

    @property
    def fixed_items(self) -> Any:
        return self._arrays()[0]

    @property
    def fixed_coordinates(self) -> Any:
        return self._arrays()[1]

    def project(self, Z: Tensor) -> Tensor:
        index, values = self._tensors(Z)
        return Z.index_copy(0, index, values)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        index, _ = self._tensors(Z)
        return Z.index_fill(0, index, 0)

    def dual(self, X: Tensor, gradient: Tensor) -> Tensor:
        # The forces that hold the anchors (monograph, section 5.2.1).
        index, _ = self._tensors(X)
        return -gradient[index]

    def initialize(
        self,
        n_items: int,
        n_components: int,
        generator: np.random.Generator,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> Tensor:
        # A normal sample with the mean and the spread of the anchors.
        self.validate(n_items, n_components)
        _, values = self._arrays()
        center = values.mean(axis=0)
        spread = float(np.sqrt(np.mean((values - center) ** 2))) or 1.0
        Z = standard_normal(n_items, n_components, generator, torch.float64, "cpu")
        Z = Z * spread + torch.from_numpy(center)
        return self.project(Z.to(device=device, dtype=dtype))

    def violation(self, X: Tensor) -> float:
        index, values = self._tensors(X)
        size = float(values.abs().max()) or float(X.abs().max())
        return relative_difference(float((X[index] - values).abs().max()), size)

    def validate(self, n_items: int, n_components: int) -> None:
        index, values = self._arrays()
        if index[-1] >= n_items:
            raise ValueError(
                f"An anchor is item {index[-1]}, but there are {n_items} items: anchors must be "
                f"from 0 to {n_items - 1}."
            )
        if values.shape[1] != n_components:
            raise ValueError(
                f"The anchors' values have {values.shape[1]} columns, but the embedding has "
                f"{n_components} components: give each anchor one value per component."
            )

    def restricted(self, items: Any) -> Anchored:
        index, values = self._arrays()
        inside = np.isin(index, items)
        restricted = copy.copy(self)  # a copy keeps further parameters of a subclass
        restricted.anchors = np.searchsorted(items, index[inside])
        restricted.values = values[inside]
        return restricted

    def finish(self, X: Tensor) -> Tensor:
        return self.project(X)

    def _arrays(self) -> tuple[Any, Any]:
        """Distinct anchors in ascending order, and their values."""
        return self._cached()["arrays"]

    def _tensors(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """The same arrays as tensors with the dtype and device of `like`."""
        self.validate(*like.shape)
        cache = self._cached()
        key = (like.device, like.dtype)
        if key not in cache:
            index, values = cache["arrays"]
            cache[key] = (
                torch.as_tensor(index, device=like.device),
                torch.as_tensor(values).to(like),
            )
        return cache[key]

    def _source(self) -> tuple[Any, ...]:
        return self.anchors, self.values

    def _converted(self, *source: Any) -> tuple[Any, ...]:
        return _anchor_arrays(*source)


def _anchor_arrays(anchors: Any, values: Any) -> tuple[Any, Any]:
    check_not_masked(anchors, "anchors", "leave the others out")
    check_not_masked(values, "values of anchors", "leave free items out of the anchors")
    index, coordinates = (np.asarray(as_host_array(array)) for array in (anchors, values))
    if coordinates.dtype.kind == "O":
        coordinates = _as_numbers(coordinates)
    if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iu":
        _refuse_anchors(index)
    if (
        coordinates.ndim != 2
        or len(coordinates) != len(index)
        or coordinates.dtype.kind not in "iuf"
    ):
        raise ValueError(
            f"The anchors' values must be numbers of shape ({len(index)}, n_components), one row "
            f"for each anchor; got shape {coordinates.shape} and dtype {coordinates.dtype}."
        )
    coordinates = coordinates.astype(np.float64)
    finite = np.isfinite(coordinates).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"The value of anchor {index[row]} is {coordinates[row].tolist()}: values must be "
            "finite. "
            "Leave an item out of the anchors if its coordinates are not known."
        )
    if index.min() < 0:
        raise ValueError(f"An anchor is item {index.min()}: anchors must be 0 or more.")
    distinct, first, inverse = np.unique(index, return_index=True, return_inverse=True)
    differs = (coordinates != coordinates[first][inverse]).any(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"Item {index[row]} is anchored twice, at "
            f"{coordinates[first][inverse][row].tolist()} and "
            f"at {coordinates[row].tolist()}. Give each anchor one value."
        )
    return distinct.astype(np.int64), coordinates[first]


def _as_numbers(objects: Any) -> Any:
    """Objects as float64 if they are numbers, such as those of nullable columns."""
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError):
        return objects


def _refuse_anchors(index: Any) -> NoReturn:
    hint = " Turn a mask into indices with numpy.flatnonzero." if index.dtype.kind == "b" else ""
    raise ValueError(
        "Anchors must be the indices of one item or more, integers of shape (n_anchors,); got "
        f"shape {index.shape} and dtype {index.dtype}.{hint}"
    )
