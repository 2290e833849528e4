"""Two gloo ranks of one thread each beside one process of two threads, on this machine.

    python benchmarks/ranks.py

Both sum distortions and gradients of the same edges, in turns: ``evaluation`` is edges per second
of the average distortion and its gradient, ``solve`` of all evaluations in some iterations of
L-BFGS. A ratio above 1 means that the ranks are faster. It is the median over turns; on a machine
with other work, the ratios of the fastest turns and of processor time say more, though the latter
leaves out what a rank waits for messages. ``difference`` is the largest difference of two
coordinates of the embeddings, relative to the largest coordinate.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

SIZES = ((100_000, 1_000_000), (100_000, 10_000_000), (1_000_000, 10_000_000))


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], peers=False, name="ranks")
    p.add_argument("--repeat", type=int, default=9, help="turns of each program")
    p.add_argument("--evaluations", type=int, default=10, help="evaluations in a turn")
    p.add_argument("--iterations", type=int, default=10, help="iterations of a solve")
    p.add_argument("--sizes", type=json.loads, default=SIZES, metavar="[[ITEMS, EDGES], ...]")
    p.add_argument("--child", help="for internal use")
    return p.parse_args()


def edges_of(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Near neighbours, and as many pairs at random, which repel."""
    rng = np.random.default_rng(0)
    i = rng.integers(0, n, size=p)
    near = rng.geometric(0.02, size=p)
    j = np.where(np.arange(p) < p // 2, (i + near) % n, (i + rng.integers(1, n, size=p)) % n)
    return np.stack([i, j], axis=1), np.where(np.arange(p) < p // 2, 1, -1).astype(np.float32)


def child(config: dict[str, Any]) -> None:
    """Measure whenever a line comes; rank -1 is the process of two threads."""
    import torch

    from skmde import MDE
    from skmde._utils.ranks.together import together

    rank = config["rank"]
    torch.set_num_threads(2 if rank < 0 else 1)
    if rank >= 0:
        import torch.distributed as dist

        dist.init_process_group(
            "gloo", init_method=f"file://{config['store']}", rank=rank, world_size=2
        )
    edges, weights = edges_of(config["n"], config["p"])
    problem = MDE(config["n"], 2, edges, ("log1p", "log"), weights=weights)
    start = torch.from_numpy(
        np.random.default_rng(1).standard_normal((config["n"], 2), dtype=np.float32)
    )
    n_iter = config["iterations"]
    found = problem.embed(start, max_iter=n_iter)  # compiles
    if config["save"]:
        np.save(config["save"], found.numpy())
    with together(lambda: {}):
        objective = problem._objective(torch.float32)
        objective.value_and_gradient(start)
        print("ready", flush=True)
        for line in sys.stdin:
            began, used = time.perf_counter(), time.process_time()
            if line.strip() == "evaluation":
                for _ in range(config["evaluations"]):
                    objective.value_and_gradient(start)
            else:
                problem.embed(start, max_iter=n_iter)
            print(time.perf_counter() - began, time.process_time() - used, flush=True)
    os._exit(0)


def started(configs: list[dict[str, Any]]) -> list[subprocess.Popen[str]]:
    processes = []
    for config in configs:
        threads = "2" if config["rank"] < 0 else "1"
        environment = dict.fromkeys(common.THREAD_VARIABLES, threads)
        processes.append(
            subprocess.Popen(
                [sys.executable, __file__, "--child", json.dumps(config)],
                env={**os.environ, **environment, "PYTHONWARNINGS": "ignore"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
    return processes


def turn(processes: list[subprocess.Popen[str]], what: str) -> tuple[float, float]:
    """Seconds of a turn, those of the slowest process, and of processor time of all."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(what + "\n")
        process.stdin.flush()
    lines = [process.stdout.readline() for process in processes]  # type: ignore[union-attr]
    walls, used = zip(*(map(float, line.split()) for line in lines), strict=True)
    return max(walls), sum(used)


def compared(n: int, p: int, args: Any, folder: Path) -> dict[str, Any]:
    base = {"n": n, "p": p, "iterations": args.iterations, "evaluations": args.evaluations}
    base["store"] = str(folder / f"store{n}_{p}")
    one = started([{**base, "rank": -1, "save": str(folder / "one.npy")}])
    two = started([{**base, "rank": k, "save": str(folder / f"{k}.npy")} for k in (0, 1)])
    alone, first, second = (np.load(folder / f"{name}.npy") for name in ("one", "0", "1"))
    row: dict[str, Any] = {
        "n_items": n,
        "n_edges": p,
        "difference": float(np.abs(first - alone).max() / np.abs(alone).max()),
        "ranks_agree": bool(np.array_equal(first, second)),
    }
    for what in ("evaluation", "solve"):
        turns = [(turn(one, what), turn(two, what)) for _ in range(args.repeat)]
        pairs = [(a, b) for (a, _), (b, _) in turns]
        used = [
            statistics.median(column)
            for column in zip(*((a[1], b[1]) for a, b in turns), strict=True)
        ]
        times = args.evaluations if what == "evaluation" else args.iterations
        seconds = [statistics.median(column) / times for column in zip(*pairs, strict=True)]
        row[f"{what}_one_process_medges_per_s"] = round(p / seconds[0] / 1e6, 2)
        row[f"{what}_two_ranks_medges_per_s"] = round(p / seconds[1] / 1e6, 2)
        row[f"{what}_ratio"] = round(statistics.median(a / b for a, b in pairs), 3)
        one_least, two_least = (min(column) for column in zip(*pairs, strict=True))
        row[f"{what}_ratio_of_fastest_turns"] = round(one_least / two_least, 3)
        row[f"{what}_ratio_of_processor_time"] = round(used[0] / used[1], 3)
        row[f"{what}_ratios"] = sorted(round(a / b, 2) for a, b in pairs)
    for process in [*one, *two]:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait()
    return row


def main() -> None:
    args = arguments()
    if args.child:
        child(json.loads(args.child))
        return
    rows = []
    with common.scratch() as folder:
        for n, p in args.sizes:
            rows.append(compared(n, p, args, folder))
            print(json.dumps(rows[-1], indent=1), flush=True)
    load = [round(x, 2) for x in os.getloadavg()]
    common.save(args.output, {"rows": rows, "load_average": load})


if __name__ == "__main__":
    main()
