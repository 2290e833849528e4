"""Values that torch can differentiate, from gradients that are known in closed form.

Solvers ask terms for values and gradients and need no autograd. A caller's own code may use the
numbers of a problem as a part of a larger computation, and then expects ``backward`` to work.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable


def wants_gradient(x: torch.Tensor) -> bool:
    """Whether torch records computations with `x`."""
    return x.requires_grad and torch.is_grad_enabled()


def with_gradient(x: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """`value` as a function of `x`, with its gradient; it can be differentiated once.

    Parameters
    ----------
    x : torch.Tensor
        The argument.
    value : torch.Tensor, a scalar or of x's shape
        The function's value; one of x's shape is a function of each entry by itself.
    gradient : torch.Tensor of x's shape
        Gradient of the scalar, or the derivative of each entry.

    Returns
    -------
    torch.Tensor
        The value.
    """
    result: torch.Tensor = _Known.apply(x, value, gradient)
    return result


class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> Any:
        ctx.save_for_backward(gradient)
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, following: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return following * gradient, None, None
