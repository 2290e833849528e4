"""The problem that a fitted estimator solved, at its embedding: values and derivatives of pairs.

Every estimator describes its problem as a `SolvedProblem`; distortions, forces and curvatures of
pairs and items are then computed here, whatever the estimator. Coordinates and original distances
are in the units of the embedding. Everything is computed in float64, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from skmde._linalg.frame import Unit
from skmde._linalg.scaling import root_mean_square
from skmde.core.kernels.torch_reference import (
    weighted_curvatures,
    weighted_slopes,
    weighted_values,
)
from skmde.core.objectives.edge_term import by_segment
from skmde.core.objectives.edges import EdgeList
from skmde.core.placement.item_potentials import item_potentials
from skmde.estimators.pairs.base import kept_dtype
from skmde.functions.adapters import CallableLoss, CallablePenalty
from skmde.functions.base import Loss

if TYPE_CHECKING:
    from skmde.metrics.distortions import Distortions

_BLOCK = 1 << 20  # pairs that are evaluated at once
REPULSION, PULLS = "repulsion of all pairs", "pulls of anchors"


@dataclass(frozen=True)
class Repulsion:
    """The repulsion of all pairs of items.

    Attributes
    ----------
    kind : {"all", "normalized"}
    weight : float
    items : ndarray of int, or None
        The items that repel each other; None means all.
    factors : ndarray, or None
        Their factors; None means 1.
    """

    kind: str
    weight: float
    items: np.ndarray | None = None
    factors: np.ndarray | None = None


@dataclass(frozen=True)
class SolvedProblem:
    """Pairs, functions and the embedding that was found.

    Attributes
    ----------
    embedding : ndarray of shape (n, m)
    edges : ndarray of int of shape (p, 2)
    weights : ndarray of shape (p,), or None
        None means 1 for each pair.
    functions : Loss, or pair (Penalty, Penalty or None)
    deviations : ndarray of shape (p,), or None
        Original distances, for a loss.
    repulsion : Repulsion or None
    pulls : tuple (anchors, values, weight), or None
        Pulls of soft anchors: their indices and given coordinates, and the weight of a pull.
    n_threads : int
    """

    embedding: np.ndarray
    edges: np.ndarray
    weights: np.ndarray | None
    functions: Any
    deviations: np.ndarray | None = None
    repulsion: Repulsion | None = None
    pulls: tuple[np.ndarray, np.ndarray, float] | None = None
    n_threads: int = 1

    @cached_property
    def points(self) -> np.ndarray:
        """The embedding in float64."""
        return np.ascontiguousarray(self.embedding, dtype=np.float64)

    @cached_property
    def unit(self) -> Unit:
        """The unit of length in which functions are evaluated, far from their floors."""
        if isinstance(self.functions, Loss):
            function, lengths = self.functions, np.asarray(self.deviations)
        elif self.repulsion is None and self.functions[1] is None:
            centred = self.points - self.points.mean(axis=0)
            function, lengths = self.functions[0], np.abs(centred).ravel()
        else:
            return Unit()
        if function.degree is None or function.kernel_parameters() is None or not len(lengths):
            return Unit()
        size = root_mean_square(lengths)
        return Unit(size) if size > 0 else Unit()

    @property
    def factor(self) -> float:
        """Factor from distortions in that unit to distortions in the unit of the embedding."""
        if self.unit.size == 1.0:
            return 1.0
        functions: Any = self.functions
        degree: Any = (functions if isinstance(functions, Loss) else functions[0]).degree
        return self.unit.power(degree)

    def distortions(self) -> Distortions:
        """The distortions of the listed pairs, and the terms without a list."""
        # Imported here because metrics load a tenth of scikit-learn, which a fit does not need.
        from skmde.metrics.distortions import Distortions

        p = len(self.edges)
        values = np.empty(p, dtype=kept_dtype(p))
        for block, edges in self._blocks():
            values[block] = self.factor * self._by_pair(edges, weighted_values)
        weights = np.ones(p, np.float32) if self.weights is None else self.weights
        n_pulls = 0 if self.pulls is None else len(self.pulls[0])
        return Distortions(
            self.edges,
            values,
            weights,
            len(self.points),
            p + n_pulls,
            self._terms(),
            self.deviations,
        )

    def _terms(self):
        terms, n = {}, len(self.points)
        if self.repulsion is not None:
            energies, _, _ = self.energy_shares(with_derivatives=False)
            total = float(energies.sum())
            weight = self._repulsive_weight(total)
            if self.repulsion.kind == "normalized" and total > 0:
                weight *= np.log(2 * total)
            terms[REPULSION] = weight * energies
        if self.pulls is not None:
            anchors, values, weight = self.pulls
            terms[PULLS] = np.zeros(n)
            terms[PULLS][anchors] = weight * np.square(self.points[anchors] - values).sum(axis=1)
        return terms

    def item_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian of the sum of distortions by the coordinates of each item alone.

        Returns
        -------
        gradient, hessian : ndarrays of shape (n, m) and (n, m, m)
        """
        n, m = self.points.shape
        gradient, hessian = np.zeros((n, m)), np.zeros((n, m, m))
        for block, edges in self._blocks():
            items = self.edges[block].T
            u = self.points[items[0]] - self.points[items[1]]
            slope, curvature = (
                self._of_pairs(edges, weighted_slopes),
                self._of_pairs(edges, weighted_curvatures),
            )
            square = np.square(u).sum(axis=1)
            bend = np.divide(curvature - slope, square, out=np.zeros(len(u)), where=square > 0)
            for a in range(m):
                for sign, ends in zip((1, -1), items, strict=True):
                    gradient[:, a] += sign * np.bincount(ends, slope * u[:, a], minlength=n)
                for b in range(a, m):
                    second = bend * u[:, a] * u[:, b] + (slope if a == b else 0.0)
                    both = sum(np.bincount(ends, second, minlength=n) for ends in items)
                    hessian[:, a, b] += both
                    if a != b:
                        hessian[:, b, a] += both
        if self.repulsion is not None:
            energies, slopes, bends = self.energy_shares()
            total = float(energies.sum())
            weight = self._repulsive_weight(total)
            gradient += weight * slopes
            hessian += weight * bends
            if self.repulsion.kind == "normalized" and total > 0:
                hessian -= weight / total * slopes[:, :, None] * slopes[:, None, :]
        if self.pulls is not None:
            anchors, values, weight = self.pulls
            gradient[anchors] += 2 * weight * (self.points[anchors] - values)
            hessian[anchors] += 2 * weight * np.eye(m)
        return gradient, hessian

    def _repulsive_weight(self, total):
        """Weight that gives the repulsion the same gradient, for a total energy."""
        assert self.repulsion is not None
        if self.repulsion.kind == "all":
            return self.repulsion.weight
        weights = np.asarray(self.weights)
        attract = float(weights[weights > 0].sum(dtype=np.float64))
        return self.repulsion.weight * attract / total if total > 0 else 0.0

    def forces_on(self, item: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Forces on an item: minus the gradient of the sum of distortions, pair by pair.

        Returns
        -------
        list of tuple (kind, others, forces)
            For "pair" and "repulsion of all pairs", the other items and the forces of shape
            (k, m); for "pull of the anchor", the item itself.
        """
        x, found = self.points[item], []
        at = np.flatnonzero((self.edges == item).any(axis=1))
        if len(at):
            own = self._selected(at)
            slope = np.concatenate(
                [own._of_pairs(edges, weighted_slopes) for _, edges in own._blocks()]
            )
            others = np.where(own.edges[:, 0] == item, own.edges[:, 1], own.edges[:, 0])
            found.append(("pair", others, -slope[:, None] * (x - self.points[others])))
        if self.repulsion is not None:
            found += self._repulsive_forces(item)
        if self.pulls is not None and item in self.pulls[0]:
            anchors, values, weight = self.pulls
            force = -2 * weight * (x - values[np.flatnonzero(anchors == item)])
            found.append(("pull of the anchor", np.array([item]), force))
        return found

    def _selected(self, at):
        """The problem of some of the pairs; a callable may hold one parameter for each pair."""
        if self.functions_need_all_pairs:
            raise ValueError(
                "The forces of single pairs are not known, because a distortion function that is a "
                "callable may depend on all pairs. Write it as a subclass of skmde.Penalty or "
                "skmde.Loss."
            )
        weights, known = (None if a is None else a[at] for a in (self.weights, self.deviations))
        return replace(
            self,
            edges=self.edges[at],
            weights=weights,
            deviations=known,
            repulsion=None,
            pulls=None,
        )

    def _repulsive_forces(self, item):
        assert self.repulsion is not None
        n = len(self.points)
        items = np.arange(n) if self.repulsion.items is None else self.repulsion.items
        factors = self.repulsion.factors
        s = np.ones(len(items)) if factors is None else factors
        where = np.flatnonzero(items == item)
        if not len(where):
            return []
        total = 0.0
        if self.repulsion.kind == "normalized":
            total = float(self.energy_shares(with_derivatives=False)[0].sum())
        weight = self._repulsive_weight(total) * s[where[0]]
        others, s = np.delete(items, where), np.delete(s, where)
        u = self.points[item] - self.points[others]
        d = torch.from_numpy(np.sqrt(np.square(u).sum(axis=1)))
        slope = self.functions[1].slope(d).numpy()
        return [(REPULSION, others, (weight * s * slope)[:, None] * u)]

    @property
    def functions_need_all_pairs(self) -> bool:
        """Whether a function holds one parameter for each pair, as a callable may."""
        functions = self.functions
        members = [functions] if isinstance(functions, Loss) else functions
        return any(
            isinstance(one, CallableLoss | CallablePenalty)
            or (one is not None and one.varies_by_pair)
            for one in members
        )

    def _of_pairs(self, edges, evaluate):
        """A derivative of the pairs' distortions that has the unit of their slope."""
        return self.factor / self.unit.size**2 * self._by_pair(edges, evaluate)

    def _by_pair(self, edges, evaluate):
        return by_segment(edges, self._inside(), evaluate).double().numpy()

    def energy_shares(self, *, with_derivatives=True):
        """The share of each item in the energy of the repulsion, and the derivatives of the energy.

        Returns
        -------
        shares : ndarray of shape (n,)
        gradient, hessian : ndarrays of shape (n, m) and (n, m, m)
            Derivatives of the energy by the coordinates of each item.
        """
        n, m = self.points.shape
        shares, gradient, hessian = np.zeros(n), np.zeros((n, m)), np.zeros((n, m, m))
        assert self.repulsion is not None
        items, factors = self.repulsion.items, self.repulsion.factors
        where = slice(None) if items is None else items
        found = item_potentials(
            self.points[where],
            self.functions[1],
            factors,
            self.n_threads,
            with_derivatives=with_derivatives,
        )
        s = np.ones(len(found.value)) if factors is None else factors
        shares[where] = s * found.value / 2
        gradient[where] = s[:, None] * found.gradient
        hessian[where] = s[:, None, None] * found.hessian
        return shares, gradient, hessian

    def _inside(self):
        return torch.from_numpy(self.unit.inside(self.points))

    def _blocks(self) -> Iterator[tuple[slice, EdgeList]]:
        """The pairs, in blocks in the given order, with original distances in `unit`."""
        functions, p = self.functions, len(self.edges)
        size = max(p, 1) if self.functions_need_all_pairs else _BLOCK
        for start in range(0, p, size):
            block = slice(start, min(start + size, p))
            known = self.deviations
            yield (
                block,
                EdgeList.build(
                    self.edges[block],
                    len(self.points),
                    functions,
                    weights=None if self.weights is None else self.weights[block],
                    deviations=None if known is None else self.unit.inside(known[block]),
                    dtype=torch.float64,
                ),
            )
