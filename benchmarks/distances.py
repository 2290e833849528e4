"""Embeddings that keep distances: skmde beside scikit-learn and PyMDE, each in a fresh process.

    python benchmarks/distances.py --data mnist70k.npz --peer-python PATH

Four parts, which ``--parts`` chooses from:

- *digits*: 1797 x 64, all pairs. Every program's fit; then how long skmde takes to the stress of
  ``sklearn.manifold.MDS`` under the squared loss, and to PyMDE's average distortion under the
  absolute loss.
- *mnist*: the first 20,000 images, with the same number of sampled pairs for skmde and PyMDE, and
  with skmde's default of 50 million pairs, which PyMDE cannot do: it lays out the differences of
  all pairs at once (3 kB a pair).
- *paths*: path lengths in a graph of neighbours, beside Isomap, on digits and the swiss roll.
- *memory*: all 70,000 images with 50 million pairs.

Seconds are those of the fit, after imports, with the kernels on disk. Stress is
sqrt(sum (d - delta)^2 / sum delta^2) on the same pairs for all programs; *kruskal* divides by sum
d^2, as `stress_` of scikit-learn and skmde does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _common as common
import _layouts as layouts
import numpy as np
from _layouts import Judge, runs_of

PARTS = ("digits", "mnist", "paths", "memory")
FIGURES = ("stress", "kruskal", "average_squared", "average_absolute")
PYMDE_LOSS = {"squared": "Quadratic", "absolute": "Absolute"}
SCIKIT_LEARN = {
    "MDS": {"n_init": 1, "init": "random", "normalized_stress": True},
    "ClassicalMDS": {},
    "Isomap": {},
}
NO_SEED = ("ClassicalMDS", "Isomap")  # the same in every run


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="distances")
    common.add_data_option(p)
    names = list(layouts.MODULES)
    p.add_argument("--programs", nargs="+", choices=names, default=names)
    p.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each program")
    p.add_argument("--n-rows", type=int, default=20_000, help="images of the part mnist")
    p.add_argument(
        "--peer-pairs",
        type=int,
        default=1_000_000,
        help="pairs of the part mnist that skmde and PyMDE have; PyMDE needs 10 kB for each",
    )
    p.add_argument(
        "--pairs", type=int, default=50_000_000, help="pairs of skmde alone, and of part memory"
    )
    p.add_argument(
        "--large-iter",
        type=int,
        default=50,
        metavar="N",
        help="iterations of skmde with --pairs pairs in the part mnist",
    )
    p.add_argument(
        "--full",
        action="store_true",
        help="also scikit-learn's programs in the part mnist, which need several n x n matrices",
    )
    args = p.parse_args()
    if args.output == p.get_default("output") and set(args.parts) != set(PARTS):
        args.output = args.output.with_name(f"distances_{'_'.join(args.parts)}.json")
    return args


def warm_up(data: Path, **kw: Any) -> None:
    """Compile and keep on disk what the timed runs of skmde use."""
    for params in ({"loss": "squared"}, {"loss": "absolute"}, {"max_pairs": 100}):
        layouts.run_child("skmde", data, {**params, "max_iter": 3}, **kw)


def summary(runs: list[dict[str, Any]], judge: Judge) -> dict[str, Any]:
    """Median seconds, and the figures of the best run."""
    figures = [judge(r["arrays"]["embedding"]) for r in runs]
    best = min(range(len(runs)), key=lambda k: figures[k]["stress"])
    own = {k: runs[best].get(k) for k in ("iterations", "n_pairs", "average_distortion")}
    stages = {
        stage: common.median([r["stages"].get(stage, 0.0) for r in runs])
        for stage in ("distances", "init", "solve", "anchors")
        if stage in runs[0]["stages"]
    }
    return {
        "runs": len(runs),
        "seconds": common.median([r["fit_seconds"] for r in runs]),
        "stages_s": stages,
        "peak_memory_mb": max(r["peak_memory_mb"] for r in runs),
        **own,
        **figures[best],
    }


def table(rows: dict[str, dict[str, Any]], figures: tuple[str, ...] = FIGURES) -> None:
    names = ("seconds", "iterations", *figures)
    common.show(
        [[name, *(row.get(f) for f in names)] for name, row in rows.items()],
        ["program", *names],
    )


def races(
    runs: dict[str, list[dict[str, Any]]], rows: dict[str, Any], judge: Judge, **kw: Any
) -> list[dict[str, Any]]:
    """Seconds of skmde to what the others reach, and the others' seconds divided by them."""
    found = []
    for loss, rival in (
        ("squared", "MDS"),
        ("squared", "pymde squared"),
        ("absolute", "pymde absolute"),
    ):
        full, theirs = runs.get(f"skmde {loss}"), rows.get(rival)
        if not full or theirs is None:
            continue
        # a program that samples its pairs is compared by what it makes of them
        own = rival.startswith("pymde")
        target = theirs["average_distortion" if own else f"average_{loss}"]
        race = layouts.race(target, full[0], kw["params"](loss), **kw["run"])
        if race is None:
            continue
        race |= judge(race.pop("arrays")["embedding"])
        race |= {"loss": loss, "rival": rival, "rival_seconds": theirs["seconds"]}
        race["ratio"] = theirs["seconds"] / race["seconds"]
        other = runs.get(f"pymde {loss}")
        if other:
            # PyMDE to the same target, without the iterations that it makes after it
            race["pymde_seconds_to_target"] = layouts.seconds_until(other[0], target)
            race["pymde_ratio_to_target"] = layouts.ratio(
                race["pymde_seconds_to_target"], race["seconds"]
            )
            race["pymde_ratio_of_whole_fits"] = other[0]["fit_seconds"] / full[0]["fit_seconds"]
        found.append(race)
    header = ["loss", "rival", "iterations", "seconds", "rival_seconds", "ratio", "stress"]
    header += ["kruskal", "average_absolute", "pymde_ratio_to_target", "pymde_ratio_of_whole_fits"]
    if found:
        print("skmde until it is as good as its rival; ratios are the other's seconds to skmde's")
        common.show([[race.get(name) for name in header] for race in found], header)
    return found


