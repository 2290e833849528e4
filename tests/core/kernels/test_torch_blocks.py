"""Callables in torch: neither threads nor neighbouring elements change a bit of their results."""

import contextlib

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from skmde import MDE
from skmde.core.kernels.torch_blocks import CALL, PAD

N = 300


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(0.7))

    def forward(self, d):
        return torch.sinh(self.slope * d) + softplus(self.slope * d) + (d + self.slope) ** 1.7


PENALTIES = {
    "pow": lambda d: d**1.3 + (d + 1) ** 0.7,
    "exponentials": lambda d: torch.log1p(d) + torch.exp(-d) + torch.expm1(d / 4),
    "sigmoids": lambda d: torch.sigmoid(d) + torch.tanh(d / 3) + softplus(d - 1),
    "hyperbolic": lambda d: torch.sinh(d) + torch.cosh(d) + torch.asinh(d),
    "pieces": lambda d: torch.where(d < 1, d**2, torch.sqrt(d)) + d.clamp(max=1.5) ** 3,
    "special": lambda d: torch.erf(d) + torch.lgamma(d + 1) + torch.special.i0(d),
    "two arguments": lambda d: torch.logaddexp(d, -d) + torch.atan2(d, d + 1) + torch.hypot(d, d),
    "activations": lambda d: torch.nn.functional.gelu(d) + torch.nn.functional.mish(d),
    "module": Module(),
}


def loss(delta, d):
    error = d - delta
    return softplus(error) + torch.cosh(error / 3) + torch.logaddexp(error, -error) + d**1.3


@contextlib.contextmanager
def threads(number):
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def answers(function, n_edges, n_threads, dtype, of_distances=False):
    """The embedding of a few steps, its value, and its distortions."""
    rng = np.random.default_rng(n_edges)
    first, gap = rng.integers(0, N, n_edges), rng.integers(1, N, n_edges)
    edges = np.stack([first, (first + gap) % N], axis=1)
    weights, deviations = rng.gamma(2.0, size=(2, n_edges))
    extra = {"deviations": deviations} if of_distances else {"weights": weights}
    with threads(n_threads):
        problem = MDE(N, 2, edges, function, **extra)
        X = problem.embed(torch.tensor(rng.normal(size=(N, 2)), dtype=dtype), max_iter=2)
        return X, torch.tensor(problem.result.value), problem.distortions(X).detach()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n_edges", [2051, 6151, 16_391, 32_771, 70_003])
@pytest.mark.parametrize("name", [*PENALTIES, "loss"])
def test_bits_of_a_users_function_do_not_depend_on_torchs_threads(name, n_edges, dtype):
    function = loss if name == "loss" else PENALTIES[name]
    alone, *others = (
        answers(function, n_edges, n_threads, dtype, name == "loss") for n_threads in (1, 2, 4)
    )
    for found in others:
        for one, other in zip(alone, found, strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", PENALTIES)
def test_bits_of_an_element_do_not_depend_on_the_elements_of_the_same_call(name, dtype):
    function = PENALTIES[name]
    d = torch.linspace(0, 6, CALL, dtype=dtype)
    with torch.no_grad():
        whole = function(d)
        for start in (PAD, CALL // 2 + PAD):
            assert torch.equal(function(d[start:]), whole[start:])
            assert torch.equal(function(d[:start].clone()), whole[:start])
