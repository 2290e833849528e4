"""What the benchmarks share: data, child processes, tables and result files.

The script that a user starts stays small: it measures other processes, and on Linux a child's
reported peak memory can never be lower than that of the process that started it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
sys.path.insert(0, str(ROOT))  # every script measures the checkout that it lies in

# import name of each program, and the distribution whose version is reported
PROGRAMS = {
    "skmde": ("skmde", "skmde"),
    "pymde": ("pymde", "pymde"),
    "umap": ("umap", "umap-learn"),
    "pacmap": ("pacmap", "pacmap"),
    "opentsne": ("openTSNE", "openTSNE"),
    "sklearn-tsne": ("sklearn", "scikit-learn"),
}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "numba", "pynndescent", "faiss-cpu")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def n_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parser(description: str, *, peers: bool = True, name: str) -> argparse.ArgumentParser:
    """An argument parser with the options that every benchmark has."""
    out = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    out.add_argument(
        "--output",
        type=Path,
        default=Path("benchmarks", "results", f"{name}.json"),
        help="where the results go, as JSON; a relative path starts at the project's root",
    )
    out.add_argument("--threads", type=int, default=n_cores(), help="threads of each program")
    if peers:
        out.add_argument(
            "--peer-python",
            default=sys.executable,
            metavar="PYTHON",
            help="interpreter of the environment in which the other programs are installed",
        )
    return out


def add_data_option(p: argparse.ArgumentParser) -> None:
    """Add ``--data`` for MNIST, which is fetched by name when no file is given."""
    p.add_argument(
        "--data",
        type=Path,
        metavar="NPZ",
        help="file with X (70000, 784), y, and test (1 for the 10,000 test images); "
        "without it, fetch_openml('mnist_784')",
    )


def mnist(path: Path | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images (70000, 784) uint8, digits (70000,), and which rows are the official test images."""
    if path is not None:
        with np.load(path) as data:
            return data["X"], data["y"].astype(np.int64), data["test"].astype(bool)
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff")
    test = np.arange(len(bunch.data)) >= 60_000
    order = np.random.default_rng(0).permutation(len(bunch.data))
    x, y = bunch.data.astype(np.uint8), bunch.target.astype(np.int64)
    return x[order], y[order], test[order]


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="skmde-benchmark-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def interpreter(program: str, peer_python: str) -> str:
    """The interpreter that runs a program: skmde has this one, the others theirs."""
    return sys.executable if program.startswith("skmde") else peer_python


def environment(threads: int | None = None, **extra: str) -> dict[str, str]:
    """Environment of a child: this checkout importable, and a number of threads."""
    env = dict(os.environ, **extra)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    if threads is not None:
        env.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    return env


_INSPECT = """
import importlib, importlib.metadata, json, sys
answer = {"python": sys.version.split()[0], "missing": None, "versions": {}}
if sys.argv[1] != "":
    try:
        importlib.import_module(sys.argv[1])
    except Exception as error:
        answer["missing"] = f"{type(error).__name__}: {error}"
for name in sys.argv[2:]:
    try:
        answer["versions"][name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print("\\n" + json.dumps(answer))
"""


def inspect_python(python: str, module: str, names: Sequence[str]) -> dict[str, Any]:
    """What an interpreter has: why `module` cannot be imported (or None), and versions."""
    out = subprocess.run(
        [python, "-c", _INSPECT, module, *names],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(out.stdout.strip().splitlines()[-1])
    return answer


def importable(
    programs: Sequence[str], peer_python: str, modules: dict[str, tuple[str, str]] = PROGRAMS
) -> tuple[list[str], dict[str, Any]]:
    """The programs that can be run, and the versions of what they run on.

    A line is printed for each program that is left out.
    """
    kept, versions = [], {}
    for program in programs:
        # "skmde-lbfgs" is skmde under another solver
        module, distribution = modules[program.removesuffix("-lbfgs")]
        python = interpreter(program, peer_python)
        found = inspect_python(python, module, (distribution, *LIBRARIES))
        if found["missing"]:
            print(f"{program} is skipped: {found['missing']}", flush=True)
            continue
        kept.append(program)
        versions[program] = {"python": found["python"], **found["versions"]}
    return kept, versions


def run_child(
    program: str,
    spec: dict[str, Any],
    *,
    python: str,
    threads: int,
    folder: Path,
    limit: float | None = None,
    **env: str,
) -> dict[str, Any] | None:
    """Run ``_programs.py`` in a fresh process; its report, or None after a printed line.

    The report gains ``wall``: seconds from before the process was started until it had ended,
    less what it took to write its results. A process is ended after ``limit`` seconds.
    """
    name = f"{program}-{time.monotonic_ns()}"
    spec = dict(spec, program=program, threads=threads, out=str(folder / name))
    (folder / f"{name}.spec.json").write_text(json.dumps(spec))
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [python, str(HERE / "_programs.py"), str(folder / f"{name}.spec.json")],
            env=environment(threads, **env),
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        print(f"{program} was ended after {limit:.0f} s", flush=True)
        return None
    wall = time.perf_counter() - began
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{program} failed with exit status {done.returncode}: {last}", flush=True)
        return None
    report: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    report["wall"] = wall - report["stages"].pop("save")
    report["arrays"] = str(folder / f"{name}.npz")
    # starting and ending the interpreter, which no clock inside it sees
    report["stages"]["interpreter"] = report["wall"] - sum(report["stages"].values())
    return report


def median(values: Sequence[float]) -> float:
    """Median of a few numbers."""
    return statistics.median(values)


def show(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> None:
    """Print a table; floats with four significant digits, None as a dash."""

    def cell(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    lines = [list(header)] + [[cell(v) for v in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for k, line in enumerate(lines):
        first, *rest = (
            v.ljust(w) if i == 0 else v.rjust(w)
            for i, (v, w) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join([first, *rest]))
        if k == 0:
            print("  ".join("-" * w for w in widths))
    print(flush=True)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    return round(pages / 2**30, 1)


def machine() -> dict[str, Any]:
    """Processor, cores, memory and system of this machine."""
    return {
        "processor": _processor(),
        "cores": n_cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _command() -> str:
    # folders of the machine say nothing to a reader of the result
    words = [Path(w).name if os.sep in w else w for w in sys.argv[1:]]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])


def save(path: Path, results: dict[str, Any]) -> None:
    """Write results with the machine, the command and the date beside them."""
    path = path if path.is_absolute() else ROOT / path
    record = {
        "command": _command(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        **results,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(record), indent=1) + "\n")
    print(f"written to {path.name}")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    return value
