"""Every "to add X, touch Y" of doc/architecture.rst, carried out once with a toy of a few lines."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from processes import run_python
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris

import skmde
from skmde import (
    MDE,
    Centered,
    Constraint,
    Loss,
    Penalty,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
    Standardized,
)
from skmde._utils.sklearn_compat import StrOptions
from skmde.constraints import check_constraint
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.core.objectives.total import Total
from skmde.core.solvers.base import Solver, solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import History, SolveResult, SolverState, Status, asks_to_stop
from skmde.estimators.spectral.laplacian import GivenWeightsProblem
from skmde.estimators.spectral.methods import METHODS, Method
from skmde.preprocessing import NeighborIndex
from skmde.preprocessing.neighbors.backends.base import RowSearch
from skmde.preprocessing.neighbors.backends.table import SEARCHES, SearchKind
from skmde.preprocessing.neighbors.selection import nearest_columns

X, _ = load_iris(return_X_y=True)
X = X[::3]
EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]])
LENGTHS = np.array([1.0, 1.0, 1.0, 1.0, 2.0**0.5])


class SquareRoot(Penalty):
    """A penalty with a parameter; derivatives follow by automatic differentiation."""

    def __init__(self, offset=1.0):
        self.offset = offset

    def value(self, d):
        return (d + self.offset).sqrt()


class SquaredLog(Loss):
    """A loss."""

    def value(self, delta, d):
        return torch.log((1 + d) / (1 + delta)) ** 2


class UnitCircle(Constraint):
    """Every item at distance 1 from the origin."""

    def project(self, Z):
        return Z / Z.norm(dim=1, keepdim=True)

    def project_tangent(self, X, Z):
        return Z - (X * Z).sum(dim=1, keepdim=True) * X


class Ridge:
    """A term of the objective: the mean square of the coordinates."""

    def value_and_gradient(self, X):
        return (X**2).mean(), 2 / X.numel() * X


class SteepestDescent(Solver):
    """A solver: steps of a fixed length along the negative projected gradient."""

    def __init__(self, step, max_iter=1000, tol=1e-6):
        self.step, self.max_iter, self.tol = step, max_iter, tol

    def minimize(self, objective, constraint, X, callbacks=()):
        status, history = Status.MAX_ITER, History()
        for iteration in range(self.max_iter + 1):
            value, gradient = objective.value_and_gradient(X)
            G = constraint.project_tangent(X, gradient)
            norm = float(G.norm())
            history.value.append(float(value))
            history.residual_norm.append(norm)
            if norm <= self.tol:
                status = Status.CONVERGED
                break
            if asks_to_stop(callbacks, SolverState.at(iteration, float(value), norm, X)):
                status = Status.STOPPED
                break
            X = constraint.project(X - self.step * G)
        numbers = {"residual_norm": norm, "tol": self.tol, "max_iter": self.max_iter}
        return SolveResult(
            X=X,
            value=float(value),
            residual_norm=norm,
            n_iter=iteration,
            n_evaluations=iteration + 1,
            status=status,
            reason=status.sentence(**numbers),
            history=history,
        )


class CountingBackend(TorchBackend):
    """A backend: torch's operations, and a number of how often they were asked for sums."""

    n_sums = 0

    def edge_sums(self, runs, n_items, n_components, dtype, ranks=None):
        sums = super().edge_sums(runs, n_items, n_components, dtype, ranks)

        def counted(X, scale):
            self.n_sums += 1
            return sums(X, scale)

        return counted


class HeatProblem(GivenWeightsProblem):
    """A historical method: Laplacian eigenmaps of all pairs, with weights exp(-||x - y||^2)."""

    def __init__(self, X, parameters):
        self.rows = X
        super().__init__(self.weights(X), parameters.n_components, parameters.n_jobs)

    def weights(self, X):
        W = np.exp(-(cdist(X, self.rows) ** 2))
        return W - np.diag(W.diagonal()) if X is self.rows else W

    def place(self, X, embedding, eigenvalues):
        return super().place(self.weights(X), embedding, eigenvalues)


