"""Write ``doc/benchmarks.rst`` from ``benchmarks/results/*.json``.

    python benchmarks/page.py            # write the page
    python benchmarks/page.py --check    # only say whether it is up to date

Every figure of the page comes from a file of results, and so do the sentences on what skmde loses
at: a sentence is left out where the figures no longer say so. A test compares the page with what
this script writes.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "doc" / "benchmarks.rst"
NAMES = {
    "skmde": "skmde",
    "opentsne": "openTSNE",
    "umap": "umap-learn",
    "pacmap": "PaCMAP",
    "sklearn-tsne": "scikit-learn TSNE",
    "pymde": "PyMDE",
}
PROGRAMS = ("skmde", "opentsne", "umap", "pacmap", "sklearn-tsne")  # of maps.json
INTRODUCTION = """
Benchmarks
==========

skmde is measured against the programs that its users would otherwise take: umap-learn, openTSNE,
PaCMAP, PyMDE, and the estimators of scikit-learn and scipy. The programs run side by side, each in
a fresh process, with their defaults and the same number of threads. Under each table are the
command, the date and the machine. ``benchmarks/README.md`` says how each figure is measured.

This page is written from the files in ``benchmarks/results`` by ``python benchmarks/page.py``.
Seconds of one table can be compared with each other. Those of two tables often cannot, since other
programs were running on the machine on some days.
"""


def results(name: str) -> Any:
    """The record of a file of results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def number(value: Any, digits: int = 3) -> str:
    """A figure as it is printed: few digits, and thousands apart."""
    if value is None:
        return "-"
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


def source(name: str) -> str:
    """Command, date and machine of a file of results."""
    record = results(name)
    machine = record["machine"]
    commands = record.get("command") or record["commands"]
    commands = [commands] if isinstance(commands, str) else commands
    dates = sorted(set(record.get("dates") or [record["date"]]))
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    text = (
        f"``benchmarks/results/{name}.json``; {when}; {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gib']:g} GiB, Python {machine['python']}"
    )
    threads = record.get("threads")
    if isinstance(threads, int):
        text += f", {threads} {'thread' if threads == 1 else 'threads'}"
    load = record.get("load_average")
    if isinstance(load, float):
        text += f"; load average {load:.0f}"
    lines = [".. code-block:: console", "   :class: source", ""]
    lines += [f"   $ {command}" for command in commands]
    return paragraph(text + ".") + "\n\n" + "\n".join(lines) + "\n"


def paragraph(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False))


