"""Which pairs pull and push an item."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from skmde._utils.device import cpu_by_default
from skmde.inspection.given import judged
from skmde.metrics.preservation import check_integer
from skmde.metrics.tables import Table, as_frame


@dataclass(frozen=True, eq=False, repr=False)
class Forces(Table):
    """The strongest forces on an item; :func:`forces_on` returns it.

    Attributes
    ----------
    item : int
        The item.
    others : ndarray of int of shape (k,)
        The items that exert the forces, the strongest first; `item` itself for the pull of a soft
        anchor towards its given coordinates.
    names : list of str
        Their names.
    kinds : list of str
        "pair", "repulsion of all pairs" or "pull of the anchor".
    forces : ndarray of shape (k, n_components)
        The forces: minus the gradient of the distortion of a pair.
    sizes : ndarray of shape (k,)
        Their lengths.
    pulls : ndarray of bool of shape (k,)
        Whether a force points towards the other item.
    total : ndarray of shape (n_components,)
        Sum of all forces, also of those that are not listed. It is about 0 at a minimum without a
        constraint.

    See Also
    --------
    forces_on : The pairs that pull and push an item most strongly.
    """

    item: int
    others: np.ndarray
    names: list[str]
    kinds: list[str]
    forces: np.ndarray
    sizes: np.ndarray
    pulls: np.ndarray
    total: np.ndarray

    _header = ("other", "force", "direction", "kind")

    def _cells(self):
        columns = self.names, self.sizes, self.pulls, self.kinds
        for name, size, pull, kind in zip(*columns, strict=True):
            yield (name, f"{size:.3g}", "pulls" if pull else "pushes", kind)

    def _title(self):
        return f"Forces on item {self.item}, sum {np.linalg.norm(self.total):.3g}"

    def to_frame(self):
        """The table as a pandas DataFrame, with a row for each force.

        Returns
        -------
        pandas.DataFrame
            With the columns "other", "name", "size", "pulls" and "kind".
        """
        columns = self.others, self.names, self.sizes, self.pulls, self.kinds
        names = "other", "name", "size", "pulls", "kind"
        return as_frame(dict(zip(names, columns, strict=True)))


def forces_on(estimator, item, *, n=10, names=None):
    """The pairs that pull and push an item most strongly.

    Parameters
    ----------
    estimator : object
        A fitted estimator of this package that has the method `distortions`.
    item : int
        Index of the item.
    n : int, default=10
        Number of forces; all of them if there are fewer.
    names : sequence of str, default=None
        Names of the items; their indices if None.

    Returns
    -------
    Forces
        The strongest forces, and the sum of all.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If there is no such item, `names` has another length, or the problem has no list of pairs.

    See Also
    --------
    leave_one_out : Place each item among all others, as `transform` places an unseen one.
    point_report : How far to trust the place of each item: a table with one row for each.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 5.2.1 (forces).

    Examples
    --------
    >>> from skmde import AnchoredMDE
    >>> from skmde.inspection import forces_on
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, float("nan"), 2.0]
    >>> forces_on(AnchoredMDE(n_neighbors=2).fit(X, y), 1, names=["left", "middle", "right"])
    Forces on item 1, sum 0
    other  force  direction  kind
    left   4      pulls      pair
    right  4      pulls      pair
    """
    estimator = judged(estimator)
    check_integer(n, "n")
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    names = None if names is None else list(names)
    with cpu_by_default():
        problem = estimator._solved_problem()
        size = len(problem.points)
        is_whole = isinstance(item, Integral) and not isinstance(item, bool)
        if not is_whole or not 0 <= item < size:
            raise ValueError(f"item must be an index from 0 to {size - 1}; got {item!r}.")
        if names is not None and len(names) != size:
            raise ValueError(f"names must hold {size} names, one for each item; got {len(names)}.")
        found = problem.forces_on(int(item))
    others = np.concatenate([np.empty(0, dtype=np.intp), *(part[1] for part in found)])
    dimension = problem.points.shape[1]
    forces = np.concatenate([np.empty((0, dimension)), *(part[2] for part in found)])
    kinds = [kind for kind, ends, _ in found for _ in ends]
    sizes = np.linalg.norm(forces, axis=1)
    top = np.argsort(-sizes, kind="stable")[:n]
    towards = problem.points[others[top]] - problem.points[item]
    pulls = (np.sum(forces[top] * towards, axis=1) > 0) | (others[top] == item)
    return Forces(
        int(item),
        others[top],
        [str(k) if names is None else str(names[k]) for k in others[top]],
        [kinds[k] for k in top],
        forces[top],
        sizes[top],
        pulls,
        forces.sum(axis=0),
    )
