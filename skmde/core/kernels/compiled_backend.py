"""The backend of compiled loops on the CPU.

Work is cut into pieces whose number depends on the problem alone, and their results are added up in
order, so that the bits of a result do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from skmde._linalg.vector_kernels import combine, history_dots, momentum_step
from skmde._utils.device import empty
from skmde._utils.ranks.group import Ranks, checksum
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels import numba_edges
from skmde.core.kernels.backend_base import (
    Backend,
    Run,
    Step,
    Sums,
    Value,
    charges_of,
)
from skmde.core.kernels.lattice.compiled_summation import CompiledSummation
from skmde.core.kernels.lattice.convolution import ACCURACIES
from skmde.core.kernels.lattice.layouts import Layouts
from skmde.functions.base import Loss, Penalty

_EDGES_PER_PIECE = 1 << 18
_PAIRS_PER_PIECE = 1 << 17
_MAX_PIECES = 16
_MIN_PIECES = 4
# Each piece has a gradient of its own, which takes memory and time. So a piece has at least this
# number of edges for each entry of the gradient.
_EDGES_PER_ENTRY = 0.6
_SMALL = 1 << 14  # numbers; up to here, one thread sums the pieces' gradients
_NUMBERS_PER_PIECE = 1 << 15  # of a long vector


class CompiledBackend(Backend):
    """Compiled loops on the CPU.

    Parameters
    ----------
    n_threads : int
        Number of threads that share the loops.
    """

    def __init__(self, n_threads: int = 1) -> None:
        super().__init__(torch.device("cpu"), n_threads)

    def supports(self, function: Penalty | Loss) -> bool:
        return function.kernel_parameters() is not None

    def edge_sums(
        self,
        runs: Sequence[Run],
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums:
        length = n_items * n_components
        arguments = []
        for run in runs:
            # the kernels of penalties do not read it, but need an array
            deviations = run.weights if run.deviations is None else run.deviations
            pairs = (x.numpy() for x in (run.i, run.j, run.weights, deviations))
            arguments.append((*_kernel_of(run.function, dtype), *pairs))
        counts = [len(run.i) for run in runs]
        pieces = Pieces(
            edge_pieces(counts, length), ranks if sum(counts) > _EDGES_PER_PIECE else None
        )
        parts = np.zeros((len(pieces.own), length), arguments[0][1].dtype)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            x = X.numpy()

            def add(number: int, run: int, start: int, stop: int) -> float:
                G, pairs = parts[number].reshape(x.shape), arguments[run]
                kernel: Any = numba_edges.add_edges
                return float(kernel(*pairs[:2], x, *pairs[2:], start, stop, G))

            gradient = empty(X.shape, X)
            value = self._sum(add, pieces, parts, scale, gradient.view(-1).numpy(), x)
            return value, gradient

        return sums

    def all_pairs_sums(
        self,
        function: Penalty | Loss,
        weights: torch.Tensor | None,
        deviations: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums | None:
        if not self.supports(function):
            return None
        kind, params = _kernel_of(function, dtype)
        nothing = np.empty(0, params.dtype)
        w, delta = (nothing if x is None else x.numpy() for x in (weights, deviations))
        pieces = Pieces(row_pieces(n_items), ranks)
        parts = np.zeros((len(pieces.own), n_items * n_components), params.dtype)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            n, m = X.shape
            columns = X.T.contiguous().numpy()

            def add(number: int, start: int, stop: int) -> float:
                G = parts[number].reshape(m, n)
                return float(
                    numba_edges.add_all_pairs(kind, params, columns, w, delta, start, stop, G)
                )

            flat = empty((m * n,), X)
            value = self._sum(add, pieces, parts, scale, flat.numpy(), columns)
            return value, flat.view(m, n).T.contiguous()

        return sums

    def lattice_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        accuracy: str,
        ranks: Ranks | None = None,
    ) -> Sums | None:
        if n_components > 3 or not self.supports(function) or not Layouts.exist(function):
            return None
        kernel = _kernel_of(function, dtype)
        summation = CompiledSummation(
            function,
            Layouts(function, ACCURACIES[accuracy]),
            charges_of(item_weights, n_items, dtype).numpy(),
            lambda P, c, stops: self._later_pairs(kernel, P, c, stops, ranks=ranks),
            self.n_threads,
            ranks,
        )

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            points = X.numpy()
            if n_components == 1:
                points = np.concatenate([points, np.zeros_like(points)], axis=1)
            result = summation.energy(points)
            if result is None:
                return np.nan, torch.full_like(X, np.nan)
            value, gradient = result
            gradient = gradient.astype(points.dtype, copy=False)
            gradient *= points.dtype.type(scale)
            return value * scale, torch.from_numpy(gradient[:, :n_components]).contiguous()

        return sums

    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        ranks: Ranks | None = None,
    ) -> Sums:
        kernel = _kernel_of(function, dtype)
        charges = charges_of(item_weights, n_items, dtype).numpy()
        stops = np.arange(1, n_items + 1)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            value, gradient = self._later_pairs(kernel, X.numpy(), charges, stops, scale, ranks)
            return value * scale, torch.from_numpy(gradient)

        return sums

    def _later_pairs(
        self,
        kernel: tuple[int, Any],
        X: Any,
        charges: Any,
        stops: np.ndarray,
        scale: float = 1.0,
        ranks: Ranks | None = None,
    ) -> tuple[float, np.ndarray]:
        """Sum over the pairs (i, j) with ``j >= stops[i]``, and `scale` times its gradient."""
        n, m = X.shape
        columns = np.ascontiguousarray(X.T)
        pieces = Pieces(pair_pieces(stops), ranks)
        parts = np.zeros((len(pieces.own), n * m), X.dtype)

        def add(number: int, start: int, stop: int) -> float:
            G = parts[number].reshape(m, n)
            return float(
                numba_edges.add_later_pairs(*kernel, columns, charges, stops, start, stop, G)
            )

        flat = np.empty(m * n, X.dtype)
        value = self._sum(add, pieces, parts, 1.0, flat, columns)
        flat *= X.dtype.type(scale)
        return value, np.ascontiguousarray(flat.reshape(m, n).T)

    def momentum_step(
        self,
        X: torch.Tensor,
        velocity: torch.Tensor,
        gains: torch.Tensor,
        gradient: torch.Tensor,
        step: Step,
    ) -> torch.Tensor:
        out = torch.empty_like(X)
        arrays: list[Any] = [x.numpy() for x in (X, velocity, gains, gradient)]
        momentum_step(*arrays, *step, out.numpy())  # type: ignore[call-arg]
        return out

    def _sum(
        self,
        add: Callable[..., float],
        pieces: Pieces,
        parts: Any,
        scale: float,
        out: Any,
        x: Any,
    ) -> float:
        """The value of all pieces, times `scale`; their gradient, times `scale`, into `out`."""
        totals = run_pieces(add, pieces.own, self.n_threads)
        ranks = pieces.ranks
        if ranks is None:
            self._collect(parts, scale, out)
            return sum(totals) * scale
        if totals:
            self._collect(parts, 1.0, out)
        else:
            out[:] = 0
        numbers = np.zeros(pieces.count)
        numbers[pieces.first : pieces.first + len(totals)] = totals
        values = ranks.total(
            torch.from_numpy(out), torch.from_numpy(numbers), checksum(torch.from_numpy(x))
        )
        np.multiply(out, out.dtype.type(scale), out=out)
        return sum(values.tolist()) * scale

    def _collect(self, parts: Any, scale: float, out: Any) -> None:
        """Add up the pieces' gradients in a fixed order, times `scale`, into `out`."""
        bounds = even_pieces(0, len(out), 1 if len(out) <= _SMALL else 8)
        run_pieces(
            lambda start, stop: numba_edges.collect(parts, scale, start, stop, out),
            bounds,
            self.n_threads,
        )

    def history_dots(self, H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        Hn, gn, yn = H.numpy(), g.numpy(), y.numpy()
        bounds = _vector_pieces(len(gn))
        parts = np.empty((len(bounds), len(Hn), 2))
        run_pieces(
            lambda k, start, stop: history_dots(Hn, gn, yn, start, stop, parts[k]),
            [(k, start, stop) for k, (start, stop) in enumerate(bounds)],
            self.n_threads,
        )
        return torch.from_numpy(parts.sum(axis=0))

    def combine(
        self, H: torch.Tensor, coefficients: np.ndarray, g: torch.Tensor, scale: float
    ) -> torch.Tensor:
        V = empty(g.shape, g)
        Hn, gn, out = H.numpy(), g.numpy(), V.numpy()
        run_pieces(
            lambda start, stop: combine(Hn, coefficients, gn, scale, start, stop, out),
            _vector_pieces(len(gn)),
            self.n_threads,
        )
        return V


class Pieces:
    """The pieces of a sum, and those of this rank.

    Parameters
    ----------
    pieces : sequence of tuple
        They depend on the problem alone.
    ranks : Ranks or None
        They share the pieces, unless there is one piece only.

    Attributes
    ----------
    own : list of tuple
        The pieces of this rank, numbered.
    first, count : int
        Number of the first one among all pieces, and number of these.
    ranks : Ranks or None
        None if each rank has all pieces.
    """

    def __init__(self, pieces: Sequence[tuple[int, ...]], ranks: Ranks | None) -> None:
        self.count = len(pieces)
        self.ranks = ranks if self.count > 1 else None
        own = slice(0, self.count) if self.ranks is None else self.ranks.share(self.count)
        self.first = own.start
        self.own = [(k, *piece) for k, piece in enumerate(pieces[own])]


def _kernel_of(function: Penalty | Loss, dtype: torch.dtype) -> tuple[int, Any]:
    """Kind and parameters of a built-in function, the arguments of the compiled loops."""
    kernel = function.kernel_parameters()
    assert kernel is not None
    kind, *parameters = kernel
    return kind, torch.tensor(parameters, dtype=dtype).numpy()


def _vector_pieces(length: int) -> tuple[tuple[int, int], ...]:
    """Pieces of a long vector; their number depends only on the length."""
    return even_pieces(0, length, min(_MAX_PIECES, -(-length // _NUMBERS_PER_PIECE)))


def edge_pieces(counts: Sequence[int], length: int) -> list[tuple[int, int, int]]:
    """Pieces of the runs of edges; their number depends only on the problem.

    Parameters
    ----------
    counts : sequence of int
        Number of edges of each run.
    length : int
        Number of entries of the gradient.

    Returns
    -------
    pieces : list of tuple (run, start, stop)
        Index of the run, and its edges ``start:stop``. The first half of the pieces has about half
        of each run, so that two ranks take equally long.
    """
    total = sum(counts)
    most = min(max(int(total / (_EDGES_PER_ENTRY * length)), _MIN_PIECES), _MAX_PIECES)
    size = max(_EDGES_PER_PIECE, -(-total // most))
    pieces = [
        (run, start, stop)
        for run, count in enumerate(counts)
        for start, stop in even_pieces(0, count, -(-count // size))
    ]
    return sorted(pieces, key=lambda piece: (piece[1] + piece[2]) / counts[piece[0]])


def row_pieces(n_items: int) -> list[tuple[int, int]]:
    """Pieces of rows with about equally many pairs; they depend only on `n_items`."""
    return pair_pieces(np.arange(1, n_items + 1))


def pair_pieces(stops: np.ndarray) -> list[tuple[int, int]]:
    """The same for the pairs (i, j) with ``j >= stops[i]``."""
    n_items = len(stops)
    before = np.concatenate([[0], np.cumsum(n_items - stops)])
    n_pairs = int(before[-1])
    count = min(max(1, n_pairs // _PAIRS_PER_PIECE), _MAX_PIECES)
    bounds = np.searchsorted(before[:-1], np.linspace(0, n_pairs, count + 1)).tolist()
    return list(pairwise(bounds))
