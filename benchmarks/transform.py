"""Placing 10,000 unseen MNIST images after a fit of 60,000: skmde beside umap-learn.

    python benchmarks/transform.py --data mnist70k.npz --peer-python PATH

Seconds for all new rows at once (the first transform of the process, with whatever it compiles),
the median time of one row alone, and the accuracy of a 10-nearest-neighbour classifier trained on
the embedding of the training images and scored on the placed ones. ``gap`` is the largest
difference between a row placed alone and the same row placed among all.
"""

from __future__ import annotations

from typing import Any

import _common as common
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

COLUMNS = (
    "fit_s",
    "transform_s",
    "single_row_ms",
    "single_row_max_ms",
    "single_row_gap",
    "knn_accuracy",
    "peak_memory_mb",
)


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="transform")
    common.add_data_option(p)
    p.add_argument("--programs", nargs="+", choices=["skmde", "umap"], default=["skmde", "umap"])
    p.add_argument("--subset", type=int, metavar="N", help="only the first N rows")
    p.add_argument("--single-rows", type=int, default=20, help="rows that are placed alone")
    p.add_argument("--no-faiss", action="store_true", help="hide faiss from skmde")
    return p.parse_args()


def accuracy(arrays: Any, labels: np.ndarray, test: np.ndarray) -> float:
    classifier = KNeighborsClassifier(n_neighbors=10).fit(arrays["embedding"], labels[~test])
    return float(classifier.score(arrays["placed"], labels[test]))


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python)
    X, labels, test = (array[: args.subset] for array in common.mnist(args.data))
    results: dict[str, dict[str, Any]] = {}
    with common.scratch() as folder:
        np.save(folder / "train.npy", X[~test])
        np.save(folder / "new.npy", X[test])
        for program in programs:
            report = common.run_child(
                program,
                {
                    "data": str(folder / "train.npy"),
                    "new": str(folder / "new.npy"),
                    "single_rows": args.single_rows,
                    "seed": 0,
                    "params": {},
                    "hide": ["faiss"] if program == "skmde" and args.no_faiss else [],
                },
                python=common.interpreter(program, args.peer_python),
                threads=args.threads,
                folder=folder,
            )
            if report is None:
                continue
            new = report["new_rows"]
            with np.load(report["arrays"]) as arrays:
                score = accuracy(arrays, labels, test)
            results[program] = {
                "fit_s": report["fit_seconds"],
                "transform_s": new["transform"],
                "single_row_ms": 1e3 * common.median(new["single_row"]),
                "single_row_max_ms": 1e3 * max(new["single_row"]),
                "single_row_gap": new["single_row_gap"],
                "knn_accuracy": score,
                "peak_memory_mb": report["peak_memory_mb"],
            }
    common.show(
        [(name, *(r[column] for column in COLUMNS)) for name, r in results.items()],
        ["program", *(column.replace("_", " ") for column in COLUMNS)],
    )
    common.save(
        args.output,
        {
            "rows": [int((~test).sum()), int(test.sum())],
            "threads": args.threads,
            "faiss": not args.no_faiss,
            "versions": versions,
            "programs": results,
        },
    )


if __name__ == "__main__":
    main()
