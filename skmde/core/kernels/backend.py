"""Backends: compiled loops on the CPU, or torch on any device, with fused kernels on GPUs.

A backend computes a sum of distortions over pairs of items, and its gradient,

    scale * sum_k f_k(d_k),        scale * A C A^T X,

where d_k is the embedding distance of pair k, A the incidence matrix of the pairs and
C = diag(f_k'(d_k) / d_k) (monograph, section 2.3; the gradient is in chapter 5). It also computes
the inner products and linear combinations of L-BFGS (monograph, section 6.1.1). Distances are in
the units of the embedding.

A backend is chosen once per problem, from the device. Code outside the backends works on torch
tensors and does not depend on the device. To add a backend (for example, a GPU kernel), write a
subclass of `Backend` in a file of its own and add a case to `choose_backend`.
"""

from __future__ import annotations

import torch

from skmde._utils.device import is_cpu, runs_triton
from skmde.core.kernels.backend_base import Backend, Run, Step, Sums, Value
from skmde.core.kernels.compiled_backend import CompiledBackend
from skmde.core.kernels.torch_backend import TorchBackend

__all__ = [
    "Backend",
    "CompiledBackend",
    "Run",
    "Step",
    "Sums",
    "TorchBackend",
    "Value",
    "choose_backend",
]


def choose_backend(device: torch.device, n_threads: int = 1) -> Backend:
    """The backend for tensors on a device.

    Parameters
    ----------
    device : torch.device
    n_threads : int, default=1
        Number of threads for compiled loops; results do not depend on it.

    Returns
    -------
    backend : Backend
        For distortion functions that it does not serve, use `TorchBackend` on the same device.
    """
    if is_cpu(device):
        return CompiledBackend(n_threads)
    if runs_triton(device):
        from skmde.core.kernels.triton_backend import TritonBackend

        return TritonBackend(device, n_threads)
    return TorchBackend(device, n_threads)
