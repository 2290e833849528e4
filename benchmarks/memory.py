"""Peak memory of a small fit (700 x 20), and of the libraries that it loads.

    python benchmarks/memory.py --peer-python PATH

Every line is a fresh process. The first lines import libraries, each line one more. The next ones
fit an estimator with its defaults. *first run* has an empty folder for compiled kernels, so numba
compiles all of them: its peak and seconds are those of the first fit after an installation. The
last lines are other programs. Results: ``benchmarks/results/memory.json``.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import _common as common
import numpy as np

N_ROWS, N_FEATURES = 700, 20
PEERS = ("sklearn-tsne", "opentsne", "umap", "pacmap", "pymde")
LIBRARIES = ("numpy", "sklearn.base", "numba", "torch", "skmde.estimators")
ESTIMATORS = ("QuadraticMDE", "PreserveNeighbors", "PreserveDistances")
# peak in MB, seconds of the fit, and whether libraries that such a fit does not need are loaded
REPORT = """
print(_programs.peak_memory_mb(), seconds, *(name for name in UNUSED if name in sys.modules))
"""
UNUSED = ("pynndescent", "faiss", "matplotlib", "sklearn.neighbors", "sympy", "torch._dynamo")
FIT = """
import time
import numpy as np
from skmde import {0}
X = np.random.default_rng(0).standard_normal(({1}, {2}))
began = time.perf_counter()
{0}(random_state=0).fit(X)
seconds = time.perf_counter() - began
"""


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="memory")
    p.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each process")
    p.add_argument("--first-run", action="store_true", help="also measure the first run")
    return p.parse_args()


def measure(code: str, args: Any, **env: str) -> dict[str, Any]:
    """Medians of fresh processes that run the code."""
    head = f"import sys; sys.path.insert(0, {str(common.HERE)!r})\nimport _programs\n"
    head += f"UNUSED = {UNUSED!r}\nseconds = 0.0\n"
    peaks, seconds, loaded = [], [], []
    for _ in range(args.repeat):
        done = subprocess.run(
            [sys.executable, "-c", head + code + REPORT],
            env=common.environment(args.threads, **env),
            capture_output=True,
            text=True,
            check=True,
        )
        peak, taken, *loaded = done.stdout.splitlines()[-1].split()
        peaks.append(float(peak))
        seconds.append(float(taken))
    return {
        "peak_mb": common.median(peaks),
        "fit_s": common.median(seconds) or None,
        "loaded_but_unused": loaded,
    }


def peers(args: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Peak memory of other programs on the same rows, and their versions."""
    programs, versions = common.importable(PEERS, args.peer_python)
    found: dict[str, Any] = {}
    with common.scratch() as folder:
        data = folder / "rows.npy"
        np.save(data, np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES)))
        for program in programs:
            report = common.run_child(
                program,
                {"data": str(data), "seed": 0, "params": {}},
                python=args.peer_python,
                threads=args.threads,
                folder=folder,
            )
            if report is not None:
                found[program] = {
                    "peak_mb": report["peak_memory_mb"],
                    "fit_s": report["fit_seconds"],
                }
    return found, versions


def main() -> None:
    args = arguments()
    results: dict[str, dict[str, Any]] = {}
    for last in range(len(LIBRARIES) + 1):
        imports = "".join(f"import {name}\n" for name in LIBRARIES[:last])
        name = f"+ {LIBRARIES[last - 1]}" if last else "interpreter"
        results[name] = measure(imports, args)
    for name in ESTIMATORS:
        results[name] = measure(FIT.format(name, N_ROWS, N_FEATURES), args)
    if args.first_run:
        args.repeat = 1
        name = "PreserveNeighbors"
        with common.scratch() as folder:
            results[f"{name}, first run"] = measure(
                FIT.format(name, N_ROWS, N_FEATURES), args, NUMBA_CACHE_DIR=str(folder)
            )
    found, versions = peers(args)
    results.update(found)
    common.show(
        [
            [name, r["peak_mb"], r.get("fit_s"), " ".join(r.get("loaded_but_unused", ()))]
            for name, r in results.items()
        ],
        ["process", "peak MB", "fit s", "loaded, but unused"],
    )
    common.save(
        args.output,
        {
            "rows": [N_ROWS, N_FEATURES],
            "threads": args.threads,
            "repeat": args.repeat,
            "versions": versions,
            "processes": results,
        },
    )


if __name__ == "__main__":
    main()
