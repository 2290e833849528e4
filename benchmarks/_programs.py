"""Runs one program once, in the process that this file is started in.

Started by ``_common.run_child`` with the path of a JSON file that says what to run; writes
``OUT.json`` (seconds by stage, peak memory in MB) and ``OUT.npz`` (the embedding, and where the
program has them its edges and weights). It imports nothing of this project at the top: it
also runs in the environment of the other programs.

Stages are exclusive: time that an inner stage takes is not counted in the outer one.
``fit`` is what remains of a fit when the stages inside it are taken out.
"""

import time

STARTED = time.perf_counter()

import json  # noqa: E402
import logging  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
from contextlib import contextmanager  # noqa: E402


class Clock:
    """Exclusive seconds by stage."""

    def __init__(self):
        self.seconds = {}
        self._open = []

    @contextmanager
    def stage(self, name):
        began = time.perf_counter()
        self._open.append(0.0)
        try:
            yield
        finally:
            inside = self._open.pop()
            total = time.perf_counter() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + total - inside
            if self._open:
                self._open[-1] += total

    def add(self, name, seconds):
        """Count seconds that were measured elsewhere, inside the open stage."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if self._open:
            self._open[-1] += seconds

    def watch(self, owner, attribute, name):
        """Time every call of ``owner.attribute`` as a stage."""
        function = getattr(owner, attribute)

        def timed(*args, **kwargs):
            with self.stage(name):
                return function(*args, **kwargs)

        setattr(owner, attribute, timed)


class _StageHandler(logging.Handler):
    """Passes the seconds that skmde logs for its stages on to the clock."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def emit(self, record):
        stage = getattr(record, "stage", None)
        if stage is not None:
            self.clock.add(stage, float(record.seconds))


class Skmde:
    def __init__(self, spec, clock):
        from skmde import PreserveNeighbors

        logger = logging.getLogger("skmde")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(_StageHandler(clock))
        self.model = PreserveNeighbors(**{"random_state": spec["seed"], **spec["params"]})

    def fit(self, X):
        return self.model.fit_transform(X)

    def transform(self, X):
        return self.model.transform(X)

    def extras(self):
        return {"edges": self.model.edges_, "weights": self.model.weights_}

    def facts(self):
        return {
            "iterations": int(self.model.n_iter_),
            "average_distortion": float(self.model.distortion_),
            "repulsive_weight": float(self.model.repulsive_weight_),
        }


class PyMDE:
    def __init__(self, spec, clock):
        import pymde

        self.pymde = pymde
        self.params = spec["params"]
        pymde.seed(spec["seed"])
        clock.watch(pymde.preprocess.generic, "k_nearest_neighbors", "neighbors")
        clock.watch(pymde.quadratic, "spectral", "init")
        clock.watch(pymde.preprocess, "sample_edges", "edges")
        clock.watch(pymde.MDE, "embed", "solve")

    def fit(self, X):
        self.mde = self.pymde.preserve_neighbors(X, **self.params)
        return self.mde.embed().cpu().numpy()

    def extras(self):
        return {
            "edges": self.mde.edges.cpu().numpy(),
            "weights": self.mde.distortion_function.weights.cpu().numpy(),
            "start": self.mde._X_init.cpu().numpy(),
        }

    def facts(self):
        return {
            "iterations": len(self.mde.solve_stats.times),
            "average_distortion": float(self.mde.value),
        }


class Umap:
    # a fixed random_state would make umap-learn run on one thread, so none is set
    def __init__(self, spec, clock):
        import umap

        clock.watch(umap.umap_, "nearest_neighbors", "neighbors")
        clock.watch(umap.umap_, "fuzzy_simplicial_set", "edges")
        clock.watch(umap.umap_, "spectral_layout", "init")
        clock.watch(umap.umap_, "simplicial_set_embedding", "solve")
        self.model = umap.UMAP(n_jobs=spec["threads"], **spec["params"])

    def fit(self, X):
        return self.model.fit_transform(X)

    def transform(self, X):
        return self.model.transform(X)


