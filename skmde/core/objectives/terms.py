"""Several lists of pairs with distortion functions of their own, as one list.

The average distortion of such a problem is still E(X) = (1/p) sum_k f_k(d_k) (monograph, section
2.2.2), where k runs over the p pairs of all lists. A pair may be in several lists. Weights multiply
the distortions of one list relative to another. Original distances are in the units of the
embedding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch

from skmde.core.objectives.edges import Distortion, EdgeList
from skmde.functions.registry import resolve_penalty


@dataclass(frozen=True, eq=False)
class DistortionTerm:
    """Pairs of items and their distortion, one of several terms of an MDE problem.

    A list of such terms takes the place of the edges in :class:`skmde.MDE`. For example, one term
    may hold penalties on neighbours, and another one a loss on a few known distances.

    Parameters
    ----------
    edges : array-like of shape (p, 2), integers, or None
        Pairs of items; None means all pairs, in the order of ``skmde.preprocessing.all_edges``.
        Beside other terms, they take as much memory and time as a list of them.
    distortion : str, Penalty, Loss, callable, or pair (attractive, repulsive)
        As for :class:`skmde.MDE`: a loss if there are `deviations`, otherwise a penalty or a pair
        of penalties.
    weights : array-like of shape (p,), default=None
        Weight of each pair, which multiplies its penalty or loss; 1 if None.
    deviations : array-like of shape (p,), default=None
        Original distance of each pair, in the units of the embedding.

    See Also
    --------
    MDE : A minimum-distortion embedding problem.
    push_and_pull :
        Return the penalties of a problem in which some pairs attract and others repel.

    Notes
    -----
    A term only holds its arguments. :class:`skmde.MDE` checks them, and names a term in its errors
    by its position in the list, from 0.

    Examples
    --------
    A path of six items, whose ends are four apart:

    >>> import numpy as np
    >>> from skmde import MDE, DistortionTerm
    >>> path = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    >>> terms = [
    ...     DistortionTerm(path, "quadratic"),
    ...     DistortionTerm([[0, 5]], "squared", weights=[1e6], deviations=[4.0]),
    ... ]
    >>> problem = MDE(6, 1, terms)
    >>> X = problem.embed(random_state=0)
    >>> problem.distances().numpy().round(3)
    array([0.8, 0.8, 0.8, 0.8, 0.8, 4. ])
    """

    edges: Any
    distortion: Distortion | tuple[Distortion | None, Distortion | None]
    weights: Any = None
    deviations: Any = None

    def __repr__(self) -> str:
        n = "all" if self.edges is None else len(self.edges)
        return f"DistortionTerm({n} pairs, {self.distortion!r})"


def as_terms(edges: Any) -> list[DistortionTerm] | None:
    """The terms of a problem; None if `edges` is a list of pairs.

    Raises
    ------
    TypeError
        If only some entries of a list are terms.
    """
    if isinstance(edges, DistortionTerm):
        return [edges]
    if not isinstance(edges, list | tuple):
        return None
    found = [isinstance(term, DistortionTerm) for term in edges]
    if not any(found):
        return None
    if not all(found):
        k = found.index(False)
        raise TypeError(
            "edges must be pairs of items, or a list of DistortionTerm; entry "
            f"{k} of the list is a {type(edges[k]).__name__}."
        )
    return list(edges)


def joined_terms(
    terms: Sequence[DistortionTerm], n_items: int, *, dtype: torch.dtype, device: torch.device
) -> EdgeList:
    """The pairs of all terms, one term after the other; see :class:`skmde.MDE` for the errors."""
    return reduce(
        EdgeList.joined,
        (_built(term, k, n_items, dtype, device) for k, term in enumerate(terms)),
    )


def _built(
    term: DistortionTerm, k: int, n_items: int, dtype: torch.dtype, device: torch.device
) -> EdgeList:
    pairs = term.edges
    if pairs is None:
        _check_number_of_items(term, k, n_items)
        pairs = np.stack(np.triu_indices(n_items, 1), axis=1)
    try:
        return EdgeList.build(
            pairs,
            n_items,
            term.distortion,
            weights=term.weights,
            deviations=term.deviations,
            dtype=dtype,
            device=device,
        )
    except (ValueError, TypeError) as error:
        raise type(error)(f"term {k}: {error}") from error


def _check_number_of_items(term: DistortionTerm, k: int, n_items: int) -> None:
    """Check that numbers of all pairs are those of the problem's items."""
    for name in ("weights", "deviations"):
        values = getattr(term, name)
        p = None if values is None else np.shape(values)
        if p is None or len(p) != 1 or p[0] == n_items * (n_items - 1) // 2:
            continue
        n = (1 + math.isqrt(1 + 8 * p[0])) // 2
        if p[0] == n * (n - 1) // 2:
            raise ValueError(
                f"term {k}: the {p[0]} {name} are those of all pairs of {n} items, but the problem "
                f"has {n_items} items. All terms must have the same items; list the pairs if a "
                "term has only some of them."
            )


def common_dtype(*arrays: Any) -> torch.dtype:
    """float64 if any of some arrays is, or is more precise, and float32 otherwise."""
    for array in arrays:
        if isinstance(array, torch.Tensor):
            is_double = array.dtype == torch.float64
        else:
            dtype = np.dtype(bool) if array is None else np.asarray(array).dtype
            is_double = dtype.kind == "f" and dtype.itemsize >= 8
        if is_double:
            return torch.float64
    return torch.float32


def distortion_of_all(terms: Sequence[DistortionTerm], repulsion: Any) -> Any:
    """The distortion whose second penalty is the repulsion of all pairs, if there is any.

    Raises
    ------
    ValueError
        If all pairs repel, and the terms have different repulsive penalties.
    """
    if len(terms) == 1:
        return terms[0].distortion
    pairs = [term.distortion for term in terms if isinstance(term.distortion, tuple)]
    pairs = [pair for pair in pairs if pair[1] is not None]
    if repulsion is None or not pairs:
        return None
    penalties = [resolve_penalty(second) for _, second in pairs]
    if any(penalty != penalties[0] for penalty in penalties):
        raise ValueError(
            f"The terms have different repulsive penalties, {penalties}. If all pairs repel, they "
            "do so under one of them: give only one term a pair (attractive, repulsive)."
        )
    return pairs[0]
