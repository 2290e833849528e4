"""What an MDE problem says of an embedding: numbers of its pairs, gradient, forces, multipliers.

With d_k the embedding distance of pair k = (i, j) and f_k its distortion function, the average
distortion E(X) = (1/p) sum_k f_k(d_k) has the gradient (1/p) A C A^T X, where row k of -C A^T X is
the force of the pair on item i (monograph, chapter 5; section 2.3 has the springs). Sections 5.2.1
and 5.3.1 have the multipliers of constraints. Distances are in the units of the embedding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, overload

import numpy as np
import torch

from skmde._linalg.reductions import dot
from skmde._utils.device import cpu_by_default, known_to_torch
from skmde._utils.validation import check_not_masked
from skmde.core.all_pairs_repulsion import AllPairsRepulsion
from skmde.core.items import ItemsProblem
from skmde.core.kernels.backend import Backend
from skmde.core.kernels.torch_reference import weighted_slopes
from skmde.core.objectives.autograd import wants_gradient, with_gradient
from skmde.core.objectives.base import Term
from skmde.core.objectives.edge_term import Edges, by_segment, distances, distortions
from skmde.core.objectives.edges import known_deviations
from skmde.core.objectives.total import Total
from skmde.functions.adapters import LossOfDistance
from skmde.functions.base import Loss, Penalty
from skmde.functions.registry import resolve_loss, resolve_penalty


class ProblemValues(ItemsProblem, ABC):
    """Values and derivatives of a problem at an embedding, a part of :class:`skmde.MDE`."""

    _edges: Edges
    _repulsion: AllPairsRepulsion | None

    @abstractmethod
    def _objective(self, dtype: torch.dtype) -> Total: ...

    @abstractmethod
    def _pair_term(self, edges: Edges, dtype: torch.dtype, backend: Backend) -> Term: ...

    @property
    def edges(self) -> torch.Tensor:
        """The pairs, shape (p, 2), int64, in the given order; the smaller item comes first."""
        pairs = torch.stack([self._edges.i, self._edges.j], dim=1).long()
        return self._edges.to_callers_order(pairs)

    def _embedding(self, X: Any, name: str = "X") -> torch.Tensor:
        """The embedding that the caller passed, checked; the problem's own embedding if None."""
        if X is None:
            if self.X is None:
                raise ValueError("there is no embedding yet: call embed() first, or pass X.")
            return self.X
        shape = (self.n_items, self.n_components)
        return as_embedding(X, shape, self._edges.dtype, self.device, name)

    @cpu_by_default()
    def differences(self, X: Any = None) -> torch.Tensor:
        """Differences x_i - x_j of the edges.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.

        Returns
        -------
        differences : torch.Tensor of shape (p, n_components)
            In the order of `edges`.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet.
        """
        embedding = self._embedding(X)
        i, j = self.edges.T
        return embedding[i] - embedding[j]

    @cpu_by_default()
    def distances(self, X: Any = None) -> torch.Tensor:
        """Embedding distances of the edges.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.

        Returns
        -------
        distances : torch.Tensor of shape (p,)
            In the order of `edges`.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet.
        """
        embedding = self._embedding(X)
        d = distances(self._edges, embedding)
        return self.constraint.own_distance(d)[0] if self.constraint.has_own_distance else d

    @cpu_by_default()
    def distortions(self, X: Any = None) -> torch.Tensor:
        """Distortions of the edges, multiplied by their weights.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.

        Returns
        -------
        distortions : torch.Tensor of shape (p,)
            In the order of `edges`.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet.
        """
        embedding = self._embedding(X)
        return distortions(self._measured(self._edges.to(dtype=embedding.dtype)), embedding)

    @overload
    def average_distortion(self, X: None = None, distortion: Any = None) -> float: ...

    @overload
    def average_distortion(self, X: Any, distortion: Any = None) -> Any: ...

    @cpu_by_default()
    def average_distortion(self, X: Any = None, distortion: Any = None) -> Any:
        """Mean of the distortions.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.
        distortion : str, Penalty, Loss or callable, default=None
            Another function for the same edges, weights and deviations. For example, "squared"
            gives the stress of an embedding that minimises another loss. If all edges have
            deviations, a name means a loss. None means the problem's own functions, and includes
            the repulsion of all pairs, if there is one.

        Returns
        -------
        average_distortion : float or torch.Tensor of shape ()
            By default, the average distortion that `embed` minimises. A tensor if X is a tensor
            that requires a gradient, and a float otherwise.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet; or if there is no function of the name `distortion`.
        TypeError
            If `distortion` is a class, or a loss where edges have no deviations.
        """
        embedding, edges, backend = self._embedding(X), self._edges, self._backend
        wanted = wants_gradient(embedding)
        if distortion is not None:
            edges = edges.under(self._other_function(distortion))
        term: Term
        if distortion is None and self._repulsion is not None:
            term = self._objective(embedding.dtype)
        elif wanted or all(backend.supports(segment.function) for segment in edges.segments):
            term = self._pair_term(edges, embedding.dtype, backend)
        else:  # a function to measure with may have no gradient
            values = distortions(self._measured(edges.to(dtype=embedding.dtype)), embedding)
            return float(dot(values, torch.ones_like(values))) / len(edges)
        value, gradient = term.value_and_gradient(embedding.detach())
        if wanted:
            value = torch.as_tensor(value, dtype=embedding.dtype, device=embedding.device)
            return with_gradient(embedding, value, gradient)
        return float(value)

    def _measured(self, edges: Edges) -> Edges:
        """The pairs with functions of Euclidean distances, if the constraint has others."""
        if not self.constraint.has_own_distance:
            return edges
        return edges.with_functions(partial(LossOfDistance, constraint=self.constraint))

    def _other_function(self, distortion: Any) -> Penalty | Loss:
        """The function for a measure of all pairs, of which some may lack original distances."""
        known = known_deviations(self._edges)
        if known is not None and len(known) == len(self._edges):
            is_penalty = isinstance(distortion, Penalty)
            return resolve_penalty(distortion) if is_penalty else resolve_loss(distortion)
        if known is not None and isinstance(distortion, Loss):
            raise ValueError(
                f"{type(distortion).__name__} is a loss, but the edges of some terms have no "
                "deviations; pass a penalty."
            )
        return resolve_penalty(distortion)

    @cpu_by_default()
    def high_distortion_pairs(self, X: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Edges and their distortions, in decreasing order of distortion.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.

        Returns
        -------
        edges : torch.Tensor of shape (p, 2)
            The edges.
        distortions : torch.Tensor of shape (p,)
            Their distortions, in decreasing order.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet.
        """
        values = self.distortions(X)
        order = torch.argsort(values, descending=True, stable=True)
        return self.edges[order], values[order]

    @cpu_by_default()
    def gradient(self, X: Any = None, *, projected: bool = False) -> torch.Tensor:
        """Gradient of the average distortion.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.
        projected : bool, default=False
            Whether to project it onto the tangent space of the constraint at X, which must satisfy
            the constraint. This part is 0 at a solution.

        Returns
        -------
        gradient : torch.Tensor of shape (n_items, n_components)
            Includes the repulsion of all pairs, if there is one.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet.

        References
        ----------
        Monograph, chapter 5 (stationarity conditions).
        """
        embedding = self._embedding(X).detach()
        _, gradient = self._objective(embedding.dtype).value_and_gradient(embedding)
        return self.constraint.project_tangent(embedding, gradient) if projected else gradient

    @cpu_by_default()
    def forces(self, X: Any = None) -> torch.Tensor:
        r"""Force of each edge on its first item, as if the edges were springs.

        The force is :math:`f'(d) \, (x_j - x_i) / d`: it pulls if the distortion grows with the
        distance, and pushes otherwise. The force on the second item is opposite. Minus the sum of
        the forces on an item, divided by p, is its row of the gradient; a repulsion of all pairs
        adds to the gradient, but has no edges.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.

        Returns
        -------
        forces : torch.Tensor of shape (p, n_components)
            In the order of `edges`.

        Raises
        ------
        ValueError
            If X is not of this shape or not finite, or if it is None and there is no embedding
            yet.

        References
        ----------
        Monograph, sections 2.3 (mechanical interpretation) and 5.1 (centered problems).
        """
        embedding = self._embedding(X).detach()
        edges = self._measured(self._edges.to(dtype=embedding.dtype))
        return -by_segment(edges, embedding, weighted_slopes)[:, None] * self.differences(embedding)

    @property
    @cpu_by_default()
    def dual_(self) -> torch.Tensor | None:
        r"""The multiplier of the constraint, at the embedding found by `embed`.

        For a standardized problem it is the symmetric matrix :math:`\Lambda = \nabla E(X)^T X / 2`
        of shape (n_components, n_components). At a solution, :math:`\nabla E(X) = (2/n) X \Lambda`.
        If all edges have quadratic penalties, its trace is the average distortion, and n / p times
        the eigenvalues of the Laplacian are its eigenvalues. For an anchored problem it has a row
        :math:`-\nabla E(X)_i` for each anchor, in ascending order: the force that holds
        it (monograph, sections 5.3.1 and 5.2.1). None for other constraints, and before `embed` is
        called.
        """
        if self.X is None:
            return None
        return self.constraint.dual(self.X, self.gradient())


def as_embedding(
    X: Any,
    shape: tuple[int, int],
    dtype: torch.dtype,
    device: torch.device,
    name: str = "X",
) -> torch.Tensor:
    """An embedding of the caller, checked; its dtype is at least as precise as the given one."""
    if not isinstance(X, torch.Tensor):
        check_not_masked(X, name, "give every item coordinates")
        array = np.asarray(X)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name} must hold real numbers; got dtype {array.dtype}.")
        X = torch.tensor(known_to_torch(array))
    if X.is_complex():
        raise ValueError(f"{name} must hold real numbers; got dtype {X.dtype}.")
    if tuple(X.shape) != shape:
        raise ValueError(f"{name} must have shape {shape}; got {tuple(X.shape)}.")
    dtype = torch.promote_types(X.dtype, dtype)
    X = X.to(device=device, dtype=dtype)
    if not bool(torch.isfinite(X).all()):
        raise ValueError(f"{name} holds NaN or infinite entries; all must be finite.")
    return X
