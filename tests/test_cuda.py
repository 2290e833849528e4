"""A CUDA GPU gives what the CPU gives, and the same bits each time. Skipped without one."""

import importlib.util

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from skmde import MDE, Anchored, PreserveDistances, PreserveNeighbors
from skmde._linalg.principal import principal_scores
from skmde.core.kernels.backend import TorchBackend, choose_backend
from skmde.estimators.starts.neighbors import quadratic_start
from skmde.losses import LOSSES
from skmde.metrics import trustworthiness
from skmde.penalties import PENALTIES, Barrier
from skmde.preprocessing.graphs.weights import near_of_tables, weighted_graph
from skmde.preprocessing.neighbors.backends.candidates.cuvs import CuvsCandidates, import_cuvs
from skmde.preprocessing.neighbors.backends.candidates.products import Products
from skmde.preprocessing.neighbors.search import nearest_neighbors

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

N = 80
GPU = torch.device("cuda")


def random_edges(seed=0):
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    return np.random.default_rng(seed).permutation(pairs)[:900]


def starts(m=2, seed=1):
    X = np.random.default_rng(seed).normal(size=(N, m))
    return X - X.mean(axis=0)


SINGLE, DOUBLE = torch.float32, torch.float64
SHAPES = [(2, SINGLE), (2, DOUBLE), (1, SINGLE), (5, DOUBLE)]  # each is compiled by itself


