"""Preserves distances with one program once, in the process that this file is started in.

Started by ``_layouts.run_child`` with the path of a JSON file that says what to run; writes
``OUT.json`` (seconds by stage, memory, what the program says of its result) and ``OUT.npz``
(the embedding and the average distortion after every iteration). It imports nothing of this
project at the top: it also runs in the environment of the other programs.
"""

import importlib
import json
import logging
import sys
import time

import numpy as np
from _programs import STARTED, Clock, _StageHandler, peak_memory_mb

FEW = 300  # rows of a first fit that loads and compiles what a program loads and compiles late


class Skmde:
    """``params``: those of PreserveDistances."""

    def __init__(self, spec, clock):
        from skmde import PreserveDistances

        logger = logging.getLogger("skmde")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(_StageHandler(clock))
        self.model = PreserveDistances(**{"random_state": spec["seed"], **spec["params"]})

    def fit(self, X):
        return self.model.fit_transform(X)

    def facts(self):
        return {
            "iterations": int(self.model.n_iter_),
            "n_pairs": len(self.model.distances_),
            "average_distortion": float(self.model.distortion_),
            "own_stress": float(self.model.stress_),
        }

    def extras(self):
        return {"value": self.model.history_["value"], "seconds": self.model.history_["seconds"]}


class SkmdePaths:
    """``params``: those of shortest_paths."""

    def __init__(self, spec, clock):
        from skmde.preprocessing.graphs.shortest_paths import shortest_paths

        self.function = shortest_paths
        self.params = {"random_state": spec["seed"], **spec["params"]}

    def fit(self, X):
        self.found = self.function(X, **self.params)

    def facts(self):
        return {"n_pairs": len(self.found.distances)}


class PyMDE:
    """``params``: those of preserve_distances, the loss by name, and max_iter."""

    def __init__(self, spec, clock):
        import pymde

        self.pymde = pymde
        self.params = dict(spec["params"])
        self.params["loss"] = getattr(pymde.losses, self.params["loss"])
        self.max_iter = self.params.pop("max_iter", 300)
        pymde.seed(spec["seed"])
        clock.watch(pymde.preprocess.generic, "distances", "distances")
        clock.watch(pymde.MDE, "embed", "solve")

    def fit(self, X):
        if not isinstance(X, np.ndarray):
            # its own way to a graph; the matrix holds every edge once
            edges = np.stack(X.nonzero(), axis=1).astype(np.int64)
            X = self.pymde.Graph.from_edges(edges, n_items=X.shape[0])
        self.mde = self.pymde.preserve_distances(X, **self.params)
        return self.mde.embed(max_iter=self.max_iter).cpu().numpy()

    def facts(self):
        return {
            "iterations": len(self.mde.solve_stats.times),
            "n_pairs": int(self.mde.p),
            # `value` is that of the last iteration but one
            "average_distortion": float(self.mde.average_distortion()),
        }

    def extras(self):
        # what it records is the value before each iteration, and the time after it
        stats = self.mde.solve_stats
        values = [*stats.average_distortions, float(self.mde.average_distortion())]
        return {"value": values, "seconds": [0.0, *stats.times]}


class ScikitLearn:
    """``model``: the name of a class of sklearn.manifold; ``params``: its parameters."""

    def __init__(self, spec, clock):
        manifold = importlib.import_module("sklearn.manifold")
        if not hasattr(manifold, spec["model"]):
            version = sys.modules["sklearn"].__version__
            raise SystemExit(f"scikit-learn {version} has no {spec['model']}")
        model = getattr(manifold, spec["model"])
        params = dict(spec["params"])
        if "random_state" in model().get_params():
            params["random_state"] = spec["seed"]
        self.model = model(**params)

    def fit(self, X):
        return self.model.fit_transform(X)

    def facts(self):
        out = {}
        if hasattr(self.model, "n_iter_"):
            out["iterations"] = int(self.model.n_iter_)
        return out

    def extras(self):
        matrix = getattr(self.model, "dist_matrix_", None)  # Isomap's path lengths
        return {} if matrix is None else {"paths": matrix[np.triu_indices(len(matrix), 1)]}


RUNNERS = {
    "skmde": Skmde,
    "skmde-paths": SkmdePaths,
    "pymde": PyMDE,
    "scikit-learn": ScikitLearn,
}


def load(path):
    """Rows of a table, or the adjacency matrix of a network that holds every edge once."""
    found = np.load(path)
    if isinstance(found, np.ndarray):
        return found.astype(np.float32)
    import scipy.sparse

    edges, n = found["edges"], int(found["n"])
    ones = np.ones(len(edges), dtype=np.float32)
    return scipy.sparse.csr_array((ones, edges.T), shape=(n, n))


def chain(n):
    """A network whose nodes lie in a row."""
    import scipy.sparse

    return scipy.sparse.csr_array(np.diag(np.ones(n - 1, dtype=np.float32), 1))


def resident_mb():
    """Resident size of this process now, in MB; None where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return None
    import resource

    return pages * resource.getpagesize() / 1e6


def main():
    clock = Clock()
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    clock.add("imports", time.perf_counter() - STARTED)
    with clock.stage("imports"):
        runner = RUNNERS[spec["program"]](spec, clock)
    with clock.stage("load"):
        X = load(spec["data"])
    if spec.get("warm"):
        with clock.stage("warm"):
            runner.fit(X[:FEW] if isinstance(X, np.ndarray) else chain(FEW))
        clock.seconds = {k: clock.seconds[k] for k in ("imports", "load", "warm")}
    report = {"resident_before_mb": resident_mb()}
    began = time.perf_counter()
    with clock.stage("fit"):
        embedding = runner.fit(X)
    report["fit_seconds"] = time.perf_counter() - began
    report["peak_memory_mb"] = peak_memory_mb()
    report["stages"] = clock.seconds
    report.update(runner.facts())
    arrays = runner.extras() if hasattr(runner, "extras") else {}
    if embedding is not None:
        arrays["embedding"] = embedding
    np.savez(spec["out"] + ".npz", **arrays)
    with open(spec["out"] + ".json", "w") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
