"""The solver reads from its device once for each evaluation, and nowhere else.

Every read makes the host wait until the device has done all that was asked of it. The tests need
no such device: one counts reads on the CPU, along the path that other devices take; the other
solves on torch's "meta" device, whose tensors hold no numbers, so that any read is an error.
"""

import itertools

import numpy as np
import pytest
import torch
from core_problems import (
    Sphere,
    minimize,
    objective_of,
    push_and_pull_weights,
    random_graph,
)
from kernel_cases import LOSSES, PENALTIES
from low_precision import with_products_of
from torch.utils._python_dispatch import TorchDispatchMode

from skmde import MDE, Anchored, Centered, Standardized
from skmde._linalg import reductions, standardize as standardize_module
from skmde._utils import device
from skmde.core import items
from skmde.core.kernels import torch_reference
from skmde.core.kernels.backend import TorchBackend, choose_backend
from skmde.core.kernels.torch_reference import Incidence
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.solvers import steps
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.rising_repulsion import RisingRepulsion
from skmde.functions.base import Loss

N = 40


class CountReads(TorchDispatchMode):
    """Counts tensors turned into Python numbers, but not inside a constraint's projection."""

    def __init__(self):
        super().__init__()
        self.reads = 0
        self.paused = False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten._local_scalar_dense.default and not self.paused:
            self.reads += 1
        return operation(*args, **(kwargs or {}))


def problem(distortion=("log1p", "log"), **arguments):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, N, 200)
    if not arguments:
        arguments = {"weights": push_and_pull_weights(rng, len(edges))}
    else:
        arguments = {name: values[: len(edges)] for name, values in arguments.items()}
    return objective_of(edges, N, 2, distortion, path="torch", **arguments)


CONSTRAINTS = [
    Centered(),
    Anchored([0, 5], np.array([[0.0, 0.0], [1.0, 1.0]])),
    Sphere(),
    Standardized(),
]


def test_the_counter_counts():
    with CountReads() as counter:
        float(torch.ones(3).sum())
        bool(torch.ones(1) > 0)
        torch.ones(1).item()
    assert counter.reads == 3


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: c.name)
def test_one_read_for_each_evaluation(monkeypatch, constraint):
    counter = CountReads()
    calls = []
    read = steps.Steps._read
    monkeypatch.setattr(
        steps.Steps, "_read", lambda self, *values: calls.append(1) or read(self, *values)
    )
    project = constraint.project

    def project_uncounted(Z):
        counter.paused = True
        try:
            return project(Z)
        finally:
            counter.paused = False

    objective = problem()
    X = constraint.initialize(N, 2, np.random.default_rng(0), torch.float32, "cpu")
    monkeypatch.setattr(constraint, "project", project_uncounted, raising=False)
    with counter:
        result = minimize(objective, constraint, X, max_iter=30)
    assert result.n_iter == 30
    # `_read` brings all numbers of an evaluation over at once.
    assert len(calls) == result.n_evaluations
    assert counter.reads == 0


@pytest.mark.parametrize("function", PENALTIES + LOSSES, ids=repr)
def test_distortion_functions_read_nothing(function):
    extra = {"deviations": np.linspace(0, 2, 1000)} if isinstance(function, Loss) else {}
    objective = problem(function, **extra)
    X = torch.randn(N, 2, generator=torch.Generator().manual_seed(0))
    with CountReads() as counter:
        objective.value_and_gradient(X)
    assert counter.reads == 0


@pytest.mark.parametrize("constraint", CONSTRAINTS[:3], ids=lambda c: c.name)
def test_nothing_but_the_one_read_needs_numbers(monkeypatch, constraint):
    values = itertools.count()
    calls = []

    def made_up_numbers(self, *tensors):
        assert all(t.device.type == "meta" for t in tensors if isinstance(t, torch.Tensor))
        size = sum(t.numel() if isinstance(t, torch.Tensor) else 1 for t in tensors)
        calls.append(size)
        if size == 3:  # the start: value, squared norms of gradient and embedding
            return [10.0, 1.0, 1.0]
        return [9.0 - 0.1 * next(values), -1e-9, 1.0, *[1.0] * (size - 3)]

    monkeypatch.setattr(steps.Steps, "_read", made_up_numbers)
    meta = torch.device("meta")
    # torch cannot sort there
    no_numbers = Incidence(*(torch.zeros(k, dtype=torch.int64, device=meta) for k in (2, N + 1)))
    monkeypatch.setattr(Incidence, "of", lambda i, j, n: no_numbers)
    edges = problem().edges.to(device=meta)
    objective = EdgeTerm(edges, N, 2, backend=choose_backend(meta))
    X = torch.zeros(N, 2, device=meta)
    result = minimize(objective, constraint, X, max_iter=15)
    assert result.n_iter == 15
    assert len(calls) == result.n_evaluations
    assert result.X.device.type == "meta"


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """All takes the path of other devices, and copies to the host are counted."""
    for module in (device, reductions, standardize_module, steps, torch_reference):
        monkeypatch.setattr(module, "is_cpu", lambda where: False)
    copies = []
    for name in ("cpu", "tolist"):
        copy = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor, name, lambda self, copy=copy: copies.append(1) or copy(self)
        )
    return copies


