"""Non-metric scaling beside scikit-learn's, in one run, and what several starts find.

    python benchmarks/ordinal.py

Five parts, which ``--parts`` chooses from:

- *digits*: 500 x 64, all pairs: seconds and stress of `PreserveDistances(monotone=True)` and of
  ``sklearn.manifold.MDS(metric_mds=False)`` with one start, in turn.
- *matrices*: 40 matrices of 10 to 30 items without a Euclidean embedding, with one start and with
  ten. Stress of both programs by one judge.
- *missing*: a tenth of the pairs of digits and of the matrices is left out, which scikit-learn
  cannot do, with several draws. Spearman's correlation of distances and embedding distances over
  these pairs, divided by that of the fit to all pairs; by family and, for the ten path matrices of
  15 items or more, one by one. Three maps: of the known pairs, of the matrix that
  `complete_distances` completes, and of the known pairs from the fit to all pairs as a start, which
  no user has. Also the stress over the known pairs, relative to that of the first map, and the
  stress over all pairs, relative to that of the fit to all pairs. And what the best of many starts
  adds for the first draw.
- *starts*: the least of 10 starts beside that of 100, on the matrices, under the squared loss and
  for ordinal data. Plain random starts, which are given as arrays, so that they are solved from and
  nothing else is done, beside ours.
- *workers*: seconds of ten starts on digits, by one worker and by two: processes and threads.

The judge computes the disparities anew, by scikit-learn's isotonic regression, in which equal
distances have equal disparities. Stress is Kruskal's stress-1. CPU seconds are those of all threads
of the process; they are less disturbed by other programs than seconds are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import _common as common
import numpy as np

PARTS = ("digits", "matrices", "missing", "starts", "workers")
KINDS: dict[str, dict[str, Any]] = {"squared": {"loss": "squared"}, "ordinal": {"monotone": True}}
FAMILIES = ("uniform", "paths", "noisy", "correlation")
FIGURES = ("seconds", "cpu_seconds", "iterations", "stress")
WITHIN = 1.001  # ratio of a stress to the best one
MISSING = 0.1  # share of the pairs that are left out
STARTS_OF = {"squared": 4, "ordinal": 1}  # an ordinal start is searched from anyway


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], peers=False, name="ordinal")
    p.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of starts and missing pairs"
    )
    p.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each program")
    p.add_argument("--n-rows", type=int, default=500, help="rows of digits")
    p.add_argument("--n-matrices", type=int, default=40, help="small matrices")
    p.add_argument("--n-starts", type=int, default=100, help="starts of the best known value")
    p.add_argument("--draws", type=int, default=5, help="of missing pairs, for each matrix")
    p.add_argument("--plain", type=int, default=10, help="plain random starts, for comparison")
    return p.parse_args()


def small_matrices(count: int) -> list[tuple[str, np.ndarray]]:
    """Symmetric matrices of 10 to 30 items that no Euclidean space can hold, by family."""
    from scipy.sparse.csgraph import shortest_path
    from scipy.spatial.distance import pdist, squareform

    found = []
    for k in range(count):
        rng = np.random.default_rng(k // len(FAMILIES))
        n, family = int(rng.integers(10, 31)), FAMILIES[k % len(FAMILIES)]
        if family == "uniform":
            D = rng.random((n, n))
        elif family == "paths":
            lengths = np.where(rng.random((n, n)) < 2.5 / n, rng.random((n, n)) + 0.1, 0.0)
            lengths[np.arange(n - 1), np.arange(1, n)] = rng.random(n - 1) + 0.1
            D = shortest_path(lengths, directed=False)
        elif family == "noisy":
            D = squareform(pdist(rng.random((n, 5)), "cityblock"))
            D = D * np.exp(0.3 * rng.standard_normal((n, n)))
        else:
            D = 1.0 - np.corrcoef(rng.standard_normal((n, 8)))
        D = (D + D.T) / 2
        np.fill_diagonal(D, 0.0)
        found.append((family, D))
    return found


def judged(D: np.ndarray, embedding: np.ndarray) -> float:
    """Stress-1 of an embedding, with disparities by scikit-learn's isotonic regression."""
    from scipy.spatial.distance import pdist, squareform
    from sklearn.isotonic import IsotonicRegression

    delta, d = squareform(D, checks=False), pdist(embedding)
    disparities = IsotonicRegression().fit_transform(delta, d)
    return float(np.sqrt(((d - disparities) ** 2).sum() / (d**2).sum()))