class PlainSearch(RowSearch):
    """A neighbour search: squared distances of all pairs by numpy."""

    def __init__(self, rows):
        self.rows = rows

    def search(self, queries, k, exclude, n_jobs):
        squares = ((queries[:, None].astype(float) - self.rows) ** 2).sum(axis=2)
        return nearest_columns(squares, k, exclude)


def successive(times):
    """A preprocessing step: joins each item to the next in time, more weakly over longer gaps."""
    order = np.argsort(times)
    gaps = np.diff(times[order])
    return np.sort(np.stack([order[:-1], order[1:]], axis=1), axis=1), gaps.min() / gaps


# A compiled loop, sqrt(d^2 + a^2): text to insert into files of skmde, each before given lines.
COMPILED_LOOP = {
    "functions/kinds.py": [("# Losses l(delta, d).\n", "ROUNDED: Final = 30\n")],
    "core/kernels/numba_penalties.py": [
        (
            "@jit(fastmath=CONTRACT)\ndef penalty_curvature(",
            """
@jit(fastmath=CONTRACT)
def map_rounded(a, d, value, slope):
    for k in range(d.shape[0]):
        value[k] = np.sqrt(d[k] * d[k] + a * a)
        slope[k] = d.dtype.type(1) / value[k]

""",
        ),
        (
            "    else:  # linear, hinge\n",
            """
    elif kind == kinds.ROUNDED:
        for k in range(d.shape[0]):
            curvature[k] = slope[k] * (a * a / (d[k] * d[k] + a * a))
""",
        ),
    ],
    "core/kernels/numba_maps.py": [
        ("    map_sigmoid,\n", "    map_rounded,\n"),
        (
            "    elif kind == _SIGMOID:\n",
            """
    elif kind == kinds.ROUNDED:
        map_rounded(a, d, value, slope)
""",
        ),
    ],
    "functions/powers.py": [
        (
            "class Power(Penalty):\n",
            """
class Rounded(Penalty):
    _kind = kinds.ROUNDED
    _kernel_arguments = ("offset",)

    def __init__(self, offset=1.0):
        self.offset = offset

    def value(self, d):
        return (d * d + self.offset**2).sqrt()

""",
        )
    ],
}
EVALUATE = """
import json
import numpy as np, torch
from skmde.core.kernels.numba_maps import expand
from skmde.functions.powers import Rounded

penalty, d, w = Rounded(offset=0.5), np.array([1e-3, 0.5, 2.0, 100.0]), np.array([1, -2, 0.3, 1])
kind, *parameters = penalty.kernel_parameters()
compiled = [np.empty(4) for _ in range(5)]
expand(kind, np.array(parameters), w, w, d**2, *compiled)
D = torch.from_numpy(d)
by_torch = [w * f(D).numpy() for f in (penalty.value, penalty.slope, penalty.curvature)]
print(json.dumps([np.stack(numbers).tolist() for numbers in (compiled[2:], by_torch)]))
"""


def test_penalty():
    estimator = PreserveNeighbors(attractive_penalty=SquareRoot(offset=0.5), random_state=0)
    assert clone(estimator).get_params()["attractive_penalty__offset"] == 0.5
    fitted = estimator.fit(X)
    assert np.isfinite(fitted.embedding_).all() and np.isfinite(fitted.transform(X[:2] + 0.1)).all()


def test_loss():
    fitted = PreserveDistances(loss=SquaredLog(), random_state=0).fit(X)
    assert fitted.stress_ < 0.1
    assert np.isfinite(fitted.transform(X[:2] + 0.1)).all()


@pytest.mark.slow
def test_compiled_loop(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(skmde.__file__).parent, tmp_path / "skmde", ignore=ignored)
    for name, insertions in COMPILED_LOOP.items():
        file = tmp_path / "skmde" / name
        text = file.read_text()
        for lines, new in insertions:
            assert text.count(lines) == 1, f"{lines!r} should be once in {name}"
            text = text.replace(lines, new + lines)
        file.write_text(text)
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = run_python(EVALUATE, folder=tmp_path, **environment)
    compiled, by_torch = map(np.array, json.loads(done.stdout))
    assert compiled.shape == (3, 4)
    np.testing.assert_allclose(compiled, by_torch, rtol=1e-9)


