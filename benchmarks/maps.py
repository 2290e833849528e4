"""Maps of all data sets, by skmde and its peers: how well they keep what, and seconds.

    python benchmarks/maps.py --data FOLDER --peer-python PATH

Each program runs in a fresh process. ``fit s`` is its first fit after the import, with whatever it
compiles; skmde's own kernels are cached on disk. With ``--again`` the process makes a second fit
with another seed: ``warm s`` is the time of that, ``common`` the share of neighbours that the two
maps have in common. The figures are explained in ``_map_figures.py``: all are on the same 1000
rows. They go to ``benchmarks/results/maps.json``; runs that the file has and this call does not
repeat are kept, so the command and the date in it are those of the last call. ``--plot FOLDER``
keeps the maps there, and draws those of all calls on one page.

What each program gets: skmde and umap-learn take texts as a sparse matrix with the cosine metric;
openTSNE takes it too, and starts from random places there, since its principal components are of
dense rows. PaCMAP takes the same rows, dense, of unit length, and angles. The network is given to
skmde alone, since the others need a fixed number of distances for each node. There each link is
stored once, in the row of the node with fewer links: the table of neighbours has as many columns
as the longest row, which for a hub would be 22,000. So all links have the same weight, 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import _common as common
import numpy as np
import scipy.sparse
from _map_data import DATA, Items
from _map_figures import Judge

FILES = {
    "population genetics": "popgen1387.npz",
    "counties": "counties3220.npz",
    "network": "debian_dependencies.npz",
    "mnist": "mnist70k.npz",
    "mnist pca": "mnist70k.npz",
}
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "skmde": ("skmde", {}),
    "sampled": ("skmde", {"repulsion": "sampled"}),
    "normalized": ("skmde", {"repulsion": "normalized"}),
    "weight 0.005": ("skmde", {"repulsive_weight": 0.005}),
    "weight 0.01": ("skmde", {"repulsive_weight": 0.01}),
    "weight 0.1": ("skmde", {"repulsive_weight": 0.1}),
    "weight 0.5": ("skmde", {"repulsive_weight": 0.5}),
    "weight 1": ("skmde", {"repulsive_weight": 1.0}),
    "weight 2": ("skmde", {"repulsive_weight": 2.0}),
    "7 neighbors": ("skmde", {"n_neighbors": 7}),
    "10 neighbors": ("skmde", {"n_neighbors": 10}),
    "quadratic": ("skmde", {"init": "quadratic"}),
    "pca": ("skmde", {"init": "pca"}),
    "isomap": ("skmde", {"init": "isomap"}),
    "opentsne": ("opentsne", {}),
    "umap": ("umap", {}),
    "pacmap": ("pacmap", {}),
    "sklearn-tsne": ("sklearn-tsne", {}),
}
DEFAULT = ("skmde", "sampled", "normalized", "opentsne", "umap", "pacmap", "sklearn-tsne")
SLOW = {"sklearn-tsne": 5000}  # the most rows
FIGURES = (
    "recall15",
    "recall50",
    "trustworthiness",
    "continuity",
    "accuracy",
    "triplets",
    "distances",
    "paths",
    "links",
    "area",
    "common",
)


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="maps")
    p.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help=f"folder with {', '.join(sorted(set(FILES.values())))}; without it, the data sets "
        "in these files are left out",
    )
    p.add_argument("--sets", nargs="+", choices=list(DATA), metavar="NAME", help="data sets")
    p.add_argument(
        "--programs",
        nargs="+",
        choices=list(CANDIDATES),
        default=list(DEFAULT),
        metavar="NAME",
        help=f"from {', '.join(CANDIDATES)}; sklearn-tsne is left out above 5000 rows",
    )
    p.add_argument("--limit", type=float, default=480.0, metavar="S", help="seconds of one run")
    p.add_argument("--again", action="store_true", help="a second fit, with another seed")
    p.add_argument("--plot", type=Path, metavar="FOLDER", help="keep and draw the maps")
    args = p.parse_args()
    chosen = args.sets or list(DATA)
    args.sets = [name for name in chosen if args.data is not None or name not in FILES]
    return args


def as_stored_once(links: Any) -> Any:
    """A symmetric network with each link in the row of the node that has fewer links."""
    degree, (i, j) = np.diff(links.indptr), links.nonzero()
    kept = (degree[i] < degree[j]) | ((degree[i] == degree[j]) & (i < j))
    i, j = i[kept], j[kept]
    return scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=links.shape)


def write_rows(items: Items, folder: Path) -> dict[str, str]:
    """Files of what programs are fitted to: as it is, and dense."""
    if not scipy.sparse.issparse(items.X):
        np.save(folder / "rows.npy", items.X)
        return dict.fromkeys(("rows", "dense"), str(folder / "rows.npy"))
    precomputed = items.metric == "precomputed"
    X = as_stored_once(items.X) if precomputed else items.X
    scipy.sparse.save_npz(folder / "rows.npz", scipy.sparse.csr_matrix(X))
    if not precomputed:
        np.save(folder / "dense.npy", items.X.toarray())
    return {"rows": str(folder / "rows.npz"), "dense": str(folder / "dense.npy")}


def spec_of(name: str, items: Items, rows: dict[str, str]) -> dict[str, Any] | None:
    """What a child is to do; None if the program cannot take the data."""
    program, given = CANDIDATES[name]
    params, data = dict(given), rows["rows"]
    if items.X.shape[0] > SLOW.get(program, np.inf):
        return None
    if program != "skmde" and items.metric == "precomputed":
        return None
    if params.get("init") == "pca" and items.metric == "precomputed":
        return None
    if program == "pacmap":
        data = rows["dense"]
        if items.metric == "cosine":
            params["distance"] = "angular"
    elif items.metric != "euclidean":
        params["metric"] = items.metric
    if program == "opentsne" and scipy.sparse.issparse(items.X):
        params["initialization"] = "random"
    return {"data": data, "seed": 0, "params": params}


def runs_of(set_name: str, programs: list[str], args: Any) -> dict[str, dict[str, Any]]:
    """Figures and seconds of all programs on one data set."""
    items = DATA[set_name](args.data)
    runs = {}
    with common.scratch() as folder:
        rows = write_rows(items, folder)
        judge = Judge(items)
        for name in programs:
            spec = spec_of(name, items, rows)
            if spec is None:
                continue
            program = CANDIDATES[name][0]
            report = common.run_child(
                program,
                {**spec, "again": args.again},
                python=common.interpreter(program, args.peer_python),
                threads=args.threads,
                folder=folder,
                limit=args.limit,
                # threads that wait would spin, for many times the work if others use the machine
                OMP_WAIT_POLICY="PASSIVE",
            )
            if report is None:
                continue
            with np.load(report["arrays"]) as arrays:
                X, second = arrays["embedding"], arrays.get("second")
            runs[name] = {
                "fit_s": report["fit_seconds"],
                "warm_s": report.get("second_fit_seconds"),
                "peak_memory_mb": report["peak_memory_mb"],
                **{key: report[key] for key in ("iterations", "repulsive_weight") if key in report},
                **judge(X, second),
            }
            print(f"{set_name}, {name}: {report['fit_seconds']:.1f} s", flush=True)
            if args.plot:
                args.plot.mkdir(parents=True, exist_ok=True)
                path = args.plot / f"{set_name}--{name}.npz"
                np.savez_compressed(path, X=X.astype(np.float32), color=judge.positions())
    return runs


def draw(folder: Path) -> None:
    """All maps in a folder on one page: a row for each data set, a column for each program."""
    from matplotlib.figure import Figure

    found = {tuple(path.stem.split("--")): path for path in folder.glob("*--*.npz")}
    sets = [name for name in DATA if any(name == s for s, _ in found)]
    programs = [name for name in CANDIDATES if any(name == p for _, p in found)]
    figure = Figure(figsize=(2.4 * len(programs), 2.5 * len(sets)), layout="constrained")
    axes = figure.subplots(len(sets), len(programs), squeeze=False)
    for i, set_name in enumerate(sets):
        for j, program in enumerate(programs):
            ax = axes[i, j]
            ax.set(xticks=[], yticks=[])
            if i == 0:
                ax.set_title(program)
            if j == 0:
                ax.set_ylabel(set_name)
            if (set_name, program) in found:
                with np.load(found[set_name, program]) as file:
                    scatter(ax, file["X"], file["color"])
    figure.savefig(folder / "maps.png", dpi=90)


def scatter(ax: Any, X: np.ndarray, color: np.ndarray) -> None:
    """One map; points of different colours are drawn in mixed order."""
    order = np.random.default_rng(0).permutation(len(X))
    few = np.array_equal(color, color.astype(int)) and color.max() < 20
    size = float(np.clip(6000 / len(X), 0.15, 8))
    ax.scatter(
        *X[order].T, c=color[order], cmap="tab20" if few else "viridis", s=size, linewidths=0
    )
    ax.set_aspect("equal", adjustable="datalim")


def report_all(sets: dict[str, dict[str, Any]]) -> None:
    for set_name, runs in sets.items():
        columns = ["fit_s", "warm_s", *FIGURES]
        columns = [c for c in columns if any(run.get(c) is not None for run in runs.values())]
        print(f"{set_name}")
        rows = [[name, *(run.get(c) for c in columns)] for name, run in runs.items()]
        common.show(rows, ["program", *columns])


def main() -> None:
    args = arguments()
    needed = list(dict.fromkeys(CANDIDATES[name][0] for name in args.programs))
    available, versions = common.importable(needed, args.peer_python)
    programs = [name for name in args.programs if CANDIDATES[name][0] in available]
    path = args.output if args.output.is_absolute() else common.ROOT / args.output
    record = json.loads(path.read_text()) if path.exists() else {"versions": {}, "sets": {}}
    record["threads"] = args.threads
    record["versions"].update(versions)
    for old in ("command", "date", "machine"):
        record.pop(old, None)
    for set_name in args.sets:
        known = {**record["sets"].get(set_name, {}), **runs_of(set_name, programs, args)}
        record["sets"][set_name] = {name: known[name] for name in CANDIDATES if name in known}
        common.save(args.output, record)
    record["sets"] = {name: record["sets"][name] for name in DATA if name in record["sets"]}
    report_all({name: record["sets"][name] for name in args.sets})
    common.save(args.output, record)
    if args.plot:
        draw(args.plot)


if __name__ == "__main__":
    main()
