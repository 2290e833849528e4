"""What a user's type checker sees: ``make typecheck`` runs mypy over this file, strictly.

Nothing here is run. An expectation that is not met is an error of mypy, and so is a comment
``type: ignore`` that is not needed.
"""

from typing import assert_type

import numpy as np
import torch

import skmde
from skmde import (
    MDE,
    AnchoredClassifier,
    AnchoredMDE,
    Huber,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
    Standardized,
)

X = np.zeros((10, 3))
y = np.zeros(10)


def callback(state: skmde.SolveResult) -> None:
    print(state)


def penalty(d: torch.Tensor) -> torch.Tensor:
    return d**2


neighbors = PreserveNeighbors(3, n_neighbors=5, attractive_penalty=penalty, callbacks=[callback])
assert_type(neighbors.fit(X), PreserveNeighbors)
assert_type(neighbors.fit(X, y, sample_weight=y), PreserveNeighbors)
assert_type(neighbors.fit_transform(X), np.ndarray)
assert_type(neighbors.transform(X), np.ndarray)
assert_type(neighbors.score(X), float)
assert_type(neighbors.score_samples(X), np.ndarray)
assert_type(neighbors.fit(X).extend(X).compact(), PreserveNeighbors)

distances = PreserveDistances(loss="squared", constraint=Standardized(), max_pairs=1e6)
assert_type(distances.fit(X, pair_weights=X).transform(X), np.ndarray)
assert_type(distances.edges_, np.ndarray)

assert_type(QuadraticMDE(weights="pca", tol=None).fit(X), QuadraticMDE)
assert_type(AnchoredMDE(attractive_penalty=Huber(0.5)).fit(X, anchors=[0]), AnchoredMDE)
assert_type(AnchoredClassifier().fit(X, y).predict(X), np.ndarray)
assert_type(MDE(10, 2, [[0, 1]], "quadratic").embed(), torch.Tensor)

PreserveNeighbors(perplexity=30)  # type: ignore[call-arg]
PreserveNeighbors(n_components="2")  # type: ignore[arg-type]
PreserveDistances(loss=3)  # type: ignore[arg-type]
skmde.PreserveNeighbours  # type: ignore[attr-defined]  # noqa: B018
