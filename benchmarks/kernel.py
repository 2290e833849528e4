"""Nanoseconds per edge of the objective and its gradient, beside a loop that only moves memory.

    python benchmarks/kernel.py

The edges are like those of MNIST: 70,000 items in random order, half of the edges between
near neighbours with weights 1 and 2, half between random pairs with weight -1, sorted by their
first item. The loop that only moves memory reads the same indices and weights, gathers both
endpoints of an edge, adds each to the other's row of the gradient, and sums the gradients of
the pieces: what the kernel does, less its arithmetic. It runs on the same pieces and threads.
The two are timed in turns; medians are shown.

Two tables are for embeddings that keep distances, under the squared and the absolute loss. Sampled
pairs are uniform, so hardly any two of them that follow each other share their second item. All
pairs, the triangle ``i < j``, need no list: there the loop that only moves memory reads the
original distances, and of every item it reads the place and writes the gradient, row after row.

The last table solves the default problem and shows how much of the solve is spent in the
objective.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import _common as common
import numba
import numpy as np
import torch
from scipy.spatial import cKDTree

from skmde._utils.threads import run_pieces
from skmde.core.kernels.compiled_backend import CompiledBackend, edge_pieces, row_pieces
from skmde.core.objectives.all_pairs import AllPairs, AllPairsTerm
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.losses import LOSSES
from skmde.penalties import PENALTIES, Barrier

DEFAULT_PAIR = ("log1p", "log")
DISTANCE_LOSSES = ("squared", "absolute")


def arguments() -> argparse.Namespace:
    p = common.parser(__doc__.splitlines()[0], peers=False, name="kernel")
    p.add_argument("--n-items", type=int, default=70_000)
    p.add_argument("--n-edges", type=int, default=1_500_000)
    p.add_argument("--dimensions", type=int, nargs="+", default=[2, 3, 10, 100])
    p.add_argument("--repeat", type=int, default=15, metavar="N", help="timed calls; the median")
    p.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    p.add_argument("--n-pairs", type=int, default=5_000_000, help="sampled pairs of losses")
    p.add_argument(
        "--dense-items",
        type=int,
        nargs="+",
        default=[2_000, 10_000],
        help="numbers of items of which all pairs are taken; 10,000 have 50 million",
    )
    p.add_argument("--no-losses", action="store_true", help="leave losses of pairs out")
    p.add_argument("--no-functions", action="store_true", help="only the default penalties")
    p.add_argument("--no-solve", action="store_true", help="leave the solve out")
    return p.parse_args()


class Problem:
    """Edges with the structure of a neighbour graph and as many random pairs."""

    def __init__(self, n_items: int, n_edges: int) -> None:
        rng = np.random.default_rng(0)
        self.n_items = n_items
        # on average one point in a disk of area pi/15, so that neighbours are closer than 1
        self.plane = rng.uniform(0, np.sqrt(n_items * np.pi / 15), size=(n_items, 2))
        near = self._near(n_edges // 2, rng)
        far = rng.integers(n_items, size=(n_edges - len(near), 2))
        far = far[far[:, 0] != far[:, 1]]
        self.edges = np.concatenate([near, far])
        self.weights = np.concatenate(
            [rng.integers(1, 3, size=len(near)).astype(np.float32), -np.ones(len(far), np.float32)]
        )
        self.deviations = rng.uniform(0.1, 3.0, size=len(self.edges))

    def _near(self, count: int, rng: np.random.Generator) -> np.ndarray:
        k = 2 * count // self.n_items + 2
        _, found = cKDTree(self.plane).query(self.plane, k=k + 1, workers=-1)
        pairs = np.stack([np.repeat(np.arange(self.n_items), k), found[:, 1:].ravel()], axis=1)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        return rng.permutation(pairs)[:count]

    def embedding(self, m: int, dtype: torch.dtype) -> torch.Tensor:
        rng = np.random.default_rng(m)
        X = rng.normal(scale=0.1, size=(self.n_items, m))
        X[:, :2] = self.plane - self.plane.mean(axis=0)
        return torch.tensor(X, dtype=dtype)

    def edge_list(self, distortion: Any, loss: bool, signed: bool, dtype: torch.dtype) -> EdgeList:
        weights = self.weights if signed else np.abs(self.weights)
        return EdgeList.build(
            self.edges,
            self.n_items,
            distortion,
            weights=None if loss else weights,
            deviations=self.deviations if loss else None,
            dtype=dtype,
        )


@numba.njit(nogil=True)
def move(X: Any, i: Any, j: Any, w: Any, start: int, stop: int, G: Any) -> float:
    """Gather both endpoints of each edge and add each to the other's row."""
    total = X.dtype.type(0)
    m = X.shape[1]
    if m == 2:
        for k in range(start, stop):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            total += w[k]
            G[a, 0] += X[b, 0]
            G[a, 1] += X[b, 1]
            G[b, 0] += X[a, 0]
            G[b, 1] += X[a, 1]
    else:
        for k in range(start, stop):
            a, b = np.uintp(i[k]), np.uintp(j[k])
            total += w[k]
            for c in range(m):
                G[a, c] += X[b, c]
                G[b, c] += X[a, c]
    return total


