"""scikit-learn's digits (1797 x 64) in the plane: seconds and trustworthiness.

    python benchmarks/digits.py --peer-python PATH

Each program runs in a fresh process. ``fit s`` is the first fit after the import, with
whatever it compiles; ``wall s`` is the whole process. Results: ``benchmarks/results/digits.json``.
"""

from __future__ import annotations

from typing import Any

import _common as common
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

DEFAULT = ("skmde", "sklearn-tsne", "umap", "pymde", "pacmap", "opentsne")


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="digits")
    p.add_argument("--programs", nargs="+", choices=list(common.PROGRAMS), default=list(DEFAULT))
    p.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each program")
    return p.parse_args()


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python)
    X = load_digits().data.astype(np.float32)
    reports: dict[str, list[dict[str, Any]]] = {program: [] for program in programs}
    trust: dict[str, float] = {}
    with common.scratch() as folder:
        path = folder / "digits.npy"
        np.save(path, X)
        for repeat in range(args.repeat):
            for program in programs:
                report = common.run_child(
                    program,
                    {"data": str(path), "seed": repeat, "params": {}},
                    python=common.interpreter(program, args.peer_python),
                    threads=args.threads,
                    folder=folder,
                )
                if report is None:
                    continue
                reports[program].append(report)
                if program not in trust:
                    with np.load(report["arrays"]) as arrays:
                        trust[program] = float(
                            trustworthiness(X, arrays["embedding"], n_neighbors=15)
                        )
    results = {
        program: {
            "fit_s": common.median([r["fit_seconds"] for r in runs]),
            "fits_s": [r["fit_seconds"] for r in runs],
            "wall_s": common.median([r["wall"] for r in runs]),
            "trustworthiness15": trust[program],
            "iterations": runs[0].get("iterations"),
            "average_distortion": runs[0].get("average_distortion"),
        }
        for program, runs in reports.items()
        if runs
    }
    base = results.get("skmde", {}).get("fit_s")
    common.show(
        [
            (
                name,
                r["fit_s"],
                r["fit_s"] / base if base else None,
                r["wall_s"],
                f"{r['trustworthiness15']:.4f}",
            )
            for name, r in results.items()
        ],
        ["program", "fit s", "x skmde", "wall s", "trustworthiness at 15"],
    )
    common.save(
        args.output,
        {
            "threads": args.threads,
            "repeat": args.repeat,
            "versions": versions,
            "programs": results,
        },
    )


if __name__ == "__main__":
    main()