def losses() -> str:
    """What skmde loses at: a condition and a sentence for each."""
    mnist, transform = results("mnist")["programs"], results("transform")["programs"]
    accuracy = {name: run["quality"]["knn_accuracy"] for name, run in mnist.items()}
    triplets = {name: run["quality"]["triplet"] for name, run in mnist.items()}
    best, far = max(accuracy, key=accuracy.get), max(triplets, key=triplets.get)  # type: ignore
    ranks = results("ranks")["rows"]
    ratios = [row["solve_ratio"] for row in ranks]
    growth = results("neighbors")["growth"][0]["exponent"]
    anchored, quadratic = results("anchored"), results("quadratic")
    jacobi = anchored["network"]["programs"]["scipy cg, Jacobi"]["ratio"]
    spreading = anchored["digits"]["programs"]["LabelSpreading"]["ratio"]
    arnoldi = quadratic["mnist"]["plain m=2"]["scipy eigsh, float32"]["ratio"]
    covariance = quadratic["pca"]["PCA covariance_eigh"]["ratio"]
    memory = results("memory")["processes"]
    skmde_mb, tsne_mb = memory["PreserveNeighbors"]["peak_mb"], memory["sklearn-tsne"]["peak_mb"]
    isomap = results("distances")["digits"]["programs"]["Isomap"]["seconds"]
    distances = results("distances")["digits"]["programs"]["skmde squared"]["seconds"]
    single = transform["skmde"]["single_row_ms"], transform["umap"]["single_row_ms"]
    genes = results("popgen")["embeddings"]
    start = genes["skmde, default start"]["corrupted"]["correlation"]
    clean, gap = genes["PCA"]["clean"]["correlation"], results("stochastic")["large"]["gap_percent"]
    recall = {
        data: {p: runs[p]["recall15"] for p in PROGRAMS if runs.get(p, {}).get("recall15")}
        for data, runs in results("maps")["sets"].items()
    }
    recall = {data: values for data, values in recall.items() if len(values) > 1}
    lost = [data for data, values in recall.items() if max(values.values()) > values["skmde"]]
    known: list[tuple[bool, str]] = [
        (
            best != "skmde",
            f"Digits of MNIST by the 10 nearest neighbours in the map: accuracy "
            f"{accuracy['skmde']:.4f}, and {accuracy[best]:.4f} for {NAMES[best]}. The others have "
            + ", ".join(
                f"{value:.4f} ({NAMES[name]})"
                for name, value in accuracy.items()
                if name not in (best, "skmde")
            )
            + ".",
        ),
        (
            bool(lost),
            f"Recall of 15 neighbours: another program is ahead on {len(lost)} of {len(recall)} "
            f"data sets ({', '.join(lost)}).",
        ),
        (
            far != "skmde",
            f"Order of distances in random triplets of MNIST: {triplets['skmde']:.3f}, and "
            f"{triplets[far]:.3f} for {NAMES[far]}.",
        ),
        (
            min(ratios) < 1,
            f"Two processes of one thread on one machine: a whole solve runs at {min(ratios):.2f} "
            f"to {max(ratios):.2f} of the speed of one process with two threads. Ranks are for "
            "data that one machine cannot hold.",
        ),
        (
            growth > 1.1,
            f"The neighbour search with faiss: its seconds grow with the number of rows to the "
            f"power {growth:.2f}, from 100,000 to 1,000,000 rows.",
        ),
        (
            skmde_mb > tsne_mb,
            f"Memory of a small fit: {skmde_mb:.0f} MB, most of it libraries, and {tsne_mb:.0f} MB "
            "for scikit-learn's TSNE.",
        ),
        (
            single[0] > single[1],
            f"One new row alone: {single[0]:.1f} ms, and {single[1]:.1f} ms with umap-learn. (Many "
            "rows at once are placed much faster than there.)",
        ),
        (
            jacobi < 1,
            f"Anchored quadratic problems: scipy's conjugate gradients (Jacobi preconditioner) "
            f"take {jacobi:.2f} of skmde's time on a network, at a larger residual.",
        ),
        (
            spreading < 1,
            f"Digits from 50 labels: scikit-learn's LabelSpreading takes {spreading:.2f} of the "
            "time of AnchoredClassifier, with a lower accuracy.",
        ),
        (
            arnoldi < 1,
            f"Laplacian embedding of MNIST: scipy's eigsh in float32 takes {arnoldi:.2f} of the "
            "time of QuadraticMDE, with larger errors.",
        ),
        (
            covariance < 1,
            f"PCA: scikit-learn's solver by the covariance takes {covariance:.2f} of the time of "
            "QuadraticMDE.",
        ),
        (
            isomap < distances,
            f"Digits by distances: Isomap fits in {isomap:.2f} s and PreserveDistances in "
            f"{distances:.2f} s. (They solve different problems; the stress of Isomap is higher.)",
        ),
        (
            start < clean,
            f"Population genetics with corrupted data: from the default start the correlation with "
            f"the map of Europe is {start:.2f}, where a start from space gives "
            f"{genes['skmde']['corrupted']['correlation']:.2f}. On clean data PCA is best, "
            f"{clean:.2f}.",
        ),
        (
            gap > 0,
            f"The stochastic solver ends {gap:.1f} % above the average distortion of L-BFGS, on "
            "10 million pairs.",
        ),
    ]
    lines = []
    for holds, sentence in known:
        if holds:
            wrapped = textwrap.wrap(sentence, 98, break_long_words=False, break_on_hyphens=False)
            lines += ["- " + wrapped[0], *("  " + line for line in wrapped[1:])]
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
                        shown.get(p, "-") if values.get(p) != top else f"**{shown[p]}**"
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


def quadratic_table() -> str:
    rows = []
    for row in results("quadratic_table")["rows"]:
        cells = [row["n"], row["m"]]
        for program in ("skmde", "skmde-lbfgs", "pymde"):
            cells += [row[program]["seconds"], f"{max(row[program]['gap_percent'], 0):.3f}"]
        rows.append([cell if isinstance(cell, str) else number(cell) for cell in cells])
    header = ["n", "m", "QuadraticMDE, s", "gap %", "L-BFGS, s", "gap %", "PyMDE, s", "gap %"]
    return table(header, rows)


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
    return table(
        ["problem", "iterations", "average distortion", "accuracy"],
        [
            (
                name,
                run["iterations"],
                f"{run['average_distortion']:.4f}",
                f"{run['accuracy_of_10_neighbours']:.3f}",
            )
            for name, run in results("monograph_images")["problems"].items()
        ],
    )


