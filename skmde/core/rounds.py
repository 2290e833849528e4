"""The settings of a stochastic solve: sizes of batches, numbers of rounds, and their checks.

A *round* solves a problem with a batch of the pairs (monograph, section 6.2).
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

_BATCHES = 10  # in a pass, by default; the monograph's examples have as many
_ROUNDS = 100  # by default
ENDLESS = 2**62  # number of rounds, if the batches end by themselves


def check_solver(solver: Any, batch_size: Any, n_rounds: Any) -> bool:
    """Whether the solver is the stochastic one; checks it and its settings.

    Raises
    ------
    ValueError
        If the solver has another name, if a setting is not a positive integer, or if it is given
        for the other solver.
    """
    if solver not in ("lbfgs", "stochastic"):
        raise ValueError(f"solver must be 'lbfgs' or 'stochastic'; got {solver!r}.")
    for name, number in (("batch_size", batch_size), ("n_rounds", n_rounds)):
        if number is not None:
            check_positive_integer(name, number)
            check_takes_batches(solver, name, number)
    return bool(solver == "stochastic")


def check_takes_batches(solver: str, name: str, number: int) -> None:
    """Check that a solver has this setting of the stochastic one."""
    if solver == "lbfgs":
        raise ValueError(
            f"{name}={number} is a setting of solver='stochastic'; solver is 'lbfgs', which "
            "takes all pairs at once."
        )


def check_positive_integer(name: str, number: Any) -> None:
    """Check a setting; booleans are refused."""
    if not _is_integer(number) or number < 1:
        raise ValueError(f"{name} must be a positive integer; got {number!r}.")


def check_solve_numbers(
    tol: Any, max_iter: Any, memory_size: Any, snapshot_every: int | None
) -> None:
    """Check the settings that all solvers have."""
    if not (isinstance(tol, numbers.Real) and float(tol) >= 0):
        raise ValueError(f"tol must be a number, at least 0; got {tol!r}.")
    counts = [("max_iter", max_iter, 0), ("memory_size", memory_size, 1)]
    if snapshot_every is not None:
        counts.append(("snapshot_every", snapshot_every, 1))
    for name, number, least in counts:
        if not _is_integer(number) or number < least:
            raise ValueError(f"{name} must be an integer, at least {least}; got {number!r}.")


def sizes(n_pairs: int, batch_size: int | None, n_rounds: int | None) -> tuple[int, int]:
    """Pairs in a batch and number of rounds: a tenth of the pairs and 100 unless given."""
    return batch_size or -(-n_pairs // _BATCHES), n_rounds or _ROUNDS


def generator_of_batches(random_state: Any) -> np.random.Generator:
    """The generator of the batches, which does not repeat the numbers of a random start."""
    drawn = np.random.default_rng(random_state).integers(2**63, size=2)
    return np.random.default_rng(drawn.tolist())


def _is_integer(number: Any) -> bool:
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)
