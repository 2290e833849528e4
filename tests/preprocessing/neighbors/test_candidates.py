"""Sources of candidates on a device: whichever is used, the neighbours are the exact ones.

cuVS runs on GPUs of NVIDIA alone. A stand-in takes its place: it checks what it is given, and does
on the CPU what cuVS does. `test_cuda.py` compares the real one.
"""

import contextlib
import importlib.machinery
import logging
import sys
import types
import weakref

import numpy as np
import pytest
import torch
from low_precision import with_products_of
from torch.utils._python_dispatch import TorchDispatchMode

from skmde._utils.device import memory_errors, runs_cuvs
from skmde.preprocessing.neighbors.backends.candidates.cuvs import CuvsCandidates, import_cuvs
from skmde.preprocessing.neighbors.backends.candidates.products import Products
from skmde.preprocessing.neighbors.backends.torch import TorchSearch
from skmde.preprocessing.neighbors.search import nearest_neighbors

BACKENDS = "skmde.preprocessing.neighbors.backends"


@pytest.fixture(autouse=True)
def whatever_the_size(monkeypatch):
    monkeypatch.setattr(f"{BACKENDS}.torch._FEW", 0)


class Cuvs(types.ModuleType):
    """What is used of ``cuvs.neighbors.brute_force``, on the CPU."""

    def __init__(self):
        super().__init__("cuvs.neighbors.brute_force")
        self.waited = self.calls = self.devices = 0

    def build(self, dataset, metric="sqeuclidean", metric_arg=2.0, resources=None):
        self._check(dataset, torch.float32)
        assert metric == "sqeuclidean" and resources is None
        return weakref.ref(dataset)  # an index does not own its rows

    def search(self, index, queries, k, neighbors=None, distances=None, resources=None):
        rows = index()
        for given, dtype in ((queries, torch.float32), (distances, torch.float32)):
            self._check(given, dtype)
        self._check(neighbors, torch.int64)
        assert resources is None and neighbors.shape == distances.shape == (len(queries), k)
        assert k <= len(rows)
        D = (queries**2).sum(1)[:, None] + (rows**2).sum(1) - 2 * queries @ rows.T
        order = np.random.default_rng(self.calls).permutation(len(rows))  # ties are not sorted
        distances[:], found = torch.topk(D.clamp(min=0)[:, order], k, dim=1, largest=False)
        neighbors[:] = torch.from_numpy(order)[found]
        return distances, neighbors

    def _check(self, tensor, dtype):
        assert isinstance(tensor, torch.Tensor) and tensor.ndim == 2
        assert tensor.dtype == dtype and tensor.is_contiguous() and not tensor.requires_grad
        self.calls += 1
        assert self.devices == 1 and self.waited > 0  # torch's work is done

    def current_stream(self):
        return types.SimpleNamespace(synchronize=self._wait)

    def _wait(self):
        assert self.devices == 1
        self.waited += 1

    @contextlib.contextmanager
    def device(self, device):
        assert device == torch.device("cpu")
        self.devices += 1
        try:
            yield
        finally:
            self.devices -= 1
            self.waited = 0


@pytest.fixture
def cuvs(monkeypatch):
    library = Cuvs()
    for name in ("cuvs", "cuvs.neighbors"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["cuvs.neighbors"].brute_force = library
    monkeypatch.setitem(sys.modules, "cuvs.neighbors.brute_force", library)
    monkeypatch.setattr(f"{BACKENDS}.candidates.cuvs.runs_cuvs", lambda device: True)
    monkeypatch.setattr(f"{BACKENDS}.candidates.cuvs._MANY_PAIRS", 0)
    monkeypatch.setattr(torch.cuda, "device", library.device)
    monkeypatch.setattr(torch.cuda, "current_stream", library.current_stream)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    return library


def cases():
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((700, 6))
    yield "cloud", cloud
    yield "few rows", cloud[:12]
    copies = cloud.astype(np.float32)
    copies[40:90] = copies[40]  # more than there are candidates
    yield "copies", copies
    groups = 1e5 * rng.standard_normal((5, 6))
    yield "tight groups", groups[rng.integers(0, 5, 700)] + cloud
    far = cloud.copy()
    far[0] = 1e8
    yield "a row far from all others", far
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 4), axis=-1).reshape(-1, 4)
    yield "many at one distance", rng.permutation(grid)


CASES = dict(cases())


