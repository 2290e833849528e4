"""Fused Triton kernels: interpreted, compiled for a GPU that is not there, and left aside."""

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from sklearn.utils.fixes import parse_version

from skmde._utils import device as device_module
from skmde.core.kernels.backend import CompiledBackend, TorchBackend, choose_backend
from skmde.core.kernels.backend_base import Run
from skmde.core.kernels.fused import lists
from skmde.penalties import Quadratic

HERE = Path(__file__).parent
HAS_TRITON = importlib.util.find_spec("triton") is not None
# Older ones refuse the kernels, so torch computes the sums: that of torch 2.2 is 2.2.
OLD = HAS_TRITON and parse_version(importlib.metadata.version("triton")) < parse_version("3.3")
needs_triton = pytest.mark.skipif(not HAS_TRITON or OLD, reason="needs the package triton >= 3.3")


def run_script(name, *options):
    command = [sys.executable, HERE / name, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ok\n")


@needs_triton
def test_kernels_equal_the_compiled_loops_when_interpreted():
    run_script("triton_cases.py")


@needs_triton
def test_two_kernels_compile_for_a_gpu():
    run_script("triton_compiled.py", "few")


@needs_triton
@pytest.mark.slow
def test_kernels_compile_for_a_gpu_without_atomic_operations():
    run_script("triton_compiled.py")


def test_triton_is_for_gpus_where_it_is_installed(monkeypatch):
    gpu = torch.device("cuda", 0)
    monkeypatch.setattr(device_module.importlib.util, "find_spec", lambda name: None)
    assert type(choose_backend(gpu)) is TorchBackend
    assert type(choose_backend(torch.device("cpu"))) is CompiledBackend
    monkeypatch.setattr(device_module.importlib.util, "find_spec", lambda name: object())
    assert device_module.runs_triton(gpu)
    assert not device_module.runs_triton(torch.device("cpu"))
    assert not device_module.runs_triton(torch.device("meta"))


def test_lists_have_each_pair_at_both_items_in_pieces(monkeypatch):
    monkeypatch.setattr(lists, "_LONGEST", 3)
    i = torch.tensor([0, 0, 0, 0, 0, 1, 2], dtype=torch.int32)
    j = torch.tensor([1, 2, 3, 4, 5, 2, 5], dtype=torch.int32)
    weights = torch.arange(7.0)
    found = lists.Lists.of(Run(Quadratic(), i, j, weights, None), 7, torch.float32)
    pairs = set()
    for item, start, stop in zip(found.items, found.starts, found.stops, strict=True):
        assert 0 <= stop - start <= 3
        for other, w in zip(found.others[start:stop], found.weights[start:stop], strict=True):
            pairs.add((int(item), int(other), float(w)))
    given = {(int(a), int(b), float(w)) for a, b, w in zip(i, j, weights, strict=True)}
    assert pairs == given | {(b, a, w) for a, b, w in given}
    assert found.offsets.tolist() == [0, 2, 3, 4, 5, 6, 7, 7]
