"""Constraint sets: the feasible embeddings, and the two projections that the solver needs.

X is the embedding, with n items (rows) and m components (columns). See the monograph, sections
2.4 (constraints) and 6.1.2 (projection onto constraints) and chapter 5 (stationarity conditions):

    set            feasible X                    project(Z)                 project_tangent(X, Z)
    Centered       X^T 1 = 0                     Z minus its column means   Z
    Anchored       x_i given for i in K          Z with these rows set      Z with these rows 0
    Standardized   X^T 1 = 0, X^T X / n = I      sqrt(n) U V^T              Z - X (Z^T X) / n
    SameCoordinate x_ic = x_jc in a group        group means of column c    group means of column c
    Sphere         ||x_i|| = r                   r z_i / ||z_i||            z_i - (n_i . z_i) n_i
    Disc           ||x_i - c|| <= r              rows outside to the edge   see ``radial.py``
    Box            low <= x_ic <= high           coordinates clipped        see ``box.py``

The solver stops when the projected gradient, project_tangent(X, grad E(X)), vanishes. At the
boundary of a set, tangents are a cone, and -project_tangent(X, -grad E(X)) is the projected
gradient (``core/solvers/boundary.py``).
"""

from skmde.constraints.anchored import Anchored
from skmde.constraints.base import Constraint
from skmde.constraints.box import Box, NonNegative
from skmde.constraints.check import check_constraint
from skmde.constraints.radial import Disc, Sphere
from skmde.constraints.resolve import resolve_constraint
from skmde.constraints.same_coordinate import SameCoordinate
from skmde.constraints.standard import Centered, Standardized

__all__ = [
    "Anchored",
    "Box",
    "Centered",
    "Constraint",
    "Disc",
    "NonNegative",
    "SameCoordinate",
    "Sphere",
    "Standardized",
    "check_constraint",
    "resolve_constraint",
]
