"""The monograph's numerical examples beside its figures, one study for each command.

    python benchmarks/monograph.py constraints
    python benchmarks/monograph.py images --data mnist70k.npz --plot FOLDER
    python benchmarks/monograph.py counties --data counties3220.npz --plot FOLDER --shapes FILE
    python benchmarks/monograph.py cells --data 10x_pbmc68k_reduced.h5ad --plot FOLDER

Sections are those of Agrawal, Ali and Boyd, *Minimum-Distortion Embedding* (2021). Its programs ran
PyMDE on an Intel i7-6700K; it prints iterations and averages, which are in brackets here, and draws
the rest.

- constraints (7.2): log1p attraction and log repulsion on a random graph of 100,000 items and a
  million pairs, under three constraints, to a residual norm of 1e-5.
- images (chapter 8): MNIST. A quadratic problem in two and three components, with the pairs of
  largest distortion; standardized problems with more and fewer dissimilar pairs, and with larger
  and smaller weights for them; centred ones with two attractions; and one in space.
- counties (chapter 10): 34 features of US counties, coloured by the election of 2016. The country
  is drawn, too, with the file counties-albers-10m.json of the npm package us-atlas as --shapes.
- cells (chapter 12): blood cells in space. The monograph's file is not public under a stable name;
  the 700 cells that the package scanpy ships stand in for it. Reading them needs h5py.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import _common as common
import numpy as np
from _county_map import county_maps, county_shapes
from _monograph import N_NEIGHBORS, Graph, compare, page, save, solve

RATIOS = (0.1, 0.25, 0.5, 2.0, 4.0)  # five more numbers of dissimilar pairs, and five weights
RESIDUAL = 1e-5

# The figures that the monograph prints, by problem and fact.
PRINTED: dict[str, dict[str, dict[str, Any]]] = {
    "images": {
        "quadratic, m = 2": {"similar_pairs": 774_746, "iterations": 98, "seconds": 3.8},
        "quadratic, m = 3": {"similar_pairs": 774_746, "iterations": 179, "seconds": 7.5},
        "standardized": {"dissimilar_pairs": 774_746, "iterations": 177, "seconds": 31},
        "centred, log1p": {"iterations": 170, "seconds": 32},
        "centred, huber": {"iterations": 144, "seconds": 32},
    },
    "counties": {"centred": {"similar_pairs": 75_250, "dissimilar_pairs": 75_250}},
    "cells": {
        "quadratic": {"iterations": 249, "seconds": 7},
        "standardized": {
            "similar_pairs": 515_376,
            "iterations": 300,
            "seconds": 27,
            "average_distortion": 0.13,
        },
    },
}


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="monograph_STUDY", peers=False)
    p.add_argument("study", choices=["constraints", "images", "counties", "cells"])
    p.add_argument("--data", type=Path, metavar="FILE", help="the data of the study; see above")
    p.add_argument("--plot", type=Path, metavar="FOLDER", help="also draw the pictures")
    p.add_argument("--shapes", type=Path, metavar="FILE", help="outlines of counties, TopoJSON")
    p.add_argument("--seed", type=int, default=0, help="draws graphs and dissimilar pairs")
    p.add_argument("--items", type=int, default=100_000, help="items of the study of constraints")
    p.add_argument("--max-iter", type=int, default=1000, help="of the study of constraints")
    p.add_argument("--subset", type=int, metavar="N", help="only the first N images")
    return p.parse_args()


def constraints(args: Any) -> dict[str, Any]:
    """Section 7.2."""
    from skmde import MDE, Anchored
    from skmde.preprocessing import sample_edges

    n, rng = args.items, np.random.default_rng(args.seed)
    edges = sample_edges(n, 10 * n, random_state=args.seed)
    weights = np.where(rng.random(len(edges)) < 0.5, 1.0, -1.0).astype(np.float32)
    anchors = np.sort(rng.choice(n, n // 10, replace=False))
    sets = {
        "centred": "centered",
        "anchored": Anchored(anchors, rng.standard_normal((len(anchors), 2))),
        "standardized": "standardized",
    }
    found, histories = {}, {}
    for name, constraint in sets.items():
        problem = MDE(
            n, 2, edges, ("log1p", "log"), constraint, weights=weights, n_jobs=args.threads
        )
        # `tol` is relative; the monograph's residual norm is not.
        found[name] = solve(
            problem,
            None,
            max_iter=args.max_iter,
            tol=0.0,
            callbacks=lambda s: s.residual_norm <= RESIDUAL,
        )
        found[name]["reached"] = problem.residual_norm <= RESIDUAL
        histories[name] = problem.result.history
        found[name]["seconds_per_iteration"] = found[name]["seconds"] / found[name]["iterations"]
    compare(found, {})
    reached = [name for name, facts in found.items() if facts["reached"]]
    print(f"residual norm {RESIDUAL:g} (monograph: all three) reached by: {', '.join(reached)}")
    each = {name: facts["seconds_per_iteration"] for name, facts in found.items()}
    for name in ("anchored", "standardized"):
        ratio = each[name] / each["centred"]
        print(f"{name}: {ratio:.2f} times the seconds of an iteration of the centred problem")
    print('monograph: "comparable" for anchored, "small" overhead for standardized\n')
    if args.plot:
        from matplotlib.figure import Figure

        from skmde.plotting import ConvergenceDisplay

        figure = Figure(figsize=(15, 5.5), layout="constrained")
        for ax, (name, history) in zip(figure.subplots(1, 3), histories.items(), strict=True):
            display = ConvergenceDisplay.from_history(history, ax=ax)
            display.ax_[0].set_title(name)
        save(figure, args.plot / "constraints.png")
    return found


def images(args: Any) -> dict[str, Any]:
    """Chapter 8."""
    from skmde import Log1p
    from skmde.metrics import align, knn_accuracy

    X, digits, _ = common.mnist(args.data)
    X, digits = X[: args.subset], digits[: args.subset]
    graph = Graph(X, args.seed, args.threads)
    found: dict[str, dict[str, Any]] = {}
    maps: dict[str, np.ndarray] = {}
    starts = {}

    def keep(name: str, problem: Any, facts: dict[str, Any]) -> None:
        Y = problem.X.cpu().numpy()
        same_size = "quadratic, m = 2" in maps and Y.shape[1] == 2
        maps[name] = align(Y, maps["quadratic, m = 2"]) if same_size else Y
        accuracy = knn_accuracy(Y, digits, sample=2000, random_state=0)
        found[name] = {**facts, "accuracy_of_10_neighbours": float(accuracy)}
        print(f"{name}: {facts['iterations']} iterations, {facts['seconds']:.1f} s", flush=True)

    for m in (2, 3):
        problem, facts = graph.quadratic(m)
        keep(f"quadratic, m = {m}", problem, facts)
        starts[m] = problem.X
        if m == 2:
            worst = outliers(problem, X, digits, args.plot)
    recipes: dict[str, tuple[Any, ...]] = {"standardized": ("standardized", 1.0, 1.0)}
    recipes |= {f"{r:g} x pairs": ("standardized", r, 1.0) for r in RATIOS}
    recipes |= {f"{r:g} x weight": ("standardized", 1.0, r) for r in RATIOS}
    for name, (constraint, ratio, weight) in recipes.items():
        problem = graph.problem(2, Log1p(1.5), "log", constraint, ratio=ratio, weight=weight)
        keep(name, problem, solve(problem, starts[2]))
    for name in ("log1p", "huber"):
        problem = graph.problem(2, name, "log", "centered")
        keep(f"centred, {name}", problem, solve(problem, starts[2]))
    problem = graph.problem(3, Log1p(1.5), "log", "standardized")
    keep("standardized, m = 3", problem, solve(problem, starts[3]))
    compare(found, {} if args.subset else PRINTED["images"])
    alike = {f"{r:g}": agreement(maps[f"{r:g} x pairs"], maps[f"{r:g} x weight"]) for r in RATIOS}
    print("correlation of the maps of r times the pairs and r times the weight:")
    print(", ".join(f"{r}: {value:.3f}" for r, value in alike.items()))
    centred = agreement(maps["centred, log1p"], maps["centred, huber"])
    print(f"correlation of the centred maps under log1p and huber: {centred:.3f}")
    if args.plot:
        draw_images(args.plot, maps, digits)
    return {
        "problems": found,
        "outliers": worst,
        "pairs_beside_weights": alike,
        "log1p_beside_huber": centred,
    }


def draw_images(folder: Path, maps: dict[str, np.ndarray], digits: np.ndarray) -> None:
    """The pages of maps of chapter 8."""

    def some(*names: str) -> list[tuple[str, np.ndarray]]:
        return [(name, maps[name]) for name in names]

    few, many = RATIOS[:3], RATIOS[3:]
    for kind in ("pairs", "weight"):
        names = [f"{r:g} x {kind}" for r in few], [f"{r:g} x {kind}" for r in many]
        page(folder / f"images_{kind}.png", some(*names[0], "standardized", *names[1]), digits)
    page(folder / "images_centred.png", some("centred, log1p", "centred, huber"), digits, columns=2)
    page(folder / "images_quadratic.png", some("quadratic, m = 2"), digits, columns=1)
    space = some("quadratic, m = 3", "standardized, m = 3")
    page(folder / "images_in_space.png", space, digits, columns=2)


def outliers(problem: Any, X: np.ndarray, digits: np.ndarray, folder: Path | None) -> Any:
    """The distribution of distortions, and the five pairs with the largest ones."""
    edges, values = (x.cpu().numpy() for x in problem.high_distortion_pairs())
    shares = {f"{q:g}": float(np.quantile(values, q)) for q in (0.5, 0.9, 0.99, 0.999)}
    first = {"digits": digits[edges[:5]].tolist(), "distortions": values[:5].tolist()}
    different = np.not_equal(*digits[edges[:1000]].T).mean()
    print(f"{different:.0%} of the 1000 pairs of largest distortion join two digits")
    if folder is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(14, 5), layout="constrained")
        left, right = figure.subfigures(1, 2)
        ax = left.subplots()
        ax.plot(np.sort(values), np.linspace(0, 1, len(values)))
        ax.set(xlabel="distortion", ylabel="share of the pairs", xscale="log")
        ax.set_xlim(np.quantile(values, 0.01), values[0])
        ax.set_title("Distortions of the quadratic problem")
        for k, axes in enumerate(right.subplots(2, 5).T):
            for ax, item in zip(axes, edges[k], strict=True):
                ax.imshow(X[item].reshape(28, 28), cmap="gray_r")
                ax.set_axis_off()
                ax.set_title(str(digits[item]))
        right.suptitle("The five pairs of largest distortion, a column each")
        save(figure, folder / "images_outliers.png")
    return {"quantiles": shares, "five_worst": first, "two_digits_among_1000": float(different)}


def agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Correlation of two maps after Procrustes alignment; 1 if they are the same up to motions."""
    a, b = (x - x.mean(axis=0) for x in (first, second))
    return float(np.linalg.svd(a.T @ b)[1].sum() / (np.linalg.norm(a) * np.linalg.norm(b)))


