"""What an interrupted solve needs to go on, and who keeps it.

The *state* of a solve is a flat dictionary of arrays and numbers: all that decides the iterations
that follow, besides the problem and the solver's settings. A part of it, such as the pairs of the
quasi-Newton matrix, has names that begin with the name of the part and a dot.

A solver offers its state after each iteration. A *keeper* asks for it now and then, since it costs
a copy of the solver's arrays, and gives the last one back to the solve that goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

Saved = dict[str, Any]


class Keeper(Protocol):
    """Keeps the state of one solve.

    Attributes
    ----------
    saved : dict or None
        The state to go on from; None if the solve begins at its starting point.
    """

    @property
    def saved(self) -> Saved | None: ...

    def offer(self, iteration: int, state: Callable[[], Saved], *, last: bool = False) -> None:
        """Offer the state after an iteration.

        Parameters
        ----------
        iteration : int
            Number of iterations that were made.
        state : callable
            Returns the state, as copies. It is called at once or not at all.
        last : bool, default=False
            Whether the solve has ended.
        """
        ...


@dataclass(frozen=True)
class InnerKeeper:
    """Keeps the state of a solver that another one runs, as a part of the state of that one.

    Parameters
    ----------
    keeper : Keeper
        Of the outer solver.
    saved : dict or None
        The inner state to go on from.
    outside : callable
        Returns the rest of the outer state.
    done : int
        Number of iterations before those of the inner solver.
    """

    keeper: Keeper
    saved: Saved | None
    outside: Callable[[], Saved]
    done: int

    def offer(self, iteration: int, state: Callable[[], Saved], *, last: bool = False) -> None:
        """Offer the inner state; see `Keeper`."""

        def whole() -> Saved:
            return {**self.outside(), **under("inner", state())}

        self.keeper.offer(self.done + iteration, whole, last=last)


def under(name: str, state: Saved) -> Saved:
    """A state as a part of another one."""
    return {f"{name}.{key}": value for key, value in state.items()}


def part(name: str, state: Saved) -> Saved:
    """The part of a state that `under` put there."""
    length = len(name) + 1
    return {key[length:]: value for key, value in state.items() if key.startswith(f"{name}.")}


def to_array(X: torch.Tensor) -> np.ndarray:
    """A copy of a tensor, in the memory of the host."""
    return X.detach().cpu().numpy().copy()


def to_tensor(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    """A copy of an array on the device of a tensor, with its own dtype."""
    return torch.tensor(array, device=like.device)