def test_constraint():
    check_constraint(UnitCircle(), n_items=10, n_components=2)
    fitted = PreserveNeighbors(constraint=UnitCircle(), random_state=0).fit(X)
    np.testing.assert_allclose(np.linalg.norm(fitted.embedding_, axis=1), 1, rtol=1e-5)


def edge_term(backend):
    edges = EdgeList.build(EDGES, 4, "squared", deviations=LENGTHS, dtype=torch.float64)
    return EdgeTerm(edges, 4, 2, dtype=torch.float64, backend=backend)


def start():
    return Centered().initialize(4, 2, np.random.default_rng(2), torch.float64, "cpu")


def test_term():
    backend = CompiledBackend()
    total = Total([edge_term(backend), Ridge()], backend)
    pulled = solve(LBFGS(tol=1e-9), total, Centered(), start())
    free = solve(LBFGS(tol=1e-9), edge_term(backend), Centered(), start())
    assert pulled.converged and free.converged
    assert float((pulled.X**2).mean()) < 0.8 * float((free.X**2).mean())


def test_solver():
    objective = edge_term(CompiledBackend())
    found = solve(SteepestDescent(step=0.2), objective, Centered(), start())
    best = solve(LBFGS(tol=1e-6), objective, Centered(), start())
    assert found.status is Status.CONVERGED and found.reason.startswith("the residual norm")
    assert found.value == pytest.approx(best.value, abs=1e-9)
    stopped = solve(
        SteepestDescent(step=0.2),
        objective,
        Centered(),
        start(),
        callbacks=[lambda state: state.iteration == 3],
    )
    assert stopped.status is Status.STOPPED and stopped.n_iter == 3


def test_backend():
    backend = CountingBackend(torch.device("cpu"))
    found = solve(LBFGS(tol=1e-6), edge_term(backend), Centered(), start())
    best = solve(LBFGS(tol=1e-6), edge_term(CompiledBackend()), Centered(), start())
    assert backend.n_sums == found.n_evaluations > 1
    assert found.value == pytest.approx(best.value, abs=1e-9)


def test_neighbor_search(monkeypatch):
    monkeypatch.setitem(
        SEARCHES, "plain", SearchKind(lambda rows, _: PlainSearch(rows), needs_dense_euclidean=True)
    )
    X = np.random.default_rng(0).normal(size=(50, 4))
    found = NeighborIndex(algorithm="plain").fit(X).kneighbors(X + 0.01, 5)
    expected = NeighborIndex(algorithm="exact").fit(X).kneighbors(X + 0.01, 5)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    with pytest.raises(ValueError, match="plain"):
        NeighborIndex(algorithm="plain", metric="manhattan").fit(X)


def test_historical_method(monkeypatch):
    monkeypatch.setitem(METHODS, "heat", Method(HeatProblem))
    names = [StrOptions(set(METHODS))]
    monkeypatch.setitem(QuadraticMDE._parameter_constraints, "weights", names)
    fitted = QuadraticMDE(weights="heat").fit(X)
    W = np.exp(-(cdist(X, X) ** 2))
    np.fill_diagonal(W, 0)
    L = np.diag(W.sum(axis=0)) - W
    np.testing.assert_allclose(fitted.eigenvalues_, np.linalg.eigvalsh(L)[1:3], rtol=1e-6)
    unseen = fitted.transform(X[:3] + 0.01)
    np.testing.assert_allclose(unseen, fitted.embedding_[:3], atol=1.0)
    assert np.isfinite(unseen).all()


def test_preprocessing_step():
    n = 12
    times = np.random.default_rng(0).permutation(n)
    edges, weights = successive(times)
    problem = MDE(n, 1, edges, "quadratic", Standardized(), weights=weights)
    found = problem.embed(tol=1e-9, max_iter=1000).numpy().ravel()
    # A path's Laplacian has cosines as eigenvectors.
    expected = np.sqrt(2) * np.cos(np.pi * (times + 0.5) / n)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-6)