def ours(D: np.ndarray, **params: Any) -> Any:
    from skmde import PreserveDistances

    return PreserveDistances(metric="precomputed", random_state=0, **params).fit(D)


def theirs(D: np.ndarray, **params: Any) -> Any:
    from sklearn.manifold import MDS

    settings = {"metric_mds": False, "init": "random", "random_state": 0, **params}
    return MDS(2, metric="precomputed", **settings).fit(D)


def timed(fit: Callable[[], Any]) -> tuple[Any, float, float]:
    """A result, and the seconds and the CPU seconds that it took."""
    start, cpu = time.perf_counter(), time.process_time()
    found = fit()
    return found, time.perf_counter() - start, time.process_time() - cpu


def digits(rows: int) -> np.ndarray:
    from scipy.spatial.distance import pdist, squareform
    from sklearn.datasets import load_digits

    return squareform(pdist(load_digits().data[:rows]))


def part_digits(args: Any) -> dict[str, Any]:
    D = digits(args.n_rows)
    programs = {
        "skmde": lambda: ours(D, monotone=True),
        "skmde secondary": lambda: ours(D, monotone=True, ties="secondary"),
        "MDS random": lambda: theirs(D),
        "MDS classical": lambda: theirs(D, init="classical_mds"),
    }
    ours(D[:50, :50], monotone=True)  # compiles
    ours(D[:50, :50], monotone=True, ties="secondary")
    runs: dict[str, list[Any]] = {name: [] for name in programs}
    for _ in range(args.repeat):
        for name, fit in programs.items():
            found, seconds, cpu = timed(fit)
            stress = judged(D, found.embedding_)
            runs[name].append((seconds, cpu, found.n_iter_, stress))
    rows = {
        name: dict(zip(FIGURES, np.median(r, axis=0).tolist(), strict=True))
        for name, r in runs.items()
    }
    for row in rows.values():
        row["ratio"] = row["cpu_seconds"] / rows["skmde"]["cpu_seconds"]
    header = list(rows["skmde"])
    common.show([[name, *row.values()] for name, row in rows.items()], ["program", *header])
    return rows


def part_matrices(args: Any) -> dict[str, Any]:
    programs = {
        "skmde, 1 start": lambda D: ours(D, monotone=True, ties="secondary"),
        "skmde, 10 starts": lambda D: ours(D, monotone=True, ties="secondary", n_init=10),
        "MDS, 1 start": lambda D: theirs(D),
        "MDS, 10 starts": lambda D: theirs(D, n_init=10),
    }
    stress: dict[str, list[float]] = {name: [] for name in programs}
    for _, D in small_matrices(args.n_matrices):
        for name, fit in programs.items():
            stress[name].append(judged(D, fit(D).embedding_))
    best = np.min(list(stress.values()), axis=0)
    rows = {}
    for name, values in stress.items():
        row: dict[str, Any] = {"median_stress": float(np.median(values))}
        row["worst_to_best"] = float((np.array(values) / best).max())
        row["above_best"] = int((values > best * (1 + 1e-6)).sum())
        for rival in ("MDS, 1 start", "MDS, 10 starts"):
            above = np.array(values) > np.array(stress[rival]) * (1 + 1e-6)
            row[f"worse than {rival}"] = int(above.sum())
        rows[name] = row
    header = list(rows["MDS, 1 start"])
    common.show([[name, *row.values()] for name, row in rows.items()], ["program", *header])
    return {"rows": rows, "stress": stress}


