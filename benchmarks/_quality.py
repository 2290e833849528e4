"""Quality figures of several embeddings of one data set, on the same sampled rows.

Run as a process of its own by ``mnist.py`` with the path of a JSON file; prints one JSON line.
The figures are those of :func:`skmde.metrics.quality_report`, whose samples depend on the seed
alone: every program is asked about the same rows and triplets. Besides them

average_distortion
    Mean of w log(1 + d^1.5) over pairs with w > 0 and of w log(1 - exp(-d)) over the others (the
    default penalties of skmde and of PyMDE) on an edge list that is given, in float64.
"""

from __future__ import annotations

import json
import sys

import numpy as np

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


def main() -> None:
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    embeddings = {name: np.load(path)["embedding"] for name, path in spec["embeddings"].items()}
    data, labels, test = (np.load(spec[name]) for name in ("data", "labels", "test"))
    figures = {
        name: quality_report(data, X, labels, test=test if test.any() else None)
        for name, X in embeddings.items()
    }
    distortion: dict[str, dict[str, float]] = {}
    for owner in spec["edges_of"]:
        with np.load(spec["embeddings"][owner]) as arrays:
            edges, weights = arrays["edges"], arrays["weights"].astype(np.float64)
        distortion[owner] = {
            name: average_distortion(embeddings[name], edges, weights) for name in spec["edges_of"]
        }
    print(json.dumps({"figures": figures, "average_distortion": distortion}))


if __name__ == "__main__":
    main()
