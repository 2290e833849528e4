"""Embeddings in which groups of items share a coordinate: floors, layers, points in time.

The set is a space, or a shifted one if some groups have given coordinates. It has no boundary. The
nearest point has the mean of a group's coordinates in place of each, or the given coordinate.
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from skmde._utils.validation import as_host_array
from skmde.constraints.cached import CachingConstraint

Tensor = torch.Tensor


class SameCoordinate(CachingConstraint):
    """Embeddings in which the items of a group share one coordinate.

    Do not modify the arrays in place after the first use: an instance caches them as tensors.

    Parameters
    ----------
    groups : array-like of shape (n_items,)
        The group of each item: integers or strings. -1 and None stand for an item without a group.
    component : int, default=0
        The coordinate that is shared; negative numbers count from the last.
    values : dict, default=None
        The coordinates of some groups, by group, in the units of the embedding. The embedding
        chooses those of the others.

    Raises
    ------
    ValueError
        If the groups do not match the items, there is no such component, or a value is not finite
        or belongs to no group. The error is raised at the first use, not by the constructor.

    See Also
    --------
    Anchored : Embeddings in which some items have given coordinates.
    Standardized : Embeddings with mean 0 and uncorrelated columns of unit variance.

    Examples
    --------
    >>> import torch
    >>> from skmde import SameCoordinate
    >>> layers = SameCoordinate(["leaf", "leaf", "root"], component=1, values={"root": 5.0})
    >>> layers.project(torch.tensor([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]))
    tensor([[0.0000, 1.5000],
            [1.0000, 1.5000],
            [2.0000, 5.0000]])
    """

    # Steps along a tangent change the coordinates of a group alike.
    needs_projection = False
    acts_on_rows = False

    def __init__(self, groups: Any, component: int = 0, values: Any = None) -> None:
        self.groups = groups
        self.component = component
        self.values = values

    @property
    def fixes_position(self) -> bool:  # type: ignore[override]
        """Whether some groups have given coordinates."""
        return bool(self.values)

    def project(self, Z: Tensor) -> Tensor:
        groups = self._tensors(Z)
        means = groups.means(Z[:, self.component])
        return self._with_shared(Z, groups, torch.where(groups.given, groups.values, means))

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        groups = self._tensors(Z)
        means = groups.means(Z[:, self.component])
        return self._with_shared(Z, groups, torch.where(groups.given, 0.0, means))

    def arrange(self, X: Tensor) -> Tensor:
        if not self.values:
            return X
        # Distances do not depend on the position: the start goes to where the given groups are.
        groups = self._tensors(X)
        means = groups.means(X[:, self.component])
        X = X.clone()
        X[:, self.component] += (groups.values - means)[groups.given].mean()
        return X

    def validate(self, n_items: int, n_components: int) -> None:
        labels, _ = self._arrays()
        if len(labels) != n_items:
            raise ValueError(
                f"groups of a SameCoordinate has {len(labels)} entries, but there are {n_items} "
                "items: give each item a group, or -1."
            )
        component = self.component
        is_integer = isinstance(component, numbers.Integral) and not isinstance(component, bool)
        if not (is_integer and -n_components <= component < n_components):
            raise ValueError(
                f"component of a SameCoordinate must be an integer from 0 to {n_components - 1}, "
                f"one of the embedding's components; got {component!r}."
            )

    def restricted(self, items: Any) -> SameCoordinate:
        restricted = copy.copy(self)  # a copy keeps further parameters of a subclass
        groups = np.asarray(as_host_array(self.groups), dtype=object)[items]
        restricted.groups = groups
        if self.values:
            left = set(groups.tolist())
            restricted.values = {k: value for k, value in self.values.items() if k in left}
        return restricted

    def finish(self, X: Tensor) -> Tensor:
        return self.project(X)

    def _with_shared(self, Z: Tensor, groups: _Groups, shared: Tensor) -> Tensor:
        column = Z[:, self.component].index_copy(0, groups.items, shared[groups.group])
        Z = Z.clone()
        Z[:, self.component] = column
        return Z

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each item's group, or -1, and the value of each group, or NaN."""
        found: tuple[np.ndarray, np.ndarray] = self._cached()["arrays"]
        return found

    def _tensors(self, like: Tensor) -> _Groups:
        cache = self._cached()
        key = (like.device, like.dtype, like.shape)
        if key not in cache:
            self.validate(*like.shape)
            cache[key] = _Groups.build(*self._arrays(), like)
        found: _Groups = cache[key]
        return found

    def _source(self) -> tuple[Any, ...]:
        return self.groups, self.values

    def _converted(self, *source: Any) -> tuple[Any, ...]:
        return _group_arrays(*source)


@dataclass(frozen=True)
class _Groups:
    """Groups as tensors.

    Attributes
    ----------
    items, group : Tensor of int64 of shape (k,)
        The items that have a group, one group after the other, and the numbers of their groups.
    offsets : Tensor of int64 of shape (n_groups + 1,)
        The start of each group in `items`.
    given : Tensor of bool of shape (n_groups,)
        Whether the coordinate is given.
    values : Tensor of shape (n_groups,)
        The given coordinates; 0 for other groups.
    """

    items: Tensor
    group: Tensor
    offsets: Tensor
    given: Tensor
    values: Tensor

    @classmethod
    def build(cls, labels: np.ndarray, values: np.ndarray, like: Tensor) -> _Groups:
        """The groups for embeddings like a tensor."""
        items = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
        counts = np.bincount(labels[items], minlength=len(values))
        given = ~np.isnan(values)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        tensors = (torch.from_numpy(x).to(like.device) for x in (items, labels[items], offsets))
        item, group, offset = tensors
        value = torch.from_numpy(np.where(given, values, 0.0)).to(like)
        return cls(item, group, offset, torch.from_numpy(given).to(like.device), value)

    def means(self, column: Tensor) -> Tensor:
        """The mean of each group, in an order of summation that does not depend on threads."""
        return torch.segment_reduce(column[self.items], "mean", offsets=self.offsets)


def _group_arrays(groups: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
    labels = np.asarray(as_host_array(groups), dtype=object)
    if labels.ndim != 1:
        raise ValueError(
            "groups of a SameCoordinate must be a list of one group for each item; got an array of "
            f"shape {labels.shape}."
        )
    names: dict[Any, int] = {}
    numbered = np.array(
        [-1 if _is_missing(label) else names.setdefault(label, len(names)) for label in labels],
        dtype=np.int64,
    )
    if values is not None and not isinstance(values, Mapping):
        raise ValueError(
            "values of a SameCoordinate must be a dict from groups to coordinates; got "
            f"{type(values).__name__}."
        )
    found = np.full(len(names), np.nan)
    for label, value in (values or {}).items():
        if label not in names:
            raise ValueError(
                f"values of a SameCoordinate holds the group {label!r}, but no item is in it; the "
                f"groups are {', '.join(map(repr, list(names)[:5]))}{', ...' * (len(names) > 5)}."
            )
        if not (isinstance(value, numbers.Real) and math.isfinite(value)):
            raise ValueError(
                f"values of a SameCoordinate gives the group {label!r} the coordinate {value!r}; "
                "it must be a finite number. Leave the group out if its coordinate is not known."
            )
        found[names[label]] = value
    return numbered, found


def _is_missing(label: Any) -> bool:
    if isinstance(label, numbers.Real):
        return bool(label == -1 or label != label)  # NaN stands for no group in a table
    return label is None
