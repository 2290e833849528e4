"""Random problems: what the property tests draw, and what `make fuzz` draws for longer.

A problem is a `Recipe`, whose repr is the call that makes it again, arrays and all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import skmde
from skmde import penalties
from skmde.functions.registry import NAMED_LOSSES as LOSSES
from skmde.penalties import PENALTIES

N_UNSEEN = 4
ARRAYS = {"array": 1.0, "huge array": 1e40, "tiny array": 1e-40}  # starting points, and their size
ESTIMATORS = [
    "PreserveNeighbors",
    "PreserveDistances",
    "QuadraticMDE",
    "AnchoredMDE",
    "AnchoredClassifier",
]


class Call:
    """A function of the user's, with a repr that makes it again."""

    def __repr__(self):
        return f"{type(self).__name__}()"


class Bowl(Call):
    """A penalty."""

    def __call__(self, d):
        return d**2 / (1 + d)


class Gap(Call):
    """A loss."""

    def __call__(self, delta, d):
        return (delta - d) ** 2 / (1 + delta)


class Taxi(Call):
    """A metric."""

    def __call__(self, a, b):
        return float(np.abs(a - b).sum())


@dataclass(frozen=True)
class Recipe:
    """A problem: data, how they are stored, targets and parameters."""

    estimator: str
    n: int = 10
    d: int = 3
    seed: int = 0
    # how rows are spread, their size and place, and a value in some of them
    spread: str = "normal"
    scale: float = 1.0
    shift: float = 0.0
    hole: float | None = None
    # what is passed: rows, or a matrix, graph or tables of their distances; its type, its container
    kind: str = "rows"
    dtype: str = "float64"
    form: str = "array"
    n_anchors: int = 3
    # part of the samples, or of the pairs, whose weight is 0; None for no weights
    weightless: float | None = None
    params: dict = field(default_factory=dict)

    def make(self):
        """The estimator, not fitted."""
        params = dict(self.params)
        if params.get("init") in ARRAYS:
            m = params.get("n_components", 2) or 2
            size = self._unit() * ARRAYS[params["init"]]
            params["init"] = size * self._rng(1).standard_normal((self.n, m))
        if params.get("constraint") == "anchored":
            m = params.get("n_components", 2)
            params["constraint"] = skmde.Anchored(*self.anchors(m))
        if self.estimator != "AnchoredClassifier" or "random_state" not in params:
            params.setdefault("random_state", self.seed)
        return getattr(skmde, self.estimator)(**params)

    def _unit(self):
        """Size of coordinates: that of the distances, if these are to be kept."""
        return self.scale if self.estimator == "PreserveDistances" else 1.0

    def _rng(self, stream):
        return np.random.default_rng([self.seed, stream])

    def anchors(self, m):
        """Samples with given coordinates, and these."""
        rng = self._rng(2)
        chosen = rng.permutation(self.n)[: min(self.n_anchors, self.n)]
        return chosen, self._unit() * rng.standard_normal((len(chosen), m))

    def y(self):
        """Targets, where the estimator takes some."""
        if self.estimator == "AnchoredMDE":
            m = self.params.get("n_components") or 2
            y = np.full((self.n, m), np.nan)
            chosen, values = self.anchors(m)
            y[chosen] = values
            return y
        if self.estimator == "AnchoredClassifier":
            y = np.full(self.n, np.nan)
            chosen, values = self.anchors(1)
            y[chosen] = np.floor(values[:, 0])
            return y
        if self.params.get("target_weight"):
            return self._rng(2).integers(-1, 3, self.n)
        return None

    def fit_params(self):
        """Weights of samples, or of pairs, where the estimator takes some."""
        if self.weightless is None:
            return {}
        rng, n = self._rng(3), self.n
        if self.estimator == "PreserveNeighbors":
            return {"sample_weight": (rng.random(n) >= self.weightless) * rng.uniform(0.5, 2.0, n)}
        if self.estimator == "PreserveDistances":
            W = (rng.random((n, n)) >= self.weightless) * rng.uniform(0.5, 2.0, (n, n))
            return {"pair_weights": W + W.T}
        return {}

    def rows(self):
        """All samples as rows, those that the fit does not see last; and these alone."""
        n, d, rng = self.n + N_UNSEEN, self.d, self._rng(0)
        X = rng.standard_normal((n, d))
        if self.spread == "integers":
            X = rng.integers(0, 3, (n, d)).astype(float)
        elif self.spread == "equal":
            X = np.ones((n, d))
        elif self.spread == "line":
            X = np.outer(rng.random(n), np.ones(d))
        elif self.spread == "blobs":
            X = X + 100.0 * rng.integers(0, 3, (n, 1))
        elif self.spread == "copies":
            X = X[rng.integers(0, min(3, n), n)]
        elif self.spread == "mostly zeros":
            X = np.where(rng.random((n, d)) < 0.3, X, 0.0)
        elif self.spread == "far":
            X = X * 10.0 ** rng.integers(-6, 7, (n, 1))
        return X

    def data(self):
        """What is passed to `fit`, to `transform` and to `extend`."""
        X = self.rows()
        if self.kind == "rows":
            with np.errstate(all="ignore"):
                X = (self.scale * X + self.scale * self.shift).astype(self.dtype)
                if self.hole is not None and X.dtype.kind == "f":
                    X[:: self.n // 2 + 1, 0] = self.hole
            return self._stored(X[: self.n]), self._stored(X[self.n :]), self._stored(X[self.n :])
        D = self.scale * cdist(X, X)
        if self.hole is not None and self.n > 1:
            D[0, 1] = D[1, 0] = self.hole
        fit, unseen, further = D[: self.n, : self.n], D[self.n :, : self.n], D[self.n :]
        if self.kind == "matrix":
            return fit, unseen, further
        k = max(1, min(4, self.n - 1))
        if self.kind == "graph":
            return sparsest(fit, k, apart=True), sparsest(unseen, k), sparsest(further, k)
        return tables(fit, k, apart=True), tables(unseen, k), tables(unseen, k)

    def _stored(self, X):
        """X in the container that the recipe names."""
        form = self.form
        if form == "array":
            return X
        if form == "fortran":
            return np.asfortranarray(X)
        if form == "strided":
            return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
        if form == "reversed":
            return X[:, ::-1]
        if form == "read-only":
            X = X.copy()
            X.flags.writeable = False
            return X
        if form == "list":
            return X.tolist()
        if form == "frame":
            return pd.DataFrame(X)
        # neither scipy nor torch has these types
        X = X.astype(np.float64) if X.dtype == object else X.astype(X.dtype.newbyteorder("="))
        if form == "tensor":
            return torch.tensor(np.ascontiguousarray(X))
        X = X.astype(np.float32) if X.dtype == np.float16 else X
        return getattr(sp, f"{form}_array")(X)


def sparsest(D, k, apart=False):
    """The k smallest entries of each row, zeros stored; the diagonal left out if `apart`."""
    indices, values = tables(D, k, apart)
    i = np.repeat(np.arange(len(D)), indices.shape[1])
    keep = np.isfinite(values.ravel())
    shape = (i[keep], indices.ravel()[keep])
    return sp.coo_array((values.ravel()[keep], shape), shape=D.shape).tocsr()


def tables(D, k, apart=False):
    """Indices of the k smallest entries of each row, and these entries."""
    D = D + np.diag(np.full(len(D), np.inf)) if apart else D
    indices = np.argsort(D, axis=1, kind="stable")[:, :k]
    return indices, np.take_along_axis(D, indices, axis=1)


def _functions(named, objects):
    return st.sampled_from([*named, *objects])


ATTRACTIVE = _functions(
    PENALTIES,
    [
        penalties.Log1p(2.0),
        penalties.Huber(0.1),
        penalties.Power(1.2),
        penalties.Barrier(0.1),
        Bowl(),
    ],
)
REPULSIVE = _functions(
    PENALTIES, [penalties.InversePower(2.0), penalties.Hinge(2.0), penalties.LogRatio(1.0), Bowl()]
)
ANY_LOSS = _functions(
    LOSSES, [skmde.HuberLoss(0.1), skmde.PowerLoss(1.5), skmde.SoftFractionalLoss(2.0), Gap()]
)
METRICS = st.sampled_from(
    [
        *["euclidean"] * 4,
        "cosine",
        "manhattan",
        "chebyshev",
        "correlation",
        "jaccard",
        "canberra",
        "braycurtis",
        "hamming",
        "sqeuclidean",
        Taxi(),
    ]
)
SEARCHES = ["auto", "exact", "torch", *(["faiss"] if find_spec("faiss") else [])]
SPREADS = ["normal", "integers", "equal", "line", "blobs", "copies", "mostly zeros", "far"]
# the last are refused, or some of them, as their squares are no numbers
SCALES = [*[1.0] * 4, *[1e-3, 1e3, 1e-25, 1e25, 1e-90, 1e90], *[1e-150, 1e150, 1e-300, 1e300]]
DTYPES = ["float64", "float64", "float32", "float16", "int64", "uint8", "bool", "object", ">f8"]
FORMS = [
    *("array", "fortran", "strided", "reversed", "read-only"),
    *("list", "frame", "tensor", "csr", "csc", "coo"),
]


def _optional(**strategies):
    """Each parameter is there or has its default."""
    return st.fixed_dictionaries({}, optional=strategies)


def _solver():
    return {
        "max_iter": st.sampled_from([0, 1, 5, 40]),
        "tol": st.sampled_from([0.0, 1e-5, 1e-1]),
        "memory_size": st.integers(1, 6),
    }


def _input(n):
    return {
        "n_neighbors": st.one_of(st.none(), st.integers(1, n + 2)),
        "metric": METRICS,
        "max_distance": st.sampled_from([None, None, 1e-6, 0.5, 2.0, 1e9]),
        "neighbors_algorithm": st.sampled_from(SEARCHES),
    }


def parameters(estimator, n):
    """Parameters of an estimator of n samples, not all of which go together."""
    repulsive = st.one_of(st.none(), REPULSIVE)
    m = st.integers(1, 4)
    constraint = st.sampled_from([None, "centered", "standardized", "anchored"])
    if estimator == "PreserveNeighbors":
        return _optional(
            n_components=m,
            attractive_penalty=ATTRACTIVE,
            repulsive_penalty=repulsive,
            repulsive_fraction=st.sampled_from([None, 0.01, 0.5, 3.0]),
            constraint=constraint,
            target_weight=st.sampled_from([0.0, 0.5]),
            init=st.sampled_from(["quadratic", "pca", "random", *ARRAYS]),
            **_input(n),
            **_solver(),
        )
    if estimator == "PreserveDistances":
        given = _input(n)
        del given["max_distance"]
        return _optional(
            n_components=m,
            loss=ANY_LOSS,
            max_path_length=st.sampled_from([None, None, 1e-6, 2.0]),
            max_pairs=st.sampled_from([1, 5, 50, np.inf]),
            constraint=constraint,
            init=st.sampled_from(["classical", "pca", "random", *ARRAYS]),
            **given,
            **_solver(),
        )
    if estimator == "QuadraticMDE":
        given = _input(n)
        del given["max_distance"]
        return _optional(
            n_components=m,
            weights=st.sampled_from(
                [
                    *("laplacian", "normalized_laplacian", "pca", "kernel_pca"),
                    *("lle", "classical_mds", "isomap"),
                ]
            ),
            kernel=st.sampled_from(["linear", "rbf", "poly", "cosine"]),
            solver=st.sampled_from(["auto", "dense", "lanczos", "lobpcg", "lbfgs"]),
            **given,
        )
    if estimator == "AnchoredMDE":
        return _optional(
            n_components=m,
            attractive_penalty=ATTRACTIVE,
            repulsive_penalty=repulsive,
            loss=st.one_of(st.none(), ANY_LOSS),
            anchor_weight=st.sampled_from([None, 1e-3, 1.0, 1e3]),
            init=st.sampled_from(["auto", "random", *ARRAYS]),
            **_input(n),
            **_solver(),
        )
    return _optional(**_input(n))


@st.composite
def recipes(
    draw,
    estimators=tuple(ESTIMATORS),
    kinds=("rows", "rows", "matrix", "graph", "tables"),
):
    """Any problem: of any size, with or without a minimum."""
    estimator = draw(st.sampled_from(estimators))
    n = draw(st.sampled_from([1, *range(2, 31)]))
    kind = draw(st.sampled_from(kinds))
    params = dict(draw(parameters(estimator, n)))
    if kind != "rows":
        params["metric"] = "precomputed"
    if kind != "rows" and "max_path_length" in params:
        params.setdefault("n_neighbors", 3)
    return Recipe(
        estimator=estimator,
        n=n,
        d=draw(st.integers(1, 6)),
        seed=draw(st.integers(0, 1000)),
        spread=draw(st.sampled_from(SPREADS)),
        scale=draw(st.sampled_from(SCALES)),
        shift=draw(st.sampled_from([0.0, 0.0, 1.0, 1e8])),
        hole=draw(st.sampled_from([None] * 8 + [np.nan, np.inf])),
        kind=kind,
        dtype=draw(st.sampled_from(DTYPES)),
        form=draw(st.sampled_from(FORMS)),
        n_anchors=draw(st.integers(1, 5)),
        weightless=draw(st.sampled_from([None, None, 0.0, 0.3, 0.9])),
        params=params,
    )