def counties(args: Any) -> dict[str, Any]:
    """Chapter 10."""
    from sklearn.decomposition import PCA

    from skmde import Log, Log1p
    from skmde.metrics import align, knn_r2

    with np.load(args.data, allow_pickle=False) as data:
        X, share, names = data["X"].copy(), data["democratic_share"], data["name"]
        fips = data["fips"]
        column = {str(name): k for k, name in enumerate(data["columns"])}
    for name in ("Men", "Women", "Employed"):
        X[:, column[name]] /= X[:, column["TotalPop"]]
    for name in ("TotalPop", "VotingAgeCitizen"):
        X[:, column[name]] = np.log(X[:, column[name]])
    for name in ("Income", "IncomeErr", "IncomePerCap", "IncomePerCapErr"):
        X[:, column[name]] = np.log(X[:, column[name]])
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)  # one entry is missing
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    graph = Graph(X, args.seed, args.threads)
    quadratic, _ = graph.quadratic(2)
    problem = graph.problem(2, Log1p(2.0), Log(0.5), "centered")
    found = {"centred": solve(problem, quadratic.X, max_iter=1000)}
    compare(found, PRINTED["counties"])
    Y = problem.X.numpy()
    pca = PCA(2).fit_transform(X)
    maps = {"PCA": align(pca, Y, scaling=True), "MDE": Y}
    known = ~np.isnan(share)
    for name, Z in maps.items():
        found.setdefault(name, {})["r2_of_10_neighbours"] = float(knn_r2(Z[known], share[known]))
    r2 = {name: round(found[name]["r2_of_10_neighbours"], 3) for name in maps}
    print(f"R2 of the democratic share from 10 neighbours of the map: {r2}")
    if args.plot:
        options: dict[str, Any] = {"cmap": "RdBu", "columns": 2, "marker_size": 5}
        page(args.plot / "counties.png", list(maps.items()), share, **options)
        draw_counties(args.plot, Y, share, names)
        if args.shapes:
            draw_country(args.plot, county_shapes(args.shapes), fips, Y, share)
    most = len(X) * N_NEIGHBORS
    print(f"{N_NEIGHBORS} neighbours of {len(X)} counties are at most {most} pairs, so")
    print("the monograph's graph of 75,250 pairs has more neighbours than it says\n")
    return found