@pytest.mark.parametrize("kind", ["all", "normalized"])
def test_repulsion_of_all_pairs_reads_the_box_and_the_numbers(monkeypatch, as_on_a_gpu, kind):
    n = 1200  # enough for a lattice
    rng = np.random.default_rng(0)
    monkeypatch.setattr(items, "choose_backend", lambda *_: TorchBackend(torch.device("cpu")))
    edges = random_graph(rng, n, 3 * n)
    mde = MDE(n, 2, edges, ("log1p", "cauchy"), repulsion=kind)
    objective = mde._objective(torch.float32)
    X = torch.tensor(rng.normal(size=(n, 2)), dtype=torch.float32)
    X = X - X.mean(dim=0)
    warm = RisingRepulsion(max_iter=20, max_more=0)
    with CountReads() as counter:
        as_on_a_gpu.clear()
        result = warm.minimize(objective, Centered(), X)
        assert result.n_iter >= 15
        assert len(as_on_a_gpu) == 2 * result.n_evaluations
        assert counter.reads == 0
        as_on_a_gpu.clear()
        last = LBFGS(max_iter=10, max_step=2.0, usual_step=0.1)
        result = last.minimize(objective, Centered(), result.X)
        assert len(as_on_a_gpu) == 2 * result.n_evaluations
        assert counter.reads == 0


class RefuseVaryingSums(TorchDispatchMode):
    """Refuses what torch's deterministic mode refuses on a GPU, of all that can be used here."""

    REFUSED = ("histc", "kthvalue", "median.dim", "nanmedian.dim", "put", "put_")

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = str(operation).removeprefix("aten.").removesuffix(".default")
        assert name not in self.REFUSED
        floating = isinstance(args[0], torch.Tensor) and args[0].is_floating_point()
        assert not (name.startswith("cumsum") and floating)
        assert not (name == "bincount" and len(args) > 1 and args[1] is not None)
        assert not (name.startswith(("index_add", "scatter_add")) and floating)
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize("constraint", ["centered", "standardized"])
def test_a_solve_has_no_sum_whose_order_varies_on_a_gpu(monkeypatch, as_on_a_gpu, constraint):
    n, rng = 1200, np.random.default_rng(0)
    monkeypatch.setattr(items, "choose_backend", lambda *_: TorchBackend(torch.device("cpu")))
    repulsion = "all" if constraint == "centered" else None
    weights = np.where(rng.random(3 * n) < 0.5, 1.0, -1.0)
    edges = random_graph(rng, n, 3 * n)
    weights = np.ones(len(edges)) if repulsion else weights[: len(edges)]
    functions = ("log1p", "cauchy") if repulsion else ("log1p", "log")
    X = torch.tensor(rng.normal(size=(n, 2)), dtype=torch.float32)
    with RefuseVaryingSums():
        mde = MDE(n, 2, edges, functions, constraint, weights=weights, repulsion=repulsion)
        solver = LBFGS(max_iter=10, max_step=2.0, usual_step=0.1)
        start = mde.constraint.project(X)
        result = solver.minimize(mde._objective(torch.float32), mde.constraint, start)
    assert result.n_iter >= 5


def test_a_standardized_embedding_is_projected_after_one_copy(as_on_a_gpu):
    Z = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    X = standardize_module.standardize(Z)
    assert len(as_on_a_gpu) == 1
    torch.testing.assert_close(X.T @ X / 100, torch.eye(3), rtol=0, atol=1e-5)


def test_products_in_tf32_do_not_move_a_standardized_embedding(monkeypatch, as_on_a_gpu):
    with_products_of(10, monkeypatch)  # bits
    Z = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    X = standardize_module.standardize(Z)
    exact = standardize_module.standardize(Z.double())
    torch.testing.assert_close(X.double(), exact, rtol=0, atol=1e-5)
