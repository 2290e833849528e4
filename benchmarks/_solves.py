"""Solves one problem with one program, in the process that this file is started in.

Started by ``_contests.py`` with the path of a JSON file that names the program, its parameters, the
arrays of the problem and those of a small one of the same kind, which is solved first, so that
what is loaded and compiled on first use does not count. Writes the seconds of the solve and its
results.

A program is a function of arrays and parameters that returns a call without arguments, which is
what is timed, and a function from the call's answer to arrays.
"""

import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp


def _matrix(arrays):
    n = len(arrays["indptr"]) - 1
    return sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))


def _laplacian(arrays, dtype):
    weights = _matrix(arrays).astype(dtype)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(degrees, format="csr") - weights), degrees


def skmde_graph(arrays, params):
    """Neighbour tables, as they come from a search."""
    from skmde import QuadraticMDE

    tables = arrays["neighbors"], arrays["distances"]
    estimator = QuadraticMDE(metric="precomputed", **params)
    return lambda: estimator.fit(tables), lambda fitted: {"embedding": fitted.embedding_}


def skmde_weights(arrays, params):
    from skmde import QuadraticMDE

    weights = _matrix(arrays)
    estimator = QuadraticMDE(weights="precomputed", **params)
    return lambda: estimator.fit(weights), lambda fitted: {"embedding": fitted.embedding_}


def spectral_embedding(arrays, params):
    from sklearn.manifold import SpectralEmbedding

    # it takes no index arrays of 64 bits and no sparse arrays
    affinity = sp.csr_matrix(_matrix(arrays))
    estimator = SpectralEmbedding(affinity="precomputed", random_state=0, **params)
    return lambda: estimator.fit(affinity), lambda fitted: {"embedding": fitted.embedding_}


def lanczos(arrays, params):
    """Of a multiple of the identity less the matrix, whose largest eigenvalues come first."""
    from scipy.sparse.linalg import eigsh

    laplacian, degrees = _laplacian(arrays, np.float64)
    n, k = laplacian.shape[0], params["n_components"] + 1
    shifted = 2 * degrees.max() * sp.eye_array(n, format="csr") - laplacian
    matrix = sp.csr_array(shifted).astype(params["dtype"])
    start = np.random.default_rng(0).standard_normal(n).astype(params["dtype"])
    fixed = {"which": "LA", "ncv": min(n, 60), "tol": params["tol"], "v0": start}
    return lambda: eigsh(matrix, k, **fixed), lambda found: {"embedding": found[1]}


def lobpcg(arrays, params):
    """With Jacobi's preconditioner, and constant vectors ruled out."""
    from scipy.sparse.linalg import lobpcg as solve

    laplacian, degrees = _laplacian(arrays, np.float64)
    n, m = laplacian.shape[0], params["n_components"]
    fixed = {
        "X": np.random.default_rng(0).standard_normal((n, m)),
        "M": sp.diags_array(1 / degrees, format="csr"),
        "Y": np.ones((n, 1)),
        "largest": False,
        "maxiter": params["maxiter"],
    }
    return lambda: solve(laplacian, **fixed), lambda found: {"embedding": found[1]}


def skmde_pca(arrays, params):
    from skmde import QuadraticMDE

    estimator = QuadraticMDE(weights="pca", **params)
    X = arrays["X"]
    return lambda: estimator.fit(X), lambda fitted: {"variances": -fitted.eigenvalues_}


def pca(arrays, params):
    from sklearn.decomposition import PCA

    estimator = PCA(whiten=True, random_state=0, **params)
    X = arrays["X"]
    scale = len(X) - 1
    # as QuadraticMDE does, it gives the coordinates of the samples
    return (
        lambda: estimator.fit_transform(X),
        lambda _: {"variances": scale * estimator.explained_variance_.astype(float)},
    )


def skmde_anchored(arrays, params):
    from skmde import AnchoredMDE

    weights, anchors, coordinates = _matrix(arrays), arrays["anchors"], arrays["coordinates"]
    estimator = AnchoredMDE(metric="affinity", **params)
    return (
        lambda: estimator.fit(weights, anchors=anchors, anchor_values=coordinates),
        lambda fitted: {"embedding": fitted.embedding_},
    )


def _placement(arrays):
    """The linear system of the free items."""
    laplacian, degrees = _laplacian(arrays, np.float64)
    free = np.setdiff1d(np.arange(len(degrees)), arrays["anchors"])
    rows = laplacian[free]
    return rows[:, free], -(rows[:, arrays["anchors"]] @ arrays["coordinates"]), free


def _placed(arrays, free, found):
    n = len(free) + len(arrays["anchors"])
    embedding = np.empty((n, arrays["coordinates"].shape[1]))
    embedding[free], embedding[arrays["anchors"]] = found, arrays["coordinates"]
    return {"embedding": embedding}


def direct(arrays, params):
    from scipy.sparse.linalg import spsolve

    matrix, right, free = _placement(arrays)
    matrix = sp.csc_array(matrix)
    return lambda: spsolve(matrix, right, **params), lambda found: _placed(arrays, free, found)


def conjugate_gradients(arrays, params):
    from scipy.sparse.linalg import cg

    matrix, right, free = _placement(arrays)
    jacobi = sp.diags_array(1 / matrix.diagonal(), format="csr")

    def solve():
        return np.stack([cg(matrix, column, M=jacobi, **params)[0] for column in right.T], axis=1)

    return solve, lambda found: _placed(arrays, free, found)


def _labels(make):
    """Accuracy on the samples without a label, for several choices of those that have one."""

    def build(arrays, params):
        X, labels, known = arrays["X"], arrays["labels"], arrays["known"]

        def solve():
            scores = []
            for rows in known:
                y = np.full(len(X), -1)
                y[rows] = labels[rows]
                hidden = y < 0
                found = make(params).fit(X, y).transduction_
                scores.append(np.mean(found[hidden] == labels[hidden]))
            return scores

        return solve, lambda scores: {"accuracies": np.array(scores)}

    return build


def _anchored_classifier(params):
    from skmde import AnchoredClassifier

    return AnchoredClassifier(**params)


def _label_spreading(params):
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="knn", **params)


def _label_propagation(params):
    from sklearn.semi_supervised import LabelPropagation

    return LabelPropagation(kernel="knn", **params)


PROGRAMS = {
    "skmde_graph": skmde_graph,
    "skmde_weights": skmde_weights,
    "skmde_pca": skmde_pca,
    "skmde_anchored": skmde_anchored,
    "skmde_labels": _labels(_anchored_classifier),
    "spectral_embedding": spectral_embedding,
    "lanczos": lanczos,
    "lobpcg": lobpcg,
    "pca": pca,
    "direct": direct,
    "conjugate_gradients": conjugate_gradients,
    "label_spreading": _labels(_label_spreading),
    "label_propagation": _labels(_label_propagation),
}


def main():
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    program = PROGRAMS[spec["program"]]
    warnings.simplefilter("ignore")  # of solvers that stop early; the results are measured
    for path in (spec["small"], spec["data"]):
        with np.load(path) as arrays:
            call, results = program(dict(arrays), spec["params"])
        began = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - began
    np.savez(spec["out"], seconds=seconds, **results(answer))


if __name__ == "__main__":
    main()
