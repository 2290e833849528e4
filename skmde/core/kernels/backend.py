"""Backends: compiled loops on the CPU, or torch on any device.

A backend computes a sum of distortions over pairs of items, and its gradient,

    scale * sum_k f_k(d_k),        scale * A C A^T X,

where d_k is the embedding distance of pair k, A the incidence matrix of the pairs and
C = diag(f_k'(d_k) / d_k) (monograph, section 2.3; the gradient is in chapter 5). It also computes
the inner products and linear combinations of L-BFGS (monograph, section 6.1.1). Distances are in
the units of the embedding.

A backend is chosen once per problem, from the device. Code outside the backends works on torch
tensors and does not depend on the device. To add a backend (for example, a GPU kernel), write a
subclass of `Backend` here and add a case to `choose_backend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from skmde._linalg.vector_kernels import combine, history_dots, momentum_step
from skmde._utils.device import is_cpu
from skmde._utils.threads import even_pieces, run_pieces
from skmde.core.kernels import numba_edges, numba_maps, torch_lattice, torch_reference
from skmde.core.kernels.far_groups import Plan, bounded, grouped_energy
from skmde.core.kernels.lattice import ACCURACIES, Grid, Lattice
from skmde.core.kernels.torch_lattice import TorchLattice
from skmde.functions.base import Loss, Penalty

_EDGES_PER_PIECE = 1 << 18
_PAIRS_PER_PIECE = 1 << 17
_MAX_PIECES = 16
_MIN_PIECES = 4
_PARTS = 1 << 26  # limit on the numbers in all pieces' gradients; large gradients get fewer pieces
_SMALL = 1 << 14  # numbers; up to here, one thread sums the pieces' gradients
_NUMBERS_PER_PIECE = 1 << 15  # of a long vector

Value = float | torch.Tensor
# Takes X and a factor; returns the sum of distortions and its gradient, both times the factor.
Sums = Callable[[torch.Tensor, float], tuple[Value, torch.Tensor]]


class Run(NamedTuple):
    """Pairs of items that share one distortion function.

    Attributes
    ----------
    function : Penalty or Loss
    i, j : torch.Tensor of shape (c,), int32
        The items of the pairs.
    weights : torch.Tensor of shape (c,)
    deviations : torch.Tensor of shape (c,) or None
        Original distances, for a loss.
    """

    function: Penalty | Loss
    i: torch.Tensor
    j: torch.Tensor
    weights: torch.Tensor
    deviations: torch.Tensor | None


class Step(NamedTuple):
    """Settings of a step of gradient descent with momentum.

    Attributes
    ----------
    size : float
        Factor of the gradient.
    momentum : float
        Share of the last move that is repeated.
    longest : float
        Longest move of an item, in the units of the embedding.
    """

    size: float
    momentum: float
    longest: float


class Backend(ABC):
    """Sums over pairs of items, and operations on the long vectors of a solver.

    Results have the same bits for any number of threads.

    Parameters
    ----------
    device : torch.device
        Device of the tensors.
    n_threads : int
        Number of threads for compiled loops.
    """

    def __init__(self, device: torch.device, n_threads: int = 1) -> None:
        self.device = device
        self.n_threads = n_threads

    @abstractmethod
    def supports(self, function: Penalty | Loss) -> bool:
        """Whether the backend can evaluate a distortion function."""

    @abstractmethod
    def edge_sums(
        self, runs: Sequence[Run], n_items: int, n_components: int, dtype: torch.dtype
    ) -> Sums:
        """Build the function that sums the distortions of all runs and computes the gradient.

        Parameters
        ----------
        runs : sequence of Run
            At least one. The backend must serve their distortion functions; see `supports`.
        n_items, n_components : int
            Shape of the embedding.
        dtype : torch.dtype
            Of the embedding.

        Returns
        -------
        sums : callable
            Takes a contiguous embedding and a factor that multiplies both results.
        """

    def all_pairs_sums(
        self,
        function: Penalty | Loss,
        weights: torch.Tensor | None,
        deviations: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
    ) -> Sums | None:
        """The same as `edge_sums` for all pairs of items, without a list of the pairs.

        `weights` and `deviations` are in the order of `AllPairs`.

        Returns
        -------
        sums : callable or None
            None if the backend has no such loop; the caller then uses `edge_sums`.
        """
        return None

    @abstractmethod
    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
    ) -> Sums:
        """The same as `edge_sums` for all pairs of items; a weight is a product of items' weights.

        There is no list of the pairs or of their weights.
        """

    def lattice_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        accuracy: str,
    ) -> Sums | None:
        """The same as `product_sums`, approximately, by a convolution on a lattice.

        ``core/kernels/lattice.py`` says how accurate the sums are, and ``far_groups.py`` what
        happens if the items are too far apart for one lattice.

        Returns
        -------
        sums : callable or None
            None if the backend has no such sums for the function or for `n_components`.
        """
        return None

    def momentum_step(
        self,
        X: torch.Tensor,
        velocity: torch.Tensor,
        gains: torch.Tensor,
        gradient: torch.Tensor,
        step: Step,
    ) -> torch.Tensor:
        """The next iterate of gradient descent with momentum; updates `velocity` and `gains`."""
        return torch_reference.momentum_step(X, velocity, gains, gradient, *step)

    @abstractmethod
    def history_dots(self, H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Inner products of every row of `H` with `g` and with `y`, shape (n_rows, 2)."""

    @abstractmethod
    def combine(
        self, H: torch.Tensor, coefficients: np.ndarray, g: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """The vector ``coefficients @ H + scale * g``."""


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
        self, runs: Sequence[Run], n_items: int, n_components: int, dtype: torch.dtype
    ) -> Sums:
        length = n_items * n_components
        arguments = []
        for run in runs:
            # the kernels of penalties do not read it, but need an array
            deviations = run.weights if run.deviations is None else run.deviations
            pairs = (x.numpy() for x in (run.i, run.j, run.weights, deviations))
            arguments.append((*_kernel_of(run.function, dtype), *pairs))
        pieces = [
            (number, *arguments[run], start, stop)
            for number, (run, start, stop) in enumerate(
                edge_pieces([len(run.i) for run in runs], length)
            )
        ]
        parts = torch.zeros((len(pieces), length), dtype=dtype).numpy()

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            x = X.numpy()

            def add(number: int, kind: int, params: Any, *pairs: Any) -> float:
                G = parts[number].reshape(x.shape)
                return float(numba_edges.add_edges(kind, params, x, *pairs, G))  # type: ignore[call-arg]

            totals = run_pieces(add, pieces, self.n_threads)
            gradient = torch.empty_like(X)
            self._collect(parts, scale, gradient.view(-1).numpy())
            return sum(totals) * scale, gradient

        return sums

    def all_pairs_sums(
        self,
        function: Penalty | Loss,
        weights: torch.Tensor | None,
        deviations: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
    ) -> Sums | None:
        if not self.supports(function):
            return None
        kind, params = _kernel_of(function, dtype)
        nothing = np.empty(0, params.dtype)
        w, delta = (nothing if x is None else x.numpy() for x in (weights, deviations))
        pieces = row_pieces(n_items)
        parts = np.zeros((len(pieces), n_items * n_components), params.dtype)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            n, m = X.shape
            columns = X.T.contiguous().numpy()

            def add(number: int, start: int, stop: int) -> float:
                G = parts[number].reshape(m, n)
                return float(
                    numba_edges.add_all_pairs(kind, params, columns, w, delta, start, stop, G)
                )

            totals = run_pieces(add, pieces, self.n_threads)
            flat = torch.empty(m * n, dtype=X.dtype)
            self._collect(parts, scale, flat.numpy())
            return sum(totals) * scale, flat.view(m, n).T.contiguous()

        return sums

    def lattice_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        accuracy: str,
    ) -> Sums | None:
        length = function.smooth_length
        if length is None or n_components > 2 or not self.supports(function):
            return None
        kernel, grid = _kernel_of(function, torch.float64), ACCURACIES[accuracy].grid(length)
        charges = _charges(item_weights, n_items, dtype).numpy()

        @cache
        def lattice_of(grid: Grid) -> Lattice:
            return Lattice(
                lambda squares: numba_maps.values_at(*kernel, squares), grid, self.n_threads
            )

        def add_pairs(P: Any, c: Any, stops: np.ndarray) -> tuple[float, np.ndarray]:
            return self._later_pairs(_kernel_of(function, dtype), P, c, stops)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            points = X.numpy()
            if n_components == 1:
                points = np.concatenate([points, np.zeros_like(points)], axis=1)
            low, high = points.min(axis=0), points.max(axis=0)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                return np.nan, torch.full_like(X, np.nan)
            if grid.fits(low, high):
                value, gradient = lattice_of(grid).energy(points, charges, low, high)
            else:
                points = bounded(points)
                plan, zeros = Plan(points, grid), np.zeros(points.shape)
                value, total = grouped_energy(points, charges, plan, zeros, lattice_of, add_pairs)
                gradient = total.astype(points.dtype)
            gradient *= points.dtype.type(scale)
            # Forces between pairs add up to 0, which holds on the lattice only nearly.
            gradient -= gradient.mean(axis=0, dtype=np.float64).astype(gradient.dtype)
            return value * scale, torch.from_numpy(gradient[:, :n_components]).contiguous()

        return sums

    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
    ) -> Sums:
        kernel = _kernel_of(function, dtype)
        charges = _charges(item_weights, n_items, dtype).numpy()
        stops = np.arange(1, n_items + 1)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            value, gradient = self._later_pairs(kernel, X.numpy(), charges, stops, scale)
            return value * scale, torch.from_numpy(gradient)

        return sums

    def _later_pairs(
        self,
        kernel: tuple[int, Any],
        X: Any,
        charges: Any,
        stops: np.ndarray,
        scale: float = 1.0,
    ) -> tuple[float, np.ndarray]:
        """Sum over the pairs (i, j) with ``j >= stops[i]``, and `scale` times its gradient."""
        n, m = X.shape
        columns = np.ascontiguousarray(X.T)
        pieces = pair_pieces(stops)
        parts = np.zeros((len(pieces), n * m), X.dtype)

        def add(number: int, start: int, stop: int) -> float:
            G = parts[number].reshape(m, n)
            return float(
                numba_edges.add_later_pairs(*kernel, columns, charges, stops, start, stop, G)
            )

        totals = run_pieces(add, pieces, self.n_threads)
        flat = np.empty(m * n, X.dtype)
        self._collect(parts, scale, flat)
        return sum(totals), np.ascontiguousarray(flat.reshape(m, n).T)

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
        V = torch.empty_like(g)
        Hn, gn, out = H.numpy(), g.numpy(), V.numpy()
        run_pieces(
            lambda start, stop: combine(Hn, coefficients, gn, scale, start, stop, out),
            _vector_pieces(len(gn)),
            self.n_threads,
        )
        return V


