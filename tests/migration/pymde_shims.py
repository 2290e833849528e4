"""The package pymde, made of skmde by the tables of doc/migrating.md.

PyMDE's own modules are never loaded, but for its tests and what they share, `pymde.testing`.
Functions and constraints hold ours; a problem is ours, with the names of theirs.
"""

import importlib.machinery
import inspect
import sys
import types

import numpy as np
import scipy.sparse as sp
import torch
from migration_tables import ROWS, code
from sklearn_shims import USED

import skmde
import skmde.metrics
import skmde.preprocessing as pre

GENERATOR = [np.random.default_rng()]


def numpy_of(x):
    return x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


# Functions: theirs hold weights or original distances, ours get these beside them.

RENAMED = {"alpha": "scale", "sigma": "margin"}


class Function:
    """A distortion function of theirs: one of ours, and the weights or deviations of pairs."""

    def __init__(self, held, *parameters, weights=None, **named):
        names = list(inspect.signature(self.make).parameters)
        given = dict(zip(names, parameters, strict=False))
        given |= {RENAMED.get(name, name): value for name, value in named.items()}
        self.ours = self.make(**given)
        self.weights, self.deviations = held, None
        if isinstance(self.ours, skmde.Loss):
            self.weights, self.deviations = weights, held

    def __call__(self, distances):
        if self.deviations is not None:
            values = self.ours.value(self.deviations, distances)
            return values if self.weights is None else self.weights * values
        return self.weights * self.ours.value(distances)


class PushAndPull(Function):
    def __init__(self, weights, attractive_penalty, repulsive_penalty):
        some = attractive_penalty(weights), repulsive_penalty(weights)
        self.ours = skmde.push_and_pull(*(function.ours for function in some))
        self.weights, self.deviations = weights, None


def functions(kind):
    """The classes of the rows `penalties.NAME` or `losses.NAME`."""
    found = {}
    for row in (row for row in ROWS if row.table == "pymde"):
        (theirs, *_), (cell,) = row.theirs, row.ours
        if theirs.startswith(f"{kind}.") and theirs != "penalties.PushAndPull":
            name = theirs.removeprefix(f"{kind}.")
            make = staticmethod(getattr(skmde, code(cell)[0]))
            found[name] = type(name, (Function,), {"make": make})
    return found


# Constraints


class _Named:
    def initialization(self, n_items, embedding_dim, device=None):
        USED.append("initialization")
        return self.initialize(n_items, embedding_dim, GENERATOR[0], torch.float32, device or "cpu")

    def project_onto_constraint(self, Z, inplace=True):
        return Z.copy_(self.project(Z)) if inplace else self.project(Z)

    def project_onto_tangent_space(self, X, Z, inplace=True):
        return Z.copy_(self.project_tangent(X, Z)) if inplace else self.project_tangent(X, Z)


class Centered(_Named, skmde.Centered):
    pass


class Standardized(_Named, skmde.Standardized):
    pass


class Anchored(_Named, skmde.Anchored):
    pass


# Graphs


class Graph:
    """A sparse matrix of lengths, with the names of theirs."""

    def __init__(self, matrix):
        self.A = sp.csr_array(numpy_of(matrix) if not sp.issparse(matrix) else matrix)

    @classmethod
    def from_edges(cls, edges, weights=None, n_items=None):
        edges = numpy_of(edges)
        n_items = n_items or int(edges.max()) + 1
        weights = np.ones(len(edges)) if weights is None else numpy_of(weights)
        one = sp.coo_array((weights, edges.T), shape=(n_items, n_items))
        return cls(one + one.T)

    @property
    def n_items(self):
        return self.A.shape[0]

    @property
    def edges(self):
        USED.append("Graph.edges")
        return torch.from_numpy(np.asarray(pre.edges_from_graph(self.A)[0], dtype=np.int64))

    @property
    def weights(self):
        return torch.from_numpy(np.asarray(pre.edges_from_graph(self.A)[1], dtype=np.float32))

    distances = weights

    @property
    def n_edges(self):
        return len(self.edges)

    def neighbors(self, node):
        return self.A[[node]].indices

    def neighbor_distances(self, node):
        return self.A[[node]].data

    def __getitem__(self, pair):
        return self.A[pair]


def _from_pairs(edges, lengths, n_items):
    return Graph.from_edges(edges, lengths, n_items)


def distances(data, retain_fraction=1.0, verbose=False):
    USED.append("distances")
    if isinstance(data, Graph):
        return shortest_paths(data, retain_fraction=retain_fraction)
    rows = data if sp.issparse(data) else numpy_of(data)
    n = rows.shape[0]
    every = n * (n - 1) // 2
    edges = pre.all_edges(n)
    if retain_fraction < 1:
        edges = pre.sample_edges(n, round(retain_fraction * every), GENERATOR[0].integers(2**31))
    return _from_pairs(edges, pre.pair_distances(rows, edges), n)


