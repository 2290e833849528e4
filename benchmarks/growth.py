"""Seconds of an iteration as pairs, items and dimensions grow.

    python benchmarks/growth.py

Problems of random pairs, half of them repulsive, under log1p and log, centred, with 10 or 50 pairs
an item and two or ten dimensions. Each is solved several times for some iterations of projected
L-BFGS, in this process; the median counts. The time is fitted by

    seconds = a p m + b n m + c

by least squares without negative coefficients, over all problems and over those of each number of
dimensions. R2 is the share of the variance of the seconds that the fit explains. Large problems
decide it; the small ones are limited by what does not depend on p and n.
"""

from __future__ import annotations

import itertools
import json
import time
import warnings
from typing import Any

import _common as common
import numpy as np

PAIRS = (1e5, 3e5, 1e6, 3e6, 1e7)
EACH = (10, 50)  # pairs for each item
DIMENSIONS = (2, 10)


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], peers=False, name="growth")
    p.add_argument("--pairs", type=json.loads, default=PAIRS, metavar="[P, ...]")
    p.add_argument("--repeat", type=int, default=3, help="turns")
    p.add_argument("--iterations", type=int, default=10, help="iterations of a solve")
    return p.parse_args()


def problem(n: int, p: int, m: int, threads: int) -> tuple[Any, np.ndarray]:
    """A problem and its start."""
    from skmde import MDE

    rng = np.random.default_rng(p + n)
    first = rng.integers(0, n, size=p)
    second = (first + rng.integers(1, n, size=p)) % n
    weights = np.where(rng.random(p) < 0.5, 1, -1).astype(np.float32)
    edges = np.stack([first, second], axis=1)
    made = MDE(n, m, edges, ("log1p", "log"), "centered", weights=weights, n_jobs=threads)
    return made, rng.standard_normal((n, m), dtype=np.float32)


def seconds_of(case: tuple[int, int, int], args: Any) -> float:
    """Median seconds of an iteration."""
    made, start = problem(*case, args.threads)
    made.embed(start, max_iter=2, tol=0.0)  # compiles
    each = []
    for _ in range(args.repeat):
        began = time.perf_counter()
        made.embed(start, max_iter=args.iterations, tol=0.0)
        each.append((time.perf_counter() - began) / made.result.n_iter)
    return common.median(each)


def fitted(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Coefficients of the fit, which is added to the rows, and the share that it explains."""
    from scipy.optimize import nnls

    n, p, m, seconds = (
        np.array([row[name] for row in rows], float)
        for name in ("n_items", "n_pairs", "n_components", "seconds_per_iteration")
    )
    columns = np.stack([p * m, n * m, np.ones_like(p)], axis=1)
    (a, b, c), _ = nnls(columns, seconds)
    found = columns @ [a, b, c]
    for row, value in zip(rows, found, strict=True):
        row["fitted"] = float(value)
    unexplained = ((seconds - found) ** 2).sum() / ((seconds - seconds.mean()) ** 2).sum()
    return {
        "ns_per_pair_and_dimension": 1e9 * a,
        "ns_per_item_and_dimension": 1e9 * b,
        "ms_constant": 1e3 * c,
        "r2": float(1 - unexplained),
    }


def main() -> None:
    args = arguments()
    warnings.simplefilter("ignore")  # solves end early on purpose
    rows = []
    for p, each, m in itertools.product(args.pairs, EACH, DIMENSIONS):
        n, p = int(p) // each, int(p)
        row = {"n_items": n, "n_pairs": p, "n_components": m}
        row["seconds_per_iteration"] = seconds_of((n, p, m), args)
        rows.append(row)
    fits = {
        f"m = {m}": fitted([row for row in rows if row["n_components"] == m]) for m in DIMENSIONS
    }
    fits["all"] = fitted(rows)
    common.show([list(row.values()) for row in rows], ["items", "pairs", "m", "s", "fitted"])
    common.show([[name, *fit.values()] for name, fit in fits.items()], ["", *fits["all"]])
    common.save(args.output, {"threads": args.threads, "rows": rows, "fits": fits})


if __name__ == "__main__":
    main()