def same_as_exact(X, k=6):
    found, d, index = nearest_neighbors(X, k, algorithm="torch")
    expected, d_expected, exact = nearest_neighbors(X, k, algorithm="exact")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(d, d_expected, rtol=1e-12)
    unseen = X[:100] + X.dtype.type(0.25)
    expected, d_expected = exact.kneighbors(unseen, k)
    found, d = index.kneighbors(unseen, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(d, d_expected, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_candidates_of_products_have_the_exact_neighbors(case):
    same_as_exact(CASES[case])


@pytest.mark.parametrize("case", CASES)
def test_candidates_of_cuvs_have_the_exact_neighbors(cuvs, case):
    same_as_exact(CASES[case])
    assert cuvs.calls > 0


@pytest.mark.parametrize("bits", [10, 7], ids=["TF32", "bfloat16"])
def test_products_in_a_lower_precision_do_not_change_the_neighbors(monkeypatch, bits):
    with_products_of(bits, monkeypatch)
    rng = np.random.default_rng(1)
    same_as_exact(np.repeat(rng.standard_normal((20, 30)), 50, axis=0) + rng.normal(size=30) / 50)
    same_as_exact(10.0 * rng.integers(0, 3, (50, 40)).repeat(20, axis=0) + rng.random((1000, 40)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_most_rows_need_one_source(cuvs, dtype):
    X = torch.from_numpy(CASES["cloud"])
    for source in (
        Products(X, 22, X.device, dtype),
        CuvsCandidates(X, 22, X.device, cuvs),
    ):
        own = torch.arange(len(X))
        candidates, approximate, norms = source.nearest(X, own)
        assert candidates.shape == approximate.shape == (len(X), 22)
        D = torch.cdist(X, X).fill_diagonal_(torch.inf) ** 2
        exact = D.gather(1, candidates)
        torch.testing.assert_close(approximate.double(), exact, rtol=1e-4, atol=1e-4)
        squared = exact.sort(dim=1).values[:, :6]
        assert source.misses_none(squared, approximate, norms).double().mean() > 0.99
        # Not so if a neighbour is left out, or if values are wrong.
        nearest = candidates.gather(1, exact.argmin(dim=1, keepdim=True))
        without = exact.masked_fill(candidates == nearest, torch.inf)
        without = without.sort(dim=1).values[:, :6]
        assert not source.misses_none(without, approximate, norms).any()
        assert not source.misses_none(squared, approximate * 1.01, norms).any()
        assert not source.misses_none(squared, torch.full_like(approximate, torch.nan), norms).any()


@pytest.mark.parametrize(("further", "sure"), [(1e-4, False), (0.1, True), (torch.inf, True)])
def test_a_margin_within_rounding_is_none(further, sure):
    X = torch.from_numpy(CASES["cloud"])
    source = Products(X, 2, X.device, torch.float32)  # distances are off by up to 3e-3
    squared = torch.ones((1, 1), dtype=torch.float64)
    answer = source.misses_none(squared, torch.tensor([[1.0, 1 + further]]), torch.tensor([100.0]))
    assert answer.tolist() == [sure]


def test_wrong_answers_of_cuvs_do_not_change_the_neighbors(cuvs, monkeypatch):
    def unwritten(index, queries, k, neighbors, distances, resources=None):
        neighbors[:], distances[:] = torch.arange(k), 0

    monkeypatch.setattr(cuvs, "search", unwritten)
    same_as_exact(CASES["cloud"])


def test_training_rows_stay_on_the_device(monkeypatch):
    monkeypatch.setattr(f"{BACKENDS}.candidates.products._BLOCK_ENTRIES", (1 << 16, 1 << 16))
    search = TorchSearch(CASES["cloud"], "cpu")
    search.search_training(6, 1)
    copies, copy = [], torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x: copies.append(x.shape) or copy(x))
    with CountReads() as counter:
        search.search_training(6, 1)
    assert copies == [(700, 6), (700, 6), (0,)]  # the tables, and the rows that need the CPU
    assert counter.reads == 1  # how many rows need another source


@pytest.mark.parametrize(
    ("there", "used"),
    [(["cpu", "cuda:0", "cuda:1"], "cuda:1"), (["cpu", "cuda:0"], "cuda"), (["cpu"], "cpu")],
)
def test_an_index_takes_another_device_where_its_own_is_missing(monkeypatch, there, used):
    monkeypatch.setattr(f"{BACKENDS}.torch.available_devices", lambda: there)
    assert TorchSearch(CASES["cloud"], "cuda:1")._torch_device() == torch.device(used)


class CountReads(TorchDispatchMode):
    """Counts operations for which the host waits, as their result's size is read."""

    reads = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        by_mask = operation is torch.ops.aten.index.Tensor and args[1][0].dtype == torch.bool
        aten = torch.ops.aten
        waits = (aten._local_scalar_dense.default, aten.nonzero.default)
        self.reads += by_mask or operation in waits
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize("lacking", ["cuvs.neighbors", "search", "build"])
def test_without_cuvs_products_find_the_candidates(cuvs, monkeypatch, caplog, lacking):
    if lacking.startswith("cuvs"):
        monkeypatch.setitem(sys.modules, lacking, None)
    else:
        monkeypatch.delattr(Cuvs, lacking)
    with caplog.at_level(logging.INFO, logger="skmde"):
        same_as_exact(CASES["cloud"])
    assert "cuVS cannot be used" in caplog.text
    assert cuvs.calls == 0


def test_an_error_of_cuvs_is_raised(cuvs, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError(message)

    monkeypatch.setattr(cuvs, "search", fails)
    message = "no kernel image is available"
    with pytest.raises(RuntimeError, match="no kernel image"):
        same_as_exact(CASES["cloud"])
    message = "std::bad_alloc: out_of_memory: CUDA error"
    with pytest.raises(MemoryError, match="GPU has no memory left"), memory_errors(str):
        same_as_exact(CASES["cloud"])


@pytest.mark.parametrize(("n_pairs", "n_features"), [(1e12, 50), (1e10, 50), (1e12, 784)])
def test_cuvs_is_asked_where_there_is_much_to_save(cuvs, monkeypatch, n_pairs, n_features):
    monkeypatch.undo()
    monkeypatch.setattr(f"{BACKENDS}.candidates.cuvs.runs_cuvs", lambda device: asked.append(1))
    asked = []
    import_cuvs(torch.device("cuda"), n_pairs, n_features)
    assert bool(asked) == (n_pairs == 1e12 and n_features == 50)


def test_cuvs_is_for_cuda_where_it_is_installed(cuvs, monkeypatch):
    assert runs_cuvs(torch.device("cuda:1"))
    assert not runs_cuvs(torch.device("cpu"))
    for name in ("cuvs", "cuvs.neighbors", "cuvs.neighbors.brute_force"):
        monkeypatch.delitem(sys.modules, name)
    assert not runs_cuvs(torch.device("cuda"))