def shortest_paths(graph, max_length=None, retain_fraction=1.0, n_workers=None, verbose=False):
    USED.append("shortest_paths")
    most = (
        None if retain_fraction >= 1 else retain_fraction * graph.n_items * (graph.n_items - 1) / 2
    )
    found = pre.shortest_paths(graph.A, max_length=max_length, max_pairs=most)
    edges = pre.all_edges(graph.n_items) if found.edges is None else found.edges
    return _from_pairs(edges, found.distances, graph.n_items)


def k_nearest_neighbors(data, k, max_distance=None, knn_method=None, verbose=False):
    USED.append("k_nearest_neighbors")
    algorithm = {None: "auto", "approximate": "pynndescent"}.get(knn_method, knn_method)
    if isinstance(data, Graph):
        found = pre.precomputed_neighbors(shortest_paths(data).A, k, max_distance=max_distance)
    else:
        seed = int(GENERATOR[0].integers(2**31))
        found = pre.nearest_neighbors(
            numpy_of(data), k, algorithm=algorithm, max_distance=max_distance, random_state=seed
        )
    return Graph(pre.neighbor_graph(*found[:2]))


def knn(algorithm, squared, data, k, seed=None, verbose=False):
    """Tables of neighbours as `pymde._native` returns them: each item is its own first one."""
    USED.append("nearest_neighbors")
    indices, lengths, _ = pre.nearest_neighbors(data, k, algorithm=algorithm, random_state=seed)
    own = np.arange(len(data))[:, None]
    lengths = np.hstack([np.zeros((len(data), 1)), lengths]).astype(np.float32)
    return np.hstack([own, indices]).astype(np.int64), lengths**2 if squared else lengths


# Problems


class MDE:
    """Our problem under the names of theirs."""

    def __init__(
        self, n_items, embedding_dim, edges, distortion_function, constraint=None, device="cpu"
    ):
        USED.append("MDE")
        self.distortion_function = distortion_function
        function = distortion_function
        self.problem = skmde.MDE(
            n_items,
            embedding_dim,
            numpy_of(edges),
            function.ours,
            constraint,
            weights=function.weights,
            deviations=function.deviations,
            device=device,
        )
        # for `util._distortion`, which tests compare with
        self._lhs, self._rhs = self.problem.edges.T

    def __getattr__(self, name):
        if name in ("problem", "__setstate__"):
            raise AttributeError(name)
        return getattr(self.problem, name)

    def average_distortion(self, X=None):
        return torch.as_tensor(self.problem.average_distortion(X))

    def embed(self, X=None, eps=1e-5, max_iter=300, memory_size=10, **others):
        seed = int(GENERATOR[0].integers(2**31))
        settings = {"tol": eps, "max_iter": max_iter, "memory_size": memory_size}
        return self.problem.embed(X, random_state=seed, **settings)


def reference_distortion(X, f, A, lhs, rhs):
    """PyMDE's slow formula with the incidence matrix, which its test compares gradients with."""
    return f((A.T @ X).norm(dim=1)).mean()


class Recipe:
    """An estimator of ours that looks like a problem that is yet to be solved."""

    def __init__(self, estimator, data):
        USED.append("recipe")
        self.estimator, self.data = estimator, numpy_of(data)

    def embed(self, **settings):
        return torch.from_numpy(self.estimator.fit_transform(self.data))

    def fitted(self):
        if not hasattr(self.estimator, "embedding_"):
            self.estimator.fit(self.data)
        return self.estimator

    @property
    def edges(self):
        return torch.from_numpy(self.fitted().edges_.astype(np.int64))

    @property
    def distortion_function(self):
        fitted = self.fitted()
        weights, deviations = (getattr(fitted, name, None) for name in ("weights_", "distances_"))
        return types.SimpleNamespace(
            weights=None if weights is None else torch.from_numpy(weights),
            deviations=None if deviations is None else torch.from_numpy(deviations),
        )


def preserve_neighbors(
    data,
    embedding_dim=2,
    attractive_penalty=None,
    repulsive_penalty="log",
    constraint=None,
    n_neighbors=None,
    repulsive_fraction=None,
    max_distance=None,
    knn_method=None,
    init="quadratic",
    device="cpu",
    verbose=False,
):
    made = [
        penalty(torch.ones(1)).ours if isinstance(penalty, type) else penalty
        for penalty in (attractive_penalty, repulsive_penalty)
    ]
    return Recipe(
        skmde.PreserveNeighbors(
            embedding_dim,
            attractive_penalty=made[0] or "auto",
            repulsive_penalty=made[1],
            repulsion="sampled",
            constraint=constraint,
            n_neighbors=n_neighbors,
            repulsive_fraction=repulsive_fraction,
            max_distance=max_distance,
            neighbors_algorithm={None: "auto", "approximate": "pynndescent"}.get(
                knn_method, knn_method
            ),
            init=init,
            random_state=int(GENERATOR[0].integers(2**31)),
            device=device,
        ),
        data,
    )


