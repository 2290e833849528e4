"""Anchored embeddings whose free items stay in a set of rows, such as a sphere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from skmde.constraints import Anchored, Constraint

Tensor = torch.Tensor
Change = Callable[[Tensor], Tensor]


class AnchoredRows(Anchored):
    """Anchors, and a set that acts on each free row (see `Constraint.acts_on_rows`).

    Parameters
    ----------
    anchors, values : array-likes of shape (n_anchors,) and (n_anchors, m)
        In the solver's variables.
    rows : Constraint
        A set that acts on rows, in the units of the embedding.
    outside, inside : callable
        From the solver's variables to coordinates in float64, and back. Both are similarities, so
        that projections and tangents are the same in both.
    """

    needs_projection = True

    def __init__(
        self, anchors: Any, values: Any, rows: Constraint, outside: Change, inside: Change
    ) -> None:
        super().__init__(anchors, values)
        self.has_boundary = rows.has_boundary
        self.rows, self.outside, self.inside = rows, outside, inside

    def project(self, Z: Tensor) -> Tensor:
        return super().project(self.inside(self.rows.project(self.outside(Z))).to(Z))

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        tangent = self.rows.project_tangent(self.outside(X), Z.double())
        return super().project_tangent(X, tangent.to(Z))

    def held(self, Z: Tensor) -> Tensor:
        return self.rows.held(self.outside(Z))

    def project_face(self, X: Tensor, Z: Tensor, held: Tensor) -> Tensor:
        face = self.rows.project_face(self.outside(X), Z.double(), held)
        return super().project_tangent(X, face.to(Z))
