"""The classes and functions of sklearn.manifold, made of skmde's by the tables of doc/migrating.md.

A class has the signature of scikit-learn's. A parameter whose row has no remark is passed on under
our name, and so are those in `same`, whose remarks are about defaults. For other remarks there is a
method `given_NAME` that does what the remark says, or our default holds. Fitted attributes are
found by the tables, too; one whose row has a dash is missing.
"""

import math

import numpy as np
import sklearn.manifold as theirs
from migration_tables import NONE, ROWS, code
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import RadiusNeighborsTransformer
from sklearn.utils import check_random_state
from sklearn.utils.extmath import _deterministic_vector_sign_flip

import skmde
import skmde.metrics

USED = []  # what of this module the running test has called


def row_of(table, name):
    (row,) = (row for row in ROWS if row.table == table and name in row.theirs)
    return row


class Shim(BaseEstimator):
    """An estimator of theirs that fits ours."""

    fixed: dict = {}  # noqa: RUF012
    same: tuple = ()

    def __init_subclass__(cls, like, ours):
        cls.__init__, cls.table, cls.ours = like.__init__, like.__name__, ours
        if hasattr(like, "transform"):
            cls.transform = Shim._transform

    def arguments(self):
        """What ours gets for the parameters of theirs."""
        given = dict(self.fixed)
        for name, value in self.get_params(deep=False).items():
            row = row_of(self.table, name)
            if hasattr(self, f"given_{name}"):
                given.update(getattr(self, f"given_{name}")(value))
            elif row.ours[0] != NONE and (not row.remark or name in self.same):
                (ours,) = code(row.ours[0])
                given[ours] = value
        return given

    def prepared(self, X):
        """X as ours takes it."""
        return X

    def fit(self, X, y=None):
        USED.append(self.table)
        self._fitted = self.ours(**self.arguments())
        self._fitted.fit(self.prepared(X))
        return self

    def fit_transform(self, X, y=None):
        USED.append(self.table)
        self._fitted = self.ours(**self.arguments())
        return self.in_their_lengths(self._fitted.fit_transform(self.prepared(X)))

    def in_their_lengths(self, embedding):
        return embedding

    def __sklearn_is_fitted__(self):
        return "_fitted" in vars(self)

    def __getattr__(self, name):
        if name.startswith("__") or name == "_fitted" or "_fitted" not in vars(self):
            raise AttributeError(name)
        row = row_of(self.table, name) if name.endswith("_") else None
        if row is None or row.ours[0] == NONE:
            raise AttributeError(f"doc/migrating.md has nothing like {name!r} of {self.table}.")
        value = getattr(self._fitted, code(row.ours[0])[row.theirs.index(name)])
        if name == "embedding_":
            return self.in_their_lengths(value)
        found = getattr(type(self), f"found_{name}", None)
        return value if found is None else found(self, value)

    def _transform(self, X):
        return self.in_their_lengths(self._fitted.transform(self.prepared(X)))

    def get_feature_names_out(self, *given):
        return self._fitted.get_feature_names_out(*given)


class Gram(Shim, like=theirs.ClassicalMDS, ours=skmde.QuadraticMDE):
    """Columns have the lengths of scikit-learn's: see above the tables."""

    def in_their_lengths(self, embedding):
        lengths = np.sqrt(np.maximum(-self._fitted.eigenvalues_, 0) / len(self._fitted.embedding_))
        return embedding * lengths.astype(embedding.dtype)


class ClassicalMDS(Gram, like=theirs.ClassicalMDS, ours=skmde.QuadraticMDE):
    fixed = {"weights": "classical_mds"}  # noqa: RUF012

    def found_eigenvalues_(self, value):
        return -value


class Isomap(Gram, like=theirs.Isomap, ours=skmde.QuadraticMDE):
    fixed = {"weights": "isomap"}  # noqa: RUF012
    same = ("n_neighbors",)

    def given_radius(self, value):
        if value is None:
            return {}
        # A graph of all pairs says nothing about neighbours.
        everyone = 10**6 if np.isinf(value) else None
        return {"metric": "precomputed", "n_neighbors": everyone}

    def given_eigen_solver(self, value):
        return {"solver": {"arpack": "lanczos"}.get(value, value)}

    def given_max_iter(self, value):
        return {} if value is None else {"max_iter": value}

    def given_metric(self, value):
        if self.radius is not None:
            return {}
        if value != "minkowski":
            return {"metric": value}
        if self.p == 2:
            return {"metric": "euclidean"}
        return {"metric": value, "metric_params": {"p": self.p}}

    def given_metric_params(self, value):
        return {} if value is None else {"metric_params": value}

    def prepared(self, X):
        if self.radius is None or self.metric == "precomputed":
            return X
        metric = {"metric": self.metric, "p": self.p, "metric_params": self.metric_params}
        if "_search" not in vars(self):
            self._search = RadiusNeighborsTransformer(radius=self.radius, **metric).fit(X)
        return self._search.transform(X)

    def fit(self, X, y=None):
        vars(self).pop("_search", None)
        return super().fit(X)

    def fit_transform(self, X, y=None):
        vars(self).pop("_search", None)
        return super().fit_transform(X)


