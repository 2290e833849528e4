"""Small problems that several tests solve."""

import numpy as np
import torch

from skmde import Constraint
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.core.solvers.lbfgs import LBFGS


class Sphere(Constraint):
    """A user's own constraint: every item on the sphere of a given radius."""

    def __init__(self, radius=2.0):
        self.radius = radius

    def project(self, Z):
        return self.radius * Z / Z.norm(dim=1, keepdim=True)

    def project_tangent(self, X, Z):
        return Z - (X * Z).sum(dim=1, keepdim=True) * X / self.radius**2


def random_graph(rng, n, p):
    """Edges of a connected graph: a path, and more pairs at random, none twice."""
    path = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    more = rng.integers(0, n, (3 * p, 2))
    more = np.sort(more[more[:, 0] != more[:, 1]], axis=1)
    return np.unique(np.concatenate([path, more[: max(p - n, 1)]]), axis=0)


def push_and_pull_weights(rng, p):
    return np.where(rng.random(p) < 0.5, 1.0, -1.0).astype(np.float32)


def objective_of(
    edges, n, m, distortion, *, dtype=torch.float32, n_threads=1, path="compiled", **arguments
):
    """The average distortion; along the path "torch" the compiled loops are left aside."""
    edge_list = EdgeList.build(edges, n, distortion, dtype=dtype, **arguments)
    torch_alone = TorchBackend(edge_list.device)
    backend = torch_alone if path == "torch" else CompiledBackend(n_threads)
    return EdgeTerm(edge_list, n, m, dtype=dtype, backend=backend)


def minimize(objective, constraint, X, *, callbacks=(), **settings):
    """Projected L-BFGS with some settings."""
    return LBFGS(**settings).minimize(objective, constraint, X, callbacks)
