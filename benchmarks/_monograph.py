"""What the studies of ``monograph.py`` share: graphs of similar pairs, solves, pages of maps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

N_NEIGHBORS = 15
FACTS = ("similar_pairs", "dissimilar_pairs", "iterations", "seconds", "average_distortion")


class Graph:
    """Similar pairs of the rows of X with their weights, and as many dissimilar pairs of weight -1.

    Similar pairs are the edges of a graph of 15 nearest neighbours; the weight is 2 if each is a
    neighbour of the other, else 1.
    """

    def __init__(self, X: np.ndarray, seed: int, threads: int) -> None:
        from skmde.preprocessing import edges_from_graph, nearest_neighbors, neighbor_graph

        self.n, self.seed, self.threads = len(X), seed, threads
        indices, distances, _ = nearest_neighbors(X, N_NEIGHBORS, random_state=seed, n_jobs=threads)
        self.similar, self.weights = edges_from_graph(neighbor_graph(indices, distances))

    def dissimilar(self, count: int) -> np.ndarray:
        """Pairs drawn at random among those that are not similar."""
        from skmde.preprocessing import sample_dissimilar

        return sample_dissimilar(self.n, count, self.similar, random_state=self.seed)

    def quadratic(self, m: int) -> tuple[Any, dict[str, Any]]:
        """The quadratic problem of the similar pairs, solved from a random start."""
        from skmde import MDE

        problem = MDE(
            self.n,
            m,
            self.similar,
            "quadratic",
            "standardized",
            weights=self.weights.astype(np.float32),
            n_jobs=self.threads,
        )
        return problem, solve(problem, None)

    def problem(
        self,
        m: int,
        attractive: Any,
        repulsive: Any,
        constraint: str,
        *,
        ratio: float = 1.0,
        weight: float = 1.0,
    ) -> Any:
        """The problem of similar and dissimilar pairs, a term each.

        `ratio` is the number of dissimilar pairs for each similar one, `weight` the magnitude of
        their weights.
        """
        from skmde import MDE, DistortionTerm

        far = self.dissimilar(round(ratio * len(self.similar)))
        terms = [
            DistortionTerm(self.similar, attractive, self.weights.astype(np.float32)),
            DistortionTerm(far, repulsive, np.full(len(far), -weight, np.float32)),
        ]
        return MDE(self.n, m, terms, constraint=constraint, n_jobs=self.threads)


def solve(problem: Any, start: Any, *, max_iter: int = 300, **options: Any) -> dict[str, Any]:
    """Solve a problem, and facts about the solve."""
    began = time.perf_counter()
    problem.embed(start, max_iter=max_iter, random_state=0, **options)
    seconds = time.perf_counter() - began
    weights = problem._edges.weights
    n_similar = int((weights > 0).sum())
    return {
        "similar_pairs": n_similar,
        "dissimilar_pairs": len(weights) - n_similar,
        "iterations": int(problem.result.n_iter),
        "seconds": seconds,
        "average_distortion": float(problem.value),
        "residual_norm": float(problem.residual_norm),
        "stopped": problem.result.reason,
    }


def compare(found: dict[str, dict[str, Any]], printed: dict[str, dict[str, Any]]) -> None:
    """Print the facts of each solve; the monograph's figure is in brackets where it has one."""
    import _common as common

    def cell(name: str, fact: str) -> str:
        value, known = found[name].get(fact), printed.get(name, {}).get(fact)
        text = "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
        return text if known is None else f"{text} ({known})"

    rows = [(name, *(cell(name, fact) for fact in FACTS)) for name in found]
    common.show(rows, ["problem (monograph's figure)", *(fact.replace("_", " ") for fact in FACTS)])


def page(
    path: Path | None,
    maps: Sequence[tuple[str, np.ndarray]],
    colors: np.ndarray,
    *,
    columns: int = 3,
    **options: Any,
) -> None:
    """A page of maps, one panel each; only the last panel explains the colours."""
    if path is None:
        return
    from matplotlib.figure import Figure

    from skmde.plotting import EmbeddingDisplay

    rows = -(-len(maps) // columns)
    figure = Figure(figsize=(5.2 * columns, 4.8 * rows), layout="constrained")
    for k, (title, X) in enumerate(maps):
        projection = "3d" if X.shape[1] == 3 else None
        ax = figure.add_subplot(rows, columns, k + 1, projection=projection)
        labels = "legend" if k == len(maps) - 1 else "none"
        EmbeddingDisplay.from_embedding(X, colors, ax=ax, **{"labels": labels, **options})
        ax.set_title(title)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a picture and print its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    print(f"picture: {path.name}")