@pytest.mark.parametrize(("m", "dtype"), SHAPES)
@pytest.mark.parametrize("name", sorted(PENALTIES))
def test_objective_of_every_penalty(name, m, dtype):
    weights = np.where(np.random.default_rng(2).random(900) < 0.7, 1.0, -0.5)
    X = torch.tensor(starts(m), dtype=dtype)
    penalty = Barrier(rho=1e-9) if name == "barrier" else name
    compare_objectives(X, dtype, (penalty, penalty), weights=weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_objective_of_every_loss(name, dtype):
    rng = np.random.default_rng(3)
    weights, deviations = rng.gamma(2.0, size=(2, 900))
    X = torch.tensor(starts(), dtype=dtype)
    compare_objectives(X, dtype, distortion=name, weights=weights, deviations=deviations)


def compare_objectives(X, dtype, distortion, **arguments):
    answers = {}
    for device in ("cpu", "cuda"):
        mde = MDE(N, X.shape[1], random_edges(), distortion, device=device, **arguments)
        on_device = X.to(device)
        objective = mde._objective(dtype)
        value, gradient = objective.value_and_gradient(on_device)
        assert gradient.device.type == device
        answers[device] = float(value), gradient.cpu(), mde.distances(on_device).cpu()
    rtol = 1e-4 if dtype == torch.float32 else 1e-10
    (value, gradient, d), (value_cuda, gradient_cuda, d_cuda) = answers["cpu"], answers["cuda"]
    assert value_cuda == pytest.approx(value, rel=rtol)
    torch.testing.assert_close(
        gradient_cuda, gradient, rtol=rtol, atol=rtol * float(gradient.abs().max())
    )
    torch.testing.assert_close(d_cuda, d, rtol=rtol, atol=0)


@pytest.mark.parametrize("constraint", ["centered", "standardized", "anchored"])
def test_a_solve_reaches_the_cpus_value(constraint):
    X = starts()
    if constraint == "anchored":
        constraint = Anchored(np.arange(5), X[:5])
    values = {}
    for device in ("cpu", "cuda"):
        mde = MDE(N, 2, random_edges(), "cubic", constraint, device=device)
        solution = mde.embed(X, tol=1e-6, max_iter=1000)
        assert solution.device.type == device
        assert solution.shape == (N, 2)
        values[device] = mde.average_distortion()
    assert values["cuda"] == pytest.approx(values["cpu"], rel=1e-3, abs=1e-8)


def test_a_solve_repeats_bit_for_bit():
    X = starts()
    answers = []
    for _ in range(3):
        mde = MDE(N, 2, random_edges(), ("log1p", "log"), "standardized", device="cuda")
        answers.append(mde.embed(X, max_iter=50).cpu())
    assert torch.equal(answers[0], answers[1])
    assert torch.equal(answers[0], answers[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_by_matrix_products(dtype):
    X = np.random.default_rng(0).standard_normal((20_001, 40)).astype(dtype)
    X[:20] = X[0]  # ties, which are sorted by index
    found, d, index = nearest_neighbors(X, 10, algorithm="torch", device="cuda")
    expected, d_expected = nearest_neighbors(X, 10, algorithm="exact")[:2]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(d, d_expected, rtol=1e-12)
    unseen = X[:5000] + dtype(0.1)
    several, _ = index.kneighbors(unseen, 5)
    np.testing.assert_array_equal(index.kneighbors(unseen[:3], 5)[0], several[:3])


def hard_rows():
    """Tight groups far from each other, copies, many rows at one distance, and one far away."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 40))
    X[:8000] += 1e4 * rng.standard_normal((5, 40))[rng.integers(0, 5, 8000)]
    X[8000:8100] = X[8000]
    X[9000:10_000] = rng.integers(0, 2, (1000, 40))
    X[-1] = 1e7
    return X


def same_neighbors_as_the_cpus(X, k=10):
    found, d, index = nearest_neighbors(X, k, algorithm="torch", device="cuda")
    expected, d_expected, exact = nearest_neighbors(X, k, algorithm="exact")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(d, d_expected, rtol=1e-12)
    unseen = X[6000:12_000] + 0.25
    np.testing.assert_array_equal(index.kneighbors(unseen, k)[0], exact.kneighbors(unseen, k)[0])


def test_neighbors_beyond_single_precision():
    same_neighbors_as_the_cpus(hard_rows())


@pytest.mark.parametrize("reduced", [False, True])
def test_neighbors_with_products_in_tf32(reduced):
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = reduced
    try:
        same_neighbors_as_the_cpus(np.random.default_rng(0).standard_normal((20_000, 200)) + 3)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.skipif(import_cuvs(GPU) is None, reason="needs cuVS")
@pytest.mark.parametrize("k", [10, 60])  # another of cuVS's kernels compares for each
def test_candidates_of_cuvs(monkeypatch, k):
    X = np.random.default_rng(0).standard_normal((20_001, 40))
    rows, own = torch.from_numpy(X).cuda(), torch.arange(5000, device=GPU)
    sources = [
        CuvsCandidates(rows, k + 16, GPU, import_cuvs(GPU)),
        Products(rows, k + 16, GPU, SINGLE),
    ]
    tables = []
    for source in sources:
        candidates, *values = source.nearest(rows[own], own)
        squared = ((rows[candidates] - rows[own, None]) ** 2).sum(dim=2)
        squared[candidates == own[:, None]] = torch.inf
        assert source.misses_none(squared.sort(dim=1).values[:, :k], *values).all()
        tables.append(squared.sort(dim=1).values[:, :k])
    torch.testing.assert_close(*tables, rtol=1e-12, atol=0)
    monkeypatch.setattr("skmde.preprocessing.neighbors.backends.candidates.cuvs._MANY_PAIRS", 0)
    with torch.cuda.stream(torch.cuda.Stream()):
        same_neighbors_as_the_cpus(hard_rows(), k)


def test_the_graph_and_the_starts_are_those_of_the_cpu():
    X = np.random.default_rng(0).standard_normal((12_000, 20)) * np.linspace(1, 4, 20)
    tables = nearest_neighbors(X, 15)[:2]
    near = near_of_tables(*tables)
    graph, on_gpu = (weighted_graph(near, "count", device=device) for device in (None, GPU))
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(on_gpu, name), getattr(graph, name))
    starts_of = [quadratic_start(graph, 2, 1, device) for device in (None, GPU, GPU)]
    np.testing.assert_array_equal(starts_of[1], starts_of[2])
    np.testing.assert_allclose(starts_of[1], starts_of[0], atol=1e-2)
    scores = [principal_scores(X, 2, np.random.default_rng(0), d) for d in (None, GPU)]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-8 * np.abs(scores[0]).max())


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")
@pytest.mark.parametrize("functions", [("log1p", "log"), "quadratic"])
def test_triton_kernels_equal_torch_operations(functions):
    n, rng = 5000, np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, n, (60_000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    pairs = np.concatenate([pairs[pairs[:, 0] > 0], [[0, j] for j in range(1, n)]])  # a hub
    weights = None if functions == "quadratic" else np.where(rng.random(len(pairs)) < 0.5, 1, -1)
    mde = MDE(n, 2, pairs, functions, weights=weights, device="cuda")
    X = torch.tensor(rng.normal(size=(n, 2)), dtype=torch.float32, device="cuda")
    answers = []
    for backend in (choose_backend(X.device), choose_backend(X.device), TorchBackend(X.device)):
        term = mde._pair_term(mde._edges, X.dtype, backend)
        answers.append(term.value_and_gradient(X))
    assert type(choose_backend(X.device)).__name__ == "TritonBackend"
    assert torch.equal(answers[0][1], answers[1][1])
    assert float(answers[0][0]) == float(answers[1][0])
    assert float(answers[0][0]) == pytest.approx(float(answers[2][0]), rel=1e-5)
    atol = 1e-5 * float(answers[2][1].abs().max())
    torch.testing.assert_close(answers[0][1], answers[2][1], rtol=1e-4, atol=atol)


@pytest.mark.parametrize(
    ("functions", "constraint", "repulsion", "most"),
    [
        (("log1p", "log"), "centered", None, 1),
        (("log1p", "log"), "standardized", None, 2),
        (("log1p", "cauchy"), "centered", "all", 2),
    ],
)
def test_copies_to_the_host_of_an_evaluation(functions, constraint, repulsion, most):
    n, rng = 5000, np.random.default_rng(0)
    pairs = np.stack([np.arange(n), (np.arange(n) + rng.integers(1, n, n)) % n], axis=1)
    weights = np.ones(n) if repulsion else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    mde = MDE(n, 2, pairs, functions, constraint, weights=weights, repulsion=repulsion, device=GPU)
    start = rng.normal(size=(n, 2)).astype(np.float32)
    counts = []
    for iterations in (10, 40):
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            mde.embed(start, max_iter=iterations, tol=0)
        copies = sum("DtoH" in event.name for event in profiler.events())
        counts.append((copies, mde.result.n_evaluations))
    (few, early), (many, late) = counts
    assert many - few <= 1.2 * most * (late - early)


def test_no_memory_is_told_with_the_need():
    X = np.random.default_rng(0).standard_normal((20_001, 100)).astype(np.float32)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1e-5)
    try:
        with pytest.raises(MemoryError, match=r"GPU has no memory left.*device='cpu'"):
            PreserveNeighbors(device="cuda").fit(X)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_digits():
    X = load_digits().data
    model = PreserveNeighbors(device="cuda", random_state=0)
    Y = model.fit_transform(X)
    assert isinstance(Y, np.ndarray) and Y.shape == (len(X), 2)
    assert trustworthiness(X, Y, n_neighbors=15) > 0.975
    np.testing.assert_array_equal(
        PreserveNeighbors(device="cuda", random_state=0).fit_transform(X), Y
    )
    placed = model.transform(X[:50] + 0.01)
    assert np.linalg.norm(placed - Y[:50], axis=1).mean() < 0.1 * Y.std()
    np.testing.assert_allclose(model.transform(X[3:5] + 0.01), placed[3:5], atol=1e-7)


def test_a_tensor_on_the_gpu_is_input():
    X = load_digits().data[:300]
    on_host = PreserveNeighbors(random_state=0).fit_transform(X)
    on_gpu = PreserveNeighbors(random_state=0).fit_transform(torch.tensor(X).cuda())
    np.testing.assert_array_equal(on_gpu, on_host)


@pytest.mark.parametrize("loss", ["absolute", "squared", lambda delta, d: (d - delta) ** 2])
def test_all_pairs(loss):
    deviations = np.random.default_rng(4).gamma(2.0, size=N * (N - 1) // 2)
    values = []
    for device in ("cpu", "cuda"):
        mde = MDE(N, 2, None, loss, deviations=deviations, device=device)
        solution = mde.embed(starts(), max_iter=100)
        assert solution.device.type == device
        values.append(mde.average_distortion())
    assert values[1] == pytest.approx(values[0], rel=1e-3)


def test_distances_of_digits():
    X = load_digits().data[:600]
    on_cpu, on_gpu = (
        PreserveDistances(loss="squared", device=device, random_state=0).fit(X)
        for device in ("cpu", "cuda")
    )
    assert on_gpu.stress_ == pytest.approx(on_cpu.stress_, rel=1e-3)
    np.testing.assert_array_equal(on_gpu.edges_, on_cpu.edges_)
    assert np.isfinite(on_gpu.transform(X[:5] + 0.1)).all()


@pytest.mark.parametrize("repulsion", ["all", "normalized"])
@pytest.mark.parametrize("n", [80, 3000])
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("far", [0.0, 1e5])
def test_repulsion_of_all_pairs(repulsion, n, m, far):
    rng = np.random.default_rng(0)
    X = torch.tensor(10 * rng.normal(size=(n, m)), dtype=torch.float32)
    X[0] += far
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    answers = {}
    for device in ("cpu", "cuda"):
        mde = MDE(
            n,
            m,
            edges,
            ("log1p", "cauchy"),
            repulsion=repulsion,
            item_weights=rng.random(n) if device == "cpu" else answers["weights"],
            device=device,
        )
        answers.setdefault("weights", mde.item_weights.cpu().numpy())
        objective = mde._objective(torch.float32)
        value, gradient = objective.value_and_gradient(X.to(device))
        again, same = objective.value_and_gradient(X.to(device))
        assert float(again) == float(value)
        assert torch.equal(same, gradient)
        answers[device] = float(value), gradient.cpu()
    (value, gradient), (value_cuda, gradient_cuda) = answers["cpu"], answers["cuda"]
    assert value_cuda == pytest.approx(value, rel=1e-4)
    atol = 1e-3 * float(gradient[1:].abs().max())
    torch.testing.assert_close(gradient_cuda, gradient, rtol=1e-3, atol=atol)


def test_a_map_on_a_gpu_is_as_good():
    X = load_digits().data
    scores = [
        trustworthiness(X, PreserveNeighbors(random_state=0, device=device).fit_transform(X))
        for device in ("cpu", "cuda")
    ]
    assert scores[1] > scores[0] - 0.01
