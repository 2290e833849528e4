"""The tables of the page of benchmarks: one function for each, which reads its file of results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

NONE = "\N{EN DASH}"  # a minus alone would begin a list
RESULTS = Path(__file__).parent / "results"
NAMES = {
    "skmde": "skmde",
    "opentsne": "openTSNE",
    "umap": "umap-learn",
    "pacmap": "PaCMAP",
    "sklearn-tsne": "scikit-learn TSNE",
    "pymde": "PyMDE",
}
PROGRAMS = ("skmde", "opentsne", "umap", "pacmap", "sklearn-tsne")  # of maps.json


def results(name: str) -> Any:
    """The record of a file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def number(value: Any, digits: int = 3) -> str:
    """A figure as it is printed: few digits, and thousands apart."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) >= 1:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in reST, with a header."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [header, *rows]:
        cells = [cell if isinstance(cell, str) else number(cell) for cell in row]
        lines += [f"   {'*' if k == 0 else ' '} - {cell}" for k, cell in enumerate(cells)]
    return "\n".join(lines) + "\n"


def mnist() -> str:
    rows = []
    for name, run in results("mnist")["programs"].items():
        quality, stages = run["quality"], run["stages_s"]
        rows.append(
            (
                NAMES[name],
                f"{run['wall_s']:.1f}",
                f"{stages['neighbors']:.1f}",
                number(round(run["peak_memory_mb"])),
                f"{quality['knn_recall15']:.3f}",
                f"{quality['trustworthiness_5k']:.3f}",
                f"{quality['triplet']:.3f}",
                f"{quality['knn_accuracy']:.4f}",
            )
        )
    header = ["program", "seconds", "search", "MB", "recall", "trust", "triplets", "accuracy"]
    return table(header, rows)


def seconds_of(name: str) -> Callable[[], str]:
    """Seconds alone, of another run of MNIST."""

    def write() -> str:
        return table(
            ["program", "seconds", "search", "solve", "MB"],
            [
                (
                    NAMES[program],
                    f"{run['wall_s']:.1f}",
                    f"{run['stages_s']['neighbors']:.1f}",
                    f"{run['stages_s']['solve']:.1f}",
                    round(run["peak_memory_mb"]),
                )
                for program, run in results(name)["programs"].items()
            ],
        )

    return write


def of_maps(measure: str) -> Callable[[], str]:
    """A table of one measure by data set and program, the best in bold."""

    def write() -> str:
        rows = []
        for name, runs in results("maps")["sets"].items():
            values = {
                p: runs[p][measure] for p in PROGRAMS if runs.get(p, {}).get(measure) is not None
            }
            if len(values) < 2:
                continue
            top = max(values.values())
            shown = {p: f"{v:.3f}" for p, v in values.items()}
            rows.append(
                [
                    name,
                    *(
                        shown.get(p, NONE) if values.get(p) != top else f"**{shown[p]}**"
                        for p in PROGRAMS
                    ),
                ]
            )
        return table(["data", *(NAMES[p] for p in PROGRAMS)], rows)

    return write


def divergence() -> str:
    names = {
        "skmde": "PreserveNeighbors, default",
        "normalized": 'repulsion="normalized"',
        "normalized, 600": "the same, up to 600 iterations",
    }
    return table(
        ["program", "divergence", "iterations", "seconds"],
        [
            (
                names.get(run["program"], NAMES.get(run["program"], run["program"])),
                f"{run['divergence']:.2f}",
                run["iterations"],
                run["seconds"],
            )
            for run in results("kl")["programs"]
        ],
    )


def placing() -> str:
    return table(
        ["program", "fit, s", "10,000 rows, s", "one row, ms", "accuracy", "MB"],
        [
            (
                NAMES[name],
                run["fit_s"],
                run["transform_s"],
                run["single_row_ms"],
                f"{run['knn_accuracy']:.4f}",
                round(run["peak_memory_mb"]),
            )
            for name, run in results("transform")["programs"].items()
        ],
    )


def keeping(part: str) -> Callable[[], str]:
    """Distances of digits or of images."""

    def write() -> str:
        return table(
            ["program", "seconds", "stress", "average absolute", "MB"],
            [
                (
                    name.replace("pymde", "PyMDE"),
                    run["seconds"],
                    f"{run['stress']:.3f}",
                    run["average_absolute"],
                    round(run["peak_memory_mb"]),
                )
                for name, run in results("distances")[part]["programs"].items()
            ],
        )

    return write


def order() -> str:
    return table(
        ["program", "processor seconds", "stress"],
        [
            (name, run["cpu_seconds"], f"{run['stress']:.4f}")
            for name, run in results("ordinal")["digits"].items()
        ],
    )


def network() -> str:
    return table(
        ["program", "path lengths, s", "fit, s", "average absolute", "stress", "MB"],
        [
            (
                name.replace("pymde", "PyMDE"),
                run["lengths_s"],
                run["fit_s"],
                f"{run['average_absolute']:.3f}",
                f"{run['stress']:.3f}",
                round(run["peak_memory_mb"]),
            )
            for name, run in results("network")["embeddings"].items()
        ],
    )


def quadratic_table(name: str, *programs: str) -> Callable[[], str]:
    def write() -> str:
        rows = []
        for row in results(name)["rows"]:
            cells = [row["n"], row["m"]]
            for program in programs:
                cells += [row[program]["seconds"], f"{max(row[program]['gap_percent'], 0):.3f}"]
            rows.append([cell if isinstance(cell, str) else number(cell) for cell in cells])
        names = {"skmde": "QuadraticMDE", "skmde-lbfgs": "L-BFGS", "pymde": "PyMDE"}
        header = [x for program in programs for x in (f"{names[program]}, s", "gap %")]
        return table(["n", "m", *header], rows)

    return write


def spectral() -> str:
    record = results("quadratic")
    rows = [
        (problem, program, run["seconds"], f"{run['largest_error']:.1e}")
        for problem, runs in {**record["mnist"], "PCA of MNIST": record["pca"]}.items()
        if problem not in ("n_items", "n_pairs", "eigenvalues")
        for program, run in runs.items()
    ]
    return table(["problem", "program", "seconds", "largest error"], rows)


def anchored(part: str, facts: dict[str, str]) -> Callable[[], str]:
    def write() -> str:
        return table(
            ["program", "seconds", *facts.values()],
            [
                (name, run["seconds"], *(run[fact] for fact in facts))
                for name, run in results("anchored")[part]["programs"].items()
            ],
        )

    return write


def monograph_images() -> str:
    return told_by_neighbors(results("monograph_images")["problems"])


def told_by_neighbors(problems: dict[str, Any]) -> str:
    """Solved problems, and how well 10 neighbours tell the classes of their items."""
    return table(
        ["problem", "iterations", "average distortion", "accuracy"],
        [
            (
                name,
                run["iterations"],
                f"{run['average_distortion']:.4f}",
                f"{run['accuracy_of_10_neighbours']:.3f}",
            )
            for name, run in problems.items()
        ],
    )


def constraints(name: str) -> Callable[[], str]:
    def write() -> str:
        return table(
            ["constraint", "iterations", "seconds", "seconds of an iteration"],
            [
                (kind, run["iterations"], run["seconds"], run["seconds_per_iteration"])
                for kind, run in results(name)["results"].items()
            ],
        )

    return write


def counties() -> str:
    record = results("monograph_counties")["results"]
    return table(
        ["embedding", "R2 of the share"],
        [(name, f"{record[name]['r2_of_10_neighbours']:.3f}") for name in ("PCA", "MDE")],
    )


def cells() -> str:
    return told_by_neighbors(results("monograph_cells")["results"]["problems"])


def digits() -> str:
    return table(
        ["program", "fit, s", "process, s", "trustworthiness"],
        [
            (NAMES[name], run["fit_s"], run["wall_s"], f"{run['trustworthiness15']:.4f}")
            for name, run in results("digits")["programs"].items()
        ],
    )


def random_graph() -> str:
    return table(
        ["program", "seconds", "average distortion", "gap %"],
        [
            (name, run["seconds"], f"{run['value']:.4f}", f"{run['gap_percent']:.4f}")
            for name, run in results("quadratic")["random"]["programs"].items()
        ],
    )


def genes() -> str:
    return table(
        ["embedding", "clean", "corrupted"],
        [
            (name, *(f"{runs[data]['correlation']:.3f}" for data in ("clean", "corrupted")))
            for name, runs in results("popgen")["embeddings"].items()
        ],
    )


def searching() -> str:
    return table(
        ["data", "rows", "seconds", "recall", "MB"],
        [
            (
                run["kind"],
                run["n"],
                run["seconds"],
                f"{run['recall']:.3f}",
                round(run["peak_memory_mb"]),
            )
            for run in results("neighbors")["runs"]
        ],
    )


def stochastic() -> str:
    record = results("stochastic")
    large = [
        (
            f"10 million pairs, {name}",
            record["large"][name]["seconds"],
            record["large"][name]["peak_mb"],
        )
        for name in ("lbfgs", "stochastic")
    ]
    rows = large + [
        (f"{run['pairs']:,} pairs of a file", run["seconds"], run["peak_mb"])
        for run in record["file"]
    ]
    cells = [(name, number(round(seconds)), number(round(peak))) for name, seconds, peak in rows]
    return table(["problem", "seconds", "MB"], cells)


def mixture() -> str:
    rows = []
    for run in results("mixture")["runs"]:
        facts = (f"{run['recall15']:.3f}", f"{run['accuracy']:.3f}")
        sizes = run["n"], run["wall"], round(run["peak_memory_mb"])
        rows.append((NAMES[run["program"]], *sizes, *facts))
    return table(["program", "rows", "seconds", "MB", "recall", "clusters told"], rows)


def growth() -> str:
    rows = [
        (
            row["n_items"],
            row["n_pairs"],
            row["n_components"],
            1e3 * row["seconds_per_iteration"],
            1e3 * row["fitted"],
        )
        for row in results("growth")["rows"]
    ]
    fits = results("growth")["fits"]
    shares = ", ".join(f"{fit['r2']:.3f} ({name})" for name, fit in fits.items())
    times = table(["items", "pairs", "m", "ms of an iteration", "fitted"], rows)
    return f"{times}\n\nR2 of the fits: {shares}."


def ranks() -> str:
    return table(
        ["items", "pairs", "evaluations", "whole solves"],
        [
            (
                row["n_items"],
                row["n_edges"],
                f"{row['evaluation_ratio']:.2f}",
                f"{row['solve_ratio']:.2f}",
            )
            for row in results("ranks")["rows"]
        ],
    )


def memory() -> str:
    processes = results("memory")["processes"]
    return table(
        ["process", "peak, MB"],
        [(NAMES.get(name, name), round(run["peak_mb"])) for name, run in processes.items()],
    )


def plans() -> str:
    by_estimator: dict[str, list[float]] = {}
    for fit in results("plan")["fits"]:
        by_estimator.setdefault(fit["fit"][0], []).append(fit["ratio"])
    return table(
        ["estimator", "fits", "lowest ratio", "highest ratio"],
        [
            (name, len(ratios), f"{min(ratios):.2f}", f"{max(ratios):.2f}")
            for name, ratios in by_estimator.items()
        ],
    )


def kernels() -> str:
    return table(
        ["components", "threads", "objective, ns", "memory alone, ns"],
        [
            (run["m"], run["threads"], run["kernel_ns"], run["memory_only_ns"])
            for run in results("kernel")["default_penalties"]
        ],
    )


def imports() -> str:
    return table(
        ["import", "seconds"],
        [(name, f"{s:.3f}") for name, s in results("import_time")["median_s"].items()],
    )


def explorer() -> str:
    return table(
        ["page", "MB", "first picture, s", "frames a second"],
        [
            (
                {"million": "a million points", "mnist": "MNIST with images"}[run["page"]],
                run["megabytes"],
                run["first_picture_seconds"][0],
                round(run["frames_per_second"][0]),
            )
            for run in results("explorer_quiet")["pages"]
        ],
    )
