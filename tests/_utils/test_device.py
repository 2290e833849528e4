"""Names of devices."""

import pytest
import torch

from skmde._utils import device as device_module
from skmde._utils.device import available_devices, resolve_device


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


def test_available_devices_begin_with_the_cpu(no_gpu):
    assert available_devices() == ["cpu"]
    assert device_module.available_devices is available_devices