class TorchBackend(Backend):
    """Torch operations, for any device and any distortion function."""

    def supports(self, function: Penalty | Loss) -> bool:
        return True

    def edge_sums(
        self, runs: Sequence[Run], n_items: int, n_components: int, dtype: torch.dtype
    ) -> Sums:
        plans = [
            (
                run,
                torch_reference.Incidence.of(run.i, run.j, n_items),
                torch_reference.block_size(run.function, self.device, len(run.i)),
            )
            for run in runs
        ]

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            value: Value = 0.0
            gradient: torch.Tensor | None = None
            for run, incidence, block in plans:
                total, part = torch_reference.value_and_gradient(
                    run.function,
                    X,
                    run.i,
                    run.j,
                    run.weights,
                    run.deviations,
                    incidence,
                    block,
                )
                value = value + total * scale
                part = part * scale
                gradient = part if gradient is None else gradient + part
            assert gradient is not None
            return value, gradient

        return sums

    def product_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
    ) -> Sums:
        charges = _charges(item_weights, n_items, dtype).to(self.device)
        stops = np.arange(1, n_items + 1)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            value, gradient = torch_lattice.add_later_pairs(function, X, charges, stops)
            return value * scale, gradient * scale

        return sums

    def lattice_sums(
        self,
        function: Penalty,
        item_weights: torch.Tensor | None,
        n_items: int,
        n_components: int,
        dtype: torch.dtype,
        accuracy: str,
    ) -> Sums | None:
        length = function.smooth_length
        if length is None or n_components > 2:
            return None
        grid = ACCURACIES[accuracy].grid(length)
        charges = _charges(item_weights, n_items, dtype).to(self.device)
        magnitude = float(charges.abs().double().sum())

        @cache
        def lattice_of(grid: Grid) -> TorchLattice:
            return TorchLattice(function, grid, magnitude)

        def add_pairs(
            P: torch.Tensor, c: torch.Tensor, stops: np.ndarray
        ) -> tuple[torch.Tensor, torch.Tensor]:
            return torch_lattice.add_later_pairs(function, P, c, stops)

        def sums(X: torch.Tensor, scale: float) -> tuple[Value, torch.Tensor]:
            points = torch.cat([X, torch.zeros_like(X)], dim=1) if n_components == 1 else X
            low, high = torch_lattice.corners(points)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                return np.nan, torch.full_like(X, np.nan)
            if grid.fits(low, high):
                value, gradient = lattice_of(grid).energy(points, charges, low, high)
            else:
                host = bounded(points.cpu().numpy())
                points, plan = torch.from_numpy(host).to(self.device), Plan(host, grid)
                zeros = torch.zeros_like(points, dtype=torch.float64)
                value, total = grouped_energy(points, charges, plan, zeros, lattice_of, add_pairs)
                gradient = total.to(dtype)
            return value * scale, (gradient[:, :n_components] * scale).contiguous()

        return sums

    def history_dots(self, H: torch.Tensor, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch_reference.history_dots(H, g, y)

    def combine(
        self, H: torch.Tensor, coefficients: np.ndarray, g: torch.Tensor, scale: float
    ) -> torch.Tensor:
        c = torch.as_tensor(coefficients).to(device=g.device, dtype=g.dtype)
        return torch_reference.combine(H, c, g, scale)


def choose_backend(device: torch.device, n_threads: int = 1) -> Backend:
    """The backend for tensors on a device.

    Parameters
    ----------
    device : torch.device
    n_threads : int, default=1
        Number of threads for compiled loops; results do not depend on it.

    Returns
    -------
    backend : Backend
        For distortion functions that it does not serve, use `TorchBackend` on the same device.
    """
    return CompiledBackend(n_threads) if is_cpu(device) else TorchBackend(device, n_threads)


def _kernel_of(function: Penalty | Loss, dtype: torch.dtype) -> tuple[int, Any]:
    """Kind and parameters of a built-in function, the arguments of the compiled loops."""
    kernel = function.kernel_parameters()
    assert kernel is not None
    kind, *parameters = kernel
    return kind, torch.tensor(parameters, dtype=dtype).numpy()


def _charges(item_weights: torch.Tensor | None, n_items: int, dtype: torch.dtype) -> torch.Tensor:
    """Factors of the items in the weights of pairs."""
    ones = torch.ones(n_items, dtype=dtype)
    return ones if item_weights is None else item_weights.to(dtype)


def _vector_pieces(length: int) -> list[tuple[int, int]]:
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
        Index of the run, and its edges ``start:stop``.
    """
    most = min(max(_PARTS // length, _MIN_PIECES), _MAX_PIECES)
    size = max(_EDGES_PER_PIECE, -(-sum(counts) // most))
    return [
        (run, start, stop)
        for run, count in enumerate(counts)
        for start, stop in even_pieces(0, count, -(-count // size))
    ]


def row_pieces(n_items: int) -> list[tuple[int, int, int]]:
    """Numbered pieces of rows with about equally many pairs; they depend only on `n_items`."""
    return pair_pieces(np.arange(1, n_items + 1))


def pair_pieces(stops: np.ndarray) -> list[tuple[int, int, int]]:
    """The same for the pairs (i, j) with ``j >= stops[i]``."""
    n_items = len(stops)
    before = np.concatenate([[0], np.cumsum(n_items - stops)])
    n_pairs = int(before[-1])
    count = min(max(1, n_pairs // _PAIRS_PER_PIECE), _MAX_PIECES)
    bounds = np.searchsorted(before[:-1], np.linspace(0, n_pairs, count + 1)).tolist()
    return [(k, start, stop) for k, (start, stop) in enumerate(pairwise(bounds))]