def stress_of(monotone: bool, D: np.ndarray, embedding: np.ndarray, some: Any) -> float:
    """Stress-1 over some pairs, with disparities by scikit-learn or with the best scale."""
    from scipy.spatial.distance import pdist, squareform
    from sklearn.isotonic import IsotonicRegression

    delta, d = squareform(D, checks=False)[some], pdist(embedding)[some]
    if monotone:
        targets = IsotonicRegression().fit_transform(delta, d)
    else:
        targets = (delta @ d) / (delta @ delta) * delta
    return float(np.sqrt(((d - targets) ** 2).sum() / (d**2).sum()))


def held_out(D: np.ndarray, draw: int, whole: np.ndarray, kind: str) -> dict[str, float]:
    """Figures of maps of a matrix that lacks a tenth of its pairs; `whole` is a map of all."""
    from scipy.spatial.distance import pdist, squareform
    from scipy.stats import spearmanr

    from skmde import complete_distances

    params = {"n_init": STARTS_OF[kind], **KINDS[kind]}
    monotone = kind == "ordinal"
    held = np.random.default_rng(draw).random(len(D) * (len(D) - 1) // 2) < MISSING
    partial_matrix = D.copy()
    partial_matrix[squareform(held)] = np.inf
    completed = complete_distances(partial_matrix, monotone=monotone, random_state=0)
    maps = {
        "known": ours(partial_matrix, **params).embedding_,
        "completed": ours(completed, **params).embedding_,
        "from_full_fit": ours(partial_matrix, **{**params, "n_init": 1}, init=whole).embedding_,
    }
    delta = squareform(D, checks=False)[held]

    def order(d: np.ndarray) -> float:
        return float(spearmanr(delta, d[held]).statistic)

    row = {"pairs": int(held.sum()), "spearman_of_full_fit": order(pdist(whole))}
    row["estimates"] = order(squareform(completed, checks=False)) / row["spearman_of_full_fit"]
    least = stress_of(monotone, D, maps["known"], ~held)
    row["known_stress of full fit"] = stress_of(monotone, D, whole, ~held) / least
    everything = np.ones_like(held)
    of_all = stress_of(monotone, D, whole, everything)
    for name, embedding in maps.items():
        row[name] = order(pdist(embedding)) / row["spearman_of_full_fit"]
        row[f"known_stress {name}"] = stress_of(monotone, D, embedding, ~held) / least
        row[f"all_stress {name}"] = stress_of(monotone, D, embedding, everything) / of_all
    return row


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    """Means over draws, and the spread of the ratios of Spearman's correlations."""
    found = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    for name in ("known", "completed", "from_full_fit"):
        ratios = [row[name] for row in rows]
        found[f"sd {name}"], found[f"least {name}"] = float(np.std(ratios)), min(ratios)
        full = sum(row["spearman_of_full_fit"] for row in rows)
        weighted = sum(row[name] * row["spearman_of_full_fit"] for row in rows)
        found[f"of means, {name}"] = float(weighted / full)
    return {"cases": len(rows), **found}


def part_missing(args: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"draws": args.draws, "starts": STARTS_OF}
    matrices = [
        (f"{family} {k}", family, D)
        for k, (family, D) in enumerate(small_matrices(args.n_matrices))
        if len(D) >= 15 or family != "paths"
    ]
    for kind in args.kinds:
        params = {"n_init": STARTS_OF[kind], **KINDS[kind]}
        groups: dict[str, list[Any]] = {}
        for name, family, D in [("digits", "digits", digits(args.n_rows)), *matrices]:
            draws = args.draws if family == "paths" else min(args.draws, 2)
            whole = ours(D, **params).embedding_
            rows = [held_out(D, draw, whole, kind) for draw in range(draws)]
            groups[family] = groups.get(family, []) + rows
            if family == "paths":
                groups[name] = rows
        found[kind] = {name: summary(rows) for name, rows in groups.items()}
        shown = ["spearman_of_full_fit", "known", "sd known", "completed", "sd completed"]
        shown += ["of means, known", "of means, completed", "estimates"]
        shown += ["from_full_fit", "known_stress completed", "known_stress of full fit"]
        shown += ["all_stress known", "all_stress completed"]
        table = [[name, *(row[s] for s in shown)] for name, row in found[kind].items()]
        common.show(table, [kind, *shown])
    found["many_starts"] = many_starts(args, [D for _, family, D in matrices if family == "paths"])
    return found


def many_starts(args: Any, matrices: list[np.ndarray]) -> dict[str, float]:
    """Whether the best of many starts tells more of the missing pairs of path matrices."""
    from scipy.spatial.distance import pdist, squareform
    from scipy.stats import spearmanr

    gains, stress = [], []
    for D in matrices:
        held = np.random.default_rng(0).random(len(D) * (len(D) - 1) // 2) < MISSING
        partial_matrix = D.copy()
        partial_matrix[squareform(held)] = np.inf
        delta, order, reached = squareform(D, checks=False)[held], [], []
        for starts in (STARTS_OF["ordinal"], args.n_starts):
            fit = ours(partial_matrix, monotone=True, n_init=starts)
            order.append(spearmanr(delta, pdist(fit.embedding_)[held]).statistic)
            reached.append(fit.stress_)
        gains.append(order[1] - order[0])
        stress.append(reached[1] / reached[0])
    row = {"starts": args.n_starts, "gain": float(np.mean(gains)), "most": float(max(gains))}
    row["stress_ratio"] = float(np.mean(stress))
    common.show([list(row.values())], list(row))
    return row


def part_starts(args: Any) -> dict[str, Any]:
    rows = {}
    for kind in args.kinds:
        params = KINDS[kind]
        first, ten, plain_ten, hits = [], [], [], []
        many = partial(ours, n_init=args.n_starts, **params)
        cpu = 0.0
        for _, D in small_matrices(args.n_matrices):
            found, _, spent = timed(partial(many, D))
            cpu += spent
            values = np.sqrt(found.start_values_)
            plain = [
                np.sqrt(ours_random(D, seed, **params).start_values_[0])
                for seed in range(args.plain)
            ]
            best = min([values.min(), *plain])
            first.append(values[0] / best)
            ten.append(values[:10].min() / best)
            plain_ten.append(min(plain[:10], default=np.inf) / best)
            hits.append(float((values < WITHIN * best).mean()))
        rows[kind] = {
            "matrices": len(ten),
            "first_within": int((np.array(first) < WITHIN).sum()),
            "best_of_10_within": int((np.array(ten) < WITHIN).sum()),
            "plain_best_of_10_within": int((np.array(plain_ten) < WITHIN).sum()),
            "worst_of_10": float(max(ten)),
            "median_share_of_starts": float(np.median(hits)),
            "cpu_seconds_per_start": cpu / args.n_starts / args.n_matrices,
        }
    header = list(rows[args.kinds[0]])
    common.show([[name, *row.values()] for name, row in rows.items()], ["kind", *header])
    return rows


def ours_random(D: np.ndarray, seed: int, **params: Any) -> Any:
    from skmde import PreserveDistances

    start = D.mean() * np.random.default_rng(seed).standard_normal((len(D), 2))
    return PreserveDistances(metric="precomputed", init=start, **params).fit(D)


def part_workers(args: Any) -> dict[str, Any]:
    import joblib

    D, found = digits(args.n_rows), {}
    for backend in ("loky", "threading"):
        for n_jobs in (1, 2):
            with joblib.parallel_config(backend=backend):
                ours(D[:30, :30], monotone=True, n_init=4, n_jobs=n_jobs)  # starts the workers
                both = timed(lambda n=n_jobs: ours(D, monotone=True, n_init=10, n_jobs=n))
            found[f"{backend}, n_jobs={n_jobs}"] = both[1]
        found[f"{backend}, ratio"] = found[f"{backend}, n_jobs=1"] / both[1]
    common.show([[name, figure] for name, figure in found.items()], ["workers", "seconds"])
    return found


def main() -> None:
    args = arguments()
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")
    parts = {name: globals()[f"part_{name}"] for name in args.parts}
    _, versions = common.importable(["skmde"], "")
    results = {"threads": args.threads, "versions": versions}
    with threadpool_limits(args.threads):
        for name, part in parts.items():
            results[name] = part(args)
    common.save(args.output, results)


if __name__ == "__main__":
    main()