def preserve_distances(
    data,
    embedding_dim=2,
    loss=None,
    constraint=None,
    max_distances=5e7,
    device="cpu",
    verbose=False,
):
    return Recipe(
        skmde.PreserveDistances(
            embedding_dim,
            loss="absolute" if loss is None else loss(torch.ones(1)).ours,
            constraint=constraint,
            max_pairs=int(max_distances),
            random_state=int(GENERATOR[0].integers(2**31)),
            device=device,
        ),
        data,
    )


def laplacian_embedding(data, embedding_dim=2, n_neighbors=None, device="cpu", **others):
    n_neighbors = n_neighbors or int(max(min(15, 0.01 * (len(data) - 1) / 2), 5))
    estimator = skmde.QuadraticMDE(embedding_dim, weights="laplacian", n_neighbors=n_neighbors)
    return Recipe(estimator, data)


def pca(Y, embedding_dim):
    USED.append("pca")
    found = skmde.QuadraticMDE(embedding_dim, weights="pca").fit_transform(numpy_of(Y))
    return torch.from_numpy(found)


def spectral(n_items, embedding_dim, edges, weights, cg=False, max_iter=40, device="cpu"):
    USED.append("spectral")
    graph = Graph.from_edges(edges, weights, n_items).A
    fitted = skmde.QuadraticMDE(embedding_dim, weights="precomputed").fit(graph)
    return torch.from_numpy(fitted.embedding_).to(weights.dtype)


def align(source, target):
    return torch.from_numpy(skmde.metrics.align(numpy_of(source), numpy_of(target)))


def proj_standardized(X, demean=False, inplace=False):
    USED.append("project")
    return skmde.Standardized().project(X)


def seed(number):
    """The row of `seed` has a dash: seeds are arguments here. This one is for `GENERATOR`."""
    torch.manual_seed(number)
    np.random.seed(number)
    GENERATOR[0] = np.random.default_rng(number)


MODULES = {
    "pymde": {},
    "pymde.functions": {},
    "pymde.functions.penalties": {**functions("penalties"), "PushAndPull": PushAndPull},
    "pymde.functions.losses": functions("losses"),
    "pymde.constraints": {
        "Centered": Centered,
        "Standardized": Standardized,
        "Anchored": Anchored,
        "Constraint": skmde.Constraint,
    },
    "pymde.problem": {"MDE": MDE},
    "pymde.quadratic": {"pca": pca, "spectral": spectral},
    "pymde.recipes": {
        "preserve_neighbors": preserve_neighbors,
        "preserve_distances": preserve_distances,
        "laplacian_embedding": laplacian_embedding,
    },
    "pymde.util": {
        "align": align,
        "seed": seed,
        "all_edges": lambda n: torch.from_numpy(pre.all_edges(n)),
        "proj_standardized": proj_standardized,
        "_distortion": reference_distortion,
    },
    "pymde.preprocess": {"Graph": Graph, "sample_edges": pre.sample_edges},
    "pymde.preprocess.graph": {"Graph": Graph, "shortest_paths": shortest_paths},
    "pymde.preprocess.data_matrix": {
        "distances": distances,
        "k_nearest_neighbors": k_nearest_neighbors,
    },
    "pymde._native": {
        "knn_l2": lambda data, k: knn("exact", True, data, k),
        "nn_descent": lambda data, k, **given: knn("pynndescent", False, data, k, **given),
    },
}


class OnlyTests:
    """Finds no module of PyMDE but its tests and `pymde.testing`."""

    def find_spec(self, name, path=None, target=None):
        last = name.rpartition(".")[2]
        if name.startswith("pymde.") and not last.startswith("test"):
            raise ModuleNotFoundError(f"doc/migrating.md has nothing like the module {name}.")


def install():
    """Put the modules in the place of PyMDE's, whose folders are searched for tests alone."""
    spec = importlib.machinery.PathFinder.find_spec("pymde")
    if spec is None:
        raise ModuleNotFoundError("PyMDE is not installed; `make test-migration` does it.")
    (root,) = spec.submodule_search_locations
    for name, members in MODULES.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
        if name in ("pymde", "pymde.preprocess"):  # packages, which hold tests
            folder = root + "".join(f"/{part}" for part in name.split(".")[1:])
            module.__file__, module.__path__ = f"{folder}/__init__.py", [folder]
            module.__spec__ = importlib.machinery.ModuleSpec(
                name, None, origin=module.__file__, is_package=True
            )
            module.__spec__.submodule_search_locations = [folder]
    sys.meta_path.insert(0, OnlyTests())
    return root
