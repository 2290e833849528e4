"""What ``quadratic.py`` and ``anchored.py`` share: programs that solve one problem in turns.

Every run is a fresh process of ``_solves.py``. The programs take turns, so that a machine which is
slower for a while is so for all of them, and the median of the seconds counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import _common as common
import numpy as np

LIBRARIES = ("skmde", *common.LIBRARIES)
LONG = 30.0  # seconds of a run that is not repeated


class Entry(NamedTuple):
    """A row of the table: a program of ``_solves.py`` and its parameters."""

    name: str
    program: str
    params: dict[str, Any]


def versions() -> dict[str, Any]:
    """Versions of the libraries that all programs run on."""
    found: dict[str, Any] = common.inspect_python(sys.executable, "", LIBRARIES)["versions"]
    return found


def run(
    entry: Entry, data: Path, small: Path, args: Any, folder: Path
) -> dict[str, np.ndarray] | None:
    """Seconds and results of one run, or None after a printed line."""
    out, path = folder / "out.npz", folder / "spec.json"
    spec = {"program": entry.program, "params": entry.params, "out": str(out)}
    path.write_text(json.dumps({**spec, "data": str(data), "small": str(small)}))
    command = [sys.executable, str(common.HERE / "_solves.py"), str(path)]
    try:
        done = subprocess.run(
            command,
            env=common.environment(args.threads),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=args.limit,
        )
    except subprocess.TimeoutExpired:
        print(f"{entry.name} was stopped after {args.limit:g} s", flush=True)
        return None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{entry.name} failed with exit status {done.returncode}: {last}", flush=True)
        return None
    with np.load(out) as arrays:
        return dict(arrays)


def contest(
    entries: list[Entry],
    data: Path,
    small: Path,
    judge: Callable[[dict[str, np.ndarray]], dict[str, Any]],
    args: Any,
    folder: Path,
) -> dict[str, Any]:
    """Median seconds of each entry, and what `judge` makes of its last results; with a table.

    `seconds / skmde` compares with the first entry.
    """
    seconds: dict[str, list[float]] = {entry.name: [] for entry in entries}
    figures: dict[str, dict[str, Any]] = {}
    for turn in range(args.repeat):
        for entry in entries:
            if turn and (entry.name not in figures or seconds[entry.name][-1] > LONG):
                continue  # it failed, or once has to do
            found = run(entry, data, small, args, folder)
            if found is not None:
                seconds[entry.name].append(float(found["seconds"]))
                figures[entry.name] = judge(found)
    rows = {}
    base = common.median(seconds[entries[0].name]) if seconds[entries[0].name] else None
    for entry in entries:
        if entry.name in figures:
            median = common.median(seconds[entry.name])
            ratio = None if base is None else median / base
            first = {"seconds": median, "fastest": min(seconds[entry.name]), "ratio": ratio}
            rows[entry.name] = {**first, **figures[entry.name]}
    if rows:
        header = ["program", *next(iter(rows.values()))]
        common.show([[name, *row.values()] for name, row in rows.items()], header)
    return rows


def add_options(p: Any) -> None:
    """Options that both scripts have."""
    p.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each program")
    p.add_argument(
        "--limit", type=float, default=300.0, metavar="S", help="seconds after which a run is ended"
    )


def save_graph(path: Path, graph: Any, **arrays: np.ndarray) -> Path:
    """A sparse matrix in the form in which ``_solves.py`` reads it."""
    data, indices, indptr = graph.data, graph.indices, graph.indptr
    np.savez(path, data=data, indices=indices, indptr=indptr, **arrays)
    return path
