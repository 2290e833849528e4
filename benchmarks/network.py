"""A network of 57,000 nodes by its path lengths: skmde beside PyMDE, each in a fresh process.

    python benchmarks/network.py --data debian_dependencies.npz --peer-python PATH

The network is the largest component of the dependencies between Debian's packages, an edge's
length is 1, and 5 million pairs of nodes are sampled. Shown are the seconds that their path
lengths take, the seconds of 300 iterations under the absolute loss, the average absolute
distortion after 30 iterations, and memory. PyMDE computes its path lengths, and makes 30
iterations, in the same run of this script.

Every program samples its own pairs, so *own* average distortions belong to different pairs. The
others are on the same pairs for all, sampled by skmde with another seed, whose lengths are
checked against scipy's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _common as common
import _layouts as layouts
import numpy as np

CHECKED = 20  # sources whose path lengths scipy computes too


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="network")
    p.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="NPZ",
        help="file with edges (p, 2), i < j, of a connected network; nodes are numbered from 0",
    )
    names = ["skmde", "pymde"]
    p.add_argument("--programs", nargs="+", choices=names, default=names)
    p.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of skmde")
    p.add_argument("--pairs", type=int, default=5_000_000, help="path lengths sampled")
    p.add_argument("--few-iter", type=int, default=30, help="iterations that PyMDE makes too")
    p.add_argument("--n-iter", type=int, default=300, help="iterations of skmde")
    return p.parse_args()


def judge_of(edges: np.ndarray, n: int, count: int) -> layouts.Judge:
    """Path lengths of pairs that no program was given."""
    import scipy.sparse
    from scipy.sparse.csgraph import dijkstra

    from skmde.preprocessing.graphs.shortest_paths import shortest_paths

    graph = scipy.sparse.csr_array((np.ones(len(edges)), edges.T), shape=(n, n))
    found = shortest_paths(graph, max_pairs=count, random_state=12345)
    i, j = found.edges.T
    sources = np.unique(i)[:: max(1, len(np.unique(i)) // CHECKED)]
    lengths = dijkstra(graph, directed=False, indices=sources, unweighted=True)
    row = np.searchsorted(sources, i)
    there = sources[np.minimum(row, len(sources) - 1)] == i
    if not np.array_equal(lengths[row[there], j[there]], found.distances[there]):
        raise SystemExit("skmde's path lengths differ from scipy's.")
    print(f"{int(there.sum()):,} path lengths agree with scipy's", flush=True)
    return layouts.Judge(i, j, found.distances)


def summary(runs: list[dict[str, Any]], judge: layouts.Judge) -> dict[str, Any]:
    """Median seconds, and the figures of the first run."""

    def seconds(stage: str) -> float:
        return common.median([r["stages"].get(stage, 0.0) for r in runs])

    figures = judge(runs[0]["arrays"]["embedding"])
    return {
        "runs": len(runs),
        "n_pairs": runs[0]["n_pairs"],
        "iterations": runs[0]["iterations"],
        "fit_s": common.median([r["fit_seconds"] for r in runs]),
        "lengths_s": seconds("distances"),
        "init_s": seconds("init"),
        "solve_s": seconds("solve"),
        "own_average_absolute": runs[0]["average_distortion"],
        "average_absolute": figures["average_absolute"],
        "stress": figures["stress"],
        "peak_memory_mb": max(r["peak_memory_mb"] for r in runs),
    }


def embeddings(data: Path, programs: list[str], *, args: Any, **kw: Any) -> dict[str, Any]:
    """Runs with few and with all iterations, and PyMDE's."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for n_iter in (args.few_iter, args.n_iter):
        params = {"metric": "graph", "max_pairs": args.pairs, "max_iter": n_iter}
        found = layouts.runs_of(args.repeat, "skmde", data, params, args=args, **kw)
        runs[f"skmde, {n_iter} iterations"] = found
    if "pymde" in programs:
        params = {"loss": "Absolute", "max_distances": args.pairs, "max_iter": args.few_iter}
        found = layouts.runs_of(1, "pymde", data, params, args=args, **kw)
        runs[f"pymde, {args.few_iter} iterations"] = found
    return {name: found for name, found in runs.items() if found}


def memory(data: Path, *, args: Any, **kw: Any) -> dict[str, Any] | None:
    """Memory of a fit above what the libraries and the network take, and of further pairs."""
    reports = []
    for count in (args.pairs, 2 * args.pairs):
        params = {"metric": "graph", "max_pairs": count, "max_iter": args.few_iter}
        report = layouts.run_child("skmde", data, params, warm=True, args=args, **kw)
        if report is None or report["resident_before_mb"] is None:
            return None
        reports.append(report)
    before, (peak, larger) = (
        reports[0]["resident_before_mb"],
        (r["peak_memory_mb"] for r in reports),
    )
    return {
        "peak_memory_mb": peak,
        "before_fit_mb": before,
        "bytes_per_pair": (peak - before) * 1e6 / args.pairs,
        # without what depends on the number of nodes alone
        "bytes_per_further_pair": (larger - peak) * 1e6 / args.pairs,
    }


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python, layouts.MODULES)
    layouts.need_one(programs)
    with np.load(args.data) as file:
        edges = file["edges"]
    n = int(edges.max()) + 1
    print(f"{n:,} nodes, {len(edges):,} edges, {args.pairs:,} path lengths", flush=True)
    record: dict[str, Any] = {
        "threads": args.threads,
        "repeat": args.repeat,
        "n_nodes": n,
        "n_edges": len(edges),
        "n_pairs": args.pairs,
        "versions": versions,
    }
    with common.scratch() as folder:
        data = folder / "network.npz"
        np.savez(data, edges=edges, n=n)
        kw = {"args": args, "folder": folder}
        few = folder / "few.npz"
        np.savez(few, edges=edges[(edges < 2000).all(axis=1)], n=2000)
        layouts.run_child("skmde", few, {"metric": "graph", "max_pairs": 1000}, **kw)
        judge = judge_of(edges, n, min(1_000_000, args.pairs))
        alone = layouts.runs_of(args.repeat, "skmde-paths", data, {"max_pairs": args.pairs}, **kw)
        runs = embeddings(data, programs, **kw)
        rows = {name: summary(found, judge) for name, found in runs.items()}
        record["embeddings"] = rows
        if alone:
            lengths = common.median([r["fit_seconds"] for r in alone])
            record["path_lengths_s"] = {"skmde": lengths}
            theirs = rows.get(f"pymde, {args.few_iter} iterations")
            if theirs:
                record["path_lengths_s"]["pymde"] = theirs["lengths_s"]
                record["path_lengths_s"]["ratio"] = theirs["lengths_s"] / lengths
        record["memory"] = memory(data, **kw)
    print()
    header = list(next(iter(rows.values()))) if rows else []
    common.show([[name, *row.values()] for name, row in rows.items()], ["program", *header])
    for key in ("path_lengths_s", "memory"):
        if record.get(key):
            print(key.replace("_", " "))
            common.show([list(record[key].values())], list(record[key]))
    common.save(args.output, record)


if __name__ == "__main__":
    main()
