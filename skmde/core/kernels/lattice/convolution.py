r"""Sums over all pairs of items, by one convolution on a lattice.

The energy of charges c at positions x is

    R(X) = sum_{i < j} c_i c_j p(||x_i - x_j||).

The function p is smooth at the spacing h of a lattice. Then the potential that the charges have at
any place is a spline on the lattice:

1. Every charge is *spread* over the nodes around it, with the weights of a B-spline along each
   axis.
2. The nodes' charges are convolved with p, by one forward and one inverse real FFT. The lattice is
   padded to twice its size, so that the convolution does not wrap around. The transform of p is
   divided by the squared transform of the B-spline. This makes the potential of a charge at a node
   equal p at all other nodes.
3. The potential is *read* at the charges, again with the weights of the B-spline; the gradient is
   read with their derivatives. So the gradient is that of the energy that is computed, and a line
   search sees no noise.

The potential of a charge's own nodes at the charge is known in closed form and is taken out.

The lattice has two or three dimensions. With B nodes along a side, the work is O(n + B^2 log B) or
O(n + B^3 log B). Positions are in the units of the embedding. The lattice is fixed in space: its
nodes are at multiples of h, so the energy changes continuously as the items spread out. A function
that is not smooth at h is split into two parts (``softening.py``). ``plan.py`` chooses h, and cuts
items that are too far apart for one lattice into groups.

References
----------
G. Linderman et al., *Fast interpolation-based t-SNE for improved visualization of single-cell
RNA-seq data*, Nature Methods 2019. U. Essmann et al., *A smooth particle mesh Ewald method*,
J. Chem. Phys. 1995, for the B-splines.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.fft

from skmde._linalg.reductions import bounding_box
from skmde._utils.ranks.group import Ranks
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels.lattice import numba_loops, numba_loops_3d
from skmde.core.kernels.lattice.splines import own_polynomial, spline_transform

_PIECES = 16
_SMALL = 1 << 14  # entries; a transform of fewer entries is done in one piece
_RECENT = 2  # transforms of p that are kept for the lattice of all items
_LOOPS: dict[int, Any] = {2: numba_loops, 3: numba_loops_3d}


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
    core : float
        Radius of the core of a split penalty, in units of the spacing of its lattice.
    order : int
        Degree of the polynomial that replaces the core.
    """

    degree: int
    spacing: float
    dtype: Any = None
    max_nodes: int = 1 << 25
    core: float = 3.0
    order: int = 3

    def grid(self, length: float) -> Grid:
        """The nodes for a function that varies on a length."""
        return self.grid_of(self.spacing * length)

    def grid_of(self, spacing: float) -> Grid:
        """The nodes at multiples of a spacing."""
        return Grid(self.degree, spacing, self.max_nodes, self.dtype)


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
        origin : array of shape (m,), float64
            The first node, in units of the spacing.
        shape : list of m int
            Number of nodes along each side.
        """
        origin, sides = self._sides(low, high)
        return origin, [int(side) for side in sides]

    def n_nodes(self, low: np.ndarray, high: np.ndarray) -> float:
        """Number of nodes for a box, padding included; infinity if it is above the limit."""
        _, sides = self._sides(low, high)
        with np.errstate(over="ignore"):
            if not np.prod(2 * sides) <= self.max_nodes:  # also if it is NaN
                return np.inf
        nodes = float(np.prod([2 * half_length(int(side)) for side in sides]))
        return nodes if nodes <= self.max_nodes else np.inf

    def fits(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Whether the number of nodes is within the limit."""
        return bool(np.isfinite(self.n_nodes(low, high)))

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
ACCURACIES = {
    "fast": Accuracy(3, 0.5),
    "precise": Accuracy(5, 0.2, np.float64, 1 << 26, core=8.0, order=5),
}
# Of a potential that is read at new places: relative error of the gradient about 5e-4.
FROZEN = Accuracy(5, 1 / 3, np.float64, 1 << 26, core=6.0, order=5)


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
        self._transforms: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    @property
    def spacing(self) -> float:
        """Distance of the nodes, in the units of the embedding."""
        return self.grid.spacing

    def energy(
        self,
        X: np.ndarray,
        charges: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        ranks: Ranks | None = None,
    ) -> tuple[float, np.ndarray]:
        """The energy R(X), and its gradient.

        Parameters
        ----------
        X : array of shape (n, m)
            Positions, m = 2 or 3.
        charges : array of shape (n,)
        low, high : array of shape (m,)
            Corners of a box that contains all positions.
        ranks : Ranks, optional
            If there are many charges, each rank spreads and reads some of them.

        Returns
        -------
        value : float
        gradient : array of shape (n, m), dtype of X
        """
        sums = self._energy(X, charges, low, high, ranks)
        # While the embedding grows, it leaves one size of lattice after another for good. Together
        # their transforms would take more memory than all other arrays of a solve.
        for size in list(self._transforms)[:-_RECENT]:
            del self._transforms[size]
        return sums

    def local_energy(self, X: np.ndarray, charges: np.ndarray) -> tuple[float, np.ndarray]:
        """The energy, and its gradient, of a group of items that may be far from the origin."""
        X64 = X.astype(np.float64)
        shift = np.floor(bounding_box(X64)[0] / self.spacing) * self.spacing
        local = (X64 - shift).astype(self._dtype or X.dtype)
        return self._energy(local, charges, *bounding_box(local))

    def _energy(
        self,
        X: np.ndarray,
        charges: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        ranks: Ranks | None = None,
    ) -> tuple[float, np.ndarray]:
        count = min(_PIECES, -(-len(X) // _SMALL))
        if count == 1:
            ranks = None
        U, charges, order, P, own, _ = self._solve(X, charges, low, high, ranks)
        G, n = np.empty_like(X), len(U)
        scale, loops = U.dtype.type(1 / self.spacing), _LOOPS[X.shape[1]]

        def read(start: int, stop: int) -> float:
            return float(
                loops.gather(self._degree, U, charges, order, start, stop, P, own, scale, G)
            )

        pieces = even_pieces(0, n, count)
        if ranks is None:
            return 0.5 * sum(run_pieces(read, pieces, self._n_threads)), G
        mine = ranks.share(count)
        values = np.zeros(count)
        values[mine] = run_pieces(read, pieces[mine], self._n_threads)
        bounds = [0 if k == 0 else pieces[k - 1][1] for k in ranks.bounds(count)]
        ranks.fill(values, ranks.bounds(count))
        sorted_rows = G[order]
        ranks.fill(sorted_rows, bounds)
        G[order] = sorted_rows
        return 0.5 * sum(values.tolist()), G

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
        origin : array of shape (m,)
            Position of the first node, in units of the spacing.
        """
        *_, P, _, origin = self._solve(X, charges, low, high)
        return P, origin

    def _solve(
        self,
        X: np.ndarray,
        charges: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        ranks: Ranks | None = None,
    ) -> tuple[Any, ...]:
        """Positions in units of the spacing, charges, their order, and the potential."""
        dtype = np.dtype(self._dtype or X.dtype)
        origin, shape = self.grid.box(low, high)
        U = (X.astype(dtype, copy=False) / dtype.type(self.spacing)) - origin.astype(dtype)
        charges = charges.astype(dtype, copy=False)
        order = np.empty(len(U), np.int32)
        bounds = np.empty(-(-shape[0] // numba_loops.STRIPE) + 1, np.int64)
        numba_loops.sort_by_stripe(U, order, bounds)
        Q = self._spread(U, charges, order, bounds, shape, ranks)
        return U, charges, order, *self._potential(Q, dtype), origin

    def _spread(
        self,
        U: np.ndarray,
        charges: np.ndarray,
        order: np.ndarray,
        bounds: np.ndarray,
        shape: list[int],
        ranks: Ranks | None = None,
    ) -> np.ndarray:
        n_stripes, loops = len(bounds) - 1, _LOOPS[len(shape)]
        padded = (n_stripes + 1) * numba_loops.STRIPE
        Q = np.zeros((max(padded, shape[0]), *shape[1:]), charges.dtype)

        def add(first: int, last: int) -> None:
            for s in range(first, last, 2):
                loops.spread(self._degree, U, charges, order, bounds[s], bounds[s + 1], Q)

        # The rows of nodes of a rank get charges from the stripe before them, too. Each rank adds
        # up all charges of its rows, in the order in which one process does.
        cuts, low, high = [0, n_stripes], 0, n_stripes
        if ranks is not None:
            cuts = _even_stripes(bounds, ranks)
            low, high = cuts[ranks.rank : ranks.rank + 2]
            low, high = max(low - 1, 0), min(high + 1, n_stripes)
        count = min(_PIECES, -(-len(U) // _SMALL), -(-n_stripes // 2))
        for parity in (0, 1):
            first_one = low + (low + parity) % 2
            n_own = max(0, -(-(high - first_one) // 2))
            pieces = [
                (first_one + 2 * first, min(first_one + 2 * last, high))
                for first, last in even_pieces(0, n_own, count)
            ]
            run_pieces(add, pieces, self._n_threads)
        if ranks is not None:
            rows = [cut * numba_loops.STRIPE for cut in cuts]
            rows[-1] = len(Q)
            ranks.fill(Q, rows)
        return Q[: shape[0]]

    def _potential(self, Q: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """The potential at the nodes, and the polynomial of the part that is a charge's own."""
        halves = tuple(half_length(side) for side in Q.shape)
        H, own = self._transform(halves, dtype)
        rows, last, n_frequencies = len(Q), halves[-1], halves[-1] + 1
        F = np.empty((*Q.shape[:-1], n_frequencies), np.result_type(dtype, np.complex64))
        P = np.empty_like(Q)
        inside = tuple(slice(side) for side in Q.shape[:-1])
        mirrors = [((slice(m + 1),) * 2, (slice(m + 1, None), slice(m - 1, 0, -1))) for m in halves]
        corners = [tuple(zip(*corner, strict=True)) for corner in itertools.product(*mirrors[:-1])]

        def along_last_axis(start: int, stop: int) -> None:
            F[start:stop] = scipy.fft.rfft(Q[start:stop], n=2 * last)

        def along_other_axes(start: int, stop: int) -> None:
            part = F[..., start:stop]
            for axis in reversed(range(Q.ndim - 1)):
                part = scipy.fft.fft(part, n=2 * halves[axis], axis=axis)
            for here, there in corners:
                part[here] *= H[there][..., start:stop]
            for axis in range(Q.ndim - 1):
                part = scipy.fft.ifft(part, axis=axis, overwrite_x=True)
                part = part[(slice(None),) * axis + (inside[axis],)]
            F[..., start:stop] = part

        def back_along_last_axis(start: int, stop: int) -> None:
            P[start:stop] = scipy.fft.irfft(F[start:stop], n=2 * last)[..., : Q.shape[-1]]

        for function, length in (
            (along_last_axis, rows),
            (along_other_axes, n_frequencies),
            (back_along_last_axis, rows),
        ):
            count = min(_PIECES, length, -(-F.size // _SMALL))
            run_pieces(function, even_pieces(0, length, count), self._n_threads)
        return P, own

    def _transform(self, halves: tuple[int, ...], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """Transform of p over that of the B-spline, for a lattice of 2 m nodes along each axis.

        It is real and even, so a cosine transform of one corner gives all of it. The second result
        is from `own_polynomial`.
        """
        found = self._transforms.pop(halves, None)
        if found is None:
            p = self._values(squared_distances(halves, self.spacing))
            H = scipy.fft.dctn(p, type=1, overwrite_x=True)
            for axis, m in enumerate(halves):
                spline = spline_transform(self._degree, np.pi * np.arange(m + 1) / m)
                H /= np.expand_dims(spline**2, [k for k in range(len(halves)) if k != axis])
            near = scipy.fft.idctn(H, type=1)[(slice(self._degree + 1),) * len(halves)]
            kept = sum(former.size for former, _ in self._transforms.values())
            if 2 ** len(halves) * (kept + H.size) > self.grid.max_nodes:
                self._transforms.clear()  # several are kept, for groups of items
            own = own_polynomial(near, self._degree).astype(dtype)
            found = H.astype(dtype), own
        self._transforms[halves] = found  # the last one used is the last of the dictionary
        return found


def _even_stripes(bounds: np.ndarray, ranks: Ranks) -> list[int]:
    """Where the stripes of each rank begin, and where the last ones end: about as many points."""
    cuts = np.searchsorted(bounds, ranks.bounds(int(bounds[-1])))
    return [0, *(int(cut) for cut in cuts[1:-1]), len(bounds) - 1]


def squared_distances(halves: tuple[int, ...], spacing: float) -> np.ndarray:
    """Squared distances of the nodes of one corner of a lattice, m + 1 along each axis."""
    offsets = [(np.arange(m + 1) * spacing) ** 2 for m in halves]
    return np.asarray(reduce(np.add.outer, offsets))


def half_length(side: int) -> int:
    """Half the length of the transforms for a lattice with `side` nodes along an axis.

    Lengths are rounded up to a few values, so that the transform of p is seldom computed anew while
    the embedding grows.
    """
    side += 8  # beyond the other end of the period, the spline of p is not yet p
    step = 1 << max(0, side.bit_length() - 5)
    return int(scipy.fft.next_fast_len(-(-side // step) * step, real=True))
