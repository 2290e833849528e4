"""The result of a solve, the reason why it ended, and the state that callbacks receive.

The *value* is the average distortion E(X) (monograph, section 2.2.2). The *residual norm* is
||G||_F for the projected gradient G (monograph, chapter 5). A solver reports both in the units of
its objective; `callbacks_in_units` converts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import torch

from skmde._views import facts
from skmde._views.thumbnail import thumbnail
from skmde.core.checkpoints.saved import Saved

_LISTS = "value", "residual_norm", "step_size", "seconds"


class Status(Enum):
    """Why a solve ended. Each value is a sentence with placeholders for numbers."""

    CONVERGED = "the residual norm, {residual_norm:.3g} of its unit, is at most tol={tol:g}"
    MAX_ITER = (
        "max_iter={max_iter} iterations were done; the residual norm, {residual_norm:.3g} of its "
        "unit, is above tol={tol:g}"
    )
    ROUNDS = "all {max_iter} rounds were done"
    STOPPED = "a callback returned True"
    SETTLED = "the last iterations hardly decreased the average distortion"
    NO_DESCENT = "no step along the search direction decreases the average distortion"
    NOT_FINITE = "the average distortion or its gradient is not finite at the starting point"
    UNBOUNDED = "the items move apart without end, as if there were no minimum"

    def sentence(self, **numbers: float) -> str:
        """The sentence, with its numbers filled in.

        Parameters
        ----------
        **numbers : float
            `residual_norm` in the units of `tol`, `tol` and `max_iter` of the solve.
        """
        return self.value.format(**numbers)


@dataclass
class History:
    """Numbers of every iterate; the first entry is the starting point.

    Attributes
    ----------
    value : list of float
        Average distortion.
    residual_norm : list of float
        Frobenius norm of the projected gradient.
    step_size : list of float
        Step length that led to the iterate; 0 for the starting point. For rounds of the stochastic
        solver, the Frobenius norm of the round's move.
    seconds : list of float
        Seconds since the solve began.
    snapshots : list of tuple of (int, ndarray of shape (n, m))
        Iteration number and a copy of the iterate, for every snapshot; empty by default.
    """

    value: list[float] = field(default_factory=list)
    residual_norm: list[float] = field(default_factory=list)
    step_size: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    snapshots: list[tuple[int, np.ndarray]] = field(default_factory=list)

    def append(self, later: History, after: int) -> None:
        """Add the history of a solve that started at the last iterate, `after` iterations on."""
        first = 1 if self.value else 0
        begin = self.seconds[-1] if self.seconds else 0.0
        self.value += later.value[first:]
        self.residual_norm += later.residual_norm[first:]
        self.step_size += later.step_size[first:]
        self.seconds += [begin + seconds for seconds in later.seconds[first:]]
        self.snapshots += [(after + k, X) for k, X in later.snapshots if k or not first]

    def state(self) -> Saved:
        """The history as a part of the state of a solve."""
        taken = np.array([number for number, _ in self.snapshots], dtype=np.int64)
        state: Saved = {**self.as_arrays(), "snapshot_numbers": taken}
        if len(taken):
            state["snapshots"] = np.stack([X for _, X in self.snapshots])
        return state

    @classmethod
    def resumed(cls, saved: Saved) -> History:
        """The history of a state."""
        lists = {name: saved[name].tolist() for name in _LISTS}
        snapshots = zip(saved["snapshot_numbers"].tolist(), saved.get("snapshots", ()), strict=True)
        return cls(**lists, snapshots=list(snapshots))

    def as_arrays(self) -> dict[str, np.ndarray]:
        """The four lists of numbers, by name, as arrays of shape (n_iter + 1,)."""
        return {name: np.asarray(getattr(self, name), dtype=np.float64) for name in _LISTS}


@dataclass(frozen=True, repr=False)
class SolveResult:
    """The outcome of a solve.

    Attributes
    ----------
    X : torch.Tensor of shape (n, m)
        The best finite iterate; it satisfies the constraint.
    value : float
        Average distortion at `X`.
    residual_norm : float
        Frobenius norm of the projected gradient at `X`.
    n_iter, n_evaluations : int
        Number of iterations, and number of evaluations of the objective. One iteration may need
        several evaluations.
    status : Status
        Why the solver stopped.
    reason : str
        The status as a sentence.
    history : History
        Numbers of every iterate.

    See Also
    --------
    MDE : A minimum-distortion embedding problem.
    ConvergenceWarning : Warning of fits that ended before they reached a solution.
    """

    X: torch.Tensor
    value: float
    residual_norm: float
    n_iter: int
    n_evaluations: int
    status: Status
    reason: str
    history: History

    @property
    def converged(self) -> bool:
        """Whether the solver stopped because the residual norm is at most the tolerance."""
        return self.status is Status.CONVERGED

    def __repr__(self) -> str:
        n, m = self.X.shape
        return (
            f"SolveResult({facts.counted(n, 'item')}, {facts.counted(m, 'component')}, value "
            f"{self.value:.4g}, {facts.counted(self.n_iter, 'iteration')}: {self.reason})"
        )

    def _repr_html_(self) -> str:
        n, m = self.X.shape
        items = {"items": f"{n:,} in {facts.counted(m, 'dimension')}"}
        return facts.as_html(items | facts_of(self), thumbnail(self.X))


def facts_of(result: SolveResult) -> dict[str, str]:
    """What a notebook shows of a result, besides its items."""
    return {
        "average distortion": f"{result.value:.4g}",
        "residual norm": f"{result.residual_norm:.3g}",
        "iterations": f"{result.n_iter:,}",
        "evaluations": f"{result.n_evaluations:,}",
        "stopped": result.reason,
    }


@dataclass(frozen=True)
class SolverState:
    """The state after an iteration, which callbacks receive; read-only.

    Attributes
    ----------
    iteration : int
        Number of finished iterations.
    value, residual_norm : float
        Average distortion and norm of the projected gradient.
    """

    iteration: int
    value: float
    residual_norm: float
    _embedding: Callable[[], torch.Tensor]

    @classmethod
    def at(cls, iteration: int, value: float, residual_norm: float, X: torch.Tensor) -> SolverState:
        """The state of an iterate."""
        return cls(iteration, value, residual_norm, lambda: X)

    def in_units(
        self, coordinates: Callable[[torch.Tensor], torch.Tensor], value: float, norm: float
    ) -> SolverState:
        """The same state in other units.

        Parameters
        ----------
        coordinates : callable
            Converts the embedding.
        value, norm : float
            Factors that convert the value and the residual norm.
        """
        return SolverState(
            self.iteration,
            self.value * value,
            self.residual_norm * norm,
            lambda: coordinates(self._embedding()),
        )

    def after(self, n_iter: int) -> SolverState:
        """The same state, `n_iter` iterations later."""
        return SolverState(self.iteration + n_iter, self.value, self.residual_norm, self._embedding)

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        """A read-only copy of the current embedding, shape (n, m)."""
        copy = self._embedding().detach().cpu().numpy().copy()
        copy.flags.writeable = False
        return copy


Callback = Callable[[SolverState], "bool | None"]


def callbacks_in_units(
    callbacks: Iterable[Callback],
    coordinates: Callable[[torch.Tensor], torch.Tensor],
    value: float = 1.0,
    norm: float = 1.0,
) -> list[Callback]:
    """Callbacks that receive states in other units; see :meth:`SolverState.in_units`."""

    def seeing(callback: Callback) -> Callback:
        return lambda state: callback(state.in_units(coordinates, value, norm))

    return [seeing(callback) for callback in callbacks]


def asks_to_stop(callbacks: Iterable[Callback], state: SolverState) -> bool:
    """Whether a callback returned True. All callbacks are called."""
    answers = [callback(state) for callback in callbacks]
    return any(isinstance(answer, bool | np.bool_) and answer for answer in answers)