def compare(
    data: Path, judge: Judge, max_pairs: float, scikit_learn: dict[str, Any], repeat: int, **kw: Any
) -> dict[str, Any]:
    """Fits of all programs, then the races."""
    programs = kw.pop("programs")
    runs: dict[str, list[dict[str, Any]]] = {}

    def params(loss: str) -> dict[str, Any]:
        return {"loss": loss, "max_pairs": max_pairs}

    for loss, name in PYMDE_LOSS.items():
        runs[f"skmde {loss}"] = runs_of(repeat, "skmde", data, params(loss), **kw)
        if "pymde" in programs:
            theirs = {"loss": name, "max_distances": max_pairs}
            runs[f"pymde {loss}"] = runs_of(repeat, "pymde", data, theirs, **kw)
    if "scikit-learn" in programs:
        for model, fixed in scikit_learn.items():
            count = 1 if model in NO_SEED else repeat
            runs[model] = runs_of(count, "scikit-learn", data, fixed, model=model, **kw)
    rows = {name: summary(found, judge) for name, found in runs.items() if found}
    table(rows)
    run = {"data": data, "repeat": repeat, **kw}
    return {"programs": rows, "races": races(runs, rows, judge, params=params, run=run)}


def digits(args: Any, folder: Path, programs: list[str]) -> dict[str, Any]:
    from scipy.spatial.distance import pdist
    from sklearn.datasets import load_digits

    X = load_digits().data.astype(np.float32)
    data = folder / "digits.npy"
    np.save(data, X)
    i, j = np.triu_indices(len(X), 1)
    judge = Judge(i, j, pdist(X.astype(np.float64)))
    print(f"digits: {len(X)} x {X.shape[1]}, all {len(i):,} pairs", flush=True)
    kw = {"args": args, "folder": folder, "programs": programs}
    return compare(data, judge, 5e7, SCIKIT_LEARN, args.repeat, **kw)


def random_pairs(X: np.ndarray, count: int) -> Judge:
    """A judge on pairs of rows that no program has drawn on purpose."""
    rng = np.random.default_rng(12345)
    i, j = rng.integers(len(X), size=(2, count))
    i, j = i[i != j], j[i != j]
    delta = np.empty(len(i))
    for start in range(0, len(i), 20_000):
        part = slice(start, start + 20_000)
        difference = X[i[part]] - X[j[part]]
        delta[part] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return Judge(i, j, delta)


