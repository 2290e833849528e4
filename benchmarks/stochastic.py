"""The stochastic proximal method: the monograph's examples (section 7.3), and pairs from a file.

    python benchmarks/stochastic.py

Quadratic problems with a standardized embedding, each in a fresh process. Three parts, which
``--parts`` chooses from:

- *small*: 1000 items, 10,000 pairs, 10 dimensions, batches of a tenth, 300 rounds, from 100 random
  starts. The graph is random, one whose optimum is about the monograph's 7.80.
- *large*: 100,000 items, 10 million pairs, 20 dimensions, batches of a fifth: the value over all
  pairs after every 5 rounds (a pass), beside L-BFGS with all pairs, and peak memory.
- *file*: a million items, and pairs in a file on the disk, read once: seconds and peak memory for
  each of ``--pairs``. Each item is on a ring, and paired with some that follow it.

Results: ``benchmarks/results/stochastic.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import _common as common
import _programs
import numpy as np
import quadratic_table

PARTS = ("small", "large", "file")
SMALL = {"n": 1000, "p": 10_000, "m": 10, "instance": 142, "rounds": 300}
LARGE = {"n": 100_000, "p": 10_000_000, "m": 20, "instance": 0}
FILE = {"n": 1_000_000, "m": 2, "reach": 100_000}
CHUNK = 1 << 22  # pairs that are written at a time
BATCH = 1 << 21


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="stochastic", peers=False)
    p.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--starts", type=int, default=100, help="starts of the part small")
    p.add_argument("--rounds", type=int, default=60, help="rounds of the part large")
    p.add_argument("--batches", type=int, default=5, help="batches of a pass of the part large")
    p.add_argument(
        "--pairs", type=int, nargs="+", default=[10**8, 10**9], help="pairs of the part file"
    )
    p.add_argument("--folder", type=Path, help="where the files of pairs go for a while")
    p.add_argument("--child", help="a task of this script, as JSON")
    args = p.parse_args()
    if args.output == p.get_default("output") and set(args.parts) != set(PARTS):
        args.output = args.output.with_name(f"stochastic_{'_'.join(args.parts)}.json")
    return args


def problem(size: dict[str, int]) -> Any:
    """A random graph with weights of 1."""
    from skmde import MDE

    edges = quadratic_table.random_edges(size["n"], size["p"], size["instance"])
    return MDE(size["n"], size["m"], edges.astype(np.int32), "quadratic", "standardized")


def small(starts: int) -> dict[str, Any]:
    mde, values, seconds = problem(SMALL), [], []
    for seed in range(starts):
        began = time.perf_counter()
        mde.embed(solver="stochastic", n_rounds=SMALL["rounds"], random_state=seed)
        seconds.append(time.perf_counter() - began)
        values.append(float(mde.value))
        print(seed, values[-1], file=sys.stderr, flush=True)
    return {
        "mean": float(np.mean(values)),
        "standard_deviation": float(np.std(values)),
        "least": min(values),
        "largest": max(values),
        "seconds_of_a_solve": common.median(seconds),
        "evaluations_of_a_batch": mde.result.n_evaluations,
    }


def large(solver: str, rounds: int, batches: int) -> dict[str, Any]:
    mde, values = problem(LARGE), {}
    at_start = _programs.peak_memory_mb()
    options: dict[str, Any] = {}
    if solver == "stochastic":

        def look(state: Any) -> None:
            if state.iteration % 5 == 0:
                values[state.iteration] = mde.average_distortion(state.X)
                print(state.iteration, values[state.iteration], file=sys.stderr, flush=True)

        size = LARGE["p"] // batches
        options = {"solver": solver, "batch_size": size, "n_rounds": rounds, "callbacks": look}
    began = time.perf_counter()
    mde.embed(random_state=0, **options)
    return {
        "value": float(mde.value),
        "seconds": time.perf_counter() - began,
        "iterations": mde.result.n_iter,
        "stopped": mde.result.reason,
        "peak_mb": _programs.peak_memory_mb(),
        "peak_mb_before": at_start,
        "value_every_5_rounds": values,
    }


def write_pairs(path: Path, count: int) -> None:
    """Write a file of int32 pairs of a ring."""
    rng = np.random.default_rng(0)
    n, left = FILE["n"], count
    with open(path, "wb") as file:
        while left:
            size = min(CHUNK, left)
            first = rng.integers(n, size=size, dtype=np.int32)
            second = (first + rng.integers(1, FILE["reach"], size=size, dtype=np.int32)) % n
            file.write(np.stack([first, second], axis=1).tobytes())
            left -= size


def from_file(path: str, count: int) -> dict[str, Any]:
    from skmde import StreamedMDE

    pairs = np.memmap(path, dtype=np.int32, mode="r", shape=(count, 2))
    streamed = StreamedMDE(FILE["n"], FILE["m"], pairs, "quadratic", "standardized")
    began = time.perf_counter()
    streamed.embed(batch_size=BATCH, n_rounds=-(-count // BATCH), random_state=0)
    seconds = time.perf_counter() - began
    assert streamed.result is not None and streamed.X is not None
    radii = streamed.X.norm(dim=1)
    return {
        "pairs": count,
        "rounds": streamed.result.n_iter,
        "seconds": seconds,
        "peak_mb": _programs.peak_memory_mb(),
        "value_of_last_pass": streamed.value,
        "value_of_last_batch": streamed.result.history.value[-2],
        "radii": [float(radii.min()), float(radii.max())],  # sqrt(2) at the optimum
    }


TASKS = {"small": small, "large": large, "from_file": from_file}


def child(args: Any, task: str, *arguments: Any) -> dict[str, Any]:
    """The report of a task, in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", json.dumps([task, *arguments])],
        env=common.environment(args.threads),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def run_small(args: Any) -> dict[str, Any]:
    edges = quadratic_table.random_edges(SMALL["n"], SMALL["p"], SMALL["instance"])
    best = quadratic_table.optimum(SMALL["n"], SMALL["p"], SMALL["m"], SMALL["instance"], edges)
    found = {"optimum": best, **child(args, "small", args.starts)}
    common.show(list(found.items()), ["small", ""])
    return {"size": SMALL, "starts": args.starts, **found}


