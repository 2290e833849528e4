"""The fused kernels against the compiled loops, in Triton's interpreter; a script.

``test_triton_backend.py`` runs it in a process of its own, since Triton decides to interpret when
it is imported, and a GPU's tests need it to compile.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

from unittest import mock

import numpy as np
import torch

from skmde import losses, penalties
from skmde.core.kernels import triton_backend
from skmde.core.kernels.backend import CompiledBackend, TorchBackend
from skmde.core.kernels.fused import lists
from skmde.core.kernels.fused.pairs import PairSums, is_fused
from skmde.core.kernels.triton_backend import TritonBackend
from skmde.core.objectives.edge_term import EdgeTerm
from skmde.core.objectives.edges import EdgeList
from skmde.functions.base import Loss

N = 50
FUNCTIONS = [
    *(penalties.Log1p(a) for a in (0.7, 1.0, 1.5, 2.0, 2.3, 3.0)),
    *(penalties.Log(a) for a in (0.5, 1.0, 2.2)),
    penalties.Linear(),
    penalties.Quadratic(),
    penalties.Cubic(),
    penalties.Huber(0.5),
    penalties.InversePower(1.0),
    penalties.InversePower(2.2),
    penalties.Cauchy(0.5),
    losses.SquaredLoss(),
    losses.WeightedSquaredLoss(),
    losses.WeightedSquaredLoss("sammon"),
    losses.AbsoluteLoss(),
]


def positions(rng, m, dtype):
    """Positions on all scales: two items coincide, two nearly do, and one is far away."""
    X = rng.normal(size=(N, m)) * np.exp(2 * rng.normal(size=(N, 1)))
    X[3], X[5], X[9] = X[4], X[6] + 1e-6, 1e8
    return torch.tensor(X, dtype=dtype)


def edges(rng, function, dtype):
    """Item 0 has pairs with nearly all others, which make several pieces; item 49 has none."""
    pairs = rng.permutation(np.stack(np.triu_indices(N - 1, 1), axis=1))
    pairs = np.concatenate([pairs[pairs[:, 0] == 0], pairs[pairs[:, 0] > 0][:250]])
    weights = rng.gamma(2.0, size=len(pairs))
    weights[::7] = 0
    deviations = None
    if isinstance(function, Loss):
        deviations = np.where(rng.random(len(pairs)) < 0.1, 0.0, rng.gamma(2.0, size=len(pairs)))
    else:
        weights *= rng.choice([-1.0, 1.0], len(pairs))
    return EdgeList.build(pairs, N, function, weights=weights, deviations=deviations, dtype=dtype)


def compare(function, m, dtype):
    rng = np.random.default_rng(0)
    X, pairs = positions(rng, m, dtype), edges(rng, function, dtype)
    fused = all(is_fused(s.function, m) for s in pairs.segments)
    compiled, kernel = (
        EdgeTerm(pairs, N, m, dtype=dtype, backend=backend)
        for backend in (CompiledBackend(1), TritonBackend(torch.device("cpu")))
    )
    (value, gradient), (found, forces) = (term.value_and_gradient(X) for term in (compiled, kernel))
    again = kernel.value_and_gradient(X)
    assert float(again[0]) == float(found) and torch.equal(again[1], forces)
    rtol = 1e-5 if dtype == torch.float32 else 1e-12
    size = float(compiled.distortions(X).abs().mean())
    assert abs(float(found) - value) <= rtol * size, (function, dtype, float(found), value)
    lengths = gradient.norm(dim=1)
    apart = (forces - gradient).norm(dim=1)
    assert bool((apart <= rtol * lengths).all()), (function, dtype, apart / lengths)
    assert float(forces[N - 1].abs().max()) == 0
    return fused


def main():
    lists._LONGEST = 32
    assert pieces_of_a_hub() > N
    for function in FUNCTIONS:
        for dtype in (torch.float32, torch.float64):
            assert compare(function, 2, dtype), f"{function!r} has no kernel"
    for m in (1, 5):
        assert compare(penalties.Log1p(), m, torch.float32)
    assert not compare(penalties.Logistic(), 2, torch.float32)  # torch computes it
    assert not compare(penalties.Log1p(), 17, torch.float64)
    mixed()
    keeps_nan()
    falls_back()
    print("ok")


def pieces_of_a_hub():
    from skmde.core.kernels.backend_base import Run

    j = torch.arange(1, N, dtype=torch.int32)
    run = Run(penalties.Linear(), torch.zeros_like(j), j, torch.ones(N - 1), None)
    return len(lists.Lists.of(run, N, torch.float32).items)


def mixed():
    """A pair of functions of which only one has a kernel."""
    rng = np.random.default_rng(1)
    pairs = edges(rng, (penalties.Log1p(), penalties.Sigmoid()), torch.float64)
    X = torch.tensor(rng.normal(size=(N, 2)))
    (value, gradient), (found, forces) = (
        EdgeTerm(pairs, N, 2, dtype=torch.float64, backend=backend).value_and_gradient(X)
        for backend in (CompiledBackend(1), TritonBackend(torch.device("cpu")))
    )
    assert abs(float(found) - float(value)) < 1e-12
    torch.testing.assert_close(forces, gradient, rtol=1e-10, atol=1e-14)


def keeps_nan():
    rng = np.random.default_rng(2)
    pairs = edges(rng, penalties.Log1p(), torch.float32)
    X = positions(rng, 2, torch.float32)
    X[7] = torch.nan
    term = EdgeTerm(pairs, N, 2, backend=TritonBackend(torch.device("cpu")))
    value, gradient = term.value_and_gradient(X)
    assert bool(torch.isnan(value)) and bool(torch.isnan(gradient[7]).any())


def falls_back():
    """Torch computes the sums where Triton cannot compile; a lack of memory is another matter."""
    rng = np.random.default_rng(3)
    pairs, X = edges(rng, penalties.Log1p(), torch.float32), positions(rng, 2, torch.float32)
    triton_backend._works.clear()
    expected = EdgeTerm(pairs, N, 2, backend=TorchBackend(X.device)).value_and_gradient(X)
    with mock.patch.object(PairSums, "__call__", side_effect=RuntimeError("no C compiler")):
        term = EdgeTerm(pairs, N, 2, backend=TritonBackend(X.device))
        found = term.value_and_gradient(X)
    assert float(found[0]) == float(expected[0]) and torch.equal(found[1], expected[1])
    with mock.patch.object(PairSums, "__call__", side_effect=torch.OutOfMemoryError()):
        try:
            EdgeTerm(pairs, N, 2, backend=TritonBackend(X.device))
        except torch.OutOfMemoryError:
            return
    raise AssertionError("the lack of memory was not told")


if __name__ == "__main__":
    main()