@numba.njit(nogil=True)
def move_targets(X: Any, i: Any, j: Any, w: Any, t: Any, start: int, stop: int, G: Any) -> float:
    """`move` in the plane, with original distances beside the weights."""
    total = X.dtype.type(0)
    for k in range(start, stop):
        a, b = np.uintp(i[k]), np.uintp(j[k])
        total += w[k] + t[k]
        G[a, 0] += X[b, 0]
        G[a, 1] += X[b, 1]
        G[b, 0] += X[a, 0]
        G[b, 1] += X[a, 1]
    return total


@numba.njit(nogil=True, fastmath=True)
def move_triangle(XT: Any, t: Any, start: int, stop: int, GT: Any) -> float:
    """Read the distances of all later items to each item, and pass over their coordinates."""
    m, n = XT.shape
    total = XT.dtype.type(0)
    for i in range(start, stop):
        own = i * (2 * n - i - 1) // 2
        targets = t[own : own + n - i - 1]
        for k in range(targets.shape[0]):
            total += targets[k]
        for q in range(m):
            x, g = XT[q, i + 1 :], GT[q, i + 1 :]
            for k in range(x.shape[0]):
                g[k] += x[k]
    return total


@numba.njit(nogil=True)
def add_up(parts: Any, start: int, stop: int, out: Any) -> None:
    for k in range(start, stop):
        out[k] = parts[0, k]
        parts[0, k] = 0
    for q in range(1, parts.shape[0]):
        for k in range(start, stop):
            out[k] += parts[q, k]
            parts[q, k] = 0


def mover(objective: EdgeTerm, X: torch.Tensor, n_threads: int) -> Callable[[], Any]:
    """A call that moves the memory which the objective moves."""
    edges = objective.edges
    x, i, j, w = (t.numpy() for t in (X, edges.i, edges.j, edges.weights))
    cuts = [(start, stop) for _, start, stop in edge_pieces([len(edges)], X.numel())]
    if edges.deviations is None:
        return in_pieces(lambda *cut: move(x, i, j, w, *cut), cuts, x.shape, x.dtype, n_threads)
    t = edges.deviations.numpy()
    return in_pieces(
        lambda *cut: move_targets(x, i, j, w, t, *cut), cuts, x.shape, x.dtype, n_threads
    )


def in_pieces(
    move_one: Callable[[int, int, np.ndarray], float],
    cuts: list[tuple[int, int]],
    shape: tuple[int, ...],
    dtype: np.dtype,
    n_threads: int,
) -> Callable[[], Any]:
    """A call that moves every piece and adds the gradients of the pieces."""
    size = int(np.prod(shape))
    parts = np.zeros((len(cuts), size), dtype)
    bounds = np.linspace(0, size, 9).astype(int).tolist()

    def call() -> None:
        out = np.empty(size, dtype)
        run_pieces(
            lambda number, start, stop: move_one(start, stop, parts[number].reshape(shape)),
            [(number, *cut) for number, cut in enumerate(cuts)],
            n_threads,
        )
        run_pieces(
            lambda start, stop: add_up(parts, start, stop, out),
            list(itertools.pairwise(bounds)),
            n_threads,
        )

    return call


