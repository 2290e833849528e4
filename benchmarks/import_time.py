"""Seconds that ``import skmde`` takes, beside ``import sklearn``, each in fresh processes.

    python benchmarks/import_time.py

The three commands take turns, so that a machine that slows down slows all of them. The bare
interpreter is measured too. Also prints which heavy libraries ``import skmde`` has loaded:
there should be none.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import _common as common

HEAVY = ("torch", "numba", "matplotlib", "faiss", "pynndescent")
COMMANDS = {"nothing": "pass", "sklearn": "import sklearn", "skmde": "import skmde"}


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="import_time", peers=False)
    p.add_argument("--repeat", type=int, default=15, metavar="N", help="runs of each command")
    return p.parse_args()


def loaded() -> list[str]:
    """Which heavy libraries importing skmde loads."""
    code = f"import skmde, sys, json; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    out = subprocess.run(
        [sys.executable, "-c", code], env=common.environment(), capture_output=True, check=True
    )
    return list(json.loads(out.stdout))


def main() -> None:
    args = arguments()
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    env = common.environment(args.threads)
    for turn in range(args.repeat + 1):
        for name, code in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], env=env, check=True)
            if turn:  # the first turn reads the files from disk
                seconds[name].append(time.perf_counter() - began)
    medians = {name: common.median(values) for name, values in seconds.items()}
    common.show(
        [[name, medians[name], medians[name] - medians["nothing"]] for name in COMMANDS],
        ["import", "process s", "less the interpreter"],
    )
    extra = medians["skmde"] - medians["sklearn"]
    heavy = loaded()
    print(f"import skmde takes {extra:+.3f} s beside import sklearn; it loads {heavy or 'none'}")
    common.save(
        args.output,
        {
            "repeat": args.repeat,
            "median_s": medians,
            "skmde_minus_sklearn_s": extra,
            "heavy_libraries_loaded": heavy,
        },
    )


if __name__ == "__main__":
    main()
