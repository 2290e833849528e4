"""Points, and exact sums of a penalty over all their pairs."""

import numpy as np
import torch

from skmde import penalties
from skmde.core.kernels.backend import CompiledBackend


def scattered(n, extent, m=2, seed=0):
    """Half of the points in five clusters, the others anywhere in a box, some twice."""
    rng = np.random.default_rng(seed)
    centres = rng.random((5, m)) * extent
    width = max(extent / 30, 0.5)
    clusters = centres[rng.integers(0, 5, n // 2)] + rng.normal(size=(n // 2, m)) * width
    X = np.concatenate([clusters, rng.random((n - n // 2, m)) * extent])
    X[n - n // 20 :] = X[: n // 20]
    return X - extent / 3


def exact_energy(X, charges=None, scale=1.0):
    """Sum of charges times -1 / (1 + (d / scale)^2) over all pairs, and its gradient."""
    X = np.asarray(X, np.float64) / scale
    c = np.ones(len(X)) if charges is None else np.asarray(charges, np.float64)
    value, gradient = 0.0, np.zeros_like(X)
    with np.errstate(over="ignore"):
        for first in range(0, len(X), 500):
            rows = slice(first, first + 500)
            E = [X[rows, None, a] - X[None, :, a] for a in range(X.shape[1])]
            k = 1 / (1 + sum(e * e for e in E))
            w = c[rows, None] * c[None] * k
            value -= w.sum() / 2
            w *= k
            for a, e in enumerate(E):
                gradient[rows, a] = (2 / scale) * np.einsum("ij,ij->i", w, e)
    return value + (c**2).sum() / 2, gradient


def exact_sums(X, penalty, charges=None):
    """Sum of charges times a penalty over all pairs, and its gradient, in float64."""
    X = torch.as_tensor(np.asarray(X, np.float64))
    c = torch.ones(len(X)) if charges is None else torch.as_tensor(charges)
    i, j = torch.triu_indices(len(X), len(X), 1)
    E, w = X[i] - X[j], c[i] * c[j]
    d = E.square().sum(dim=1).sqrt()
    forces = (w * penalty.slope(d))[:, None] * E
    gradient = torch.zeros_like(X).index_add_(0, i, forces).index_add_(0, j, -forces)
    return float((w * penalty.value(d)).sum()), gradient.numpy()


def compiled_sums(X, accuracy, charges=None, scale=1.0, n_threads=1, penalty=None):
    """The same, by the compiled lattice, in the dtype of X."""
    return backend_sums(CompiledBackend(n_threads), X, accuracy, charges, scale, penalty)


def backend_sums(backend, X, accuracy, charges=None, scale=1.0, penalty=None):
    X = torch.as_tensor(X)
    weights = None if charges is None else torch.as_tensor(charges)
    penalty = penalties.Cauchy(scale) if penalty is None else penalty
    sums = backend.lattice_sums(penalty, weights, *X.shape, X.dtype, accuracy)
    value, gradient = sums(X.contiguous(), 1.0)
    return float(value), gradient.numpy()


def relative_errors(got, want):
    (value, gradient), (value0, gradient0) = got, want
    error = np.linalg.norm(gradient - gradient0) / np.linalg.norm(gradient0)
    return abs(value / value0 - 1), error