def in_turns(calls: list[Callable[[], Any]], repeat: int) -> list[float]:
    """Median seconds of each call, after one that does not count."""
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(repeat + 1):
        for call, times in zip(calls, seconds, strict=True):
            began = time.perf_counter()
            call()
            if turn:
                times.append(time.perf_counter() - began)
    return [common.median(times) for times in seconds]


def measure(
    edges: EdgeList, problem: Problem, m: int, n_threads: int, args: argparse.Namespace
) -> dict[str, float]:
    """Nanoseconds per edge of the objective with its gradient, and of moving the memory."""
    dtype = getattr(torch, args.dtype)
    X = problem.embedding(m, dtype)
    objective = EdgeTerm(edges, problem.n_items, m, dtype=dtype, backend=CompiledBackend(n_threads))
    calls = [lambda: objective.value_and_gradient(X), mover(objective, X, n_threads)]
    repeat = args.repeat if m < 50 else max(3, args.repeat // 3)
    return per_pair(calls, len(edges), repeat)


def per_pair(calls: list[Callable[[], Any]], n_pairs: int, repeat: int) -> dict[str, float]:
    """Nanoseconds per pair of the kernel and of the loop that only moves memory."""
    kernel, memory = in_turns(calls, repeat)
    scale = 1e9 / n_pairs
    return {
        "kernel_ns": kernel * scale,
        "memory_only_ns": memory * scale,
        "ratio": kernel / memory,
    }


def default_penalties(problem: Problem, args: argparse.Namespace) -> list[dict[str, Any]]:
    dtype = getattr(torch, args.dtype)
    edges = problem.edge_list(DEFAULT_PAIR, False, True, dtype)
    rows = []
    for m in args.dimensions:
        for n_threads in sorted({1, args.threads}):
            row = {"m": m, "threads": n_threads, **measure(edges, problem, m, n_threads, args)}
            rows.append(row)
    print("default penalties (log1p attracts, log repels)")
    common.show([list(row.values()) for row in rows], list(rows[0]))
    return rows


def every_function(problem: Problem, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Each built-in function on all edges, with all threads."""
    dtype = getattr(torch, args.dtype)
    rows = []
    for loss, names in ((False, PENALTIES), (True, LOSSES)):
        for name, function in names.items():
            # rho has no default; 0 makes the barrier a finite function everywhere
            chosen = Barrier(rho=0.0) if function is Barrier else function()
            edges = problem.edge_list(chosen, loss, False, dtype)
            row = {"kind": "loss" if loss else "penalty", "function": name}
            for m in args.dimensions:
                row[f"m = {m}"] = measure(edges, problem, m, args.threads, args)["kernel_ns"]
            rows.append(row)
    print(f"every built-in function, ns per edge with {args.threads} threads")
    common.show([list(row.values()) for row in rows], list(rows[0]))
    return rows


def sampled_losses(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Losses on pairs that were drawn uniformly, in the plane."""
    dtype = getattr(torch, args.dtype)
    rng = np.random.default_rng(0)
    pairs = rng.integers(args.n_items, size=(args.n_pairs, 2), dtype=np.int32)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    deviations = rng.uniform(0.1, 3.0, size=len(pairs))
    X = torch.tensor(rng.standard_normal((args.n_items, 2)), dtype=dtype)
    rows = []
    for loss in DISTANCE_LOSSES:
        edges = EdgeList.build(pairs, args.n_items, loss, deviations=deviations, dtype=dtype)
        for n_threads in sorted({1, args.threads}):
            objective = EdgeTerm(
                edges, args.n_items, 2, dtype=dtype, backend=CompiledBackend(n_threads)
            )
            calls = [partial(objective.value_and_gradient, X), mover(objective, X, n_threads)]
            figures = per_pair(calls, len(pairs), args.repeat)
            rows.append({"loss": loss, "n_pairs": len(pairs), "threads": n_threads, **figures})
    print(f"sampled pairs of {args.n_items:,} items, m = 2")
    common.show([list(row.values()) for row in rows], list(rows[0]))
    return rows


def dense_losses(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Losses on all pairs of fewer items, in the plane."""
    dtype = getattr(torch, args.dtype)
    rng = np.random.default_rng(0)
    rows = []
    for n in args.dense_items:
        deviations = rng.uniform(0.1, 3.0, size=n * (n - 1) // 2)
        X = torch.tensor(rng.standard_normal((n, 2)), dtype=dtype)
        columns = X.T.contiguous().numpy()
        for loss in DISTANCE_LOSSES:
            pairs = AllPairs.build(n, loss, deviations=deviations, dtype=dtype)
            assert isinstance(pairs, AllPairs)
            move_one = partial(move_triangle, columns, pairs.deviations.numpy())
            for n_threads in sorted({1, args.threads}):
                backend = CompiledBackend(n_threads)
                objective = AllPairsTerm.build(pairs, 2, dtype=dtype, backend=backend)
                assert objective is not None
                cuts = row_pieces(n)
                memory = in_pieces(move_one, cuts, columns.shape, columns.dtype, n_threads)
                calls = [partial(objective.value_and_gradient, X), memory]
                figures = per_pair(calls, len(pairs), args.repeat)
                row = {"loss": loss, "n_items": n, "n_pairs": len(pairs), "threads": n_threads}
                rows.append({**row, **figures})
    print("all pairs, m = 2")
    common.show([list(row.values()) for row in rows], list(rows[0]))
    return rows


def share_of_solve(problem: Problem, args: argparse.Namespace) -> dict[str, float]:
    """How much of a solve of 300 iterations the objective takes."""
    import skmde

    mde = skmde.MDE(problem.n_items, 2, problem.edges, DEFAULT_PAIR, weights=problem.weights)
    start = problem.embedding(2, torch.float32)
    start += torch.randn(start.shape, generator=torch.Generator().manual_seed(0))
    mde.embed(start, max_iter=2, tol=0.0)
    spent = {"seconds": 0.0, "calls": 0}
    original = EdgeTerm.value_and_gradient

    def timed(self: EdgeTerm, X: torch.Tensor) -> Any:
        began = time.perf_counter()
        out = original(self, X)
        spent["seconds"] += time.perf_counter() - began
        spent["calls"] += 1
        return out

    EdgeTerm.value_and_gradient = timed  # type: ignore[method-assign]
    try:
        began = time.perf_counter()
        mde.embed(start, max_iter=300, tol=0.0)
        total = time.perf_counter() - began
    finally:
        EdgeTerm.value_and_gradient = original  # type: ignore[method-assign]
    answer = {
        "solve_s": total,
        "iterations": int(mde.result.n_iter),
        "evaluations": spent["calls"],
        "objective_s": spent["seconds"],
        "objective_share": spent["seconds"] / total,
    }
    print(f"a solve in the plane, {len(problem.edges):,} edges")
    common.show([list(answer.values())], list(answer))
    return answer


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    problem = Problem(args.n_items, args.n_edges)
    record: dict[str, Any] = {
        "n_items": args.n_items,
        "n_edges": len(problem.edges),
        "dtype": args.dtype,
        "threads": args.threads,
        "versions": {"torch": torch.__version__, "numba": numba.__version__},
        "default_penalties": default_penalties(problem, args),
    }
    if not args.no_losses:
        record["sampled_pairs"] = sampled_losses(args)
        record["all_pairs"] = dense_losses(args)
    if not args.no_functions:
        record["functions"] = every_function(problem, args)
    if not args.no_solve:
        record["solve"] = share_of_solve(problem, args)
    common.save(args.output, record)


if __name__ == "__main__":
    main()
