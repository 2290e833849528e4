"""Write ``doc/benchmarks.rst`` from ``benchmarks/results/*.json``.

    python benchmarks/page.py            # write the page
    python benchmarks/page.py --check    # only say whether it is up to date

Every figure of the page comes from a file of results, and so do the sentences on what skmde loses
at: a sentence is left out where the figures no longer say so. A test compares the page with what
this script writes.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from pathlib import Path

import _tables as tables
from _tables import NAMES, PROGRAMS, results

PAGE = Path(__file__).parents[1] / "doc" / "benchmarks.rst"
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


def behind_on(measure: str) -> tuple[list[str], list[str]]:
    """Data sets of maps.json with peers, and those where one of these is ahead."""
    by_set = {
        data: {p: runs[p][measure] for p in PROGRAMS if runs.get(p, {}).get(measure) is not None}
        for data, runs in results("maps")["sets"].items()
    }
    by_set = {data: values for data, values in by_set.items() if len(values) > 1}
    lost = [data for data, values in by_set.items() if max(values.values()) > values["skmde"]]
    return list(by_set), lost


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
    recall, lost = behind_on("recall15")
    classes, behind = behind_on("accuracy")
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
            bool(behind),
            f"Accuracy of 10 neighbours in the map: another program is ahead on {len(behind)} of "
            f"{len(classes)} data sets ({', '.join(behind)}).",
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


Part = tuple[str, str, Callable[[], str]]
SECTIONS: dict[str, list[Part]] = {
    "Maps of neighbours": [
        (
            "mnist",
            "MNIST, 70,000 images of 784 pixels, from the start of a process to its end. *Recall* "
            "is the share of the 15 nearest neighbours that are among the 15 nearest in the map, "
            "*trust* the trustworthiness, *triplets* the share of random triplets whose order of "
            "distances is kept, and *accuracy* that of a classifier by 10 neighbours in the map.",
            tables.mnist,
        ),
        (
            "mnist_pacmap",
            "The same on a quieter day, beside PaCMAP; the median of three runs. skmde sampled the "
            "repelling pairs then; now all pairs repel.",
            tables.seconds_of("mnist_pacmap"),
        ),
        (
            "mnist_cuda",
            "MNIST on a GPU, beside PyMDE. Both sampled the repelling pairs.",
            tables.seconds_of("mnist_cuda"),
        ),
        (
            "maps",
            "Recall of 15 neighbours by data set, best in bold. The file has several runs; "
            "the command is the last one. TSNE of scikit-learn ran on the smaller sets.",
            tables.of_maps("recall15"),
        ),
        (
            "maps",
            "Accuracy of 10 neighbours in the map (R2 where the held-out attribute is a number).",
            tables.of_maps("accuracy"),
        ),
        (
            "kl",
            "The objective of t-SNE (perplexity 30, all pairs) on 50 components of MNIST; lower is "
            "better. Only openTSNE minimises it.",
            tables.divergence,
        ),
        ("transform", "10,000 new images, placed on a map of 60,000.", tables.placing),
        ("digits", "Digits, 1797 of 64 pixels: the median of three fits.", tables.digits),
        (
            "mnist_no_faiss",
            "MNIST where faiss is not installed: pynndescent searches, after it was compiled once. "
            "skmde sampled the repelling pairs then.",
            tables.seconds_of("mnist_no_faiss"),
        ),
        ("neighbors", "The neighbour search alone, with faiss.", tables.searching),
        (
            "mixture",
            "Rows of 50 features in 200 Gaussian clusters, from the start of a process to its end. "
            "The peers embed a fifth of the rows.",
            tables.mixture,
        ),
    ],
    "Distances": [
        ("distances", "Digits, 1797 of 64 pixels, all pairs.", tables.keeping("digits")),
        ("distances", "20,000 images of MNIST, a million sampled pairs.", tables.keeping("mnist")),
        ("ordinal", "The order of distances of 500 digits (non-metric MDS).", tables.order),
        (
            "network",
            "A network of 56,936 nodes, by 5 million path lengths. PyMDE did 30 iterations.",
            tables.network,
        ),
    ],
    "Quadratic problems": [
        (
            "quadratic_table",
            "Table 7.1 of the monograph: 40 iterations on random graphs with 10 pairs an item, and "
            "how far the result is above the optimum.",
            tables.quadratic_table("quadratic_table", "skmde", "skmde-lbfgs", "pymde"),
        ),
        (
            "quadratic",
            "Spectral embeddings of MNIST, with the error of eigenvalues.",
            tables.spectral,
        ),
        (
            "quadratic",
            "A quadratic problem of a random graph: 100,000 items, a million pairs, m = 2.",
            tables.random_graph,
        ),
        (
            "anchored",
            "Places of the nodes of a network from 1 % that are given.",
            tables.anchored("network", {"residual": "residual"}),
        ),
        (
            "anchored",
            "Digits from 50 labels, 10 draws.",
            tables.anchored("digits", {"accuracy": "accuracy", "worst": "worst"}),
        ),
    ],
    "Examples of the monograph": [
        (
            "monograph_images",
            "Chapter 8: MNIST, with more and fewer dissimilar pairs and weights. The machine was "
            "busy, so seconds are left out.",
            tables.monograph_images,
        ),
        (
            "monograph_constraints",
            "Section 7.2: three constraints, 100,000 items and a million pairs, to a residual norm "
            "of 1e-5. The machine was busy; compare the rows with each other only.",
            tables.constraints("monograph_constraints"),
        ),
        (
            "monograph_counties",
            "Chapter 10: share of the vote in 2016 from 10 neighbours in the map of counties.",
            tables.counties,
        ),
        (
            "monograph_cells",
            "Chapter 12: 700 blood cells in space, which stand in for the monograph's. Accuracy is "
            "that of the cell type from 10 neighbours in the embedding.",
            tables.cells,
        ),
        (
            "popgen",
            "Chapter 11: correlation of the embedding of genes with the map of Europe.",
            tables.genes,
        ),
    ],
    "Large problems": [
        ("stochastic", "The stochastic solver, on a busy machine.", tables.stochastic),
        (
            "quadratic_million",
            "A quadratic problem of a million items and ten million pairs, 40 iterations.",
            tables.quadratic_table("quadratic_million", "skmde", "pymde"),
        ),
        (
            "constraints_million",
            "Section 7.2 with a million items and ten million pairs: attraction by log1p, and "
            "repulsion by log, to a residual norm of 1e-5. Seconds include the way from pairs to a "
            "problem.",
            tables.constraints("constraints_million"),
        ),
        (
            "growth",
            "Milliseconds of an iteration of L-BFGS, and a fit by a p m + b n m + c for p pairs of "
            "n items in m dimensions.",
            tables.growth,
        ),
        (
            "ranks",
            "Two ranks of one thread beside one process of two threads, on one machine: ratio of "
            "the speeds; above 1 the ranks are faster.",
            tables.ranks,
        ),
        ("plan", "Memory that ``plan`` announces, divided by what the fit took.", tables.plans),
    ],
    "Costs of a start, and inner loops": [
        ("memory", "Peak memory of a fit of 700 rows, and of what it loads.", tables.memory),
        (
            "import_time",
            "Seconds of an import. skmde loads its libraries when they are first used.",
            tables.imports,
        ),
        (
            "kernel",
            "Nanoseconds an edge for objective and gradient, and for a loop that only moves the "
            "same memory.",
            tables.kernels,
        ),
        (
            "explorer_quiet",
            "Pages of ``skmde.plotting.explore`` in Chromium, no GPU.",
            tables.explorer,
        ),
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
