"""Quality figures of several embeddings of one data set, on the same sampled rows.

Run as a process of its own by ``mnist.py`` with the path of a JSON file; prints one JSON line.
The figures are those of :func:`skmde.metrics.quality_report`, whose samples depend on the seed
alone: every program is asked about the same rows and triplets. Besides them

average_distortion
    Mean of w log(1 + d^1.5) over pairs with w > 0 and of w log(1 - exp(-d)) over the others (the
    default penalties of skmde and of PyMDE), in float64, on the edges of either program, which
    that program had the chance to fit its sample of repelling pairs to; and on *fresh* ones: the
    pairs that attract in both, and as many random pairs, which neither has seen.
same_problem
    The value that skmde reaches on PyMDE's own edges from PyMDE's own start, in as many iterations.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import numpy as np

from skmde import MDE
from skmde.metrics import quality_report


def average_distortion(X: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> float:
    """Average distortion under the default penalties, without skmde's own kernels."""
    X = X.astype(np.float64)
    d = np.sqrt(((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1))
    attract = weights > 0
    near, far = d[attract], np.maximum(d[~attract], 1e-12)
    total = weights[attract] @ np.log1p(near**1.5)
    total += weights[~attract] @ np.log(-np.expm1(-far))
    return float(total / len(edges))


def fresh_edges(lists: list[tuple[np.ndarray, np.ndarray]], n: int) -> tuple[Any, Any]:
    """Pairs that attract in every list, with weight 1, and as many random pairs that repel."""
    keys = []
    for edges, weights in lists:
        near = np.sort(edges[weights > 0].astype(np.int64), axis=1)
        keys.append(near[:, 0] * n + near[:, 1])
    shared = functools.reduce(np.intersect1d, keys)
    i, j = np.random.default_rng(21).integers(n, size=(2, len(shared)))
    taken = np.unique(np.concatenate(keys))
    apart = (i != j) & ~np.isin(np.minimum(i, j) * n + np.maximum(i, j), taken)
    near, far = np.stack(np.divmod(shared, n), axis=1), np.stack([i, j], axis=1)[apart]
    weights = np.concatenate([np.ones(len(near)), -np.ones(len(far))])
    return np.concatenate([near, far]), weights


def same_problem(path: str, n_iter: int) -> float:
    """Value that skmde reaches on another program's problem, from its starting point."""
    with np.load(path) as arrays:
        edges, weights, start = (arrays[name] for name in ("edges", "weights", "start"))
    problem = MDE(len(start), start.shape[1], edges, ("log1p", "log"), weights=weights)
    problem.embed(start, max_iter=n_iter)
    return float(problem.value)


def main() -> None:
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    embeddings = {name: np.load(path)["embedding"] for name, path in spec["embeddings"].items()}
    data, labels, test = (np.load(spec[name]) for name in ("data", "labels", "test"))
    figures = {
        name: quality_report(data, X, labels, test=test if test.any() else None)
        for name, X in embeddings.items()
    }
    answer: dict[str, Any] = {"figures": figures}
    lists = {}
    for owner in spec["edges_of"]:
        with np.load(spec["embeddings"][owner]) as arrays:
            lists[owner] = arrays["edges"], arrays["weights"].astype(np.float64)
    if len(lists) > 1:
        lists["fresh"] = fresh_edges(list(lists.values()), len(data))
    answer["average_distortion"] = {
        owner: {
            name: average_distortion(embeddings[name], edges, weights) for name in spec["edges_of"]
        }
        for owner, (edges, weights) in lists.items()
    }
    if "pymde" in lists:
        answer["same_problem"] = same_problem(spec["embeddings"]["pymde"], spec["n_iter"])
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