def run_large(args: Any) -> dict[str, Any]:
    found = {
        name: child(args, "large", name, args.rounds, args.batches)
        for name in ("lbfgs", "stochastic")
    }
    ratio = found["stochastic"]["value"] / found["lbfgs"]["value"]
    values = list(found["stochastic"]["value_every_5_rounds"].values())
    falls = bool((np.diff(values) < 0).all())
    common.show(
        [(k, v["value"], v["seconds"], v["peak_mb"]) for k, v in found.items()],
        ["large", "value", "s", "peak MB"],
    )
    return {
        "size": LARGE,
        "batches_of_a_pass": args.batches,
        "gap_percent": 100 * (ratio - 1),
        "falls_every_5_rounds": falls,
        **found,
    }


def run_file(args: Any) -> list[dict[str, Any]]:
    rows = []
    with common.scratch() as folder:
        for count in args.pairs:
            path = (args.folder or folder) / f"pairs-{count}.bin"
            if not path.exists():
                write_pairs(path, count)
            try:
                rows.append(child(args, "from_file", str(path), count))
            finally:
                path.unlink()
            common.show([(rows[-1][k] for k in rows[-1])], list(rows[-1]))
    return rows


def main() -> None:
    args = arguments()
    if args.child:
        task, *rest = json.loads(args.child)
        print(json.dumps(TASKS[task](*rest)))
        return
    record: dict[str, Any] = {"threads": args.threads}
    for part in args.parts:
        record[part] = globals()[f"run_{part}"](args)
    common.save(args.output, record)


if __name__ == "__main__":
    main()
