"""What ``distances.py`` and ``network.py`` share: starting programs, and judging embeddings.

One function judges every program: `Judge` holds pairs and their original distances and gives an
embedding's average distortions and its normalised stress on them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

# what is imported to see whether a program is there, and the distribution with its version
MODULES = {
    "skmde": ("skmde", "skmde"),
    "pymde": ("pymde", "pymde"),
    "scikit-learn": ("sklearn.manifold", "scikit-learn"),
}


def run_child(
    program: str,
    data: Path,
    params: dict[str, Any],
    *,
    args: Any,
    folder: Path,
    seed: int = 0,
    **spec: Any,
) -> dict[str, Any] | None:
    """Run ``_distances.py`` in a fresh process; its report, or None after a printed line.

    The report gains ``arrays``: the embedding, and the average distortion by iteration.
    """
    base = folder / f"{program}-{time.monotonic_ns()}"
    spec.update(program=program, data=str(data), params=params, seed=seed, out=str(base))
    path = base.with_suffix(".spec.json")
    path.write_text(json.dumps(spec))
    name = spec.get("model", program)
    done = subprocess.run(
        [common.interpreter(program, args.peer_python), str(common.HERE / "_distances.py"), path],
        env=common.environment(args.threads),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{name} failed with exit status {done.returncode}: {last}", flush=True)
        return None
    report: dict[str, Any] = json.loads(base.with_suffix(".json").read_text())
    with np.load(base.with_suffix(".npz")) as arrays:
        report["arrays"] = dict(arrays)
    words = [str(v) for v in params.values() if isinstance(v, str)]
    print(f"{' '.join([name, *words])}: {report['fit_seconds']:.2f} s", flush=True)
    return report


def runs_of(count: int, program: str, data: Path, params: dict[str, Any], **kw: Any) -> list[Any]:
    """Reports of several runs, with the seeds 0, 1, ...; those that failed are left out."""
    found = []
    for seed in range(count):
        report = run_child(program, data, params, seed=seed, **kw)
        if report is None:
            break
        found.append(report)
    return found


class Judge:
    """Pairs with their original distances, on which every embedding is judged."""

    def __init__(self, i: np.ndarray, j: np.ndarray, delta: np.ndarray) -> None:
        self.i, self.j = i, j
        self.delta = np.asarray(delta, dtype=np.float64)

    def distances(self, X: np.ndarray) -> np.ndarray:
        X = np.asarray(X, dtype=np.float64)
        square = np.zeros(len(self.delta))
        for column in np.ascontiguousarray(X.T):
            difference = column[self.i]
            difference -= column[self.j]
            square += difference * difference
        return np.sqrt(square)

    def __call__(self, X: np.ndarray) -> dict[str, float]:
        """Average distortions, and sqrt(sum (d - delta)^2 / sum delta^2) as X is and rescaled.

        `kruskal` divides by sum d^2: `stress_` of scikit-learn and skmde.
        """
        d, delta = self.distances(X), self.delta
        total = float((delta * delta).sum())
        residual = d - delta
        square = float((residual * residual).sum())
        # the factor c of least stress is d'delta / d'd, which leaves delta'delta - c d'delta
        both = float((d * delta).sum())
        least = max(0.0, total - both * both / max(float((d * d).sum()), 1e-300))
        return {
            "stress": (square / total) ** 0.5,
            "stress_rescaled": (least / total) ** 0.5,
            "kruskal": (square / max(float((d * d).sum()), 1e-300)) ** 0.5,
            "average_squared": square / len(delta),
            "average_absolute": float(np.abs(residual).mean()),
        }


def first_at_most(values: np.ndarray, target: float) -> int | None:
    """The first iteration after which a value is at most the target."""
    reached = np.flatnonzero(np.asarray(values) <= target)
    return int(reached[0]) if len(reached) else None


def seconds_until(report: dict[str, Any], target: float) -> float | None:
    """Seconds of a fit less those of the iterations after the target was reached."""
    values, seconds = report["arrays"]["value"], report["arrays"]["seconds"]
    at = first_at_most(values, target)
    return None if at is None else report["fit_seconds"] - float(seconds[-1] - seconds[at])


def race(
    target: float, full: dict[str, Any], params: dict[str, Any], data: Path, repeat: int, **kw: Any
) -> dict[str, Any] | None:
    """How long skmde takes to a target, in new runs that end with the iteration that reaches it.

    `full` is a report of a run with the same parameters and seed 0.
    """
    at = first_at_most(full["arrays"]["value"], target)
    if at is None:
        print(f"skmde does not reach {target:.6g}: {full['average_distortion']:.6g}", flush=True)
        return None
    again = [run_child("skmde", data, {**params, "max_iter": at}, **kw) for _ in range(repeat)]
    done = [report for report in again if report is not None]
    if not done:
        return None
    return {
        "target": target,
        "reached": done[0]["average_distortion"],
        "iterations": at,
        "seconds": common.median([r["fit_seconds"] for r in done]),
        "arrays": done[0]["arrays"],
    }


def ratio(a: float | None, b: float | None) -> float | None:
    """a / b, or None if either is missing."""
    return None if a is None or b is None else a / b


def need_one(programs: list[str]) -> None:
    """End the script if skmde, which everything is compared with, is not there."""
    if "skmde" not in programs:
        sys.exit("skmde cannot be imported.")
