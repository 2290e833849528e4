"""Quadratic problems: skmde's QuadraticMDE beside scikit-learn and scipy, in fresh processes.

    python benchmarks/quadratic.py --data mnist70k.npz

Three parts, which ``--parts`` chooses from:

- *mnist*: the Laplacian of 15 neighbours of each of the 70,000 images. The search for them does not
  count: skmde gets the tables, the others the matrix of weights. scikit-learn's SpectralEmbedding
  solves the normalized problem, which skmde solves beside it.
- *random*: a graph of 100,000 items and a million pairs, given as a matrix of weights, beside
  scipy's LOBPCG with Jacobi's preconditioner.
- *pca*: the weights of principal components, beside scikit-learn's PCA with each of its solvers.

Errors are those of eigenvalues, relative to precise ones: of the best vectors in the span of the
columns found, by this script. Seconds are those of a fit, after imports and a small problem.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import _common as common
import _contests as contests
import numpy as np
import quadratic_table
import scipy.linalg
import scipy.sparse as sp
from _contests import Entry
from scipy.sparse.linalg import eigsh

PARTS = ("mnist", "random", "pca")
DIMENSIONS = (2, 3)
LOBPCG = (20, 25, 60)  # iterations; it ends earlier when it meets its own tolerance
EIGEN_TOL = 1e-4  # with its default tolerance, SpectralEmbedding's lobpcg ends far off


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="quadratic", peers=False)
    common.add_data_option(p)
    contests.add_options(p)
    p.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--n-neighbors", type=int, default=15, help="neighbours in the part mnist")
    p.add_argument(
        "--direct",
        action="store_true",
        help="also scikit-learn's solver arpack in the part mnist, which factors the matrix and "
        "needs many GB",
    )
    args = p.parse_args()
    if args.output == p.get_default("output") and set(args.parts) != set(PARTS):
        args.output = args.output.with_name(f"quadratic_{'_'.join(args.parts)}.json")
    return args


def laplacian_of(weights: Any) -> tuple[Any, np.ndarray]:
    weights = sp.csr_array(weights, dtype=np.float64)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(degrees, format="csr") - weights), degrees


def bottom_values(laplacian: Any, mass: np.ndarray, k: int) -> np.ndarray:
    """The k smallest eigenvalues but for 0 of the pencil (laplacian, diag(mass)), precise."""
    root = sp.diags_array(1 / np.sqrt(mass), format="csr")
    matrix = sp.csr_array(root @ laplacian @ root)
    start = np.random.default_rng(0).standard_normal(len(mass))
    values = eigsh(matrix, k + 1, which="SA", ncv=80, tol=1e-9, v0=start, return_eigenvectors=False)
    return np.sort(values)[1:]


def values_of(embedding: np.ndarray, laplacian: Any, mass: np.ndarray) -> np.ndarray:
    """Ritz values of the columns, freed of constants."""
    X = np.asarray(embedding, dtype=np.float64)
    X = X - (mass @ X) / mass.sum()
    X, scale = X / np.linalg.norm(X, axis=0).max(), mass[:, None]
    keep = np.linalg.norm(X, axis=0) > 1e-3  # a constant column leaves rounding
    X = X[:, keep]
    return scipy.linalg.eigvalsh(X.T @ (laplacian @ X), X.T @ (scale * X))


def errors(found: np.ndarray, precise: np.ndarray) -> dict[str, Any]:
    relative = found[: len(precise)] / precise - 1
    return {
        "largest_error": float(np.abs(relative).max()),
        "sum_error": float(found[: len(precise)].sum() / precise.sum() - 1),
    }


def mnist(args: Any, folder: Path) -> dict[str, Any]:
    from skmde.preprocessing.graphs.weights import neighbor_graph
    from skmde.preprocessing.neighbors.search import nearest_neighbors

    X = common.mnist(args.data)[0].astype(np.float32)
    paths = {}
    for name, rows in (("small", X[:2000]), ("all", X)):
        indices, distances, _ = nearest_neighbors(rows, args.n_neighbors, random_state=0)
        weights = neighbor_graph(indices, distances)
        tables = {"neighbors": indices, "distances": distances}
        paths[name] = contests.save_graph(folder / f"mnist-{name}.npz", weights, **tables)
    laplacian, degrees = laplacian_of(weights)
    out: dict[str, Any] = {"n_items": len(X), "n_pairs": weights.nnz // 2}
    print(f"MNIST, {out['n_pairs']:,} pairs of {args.n_neighbors} neighbours", flush=True)
    ones = np.ones(len(X))
    precise = {
        "plain": bottom_values(laplacian, ones, max(DIMENSIONS)),
        "normalized": bottom_values(laplacian, degrees, max(DIMENSIONS)),
    }
    out["eigenvalues"] = {name: values.tolist() for name, values in precise.items()}
    for m in DIMENSIONS:
        for kind, mass in (("plain", ones), ("normalized", degrees)):
            target = precise[kind][:m]

            def judge(found: Any, mass: Any = mass, target: Any = target) -> dict[str, Any]:
                return errors(values_of(found["embedding"], laplacian, mass), target)

            print(f"{kind} Laplacian, m = {m}", flush=True)
            rows = entries(kind, m, args.direct)
            key = f"{kind} m={m}"
            out[key] = contests.contest(rows, paths["all"], paths["small"], judge, args, folder)
    return out


def entries(kind: str, m: int, direct: bool) -> list[Entry]:
    size = {"n_components": m}
    if kind == "plain":
        single = {**size, "dtype": "float32", "tol": 1e-4}
        return [
            Entry("skmde", "skmde_graph", {**size, "weights": "laplacian"}),
            Entry("scipy eigsh, float32", "lanczos", single),
        ]
    solvers = {"lobpcg": {"eigen_tol": EIGEN_TOL}, "lobpcg, default tolerance": {}}
    if direct:
        solvers["arpack"] = {}
    if not common.inspect_python(sys.executable, "pyamg", ())["missing"]:
        solvers["amg"] = {"eigen_tol": EIGEN_TOL}
    rows = [Entry("skmde", "skmde_graph", {**size, "weights": "normalized_laplacian"})]
    for name, params in solvers.items():
        params = {**size, "eigen_solver": name.split(",")[0], **params}
        rows.append(Entry(f"SpectralEmbedding {name}", "spectral_embedding", params))
    return rows


def random(args: Any, folder: Path) -> dict[str, Any]:
    n, p, m = 100_000, 1_000_000, 2
    paths = {}
    for name, (items, pairs) in {"small": (1000, 10_000), "all": (n, p)}.items():
        edges = quadratic_table.random_edges(items, pairs, 0)
        upper = sp.coo_array((np.ones(pairs), edges.T), shape=(items, items)).tocsr()
        graph = sp.csr_array(upper + upper.T)
        paths[name] = contests.save_graph(folder / f"random-{name}.npz", graph)
    best = quadratic_table.optimum(n, p, m, 0, edges)
    laplacian, _ = laplacian_of(graph)

    def judge(found: Any) -> dict[str, Any]:
        value = n / p * values_of(found["embedding"], laplacian, np.ones(n)).sum()
        return {"value": float(value), "gap_percent": float(100 * (value / best - 1))}

    print(f"random graph, n = {n:,}, p = {p:,}, m = {m}, optimum {best:.6g}", flush=True)
    rows = [Entry("skmde", "skmde_weights", {"n_components": m})]
    rows.append(Entry("skmde, tol=0.03", "skmde_weights", {"n_components": m, "tol": 0.03}))
    for maxiter in LOBPCG:
        params = {"n_components": m, "maxiter": maxiter}
        rows.append(Entry(f"scipy lobpcg, {maxiter} iterations", "lobpcg", params))
    found = contests.contest(rows, paths["all"], paths["small"], judge, args, folder)
    return {"n": n, "p": p, "m": m, "optimum": best, "programs": found}


def pca(args: Any, folder: Path) -> dict[str, Any]:
    X = common.mnist(args.data)[0].astype(np.float32)
    np.savez(folder / "pca-all.npz", X=X)
    np.savez(folder / "pca-small.npz", X=X[:1000])
    centred = X.astype(np.float64)
    centred -= centred.mean(axis=0)
    precise = np.linalg.eigvalsh(centred.T @ centred)[::-1][:2]
    del centred
    size = {"n_components": 2}
    rows = [Entry("skmde", "skmde_pca", size)]
    for solver in ("covariance_eigh", "randomized", "arpack"):
        rows.append(Entry(f"PCA {solver}", "pca", {**size, "svd_solver": solver}))
    print(f"principal components of {X.shape[0]:,} x {X.shape[1]}, m = 2", flush=True)

    def judge(found: Any) -> dict[str, Any]:
        return errors(found["variances"], precise)

    paths = folder / "pca-all.npz", folder / "pca-small.npz"
    return contests.contest(rows, *paths, judge, args, folder)


def main() -> None:
    args = arguments()
    record: dict[str, Any] = {"threads": args.threads, "repeat": args.repeat}
    record["versions"] = contests.versions()
    with common.scratch() as folder:
        for part in args.parts:
            record[part] = globals()[part](args, folder)
    common.save(args.output, record)


if __name__ == "__main__":
    main()