def draw_counties(folder: Path, Y: np.ndarray, share: np.ndarray, names: np.ndarray) -> None:
    """The most democratic and the most republican spot of the map, with names."""
    from matplotlib.figure import Figure
    from sklearn.neighbors import KNeighborsRegressor

    from skmde.plotting import EmbeddingDisplay

    known = ~np.isnan(share)
    smooth = KNeighborsRegressor(30).fit(Y[known], share[known]).predict(Y)
    shown = [str(name).split(",")[0].removesuffix(" County") for name in names]
    figure = Figure(figsize=(15, 7), layout="constrained")
    for ax, best in zip(figure.subplots(1, 2), (smooth.argmax(), smooth.argmin()), strict=True):
        distances = np.linalg.norm(Y - Y[best], axis=1)
        close = np.argsort(distances)[:120]
        EmbeddingDisplay.from_embedding(
            Y, share, ax=ax, names=shown, annotate=close[::6], cmap="RdBu", marker_size=25
        )
        low, high = Y[close].min(axis=0), Y[close].max(axis=0)
        reach = 0.6 * (high - low).max()
        x, y = (low + high) / 2
        ax.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))
        ax.set_title(f"around {names[best]}")
    save(figure, folder / "counties_close.png")


def draw_country(
    folder: Path, shapes: Any, fips: np.ndarray, Y: np.ndarray, share: np.ndarray
) -> None:
    """The country, coloured by both coordinates of the embedding and by the vote."""
    panels = [
        ("first coordinate of the embedding", Y[:, 0], "viridis", None),
        ("second coordinate of the embedding", Y[:, 1], "viridis", None),
        ("share of votes for the Democratic candidate in 2016", share, "RdBu", (0.0, 1.0)),
    ]
    save(county_maps(shapes, fips, panels), folder / "counties_country.png")
    left = np.count_nonzero(~np.isin(fips, list(shapes)))
    print(f"{left} of {len(fips)} counties have no outline in the file of shapes")