class LocallyLinearEmbedding(Shim, like=theirs.LocallyLinearEmbedding, ours=skmde.QuadraticMDE):
    fixed = {"weights": "lle"}  # noqa: RUF012
    same = ("n_neighbors", "random_state")

    def given_method(self, value):
        if value != "standard":
            raise NotImplementedError(f"method={value!r} has no like")
        return {}

    def given_eigen_solver(self, value):
        return {"solver": {"arpack": "lanczos"}.get(value, value)}

    def in_their_lengths(self, embedding):
        return embedding / math.sqrt(len(self._fitted.embedding_))

    def found_reconstruction_error_(self, value):
        return value.sum()


class SpectralEmbedding(Shim, like=theirs.SpectralEmbedding, ours=skmde.QuadraticMDE):
    def given_affinity(self, value):
        if value == "nearest_neighbors":
            return {"weights": "normalized_laplacian"}
        if value == "precomputed_nearest_neighbors":
            return {"weights": "normalized_laplacian", "metric": "precomputed"}
        return {"weights": "precomputed"}

    def given_n_neighbors(self, value):
        return {} if value is None else {"n_neighbors": value - 1}

    def given_eigen_solver(self, value):
        return {"solver": {"arpack": "lanczos", None: "auto"}.get(value, value)}

    def given_eigen_tol(self, value):
        return {} if value in ("auto", 0) else {"tol": value}

    def given_gamma(self, value):
        return {}

    def prepared(self, X):
        if self.affinity == "rbf":
            return rbf_kernel(X, gamma=self.gamma)
        return self.affinity(X) if callable(self.affinity) else X

    def found_affinity_matrix_(self, value):
        return value / 2 if self.affinity == "nearest_neighbors" else value.toarray()


class MDS(Shim, like=theirs.MDS, ours=skmde.PreserveDistances):
    fixed = {"loss": "squared"}  # noqa: RUF012
    same = ("max_iter", "eps", "n_jobs")

    def given_metric_mds(self, value):
        if not value or self.metric is False:
            raise NotImplementedError("the order of distances alone has no like")
        return {}

    def given_init(self, value):
        name = "random" if value == "warn" else value
        return {"init": {"classical_mds": "classical"}.get(name, name)}

    def given_dissimilarity(self, value):
        return {} if value == "deprecated" else {"metric": value}

    def given_metric(self, value):
        return {} if isinstance(value, bool) else {"metric": value}

    def fit(self, X, y=None, init=None):
        """The best of `n_init` random starts."""
        USED.append(self.table)
        given = self.arguments() | ({} if init is None else {"init": init})
        several = isinstance(given["init"], str) and given["init"] == "random"
        n_init = 4 if self.n_init == "warn" else self.n_init
        seeds = check_random_state(self.random_state)
        fits = []
        for _ in range(n_init if several else 1):
            given["random_state"] = seeds.randint(2**31 - 1)
            fits.append(self.ours(**given).fit(X))
        self._fitted = min(fits, key=lambda fitted: fitted.distortion_)
        return self

    def fit_transform(self, X, y=None, init=None):
        return self.fit(X, init=init).embedding_

    def found_stress_(self, value):
        if self.normalized_stress is True:
            return value
        return self._fitted.distortion_ * len(self._fitted.edges_)


class TSNE(Shim, like=theirs.TSNE, ours=skmde.PreserveNeighbors):
    same = ("n_components", "max_iter", "metric", "init", "verbose", "random_state", "n_jobs")

    def given_perplexity(self, value):
        return {"n_neighbors": math.ceil(value)}

    def given_early_exaggeration(self, value):
        return {}


def smacof(
    dissimilarities, *, metric=True, n_components=2, init=None, return_n_iter=False, **given
):
    """`embedding_` and `stress_` of the fit."""
    known = {k: v for k, v in given.items() if k in ("max_iter", "eps", "n_jobs", "n_init")}
    known |= {k: v for k, v in given.items() if k in ("random_state", "normalized_stress")}
    if known.get("n_init") == "warn":
        del known["n_init"]
    fitted = MDS(n_components, metric_mds=metric, metric="precomputed", init="random", **known)
    fitted.fit(np.asarray(dissimilarities, dtype=np.float64), init=init)
    found = fitted.embedding_, fitted.stress_
    return (*found, fitted.n_iter_) if return_n_iter else found


def spectral_embedding(
    adjacency, *, n_components=8, eigen_solver=None, norm_laplacian=True, drop_first=True, **given
):
    """`embedding_` of the fit to the affinities, with columns of norm 1."""
    USED.append("spectral_embedding")
    if norm_laplacian:
        raise NotImplementedError("a normalized Laplacian of given weights has no like")
    fitted = skmde.QuadraticMDE(n_components - (not drop_first), weights="precomputed")
    found = fitted.fit_transform(adjacency) / math.sqrt(adjacency.shape[0])
    if not drop_first:
        found = np.hstack([np.full((len(found), 1), 1 / math.sqrt(len(found))), found])
    return _deterministic_vector_sign_flip(found.T).T


def locally_linear_embedding(X, *, n_neighbors, n_components, **given):
    """`embedding_` and the sum of `eigenvalues_`."""
    known = {k: v for k, v in given.items() if k in ("eigen_solver", "method", "random_state")}
    fitted = LocallyLinearEmbedding(n_neighbors=n_neighbors, n_components=n_components, **known)
    return fitted.fit_transform(X), fitted.reconstruction_error_


def trustworthiness(X, X_embedded, *, n_neighbors=5, metric="euclidean"):
    USED.append("trustworthiness")
    return skmde.metrics.trustworthiness(X, X_embedded, n_neighbors, metric, sample=None)
