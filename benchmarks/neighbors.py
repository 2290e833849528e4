"""Approximate neighbours: recall, rows that lost many, and seconds as the data grow.

    python benchmarks/neighbors.py --data NPZ

Each search runs in a fresh process, for 15 neighbours of every row:

- mixture: 200 Gaussian clusters in 50 dimensions;
- normal: one Gaussian in 32 dimensions, which has no clusters;
- sheet: rows that are near a linear subspace of 10 dimensions in 50;
- mnist: the images, with ``--data``.

The recall is that of 1,000 rows, beside the exact neighbours: mean, lowest, and the share of rows
that lost more than a tenth. ``cpu s`` is the processor time of index and search, without imports.
The last table fits seconds = a n^b to each kind of data. Searches that take longer than ``--limit``
seconds are ended, and reported as such.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

K = 15
N_JUDGED = 1000
KINDS = ("mixture", "normal", "sheet")


def arguments() -> argparse.Namespace:
    p = common.parser(__doc__.splitlines()[0], peers=False, name="neighbors")
    common.add_data_option(p)
    p.add_argument("--sizes", type=float, nargs="+", default=[1e5, 3e5, 1e6])
    p.add_argument("--largest", type=float, default=3e5, help="rows of data without clusters")
    p.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    p.add_argument("--algorithms", nargs="+", default=["faiss"], choices=["faiss", "pynndescent"])
    p.add_argument("--limit", type=float, default=900.0, metavar="S", help="seconds of one run")
    p.add_argument("--child", help=argparse.SUPPRESS)
    return p.parse_args()


def rows_of(kind: str, n: int, data: Path | None) -> np.ndarray:
    """The rows, float32."""
    rng = np.random.default_rng(0)
    if kind == "mnist":
        return common.mnist(data)[0].astype(np.float32)
    if kind == "mixture":
        return mixture(n)[0]
    if kind == "normal":
        return rng.standard_normal((n, 32), np.float32)
    X = rng.standard_normal((n, 10), np.float32) @ rng.standard_normal((10, 50), np.float32)
    X += 0.1 * rng.standard_normal((n, 50), np.float32)
    return X


def mixture(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 200 Gaussian clusters in 50 dimensions, float32, and their clusters."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 50), np.float32)
    centres = 3 * rng.standard_normal((200, 50), np.float32)
    labels = rng.integers(200, size=n)
    X += centres[labels]
    return X, labels


def search(kind: str, n: int, algorithm: str, data: Path | None) -> dict[str, Any]:
    """Figures of one search, in this process."""
    from skmde.preprocessing import NeighborIndex

    X = rows_of(kind, n, data)
    NeighborIndex(algorithm=algorithm).fit(X[:1000]).kneighbors(None, K)  # compiles, or loads
    wall, cpu = time.perf_counter(), time.process_time()
    index = NeighborIndex(algorithm=algorithm, n_neighbors=K, random_state=0).fit(X)
    _, distances = index.kneighbors(None, K)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    judged = np.sort(np.random.default_rng(1).choice(len(X), N_JUDGED, replace=False))
    exact = NeighborIndex(algorithm="exact", n_neighbors=K).fit(X)
    _, truth = exact.kneighbors(X[judged], K + 1)  # each row is its own nearest
    found = (distances[judged] <= truth[:, K:] * (1 + 1e-5)).mean(axis=1)
    return {
        "seconds": wall,
        "cpu_seconds": cpu,
        "peak_memory_mb": peak,
        "recall": float(found.mean()),
        "lowest": float(found.min()),
        "below_0.9": float((found < 0.9).mean()),
        "below_0.5": float((found < 0.5).mean()),
    }


def in_a_process(spec: dict[str, Any], args: argparse.Namespace) -> dict[str, Any] | None:
    command = [sys.executable, __file__, "--child", json.dumps(spec)]
    try:
        done = subprocess.run(
            command,
            env=common.environment(args.threads),
            capture_output=True,
            text=True,
            timeout=args.limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        print(f"{spec}: more than {args.limit:g} s")
        return None
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def main() -> None:
    args = arguments()
    if args.child:
        print("\n" + json.dumps(search(**json.loads(args.child))))
        return
    specs = [
        {"kind": kind, "n": int(n), "algorithm": algorithm, "data": None}
        for algorithm in args.algorithms
        for kind in args.kinds
        for n in args.sizes
        if kind == "mixture" or n <= args.largest
    ]
    if args.data is not None:
        specs += [
            {"kind": "mnist", "n": 70_000, "algorithm": algorithm, "data": str(args.data)}
            for algorithm in args.algorithms
        ]
    runs = []
    for spec in specs:
        figures = in_a_process(spec, args)
        if figures is None:
            continue
        runs.append({"algorithm": spec["algorithm"], "kind": spec["kind"], "n": spec["n"]})
        runs[-1].update(figures)
        print(*(f"{k} {v:.4g}" if isinstance(v, float) else v for k, v in runs[-1].items()))
    columns = ["algorithm", "data", "rows", "s", "cpu s", "MB", "recall", "lowest"]
    common.show([list(run.values()) for run in runs], [*columns, "below 0.9", "below 0.5"])
    growth = list(fits(runs))
    if growth:
        common.show([list(fit.values()) for fit in growth], list(growth[0]))
    record = {"n_neighbors": K, "threads": args.threads, "runs": runs, "growth": growth}
    common.save(args.output, record)


def fits(runs: list[dict[str, Any]]) -> Any:
    """Exponents of the growth of the processor time, by least squares of the logarithms."""
    for algorithm, kind in dict.fromkeys((run["algorithm"], run["kind"]) for run in runs):
        own = [run for run in runs if (run["algorithm"], run["kind"]) == (algorithm, kind)]
        if len(own) < 2:
            continue
        n, seconds = (np.log([run[key] for run in own]) for key in ("n", "cpu_seconds"))
        yield {
            "algorithm": algorithm,
            "data": kind,
            "exponent": float(np.polyfit(n, seconds, 1)[0]),
        }


if __name__ == "__main__":
    main()
