"""The estimators that the list of faults and the property tests run over.

One entry of ``CASES`` for each: how to make it, which targets it needs, what kinds of input it
takes and what it promises. A new estimator is covered by adding its name here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)


def no_target(rows):
    """Nothing is asked of y."""
    return None


def coordinates(rows):
    """Every sixth sample is anchored at its first two coordinates; NaN for the others."""
    y = np.full((len(rows), 2), np.nan)
    y[::6, 0] = rows[::6, 0]
    y[::6, 1] = rows[::6, 1] if rows.shape[1] > 1 else 0.0
    return y


def labels(rows):
    """Every sixth sample has a label, the third in which its first coordinate is; else NaN."""
    y = np.full(len(rows), np.nan)
    y[::6] = np.searchsorted(np.quantile(rows[:, 0], [1 / 3, 2 / 3]), rows[::6, 0])
    return y


def first_direction(Y):
    """Where along the longest direction of the embedding each sample is."""
    return PCA(1).fit_transform(Y)[:, 0]


@dataclass(frozen=True)
class Case:
    """An estimator as the tests see it."""

    estimator: Any
    # targets for rows of data
    y: Callable[[np.ndarray], Any] = no_target
    # the fitted samples' result, and the method that answers for unseen ones
    result: str = "embedding_"
    answer: str = "transform"
    # parameters under which rounding does not decide where a solve ends
    smooth: dict = field(default_factory=dict)
    # what metric="precomputed" reads: "matrix", "graph", "tables"
    precomputed: frozenset = frozenset({"matrix", "graph", "tables"})
    # no two samples, copies neither, get the same place
    distinct: bool = False
    # distances are what it keeps, so that copies get one place
    keeps_distances: bool = False
    # pairs are those of neighbours and nothing else
    pairs_are_neighbors: bool = True
    # an embedding has fewer dimensions than samples
    bounded_components: bool = True
    # samples that no chain of pairs joins are warned of
    warns_of_parts: bool = False
    # a coordinate that grows along a line of samples
    along: Callable[[np.ndarray], np.ndarray] = first_direction
    # pairs (i, j) of the problem that was solved, those that repel left out
    pairs: Callable[[Any], np.ndarray] = lambda fitted: fitted.edges_
    # parameters under which it computes in other ways than by default
    ways: tuple[dict, ...] = ()
    # parameters of a fit of 20,000 rows that is over soon
    large: dict = field(default_factory=dict)

    @property
    def classifies(self):
        """Whether results are probabilities rather than coordinates."""
        return self.answer == "predict_proba"

    def make(self, **params):
        """The estimator, not fitted."""
        return clone(self.estimator).set_params(**params)

    def has(self, *names):
        """Whether it has these parameters."""
        return set(names) <= set(self.estimator.get_params(deep=False))

    def fit(self, X, rows=None, *, y=None, quiet=True, **params):
        """Fitted to X, in which a warning is an error, unless it is one of ours and `quiet`.

        The targets are those of `rows`, the data as an array, or of X itself.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
            if quiet:
                warnings.simplefilter("ignore", UserWarning)
            if y is None:
                y = self.y(X if rows is None else rows)
            return self.make(**params).fit(X, y)

    def found(self, fitted):
        """Coordinates, or probabilities of the classes, of the fitted samples."""
        return getattr(fitted, self.result)

    def ask(self, fitted, X):
        """Coordinates, or probabilities of the classes, of samples."""
        return getattr(fitted, self.answer)(X)


def attractive(fitted):
    """Pairs of PreserveNeighbors that attract."""
    return fitted.edges_[fitted.weights_ > 0]


def of_graph(fitted):
    """Pairs that a graph stores."""
    return np.argwhere(np.triu(fitted.graph_.toarray(), 1) != 0)


CASES = {
    "PreserveNeighbors": Case(
        PreserveNeighbors(random_state=0),
        # The same start for every form of the data: distances have no principal components.
        smooth={"init": "quadratic"},
        distinct=True,
        pairs=attractive,
        ways=(
            {"init": "pca"},
            {"init": "random", "constraint": "standardized"},
            {"neighbors_algorithm": "torch"},
            *([{"neighbors_algorithm": "faiss"}] if find_spec("faiss") else []),
            {"n_components": 40},
            {"metric": "manhattan", "repulsive_penalty": None},
        ),
        large={"max_iter": 2},
    ),
    "PreserveDistances": Case(
        PreserveDistances(random_state=0),
        smooth={"loss": "squared"},
        precomputed=frozenset({"matrix", "graph"}),
        keeps_distances=True,
        pairs_are_neighbors=False,
        ways=(
            {"loss": "fractional", "constraint": "standardized", "init": "random"},
            {"metric": "manhattan", "max_pairs": 3000},
            {"metric": "cosine", "loss": "logistic"},
            {"n_neighbors": 6, "max_pairs": 20_000},
            {"n_components": 12, "loss": "squared"},
            {"metric": "precomputed"},
            {"metric": "graph"},
            {"metric": "graph", "max_pairs": 5000, "loss": "kamada_kawai"},
            {"metric": "graph", "max_path_length": 3.0, "max_pairs": 2000},
        ),
        large={"max_iter": 2, "max_pairs": 50_000},
    ),
    "QuadraticMDE": Case(
        QuadraticMDE(random_state=0),
        warns_of_parts=True,
        along=lambda Y: Y[:, 0],
        pairs=of_graph,
        ways=({"weights": "normalized_laplacian"}, {"weights": "classical_mds"}),
        large={"max_iter": 2},
    ),
    "QuadraticMDE of paths": Case(
        QuadraticMDE(weights="isomap", random_state=0),
        keeps_distances=True,
        warns_of_parts=True,
        pairs_are_neighbors=False,
        along=lambda Y: Y[:, 0],
        pairs=lambda fitted: np.argwhere(np.triu(np.ones((len(fitted.embedding_),) * 2), 1)),
    ),
    "AnchoredMDE": Case(
        AnchoredMDE(random_state=0),
        y=coordinates,
        bounded_components=False,
        warns_of_parts=True,
        along=lambda Y: Y[:, 0],
        ways=(
            {"attractive_penalty": "huber"},
            {"attractive_penalty": "log1p", "repulsive_penalty": "log"},
        ),
    ),
    "AnchoredMDE of distances": Case(
        AnchoredMDE(loss="squared", random_state=0),
        y=coordinates,
        precomputed=frozenset({"matrix", "graph"}),
        keeps_distances=True,
        pairs_are_neighbors=False,
        bounded_components=False,
        warns_of_parts=True,
        along=lambda Y: Y[:, 0],
        large={"max_iter": 1},
    ),
    "AnchoredClassifier": Case(
        AnchoredClassifier(random_state=0),
        y=labels,
        result="label_distributions_",
        answer="predict_proba",
        warns_of_parts=True,
        along=lambda P: P.argmax(axis=1).astype(float),
        pairs=lambda fitted: fitted.embedding_estimator_.edges_,
    ),
}


def over(applies=lambda case: True):
    """Run a test over the cases that it applies to, as argument `case`."""
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=name) for name, case in CASES.items() if applies(case)]
    )


def assert_finite(Y, shape=()):
    """Numbers, in an array of this shape, or of so many rows."""
    shape = (shape,) if isinstance(shape, int) else shape
    assert Y.shape[: len(shape)] == shape
    assert np.isfinite(Y).all()


def n_distinct(Y):
    """Number of different rows."""
    return len(np.unique(Y, axis=0))
