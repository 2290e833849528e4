r"""Sums over all pairs of items, by one convolution on a lattice.

The energy of charges c at positions x is

    R(X) = sum_{i < j} c_i c_j p(||x_i - x_j||).

The function p is smooth at the spacing h of a lattice. Then the potential that the charges have at
any place is a spline on the lattice:

1. Every charge is *spread* over the nodes around it, with the weights of a B-spline.
2. The nodes' charges are convolved with p, by one forward and one inverse real FFT. The lattice is
   padded to twice its size, so that the convolution does not wrap around. The transform of p is
   divided by the squared transform of the B-spline. This makes the potential of a charge at a node
   equal p at all other nodes.
3. The potential is *read* at the charges, again with the weights of the B-spline; the gradient is
   read with their derivatives. So the gradient is that of the energy that is computed, and a line
   search sees no noise.

The potential of a charge's own nodes at the charge is known in closed form and is taken out.

The work is O(n + B^2 log B) for B nodes along a side. Positions are in the units of the embedding.
The lattice is fixed in space: its nodes are at multiples of h, so the energy changes continuously
as the items spread out. The number of nodes has a limit; beyond it, ``far_groups.py`` cuts the
items into groups.

References
----------
G. Linderman et al., *Fast interpolation-based t-SNE for improved visualization of single-cell
RNA-seq data*, Nature Methods 2019. U. Essmann et al., *A smooth particle mesh Ewald method*,
J. Chem. Phys. 1995, for the B-splines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.fft

from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels.lattice import numba_loops

_PIECES = 16
_SMALL = 1 << 14  # entries; a transform of fewer entries is done in one piece


@dataclass(frozen=True)
class Accuracy:
    """Settings of a lattice.

    Attributes
    ----------
    degree : int
        Degree of the B-spline, 3 or 5.
    spacing : float
        Distance of the nodes, relative to the length on which p varies.
    dtype : numpy dtype or None
        Of positions, charges and potentials; None is the dtype of the embedding.
    max_nodes : int
        Limit on the number of nodes, padding included.
    """

    degree: int
    spacing: float
    dtype: Any = None
    max_nodes: int = 1 << 25

    def grid(self, length: float) -> Grid:
        """The nodes for a function that varies on a length."""
        return Grid(self.degree, self.spacing * length, self.max_nodes, self.dtype)


@dataclass(frozen=True)
class Grid:
    """The nodes of lattices: all multiples of a spacing, of which a lattice has those of a box.

    Attributes
    ----------
    degree : int
        Degree of the B-spline, 3 or 5.
    spacing : float
        In the units of the embedding.
    max_nodes : int
        Limit on the number of nodes of one lattice, padding included.
    dtype : numpy dtype or None
        Of positions, charges and potentials; None is the dtype of the positions.
    """

    degree: int
    spacing: float
    max_nodes: int
    dtype: Any = None

    def box(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """The lattice for points in a box.

        Returns
        -------
        origin : array of shape (2,), float64
            Node (0, 0), in units of the spacing.
        shape : list of two int
            Number of nodes along each side.
        """
        origin, sides = self._sides(low, high)
        return origin, [int(side) for side in sides]

    def n_nodes(self, low: np.ndarray, high: np.ndarray) -> float:
        """Number of nodes for a box, padding included; infinity if it is above the limit."""
        _, sides = self._sides(low, high)
        with np.errstate(over="ignore"):
            if not 4 * sides[0] * sides[1] <= self.max_nodes:  # also if it is NaN
                return np.inf
        nodes = float(np.prod([2 * half_length(int(side)) for side in sides]))
        return nodes if nodes <= self.max_nodes else np.inf

    def fits(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Whether the number of nodes is within the limit."""
        return bool(np.isfinite(self.n_nodes(low, high)))

    def coarser(self, factor: int) -> Grid:
        """A grid with a larger spacing."""
        return replace(self, spacing=self.spacing * factor)

    def _sides(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # One node more than the spline spans: float32 may round a point to the next node.
        margin = (self.degree + 1) // 2 + 1
        with np.errstate(over="ignore", invalid="ignore"):
            origin = np.floor(low.astype(np.float64) / self.spacing) - (margin - 1)
            sides = np.floor(high.astype(np.float64) / self.spacing) - origin + margin + 1
        return origin, sides


# Relative errors against exact sums, for extents from 5 to 600 lengths (tests/core/kernels):
# "fast": value 1e-3, gradient 4e-2; "precise": value 1e-6, gradient 1e-4. If most items are within
# one spacing of each other, the value of "fast" has an error of up to 2e-2, and the gradient, which
# is then small, is wrong by a multiple of itself.
ACCURACIES = {"fast": Accuracy(3, 0.5), "precise": Accuracy(5, 0.2, np.float64, 1 << 26)}
# Of a potential that is read at new places: relative error of the gradient about 5e-4.
FROZEN = Accuracy(5, 1 / 3, np.float64, 1 << 26)


class Lattice:
    """Sums of one function over all pairs; see the module.

    Parameters
    ----------
    values : callable
        Takes an array of squared distances, float64, and returns p.
    grid : Grid
    n_threads : int
        The result does not depend on it.
    """

    def __init__(
        self,
        values: Callable[[np.ndarray], np.ndarray],
        grid: Grid,
        n_threads: int = 1,
    ) -> None:
        self._values, self.grid, self._dtype = values, grid, grid.dtype
        self._degree, self._n_threads = grid.degree, n_threads
        self._transforms: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    @property
    def spacing(self) -> float:
        """Distance of the nodes, in the units of the embedding."""
        return self.grid.spacing

    def energy(
        self, X: np.ndarray, charges: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """The energy R(X), and its gradient.

        Parameters
        ----------
        X : array of shape (n, 2)
            Positions.
        charges : array of shape (n,)
        low, high : array of shape (2,)
            Corners of a box that contains all positions.

        Returns
        -------
        value : float
        gradient : array of shape (n, 2), dtype of X
        """
        U, charges, order, P, S, _ = self._solve(X, charges, low, high)
        G, n = np.empty_like(X), len(U)
        scale = U.dtype.type(1 / self.spacing)

        def read(start: int, stop: int) -> float:
            return float(
                numba_loops.gather(self._degree, U, charges, order, start, stop, P, S, scale, G)
            )

        pieces = even_pieces(0, n, min(_PIECES, -(-n // _SMALL)))
        return 0.5 * sum(run_pieces(read, pieces, self._n_threads)), G

    def local_energy(self, X: np.ndarray, charges: np.ndarray) -> tuple[float, np.ndarray]:
        """The energy, and its gradient, of a group of items that may be far from the origin."""
        X64 = X.astype(np.float64)
        shift = np.floor(X64.min(axis=0) / self.spacing) * self.spacing
        local = (X64 - shift).astype(self._dtype or X.dtype)
        return self.energy(local, charges, local.min(axis=0), local.max(axis=0))

    def potential(
        self, X: np.ndarray, charges: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The potential of the charges, as coefficients of the B-spline.

        Parameters
        ----------
        X, charges, low, high : arrays
            As for `energy`. The potential is right within the box.

        Returns
        -------
        coefficients : array
            One for each node.
        origin : array of shape (2,)
            Position of the first node, in units of the spacing.
        """
        *_, P, _, origin = self._solve(X, charges, low, high)
        return P, origin

    def _solve(
        self, X: np.ndarray, charges: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[Any, ...]:
        """Positions in units of the spacing, charges, their order, and the potential."""
        dtype = np.dtype(self._dtype or X.dtype)
        origin, shape = self.grid.box(low, high)
        U = (X.astype(dtype, copy=False) / dtype.type(self.spacing)) - origin.astype(dtype)
        charges = charges.astype(dtype, copy=False)
        order = np.empty(len(U), np.int32)
        bounds = np.empty(-(-shape[0] // numba_loops.STRIPE) + 1, np.int64)
        numba_loops.sort_by_stripe(U, order, bounds)
        Q = self._spread(U, charges, order, bounds, shape)
        return U, charges, order, *self._potential(Q, dtype), origin

    def _spread(
        self,
        U: np.ndarray,
        charges: np.ndarray,
        order: np.ndarray,
        bounds: np.ndarray,
        shape: list[int],
    ) -> np.ndarray:
        n_stripes = len(bounds) - 1
        padded = (n_stripes + 1) * numba_loops.STRIPE
        Q = np.zeros((max(padded, shape[0]), shape[1]), charges.dtype)

        def add(first: int, last: int) -> None:
            for s in range(first, last, 2):
                numba_loops.spread(self._degree, U, charges, order, bounds[s], bounds[s + 1], Q)

        count = min(_PIECES, -(-len(U) // _SMALL), -(-n_stripes // 2))
        for parity in (0, 1):
            pieces = [
                (2 * first + parity, min(2 * last + parity, n_stripes))
                for first, last in even_pieces(0, -(-(n_stripes - parity) // 2), count)
            ]
            run_pieces(add, pieces, self._n_threads)
        return Q[: shape[0]]

    def _potential(self, Q: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """The potential at the nodes, and the part `S` of it that is a node's own."""
        rows, columns = Q.shape
        m0, m1 = half_length(rows), half_length(columns)
        H, S = self._transform(m0, m1, dtype)
        F = np.empty((rows, m1 + 1), np.result_type(dtype, np.complex64))
        P = np.empty_like(Q)

        def along_rows(start: int, stop: int) -> None:
            F[start:stop] = scipy.fft.rfft(Q[start:stop], n=2 * m1, axis=1)

        def along_columns(start: int, stop: int) -> None:
            part = scipy.fft.fft(F[:, start:stop], n=2 * m0, axis=0)
            part[: m0 + 1] *= H[:, start:stop]
            part[m0 + 1 :] *= H[m0 - 1 : 0 : -1, start:stop]
            F[:, start:stop] = scipy.fft.ifft(part, axis=0, overwrite_x=True)[:rows]

        def back_along_rows(start: int, stop: int) -> None:
            P[start:stop] = scipy.fft.irfft(F[start:stop], n=2 * m1, axis=1)[:, :columns]

        for function, length in (
            (along_rows, rows),
            (along_columns, m1 + 1),
            (back_along_rows, rows),
        ):
            count = min(_PIECES, length, -(-F.size // _SMALL))
            run_pieces(function, even_pieces(0, length, count), self._n_threads)
        return P, S

    def _transform(self, m0: int, m1: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """Transform of p over that of the B-spline, for a lattice of (2 m0, 2 m1) nodes.

        It is real and even, so a cosine transform of one quarter gives all of it.
        """
        if (m0, m1) not in self._transforms:
            p = self._values(squared_distances(m0, m1, self.spacing))
            H = scipy.fft.dctn(p, type=1, overwrite_x=True)
            for axis, m in enumerate((m0, m1)):
                spline = spline_transform(self._degree, np.pi * np.arange(m + 1) / m)
                H /= np.expand_dims(spline**2, 1 - axis)
            own = scipy.fft.idctn(H, type=1)[: self._degree + 1, : self._degree + 1]
            kept = sum(former.size for former, _ in self._transforms.values())
            if 4 * (kept + H.size) > self.grid.max_nodes:
                self._transforms.clear()  # several are kept, for groups of items
            self._transforms[m0, m1] = H.astype(dtype), np.ascontiguousarray(own, dtype)
        return self._transforms[m0, m1]


def spline_transform(degree: int, w: np.ndarray) -> np.ndarray:
    """Fourier transform of the B-spline's values at the nodes."""
    if degree == 3:
        return np.asarray((4 + 2 * np.cos(w)) / 6)
    return np.asarray((66 + 52 * np.cos(w) + 2 * np.cos(2 * w)) / 120)


def squared_distances(m0: int, m1: int, spacing: float) -> np.ndarray:
    """Squared distances of the nodes of a quarter of a lattice from its corner."""
    offsets = [(np.arange(m + 1) * spacing) ** 2 for m in (m0, m1)]
    return np.asarray(offsets[0][:, None] + offsets[1][None, :])


def half_length(side: int) -> int:
    """Half the length of the transforms for a lattice with `side` nodes along an axis.

    Lengths are rounded up to a few values, so that the transform of p is seldom computed anew while
    the embedding grows.
    """
    side += 8  # beyond the other end of the period, the spline of p is not yet p
    step = 1 << max(0, side.bit_length() - 5)
    return int(scipy.fft.next_fast_len(-(-side // step) * step, real=True))
