"""The monograph's table 7.1: quadratic problems of many sizes, skmde beside PyMDE.

    python benchmarks/quadratic_table.py --peer-python PATH

Random graphs with unit weights, standardized embeddings, 40 iterations each. "skmde" is its
spectral solver (``skmde/core/spectral.py``), which the estimators start from; "skmde-lbfgs" and
PyMDE run projected L-BFGS from the same random start. The optimum is known: (n / p) times the sum
of the m smallest eigenvalues of the graph's Laplacian that belong to vectors orthogonal to the
ones (monograph, chapter 3). It is computed here by Lanczos and kept in
``results/quadratic_optima.json``.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import _common as common
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

SIZES = ((1_000, 10_000), (10_000, 100_000), (100_000, 1_000_000))
DIMENSIONS = (2, 10, 100)
OPTIMA = common.RESULTS / "quadratic_optima.json"

# (E after 40 iterations, E of a global solution), as printed in the monograph
MONOGRAPH = {
    (1_000, 2): (1.432, 1.432),
    (1_000, 10): (7.797, 7.795),
    (1_000, 100): (104.5, 104.5),
    (10_000, 2): (1.007, 1.007),
    (10_000, 10): (6.066, 6.065),
    (10_000, 100): (81.12, 81.08),
    (100_000, 2): (0.935, 0.931),
    (100_000, 10): (5.152, 5.137),
    (100_000, 100): (63.61, 63.51),
}


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="quadratic_table")
    names = ["skmde", "skmde-lbfgs", "pymde"]
    p.add_argument("--programs", nargs="+", choices=names, default=names)
    p.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each program")
    p.add_argument("--n-iter", type=int, default=40, help="iterations of each solve")
    p.add_argument(
        "--instances",
        type=int,
        default=1,
        metavar="N",
        help="random graphs of each size; how close 40 iterations come depends on the graph",
    )
    p.add_argument(
        "--sizes",
        type=json.loads,
        default=SIZES,
        metavar="[[ITEMS, PAIRS], ...]",
        help="such as '[[1000000, 10000000]]', which the monograph does not have",
    )
    p.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS)
    p.add_argument("--max-items", type=int, default=100_000, help="leave larger problems out")
    p.add_argument(
        "--full",
        action="store_true",
        help="also n = 100,000 in 100 dimensions, which takes PyMDE minutes",
    )
    return p.parse_args()


def random_edges(n: int, p: int, instance: int) -> np.ndarray:
    """p unique pairs i < j, uniform among all n (n - 1) / 2."""
    rng = np.random.default_rng(n + instance)
    code = np.sort(rng.choice(n * (n - 1) // 2, size=p, replace=False))
    # pair number c is (i, j) with c = j (j - 1) / 2 + i; the root may be off by rounding
    j = ((1 + np.sqrt(1 + 8 * code.astype(float))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > code
    j += j * (j + 1) // 2 <= code
    return np.stack([code - j * (j - 1) // 2, j], axis=1)


def optimum(n: int, p: int, m: int, instance: int, edges: np.ndarray) -> float:
    """Average distortion of a global solution."""
    key = f"n={n} p={p} m={m} instance={instance}"
    known = json.loads(OPTIMA.read_text()) if OPTIMA.exists() else {}
    if key not in known:
        print(f"computing the optimum for {key}", flush=True)
        ones = np.ones(len(edges))
        adjacency = scipy.sparse.coo_array((ones, edges.T), shape=(n, n)).tocsr()
        laplacian = scipy.sparse.csgraph.laplacian(adjacency + adjacency.T).tocsr()
        # the wanted end of the spectrum becomes the largest, where Lanczos needs no solves;
        # the ones vector is among the m + 1 values found, with eigenvalue 0
        bound = 2.0 * laplacian.diagonal().max()
        shifted = bound * scipy.sparse.eye_array(n, format="csr") - laplacian
        start = np.random.default_rng(0).standard_normal(n)
        largest = scipy.sparse.linalg.eigsh(
            shifted,
            m + 1,
            which="LA",
            v0=start,
            ncv=min(n, max(2 * m + 1, 60)),
            tol=1e-8,
            return_eigenvectors=False,
        )
        values = np.sort(bound - largest)
        known[key] = float(n / p * values[1:].sum())
        common.RESULTS.mkdir(exist_ok=True)
        OPTIMA.write_text(json.dumps(known, indent=1) + "\n")
    return float(known[key])


def solve_all(
    program: str, rows: list[dict[str, Any]], args: Any, folder: Path
) -> list[dict[str, Any]] | None:
    """Solve every problem in one fresh process of the program."""
    out = folder / f"{program}.json"
    spec = {"program": program, "rows": rows, "n_iter": args.n_iter, "out": str(out)}
    (folder / "spec.json").write_text(json.dumps(spec))
    done = subprocess.run(
        [
            common.interpreter(program, args.peer_python),
            str(common.HERE / "_quadratic.py"),
            str(folder / "spec.json"),
        ],
        env=common.environment(args.threads),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{program} failed with exit status {done.returncode}: {last}", flush=True)
        return None
    answer: list[dict[str, Any]] = json.loads(out.read_text())
    return answer


def table(rows: list[dict[str, Any]], programs: list[str]) -> None:
    both = {"skmde", "pymde"} <= set(programs)
    header = ["n", "p", "m", "graph"]
    for program in programs:
        header += [f"{program} s", "E", "gap %"]
    header += ["E*", "monograph E", "E*"] + (["pymde / skmde"] if both else [])
    lines = []
    for row in rows:
        line = [f"{row['n']:,}", f"{row['p']:,}", str(row["m"]), str(row["instance"])]
        for program in programs:
            run = row[program]
            line += [f"{run['seconds']:.2f}", f"{run['value']:.4f}", f"{run['gap_percent']:.3f}"]
        line += [f"{row['optimum']:.4f}", *(f"{e:g}" for e in row["monograph"] or (np.nan, np.nan))]
        if both:
            line.append(f"{row['pymde']['seconds'] / row['skmde']['seconds']:.1f}")
        lines.append(line)
    common.show(lines, header)


def problems(args: Any, folder: Path) -> list[dict[str, Any]]:
    """The rows of the table, with their optima; edges are written to files."""
    rows = []
    for n, p in args.sizes:
        edges = {}
        for m in args.dimensions:
            if n > args.max_items or ((n, m) == (100_000, 100) and not args.full):
                continue
            for instance in range(args.instances):
                path = folder / f"edges-{n}-{instance}.npy"
                if instance not in edges:
                    edges[instance] = random_edges(n, p, instance)
                    np.save(path, edges[instance])
                best = optimum(n, p, m, instance, edges[instance])
                row = {"n": n, "p": p, "m": m, "instance": instance, "edges": str(path)}
                rows.append({**row, "optimum": best, "monograph": MONOGRAPH.get((n, m), ())})
    return rows


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python)
    with common.scratch() as folder:
        rows = problems(args, folder)
        done: dict[str, list[list[dict[str, Any]]]] = {program: [] for program in programs}
        for _ in range(args.repeat):
            for program in programs:
                answer = solve_all(program, rows, args, folder)
                if answer is not None:
                    done[program].append(answer)
    programs = [program for program in programs if done[program]]
    for k, row in enumerate(rows):
        del row["edges"]
        for program in programs:
            runs = [answer[k] for answer in done[program]]
            value = runs[0]["value"]
            row[program] = {
                "seconds": common.median([r["seconds"] for r in runs]),
                "value": value,
                "gap_percent": 100 * (value / row["optimum"] - 1),
                "n_iter": runs[0]["n_iter"],
            }
    table(rows, programs)
    common.save(
        args.output,
        {
            "threads": args.threads,
            "repeat": args.repeat,
            "versions": versions,
            "n_iter": args.n_iter,
            "rows": rows,
        },
    )


if __name__ == "__main__":
    main()
