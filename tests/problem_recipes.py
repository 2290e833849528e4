"""A random problem as a `Recipe`, whose repr is the call that makes it again, arrays and all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

import skmde

N_UNSEEN = 4
ARRAYS = {"array": 1.0, "huge array": 1e40, "tiny array": 1e-40}  # starting points, and their size


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


class Times(Call):
    """A penalty or loss, times a factor."""

    def __init__(self, function, factor):
        self.function, self.factor = function, factor

    def __repr__(self):
        return f"Times({self.function!r}, {self.factor!r})"

    def __call__(self, *distances):
        return self.factor * self.function(*distances)


class Taxi(Call):
    """A metric."""

    def __call__(self, a, b):
        return float(np.abs(a - b).sum())


class Nonsense(Call):
    """A function of two rows that is no metric."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Nonsense({self.value!r})"

    def __call__(self, a, b):
        return self.value


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
    # what is passed: rows; a matrix, a graph or tables of their distances; or weights of pairs; its
    # type, its container
    kind: str = "rows"
    dtype: str = "float64"
    form: str = "array"
    n_anchors: int = 3
    anchor_unit: float = 1.0
    # the metric of the distances that are passed
    measured: str = "euclidean"
    # part of the samples, or of the pairs, whose weight is 0, None for no weights; their unit
    weightless: float | None = None
    weight_unit: float = 1.0
    # sizes beyond which the code takes another way, so low that these data are beyond them
    limits: tuple = ()
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
        keeps_distances = self.estimator == "PreserveDistances" or self.params.get("loss")
        return self.scale if keeps_distances else 1.0

    def _rng(self, stream):
        return np.random.default_rng([self.seed, stream])

    def anchors(self, m):
        """Samples with given coordinates, and these."""
        rng = self._rng(2)
        chosen = rng.permutation(self.n)[: min(self.n_anchors, self.n)]
        return chosen, self._unit() * self.anchor_unit * rng.standard_normal((len(chosen), m))

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
            weights = (rng.random(n) >= self.weightless) * rng.uniform(0.5, 2.0, n)
            return {"sample_weight": self.weight_unit * weights}
        if self.estimator == "PreserveDistances":
            W = (rng.random((n, n)) >= self.weightless) * rng.uniform(0.5, 2.0, (n, n))
            return {"pair_weights": self.weight_unit * (W + W.T)}
        return {}

    def rows(self):
        """All samples as rows, those that the fit does not see last; and these alone."""
        n, d, rng = self.n + N_UNSEEN, self.d, self._rng(0)
        X = rng.standard_normal((n, d))
        if self.spread == "integers":
            X = rng.integers(0, 3, (n, d)).astype(float)
        elif self.spread == "short":  # numbers that float32 holds
            X = np.round(1024 * X) / 1024
        elif self.spread == "positive":
            X = np.abs(X) + 0.01
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
        D = self.scale * distances(X, self.measured)
        if self.hole is not None and self.n > 1:
            D[0, 1] = D[1, 0] = self.hole
        fit, unseen, further = D[: self.n, : self.n], D[self.n :, : self.n], D[self.n :]
        if self.kind == "weights":
            parts = [
                self.weight_unit * np.exp(-(part / self.scale)) for part in (fit, unseen, further)
            ]
            return tuple(map(self._stored, parts))
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


def distances(X, metric):
    """Distances of all rows."""
    if callable(metric) or metric == "euclidean":
        return cdist(X, X, metric)
    return pairwise_distances(X, metric=metric)


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