def mnist(args: Any, folder: Path, programs: list[str]) -> dict[str, Any]:
    # PyMDE starts from standard normal numbers, and 300 iterations under the absolute loss do not
    # take it far: with grey levels up to 255 it would end with a stress of 0.999
    X = common.mnist(args.data)[0][: args.n_rows] / np.float32(255)
    data = folder / "mnist.npy"
    np.save(data, X)
    judge = random_pairs(X, 2_000_000)
    print(f"the first {len(X):,} images, {args.peer_pairs:,} pairs", flush=True)
    kw = {"args": args, "folder": folder}
    models = SCIKIT_LEARN if args.full else {}
    out = compare(data, judge, args.peer_pairs, models, 1, programs=programs, **kw)
    print(f"skmde with {args.pairs:,} pairs, {args.large_iter} iterations at most", flush=True)
    rows = {}
    for loss in PYMDE_LOSS:
        params = {"loss": loss, "max_pairs": args.pairs, "max_iter": args.large_iter}
        found = runs_of(1, "skmde", data, params, **kw)
        if found:
            rows[f"skmde {loss}"] = summary(found, judge)
    table(rows)
    return {"n_rows": len(X), "peer_pairs": args.peer_pairs, **out, "many_pairs": rows}


def paths(args: Any, folder: Path, programs: list[str]) -> dict[str, Any]:
    from sklearn.datasets import load_digits, make_swiss_roll

    out: dict[str, Any] = {}
    tables = {
        "digits": load_digits().data,
        "swiss roll": make_swiss_roll(2000, random_state=0)[0],
    }
    if "scikit-learn" not in programs:
        print("the part paths needs scikit-learn's Isomap, which also gives the path lengths")
        return out
    k = 10
    for name, X in tables.items():
        data = folder / f"{name.replace(' ', '_')}.npy"
        np.save(data, X.astype(np.float32))
        kw = {"args": args, "folder": folder}
        theirs = runs_of(1, "scikit-learn", data, {"n_neighbors": k}, model="Isomap", **kw)
        if not theirs:
            continue
        i, j = np.triu_indices(len(X), 1)
        judge = Judge(i, j, theirs[0]["arrays"]["paths"])
        runs = {"Isomap": theirs}
        for loss in PYMDE_LOSS:
            params = {"n_neighbors": k, "loss": loss}
            runs[f"skmde {loss}"] = runs_of(args.repeat, "skmde", data, params, **kw)
        out[name] = {q: summary(found, judge) for q, found in runs.items() if found}
        print(f"{name}: paths between {k} neighbours, {len(X)} rows")
        table(out[name], ("stress", "stress_rescaled", "average_absolute"))
    return out


def memory(args: Any, folder: Path, programs: list[str]) -> dict[str, Any]:
    X = common.mnist(args.data)[0]
    data = folder / "all.npy"
    np.save(data, X)
    params = {"max_pairs": args.pairs, "max_iter": 10}
    report = layouts.run_child("skmde", data, params, args=args, folder=folder, warm=True)
    return memory_of(report, X.size * 4 / 1e6) if report else {}


def memory_of(report: dict[str, Any], input_mb: float) -> dict[str, Any]:
    """Peak memory of a run, and what it is above what the process had before the fit."""
    before, peak, p = report["resident_before_mb"], report["peak_memory_mb"], report["n_pairs"]
    out = {
        "n_pairs": p,
        "seconds": report["fit_seconds"],
        "peak_memory_mb": peak,
        "input_mb": input_mb,
        "before_fit_mb": before,
        "bytes_per_pair": None if before is None else (peak - before) * 1e6 / p,
    }
    print("memory of a fit, above what the libraries and the input take")
    common.show([list(out.values())], list(out))
    return out


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python, layouts.MODULES)
    layouts.need_one(programs)
    record: dict[str, Any] = {"threads": args.threads, "repeat": args.repeat, "versions": versions}
    with common.scratch() as folder:
        few = folder / "few.npy"
        np.save(few, np.random.default_rng(0).standard_normal((200, 8)))
        warm_up(few, args=args, folder=folder)
        for part in args.parts:
            record[part] = globals()[part](args, folder, programs)
    common.save(args.output, record)


if __name__ == "__main__":
    main()