def cells(args: Any) -> dict[str, Any]:
    """Chapter 12."""
    from skmde import Log1p
    from skmde.metrics import knn_accuracy

    X, kinds = read_cells(args.data)
    graph = Graph(X, args.seed, args.threads)
    quadratic, facts = graph.quadratic(3)
    problem = graph.problem(3, Log1p(1.5), "log", "standardized")
    found = {"quadratic": facts, "standardized": solve(problem, quadratic.X)}
    print(f"{len(X)} cells (monograph: 44,721 of other donors, so its figures are no target)")
    compare(found, PRINTED["cells"])
    edges, values = problem.edges.numpy(), problem.distortions().numpy()
    similar = np.arange(len(edges)) < len(graph.similar)
    same = np.equal(*kinds[edges].T)
    averages = {
        "pairs of one cell type": float(values[similar & same].mean()),
        "pairs of two cell types": float(values[similar & ~same].mean()),
    }
    print("average distortion of similar pairs (monograph, by donors: 0.19, 0.18, mixed 0.21):")
    print(", ".join(f"{name}: {value:.3f}" for name, value in averages.items()))
    order = np.flatnonzero(similar)[np.argsort(-values[similar])]
    count = min(1000, len(order) // 10)
    mixed = float((~same[order[:count]]).mean())
    print(
        f"{mixed:.0%} of the {count} most distorted similar pairs join two types (monograph: most)"
    )
    for name, one in (("quadratic", quadratic), ("standardized", problem)):
        found[name]["accuracy_of_10_neighbours"] = float(knn_accuracy(one.X.numpy(), kinds))
    if args.plot:
        both = [("similar pairs only", quadratic.X.numpy()), ("similar and dissimilar", problem.X)]
        page(args.plot / "cells.png", [(t, np.asarray(x)) for t, x in both], kinds, columns=2)
        draw_cells(args.plot, problem.X.numpy(), kinds, edges[order], values[order])
    return {"problems": found, "similar_pairs": averages, "two_types_among_worst": mixed}


def draw_cells(
    folder: Path, Y: np.ndarray, kinds: np.ndarray, edges: np.ndarray, values: np.ndarray
) -> None:
    """The map with a tenth of the similar pairs, and with those of largest distortion."""
    from matplotlib.figure import Figure

    from skmde.plotting import EmbeddingDisplay

    figure = Figure(figsize=(13, 6), layout="constrained")
    for k, (kind, title) in enumerate((("sample", "a tenth of the pairs"), ("worst", "the worst"))):
        ax = figure.add_subplot(1, 2, k + 1, projection="3d")
        EmbeddingDisplay.from_embedding(
            Y,
            kinds,
            ax=ax,
            edges=edges,
            distortions=values,
            show_edges=kind,
            max_edges=math.ceil(len(edges) / 10),
            labels="legend" if k else "none",
        )
        ax.set_title(title)
    save(figure, folder / "cells_edges.png")


def read_cells(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The principal components of the cells and their types, from a file of scanpy (h5ad)."""
    import h5py

    with h5py.File(path) as file:
        X = np.asarray(file["obsm"]["X_pca"])
        codes = np.asarray(file["obs"]["bulk_labels"])
        names = np.asarray(file["uns"]["bulk_labels_categories"]).astype(str)
    return X, names[codes]


STUDIES = {"constraints": constraints, "images": images, "counties": counties, "cells": cells}


def main() -> None:
    args = arguments()
    if args.data is None and args.study in ("counties", "cells"):
        raise SystemExit(f"the study {args.study} needs --data; see --help")
    results = STUDIES[args.study](args)
    output = Path(str(args.output).replace("STUDY", args.study))
    # Seconds mean little if other programs kept the cores busy.
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    header = {"study": args.study, "seed": args.seed, "load_average": load}
    common.save(output, {**header, "results": results})


if __name__ == "__main__":
    main()
