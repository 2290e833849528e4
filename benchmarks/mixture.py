"""A million rows: 200 Gaussian clusters in 50 dimensions, by default settings, in fresh processes.

    python benchmarks/mixture.py --peer-python PATH

skmde embeds 1,000,000 rows. The peers run beside it on the first 200,000, since they would take
hours for all; each in turn. Seconds are those of the whole process, with imports. A judge draws
1,000 rows: the share of their 15 neighbours that are among the 15 neighbours on the map, and
whether a vote of 10 neighbours on the map names the cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _common as common
import neighbors
import numpy as np

N_JUDGED = 1000
K = 15


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="mixture")
    p.add_argument("--size", type=float, default=1e6, help="rows that skmde alone embeds")
    p.add_argument("--beside", type=float, default=2e5, help="rows that all programs embed")
    p.add_argument("--programs", nargs="*", default=["skmde", "umap", "opentsne", "pacmap"])
    p.add_argument("--limit", type=float, default=3600.0, metavar="S", help="seconds of a program")
    return p.parse_args()


def judged(X: np.ndarray, labels: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """Figures of a map."""
    from sklearn.neighbors import NearestNeighbors

    rows = np.sort(np.random.default_rng(1).choice(len(X), N_JUDGED, replace=False))

    def near(Z: np.ndarray) -> np.ndarray:
        search = NearestNeighbors(n_neighbors=K + 1, algorithm="brute" if Z is X else "auto").fit(Z)
        found = search.kneighbors(Z[rows], return_distance=False)
        return np.array(
            [[i for i in one if i != row][:K] for row, one in zip(rows, found, strict=True)]
        )

    original, here = near(X), near(Y.astype(np.float64))
    kept = [len(set(a) & set(b)) / K for a, b in zip(original, here, strict=True)]
    votes = [np.bincount(labels[one[:10]]).argmax() for one in here]
    return {
        "recall15": float(np.mean(kept)),
        "accuracy": float(np.mean(votes == labels[rows])),
        "largest_to_median_radius": float(_spread(Y)),
    }


def _spread(Y: np.ndarray) -> float:
    """Distance of the farthest item from the middle, over the median distance."""
    radii = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    return float(radii.max() / np.median(radii))


def run(program: str, n: int, args: Any, folder: Path) -> dict[str, Any] | None:
    X, labels = neighbors.mixture(n)
    path = folder / f"rows-{n}.npy"
    if not path.exists():
        np.save(path, X)
    report = common.run_child(
        program,
        {"data": str(path), "seed": 0, "params": {}},
        python=common.interpreter(program, args.peer_python),
        threads=args.threads,
        folder=folder,
        limit=args.limit,
    )
    if report is None:
        return None
    embedding = np.load(report.pop("arrays"))["embedding"]
    print(f"{program}, {n:,} rows: {report['wall']:.1f} s", flush=True)
    return {"program": program, "n": n, **report, **judged(X, labels, embedding)}


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python)
    found = []
    with common.scratch() as folder:
        if args.size:
            found.append(run("skmde", int(args.size), args, folder))
        if args.beside:
            found += [run(program, int(args.beside), args, folder) for program in programs]
    runs = [one for one in found if one is not None]
    stages = ["imports", "neighbors", "edges", "init", "solve"]
    facts = ["recall15", "accuracy", "largest_to_median_radius"]
    header = ["program", "rows", "wall s", "MB", *stages, *facts]
    lines = [
        [one["program"], one["n"], one["wall"], one["peak_memory_mb"]]
        + [one["stages"].get(name, np.nan) for name in stages]
        + [one[name] for name in facts]
        for one in runs
    ]
    common.show(lines, header)
    ours = [
        one["wall"] for one in runs if one["program"] == "skmde" and one["n"] == int(args.beside)
    ]
    for one in runs:
        if ours and one["n"] == int(args.beside) and one["program"] != "skmde":
            print(f"{one['program']}: {one['wall'] / ours[0]:.1f} times the seconds of skmde")
    common.save(args.output, {"threads": args.threads, "versions": versions, "runs": runs})


if __name__ == "__main__":
    main()
