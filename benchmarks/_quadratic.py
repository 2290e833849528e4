"""Solves quadratic problems with one program, in the process that this file is started in.

Started by ``quadratic_table.py`` with the path of a JSON file. The first problem is solved
twice and only the second time counts, so that neither compilation nor warm-up is in a row.
"""

import json
import sys
import time

import numpy as np
import torch


def spectral_problem(n, m, edges):
    import scipy.sparse

    ones = np.ones(len(edges), dtype=np.float32)
    upper = scipy.sparse.coo_array((ones, edges.T), shape=(n, n))
    return scipy.sparse.csr_array(upper + upper.T), m, skmde_problem(n, m, edges)


def spectral_solve(problem, start, n_iter):
    from skmde._utils.threads import count_threads
    from skmde.core.spectral.laplacian import laplacian_embedding

    graph, m, mde = problem
    began = time.perf_counter()
    X = laplacian_embedding(graph, m, max_iter=n_iter, n_threads=count_threads())
    seconds = time.perf_counter() - began
    return mde.average_distortion(X), n_iter, seconds


def skmde_problem(n, m, edges):
    import skmde

    weights = np.ones(len(edges), dtype=np.float32)
    return skmde.MDE(
        n, m, edges, skmde.penalties.Quadratic(), skmde.Standardized(), weights=weights
    )


def skmde_solve(problem, start, n_iter):
    began = time.perf_counter()
    problem.embed(start, tol=0.0, max_iter=n_iter)
    seconds = time.perf_counter() - began
    return float(problem.value), int(problem.result.n_iter), seconds


def pymde_problem(n, m, edges):
    import pymde

    weights = torch.ones(len(edges))
    return pymde.MDE(
        n,
        m,
        torch.tensor(edges, dtype=torch.int64),
        pymde.penalties.Quadratic(weights),
        pymde.Standardized(),
    )


def pymde_solve(problem, start, n_iter):
    began = time.perf_counter()
    problem.embed(start, eps=0.0, max_iter=n_iter)
    seconds = time.perf_counter() - began
    return float(problem.value), len(problem.solve_stats.average_distortions), seconds


PROGRAMS = {
    "skmde": (spectral_problem, spectral_solve),
    "skmde-lbfgs": (skmde_problem, skmde_solve),
    "pymde": (pymde_problem, pymde_solve),
}


def standardized_start(n, m):
    """A random standardized matrix, the same for both programs."""
    X = np.random.default_rng(0).standard_normal((n, m))
    X -= X.mean(axis=0)
    values, vectors = np.linalg.eigh(X.T @ X / n)
    return torch.tensor(X @ (vectors / np.sqrt(values)) @ vectors.T, dtype=torch.float32)


def main():
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    build, solve = PROGRAMS[spec["program"]]
    rows = []
    for row in [spec["rows"][0], *spec["rows"]]:
        edges = np.load(row["edges"])
        problem = build(row["n"], row["m"], edges)
        start = standardized_start(row["n"], row["m"])
        value, n_iter, seconds = solve(problem, start.clone(), spec["n_iter"])
        rows.append({"seconds": seconds, "value": value, "n_iter": n_iter})
    with open(spec["out"], "w") as file:
        json.dump(rows[1:], file)


if __name__ == "__main__":
    main()