class Pacmap:
    def __init__(self, spec, clock):
        import pacmap

        module = sys.modules["pacmap.pacmap"]
        clock.watch(module, "generate_pair", "neighbors")
        clock.watch(module, "pacmap", "solve")
        self.model = pacmap.PaCMAP(**spec["params"])

    def fit(self, X):
        return self.model.fit_transform(X)


class OpenTSNE:
    def __init__(self, spec, clock):
        import openTSNE

        module = sys.modules["openTSNE.tsne"]
        clock.watch(module, "MultiscaleMixture", "neighbors")
        clock.watch(openTSNE.TSNE, "prepare_initial", "init")
        clock.watch(openTSNE.TSNEEmbedding, "optimize", "solve")
        self.model = openTSNE.TSNE(
            n_jobs=spec["threads"], random_state=spec["seed"], **spec["params"]
        )

    def fit(self, X):
        import numpy as np

        return np.asarray(self.model.fit(X))


class SklearnTSNE:
    def __init__(self, spec, clock):
        from sklearn.manifold import TSNE

        self.model = TSNE(n_jobs=spec["threads"], random_state=spec["seed"], **spec["params"])

    def fit(self, X):
        return self.model.fit_transform(X)


RUNNERS = {
    "skmde": Skmde,
    "pymde": PyMDE,
    "umap": Umap,
    "pacmap": Pacmap,
    "opentsne": OpenTSNE,
    "sklearn-tsne": SklearnTSNE,
}


def peak_memory_mb():
    """Largest resident size of this process, in MB."""
    try:
        # ru_maxrss also remembers the process that this one was forked from
        with open("/proc/self/status") as lines:
            for line in lines:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def load_rows(path):
    """Rows as float32: of an array, or of a sparse matrix in a file that ends in .npz."""
    import numpy as np

    if not path.endswith(".npz"):
        return np.load(path).astype(np.float32)
    import scipy.sparse

    return scipy.sparse.csr_matrix(scipy.sparse.load_npz(path), dtype=np.float32)


def fit_again(X, spec):
    """A second fit in the same process, with the next seed; it finds everything compiled."""
    runner = RUNNERS[spec["program"]](dict(spec, seed=spec["seed"] + 1), Clock())
    began = time.perf_counter()
    return runner.fit(X), time.perf_counter() - began


def place_new(runner, spec, clock):
    """Transform the new rows together, then one at a time."""
    import numpy as np

    new = np.ascontiguousarray(np.load(spec["new"])).astype(np.float32)
    began = time.perf_counter()
    with clock.stage("transform"):
        placed = runner.transform(new)
    seconds = time.perf_counter() - began
    single, gap = [], 0.0
    for row in range(spec.get("single_rows", 20)):
        began = time.perf_counter()
        alone = runner.transform(new[row : row + 1])
        single.append(time.perf_counter() - began)
        gap = max(gap, float(np.abs(alone - placed[row]).max()))
    return placed, {"transform": seconds, "single_row": single, "single_row_gap": gap}


def main():
    clock = Clock()
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    for module in spec.get("hide", ()):
        sys.modules[module] = None  # as if it were not installed
    clock.add("imports", time.perf_counter() - STARTED)
    with clock.stage("imports"):
        runner = RUNNERS[spec["program"]](spec, clock)
        import numpy as np
    with clock.stage("load"):
        X = load_rows(spec["data"])
    began = time.perf_counter()
    with clock.stage("fit"):
        embedding = runner.fit(X)
    report = {"fit_seconds": time.perf_counter() - began}
    arrays = {"embedding": embedding}
    if spec.get("again"):
        arrays["second"], report["second_fit_seconds"] = fit_again(X, spec)
    if "new" in spec:
        arrays["placed"], report["new_rows"] = place_new(runner, spec, clock)
    report["peak_memory_mb"] = peak_memory_mb()
    with clock.stage("save"):
        if hasattr(runner, "facts"):
            report.update(runner.facts())
        if hasattr(runner, "extras") and spec.get("extras"):
            arrays.update(runner.extras())
        np.savez(spec["out"] + ".npz", **arrays)
    report["stages"] = clock.seconds
    with open(spec["out"] + ".json", "w") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
