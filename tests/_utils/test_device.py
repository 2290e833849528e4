"""Names of devices."""

import numpy as np
import pytest
import torch

from skmde import MDE, AnchoredMDE, PreserveNeighbors
from skmde._utils import device as device_module
from skmde._utils.device import available_devices, resolve_device
from skmde.core.kernels.backend import CompiledBackend


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


def test_none_is_the_cpu(two_gpus):
    assert resolve_device(None) == torch.device("cpu")


def test_auto_takes_a_gpu_if_there_is_one(two_gpus):
    assert resolve_device("auto").type == "cuda"


def test_auto_is_the_cpu_without_a_gpu(no_gpu):
    assert resolve_device("auto") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "cuda:1", torch.device("cuda"), torch.device("cuda", 1)])
def test_names_of_one_gpu_mean_the_same(two_gpus, name):
    assert resolve_device(name) == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["cuda:2", "mps", "meta", "gpu", "", 3.5, object()])
def test_what_is_not_there_is_refused_with_what_is(two_gpus, monkeypatch, name):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"is not available; this machine has cpu, cuda:0, cuda:1"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", torch.device("cuda")])
def test_a_gpu_is_refused_where_there_is_none(no_gpu, name):
    with pytest.raises(ValueError, match=r"machine has cpu\. Use one of these, 'auto'"):
        resolve_device(name)


@pytest.fixture
def metal(no_gpu, monkeypatch):
    """A machine with Apple's GPU, which has no float64."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)


def test_a_device_without_float64_searches_neighbors_and_leaves_sums_to_the_cpu(metal):
    assert available_devices() == ["cpu", "mps"]
    device = resolve_device("mps")
    assert device.type == "mps"
    assert not device_module.has_float64(device)
    assert resolve_device("auto") == torch.device("cpu")
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    embeddings = []
    for name in ("mps", "cpu"):
        mde = MDE(3, 2, pairs, "cubic", "standardized", device=name)
        assert mde.device == torch.device("cpu")
        embeddings.append(mde.to(name).embed(np.eye(3)[:, :2], max_iter=5))
    assert torch.equal(*embeddings)
    X = np.random.default_rng(0).normal(size=(60, 4))
    maps = [PreserveNeighbors(device=d, random_state=0).fit_transform(X) for d in ("mps", "cpu")]
    np.testing.assert_array_equal(*maps)
    AnchoredMDE(device="mps", max_iter=5).fit(X, anchors=[0, 1, 2], anchor_values=X[:3, :2])


def no_memory(*arguments, **more):
    raise device_module.OutOfMemory("CUDA out of memory. Tried to allocate 2.00 GiB.")


def test_no_memory_names_the_need_and_the_parameters(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = PreserveNeighbors(random_state=0).fit(X)
    before = dict(vars(model))
    mde = MDE(60, 2, np.stack([np.arange(59), np.arange(1, 60)], axis=1), "cubic", "standardized")
    monkeypatch.setattr(CompiledBackend, "edge_sums", no_memory)
    message = (
        r"GPU has no memory left.*needs about 1\d\.?\d* kB.*59 pairs.*memory_size.*device='cpu'"
    )
    with pytest.raises(MemoryError, match=message) as caught:
        mde.embed(random_state=0)
    assert "2.00 GiB" in str(caught.value.__cause__)
    message = r"GPU has no memory left. Host and GPU.*about 15.* MB.*neighbours.*device='cpu'"
    with pytest.raises(MemoryError, match=message):
        model.fit(X)
    assert vars(model).keys() == before.keys()
    assert model.embedding_ is before["embedding_"]


@pytest.mark.parametrize(
    ("error", "lacks_memory"),
    [
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"), True),
        (RuntimeError("cuFFT error: CUFFT_ALLOC_FAILED"), True),
        (Exception("std::bad_alloc: out_of_memory: CUDA error (failed to allocate)"), True),
        (RuntimeError("no kernel image is available"), False),
        (MemoryError("Unable to allocate 2.00 GiB"), False),  # of the host
    ],
)
def test_libraries_of_a_gpu_lack_memory_too(error, lacks_memory):
    with pytest.raises(Exception) as caught, device_module.memory_errors(lambda: "Much."):
        raise error
    assert lacks_memory == ("The GPU has no memory left. Much." in str(caught.value))
    assert lacks_memory or caught.value is error


def test_available_devices_begin_with_the_cpu(no_gpu):
    assert available_devices() == ["cpu"]
    assert device_module.available_devices is available_devices