def constraints() -> str:
    return table(
        ["constraint", "iterations", "seconds of an iteration"],
        [
            (name, run["iterations"], run["seconds_per_iteration"])
            for name, run in results("monograph_constraints")["results"].items()
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


Part = tuple[str, str, Callable[[], str]]
SECTIONS: dict[str, list[Part]] = {
    "Maps of neighbours": [
        (
            "mnist",
            "MNIST, 70,000 images of 784 pixels, from the start of a process to its end. *Recall* "
            "is the share of the 15 nearest neighbours that are among the 15 nearest in the map, "
            "*trust* the trustworthiness, *triplets* the share of random triplets whose order of "
            "distances is kept, and *accuracy* that of a classifier by 10 neighbours in the map.",
            mnist,
        ),
        (
            "mnist_pacmap",
            "The same on a quieter day, beside PaCMAP; the median of three runs. skmde sampled the "
            "repelling pairs then; now all pairs repel.",
            seconds_of("mnist_pacmap"),
        ),
        (
            "mnist_cuda",
            "MNIST on a GPU, beside PyMDE. Both sampled the repelling pairs.",
            seconds_of("mnist_cuda"),
        ),
        (
            "maps",
            "Recall of 15 neighbours by data set, best in bold. The file has several runs; "
            "the command is the last one. TSNE of scikit-learn ran on the smaller sets.",
            of_maps("recall15"),
        ),
        (
            "maps",
            "Accuracy of 10 neighbours in the map (R2 where the held-out attribute is a number).",
            of_maps("accuracy"),
        ),
        (
            "kl",
            "The objective of t-SNE (perplexity 30, all pairs) on 50 components of MNIST; lower is "
            "better. Only openTSNE minimises it.",
            divergence,
        ),
        ("transform", "10,000 new images, placed on a map of 60,000.", placing),
        ("neighbors", "The neighbour search alone, with faiss.", searching),
    ],
    "Distances": [
        ("distances", "Digits, 1797 of 64 pixels, all pairs.", keeping("digits")),
        ("distances", "20,000 images of MNIST, a million sampled pairs.", keeping("mnist")),
        ("ordinal", "The order of distances of 500 digits (non-metric MDS).", order),
        (
            "network",
            "A network of 56,936 nodes, by 5 million path lengths. PyMDE did 30 iterations.",
            network,
        ),
    ],
    "Quadratic problems": [
        (
            "quadratic_table",
            "Table 7.1 of the monograph: 40 iterations on random graphs with 10 pairs an item, and "
            "how far the result is above the optimum.",
            quadratic_table,
        ),
        ("quadratic", "Spectral embeddings of MNIST, with the error of eigenvalues.", spectral),
        (
            "anchored",
            "Places of the nodes of a network from 1 % that are given.",
            anchored("network", {"residual": "residual"}),
        ),
        (
            "anchored",
            "Digits from 50 labels, 10 draws.",
            anchored("digits", {"accuracy": "accuracy", "worst": "worst"}),
        ),
    ],
    "Examples of the monograph": [
        (
            "monograph_images",
            "Chapter 8: MNIST, with more and fewer dissimilar pairs and weights. The machine was "
            "busy, so seconds are left out.",
            monograph_images,
        ),
        (
            "monograph_constraints",
            "Section 7.2: three constraints, 100,000 items and a million pairs, to a residual norm "
            "of 1e-5. The machine was busy; compare the rows with each other only.",
            constraints,
        ),
        (
            "popgen",
            "Chapter 11: correlation of the embedding of genes with the map of Europe.",
            genes,
        ),
    ],
    "Large problems": [
        ("stochastic", "The stochastic solver, on a busy machine.", stochastic),
        (
            "ranks",
            "Two ranks of one thread beside one process of two threads, on one machine: ratio of "
            "the speeds; above 1 the ranks are faster.",
            ranks,
        ),
        ("plan", "Memory that ``plan`` announces, divided by what the fit took.", plans),
    ],
    "Costs of a start, and inner loops": [
        ("memory", "Peak memory of a fit of 700 rows, and of what it loads.", memory),
        ("import_time", "Seconds of an import.", imports),
        (
            "kernel",
            "Nanoseconds an edge for objective and gradient, and for a loop that only moves the "
            "same memory.",
            kernels,
        ),
        ("explorer_quiet", "Pages of ``skmde.plotting.explore`` in Chromium, no GPU.", explorer),
    ],
}


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION.strip(), heading("What skmde loses at"), losses().strip()]
    for title, entries in SECTIONS.items():
        parts.append(heading(title))
        for name, text, write in entries:
            parts += [paragraph(text), write().strip(), source(name).strip()]
    return "\n\n".join(parts) + "\n"


def heading(title: str) -> str:
    return f"{title}\n{'-' * len(title)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write doc/benchmarks.rst from the results.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it is old")
    args = parser.parse_args()
    text = page()
    if args.check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            raise SystemExit("doc/benchmarks.rst is old: run python benchmarks/page.py")
        return
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
