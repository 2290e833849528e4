r"""The stochastic proximal method, for pairs that are too many at once (monograph, section 6.2).

From X_0, for rounds k = 0, 1, ..., with E_k the average distortion of the batch of round k:

    X_1     minimises E_0(X), approximately
    X_{k+1} minimises E_k(X) + (c k / 2) ||X - X_k||_F^2, approximately

over the constraint set. Each round starts at X_k and is solved by a few iterations of projected
L-BFGS. The stiffness c k of the proximal term grows, so that the embedding settles between the
minima of the batches. Its unit c is a part of the mean diagonal entry of the Hessian of E_0 at X_1,

    c = tr(Hessian) / (30 n m).

So c follows every factor of the distortion functions, and the method makes the same steps in any
units. Only items that can move count; an item whose trace is more than 100 times the median counts
as if it had that much, since a few huge weights would hold all others back. The monograph has 10 in
place of 30. From 10 to 40, most problems that were tried ended nearer to the minimum, the larger
the number was. But the larger it is, the more does an embedding follow its last batches.

A round need not be solved well, since the next one has other pairs. It ends when its projected
gradient is a third of what it was at its start, or after five iterations. The first one, which no
proximal term holds, ends at a hundredth, or after 20 iterations.

X is in the units of the embedding, values in those of the objective.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from skmde._linalg.reductions import add_multiple, dot
from skmde.constraints import Constraint
from skmde.core.batches.base import Batches
from skmde.core.checkpoints.facts import Facts
from skmde.core.checkpoints.saved import Keeper, Saved, part, to_array, to_tensor, under
from skmde.core.objectives.base import Objective, Term
from skmde.core.objectives.edge_term import Edges
from skmde.core.objectives.proximal import Proximal
from skmde.core.objectives.stiffness import estimated_trace, traces_by_item
from skmde.core.objectives.total import Total
from skmde.core.solvers.base import ResumableSolver
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import (
    Callback,
    History,
    SolveResult,
    SolverState,
    Status,
    asks_to_stop,
)
from skmde.core.solvers.scale import Scale

_DAMPING = 30.0  # mean diagonal entry of the Hessian, relative to c
_MOST_OF_AN_ITEM = 100.0  # largest trace of an item, relative to the median
# Of the first round and of the others: number of iterations, and part of the projected gradient at
# which a round ends.
_ITERATIONS, _REDUCTION = (20, 5), (0.01, 0.3)


@dataclass(frozen=True)
class Stochastic(ResumableSolver):
    """Rounds of L-BFGS over batches of pairs, with a proximal term.

    Parameters
    ----------
    lbfgs : LBFGS
        Settings of the rounds.
    batches : Batches
        The pairs of each round.
    term_of : callable
        Makes a term of the pairs of a batch.
    n_rounds : int
        Number of rounds; fewer if the batches end.
    measured : bool
        Whether the objective that is minimised tells the value of the result. If not, it is that of
        the last pass: the mean over its rounds of the average distortion of the round's pairs,
        before the round moved the items to suit them.
    generator : numpy.random.Generator
        For the estimate of a trace that no closed form gives.
    """

    lbfgs: LBFGS
    batches: Batches
    term_of: Callable[[Edges], Term]
    n_rounds: int
    measured: bool = True
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def scale(self) -> Scale:  # type: ignore[override]
        """The units of the objective."""
        return self.lbfgs.scale

    @property
    def tol(self) -> float:
        """The tolerance of the rounds, and of the result if it is measured."""
        return self.lbfgs.tol

    @property
    def max_iter(self) -> int:  # type: ignore[override]
        """The number of rounds."""
        return self.n_rounds

    def settings(self) -> Facts:
        own = self.lbfgs.settings()
        own |= {"solver": "stochastic", "tol": repr(self.lbfgs.tol)}
        return own | {"max_iter of a round": str(min(self.lbfgs.max_iter, max(_ITERATIONS)))}

    def minimize(
        self,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback] = (),
        keeper: Keeper | None = None,
    ) -> SolveResult:
        run = _Rounds(self, objective, constraint, X, callbacks)
        status = None
        if keeper is not None and keeper.saved is not None:
            status = run.resume(keeper.saved, X)
            if run.done > self.n_rounds:
                raise ValueError(
                    f"n_rounds={self.n_rounds}, but the checkpoint is of {run.done} rounds; ask "
                    "for as many or more."
                )
            self.batches.resume(part("batches", keeper.saved))
        batches = itertools.islice(self.batches, self.n_rounds - run.done)
        at = self.batches.state()
        edges = next(batches, None) if status is None else None
        while edges is not None:
            status = run.advance(edges)
            del edges  # before the next batch is read
            if status is not Status.STOPPED:  # then the batch was not used
                at = self.batches.state()
            if keeper is not None and status is None:
                keeper.offer(run.done, lambda at=at: run.state(at, None))  # type: ignore[misc]
            edges = next(batches, None) if status is None else None
        if keeper is not None and status is not Status.NOT_FINITE and run.done:
            keeper.offer(run.done, lambda: run.state(at, status), last=True)
        return run.result(status)


class _Rounds:
    """One run of the method: the embedding, the stiffness and the history."""

    def __init__(
        self,
        settings: Stochastic,
        objective: Objective,
        constraint: Constraint,
        X: torch.Tensor,
        callbacks: Sequence[Callback],
    ) -> None:
        self.settings, self.objective, self.constraint = settings, objective, constraint
        self.callbacks = callbacks
        self.X = X.detach().clone().contiguous()
        self.unit = 0.0  # c, of which the stiffness of round k is k times as much
        self.done, self.step, self.n_evaluations = 0, 0.0, 0
        self.sums: list[tuple[float, int]] = []  # distortion and number of pairs of each round
        self.history = History()
        self.began = time.perf_counter()

    def state(self, batches: Saved, status: Status | None) -> Saved:
        """The state after a round; see `checkpoints.saved`."""
        values, counts = zip(*self.sums, strict=True)
        return {
            "X": to_array(self.X),
            "unit": self.unit,
            "done": self.done,
            "step": self.step,
            "n_evaluations": self.n_evaluations,
            "is_unbounded": status is Status.UNBOUNDED,
            "values": np.array(values),
            "counts": np.array(counts),
            **under("history", self.history.state()),
            **under("batches", batches),
        }

    def resume(self, saved: Saved, like: torch.Tensor) -> Status | None:
        """Go on from a state; the status if the solve had ended there."""
        self.X = to_tensor(saved["X"], like)
        self.unit, self.done, self.step = saved["unit"], saved["done"], saved["step"]
        self.n_evaluations = saved["n_evaluations"]
        self.sums = list(zip(saved["values"].tolist(), saved["counts"].tolist(), strict=True))
        self.history = History.resumed(part("history", saved))
        self.began -= self.history.seconds[-1]
        return Status.UNBOUNDED if saved["is_unbounded"] else None

    def advance(self, edges: Edges) -> Status | None:
        """Make a round with the pairs of a batch; the status if the solve ends here."""
        term = self.settings.term_of(edges)
        known = term.value_and_gradient(self.X)
        value, norm = self._measured(*known)
        self._record(value, norm)
        if not (math.isfinite(value) and math.isfinite(norm)):
            return Status.NOT_FINITE
        if self.done and self._asked_to_stop(value, norm):
            return Status.STOPPED
        self.sums.append((value * len(edges), len(edges)))
        result = self._solved(term, known, norm)
        moved = add_multiple(result.X, self.X, -1.0)
        self.step = math.sqrt(float(dot(moved, moved)))
        self.X = result.X
        self.n_evaluations += result.n_evaluations
        if self.done == 0:
            self.unit = self._unit_of_stiffness(edges, term)
        self.done += 1
        return Status.UNBOUNDED if result.status is Status.UNBOUNDED else None

    def result(self, status: Status | None) -> SolveResult:
        """The result after the last round."""
        lbfgs = self.settings.lbfgs
        if self.settings.measured:
            self.n_evaluations += 1
            value, norm = self._measured(*self.objective.value_and_gradient(self.X))
        else:
            value, norm = self._value_of_last_pass(), self.history.residual_norm[-1]
        self._record(value, norm)
        if status is None:
            is_small = self.settings.measured and norm <= lbfgs.tol * lbfgs.scale.gradient
            status = Status.CONVERGED if is_small else Status.ROUNDS
            if self.done and self._asked_to_stop(value, norm):
                status = Status.STOPPED
        return SolveResult(
            X=self.X,
            value=value,
            residual_norm=norm,
            n_iter=self.done,
            n_evaluations=self.n_evaluations,
            status=status,
            reason=status.sentence(
                residual_norm=norm / lbfgs.scale.gradient, tol=lbfgs.tol, max_iter=self.done
            ),
            history=self.history,
        )

    def _solved(
        self, term: Term, known: tuple[float | torch.Tensor, torch.Tensor], norm: float
    ) -> SolveResult:
        """The result of a round, which starts at X with this value and gradient."""
        lbfgs, terms = self.settings.lbfgs, [term]
        scale = lbfgs.scale
        if self.done:
            stiffness = self.unit * self.done
            terms.append(Proximal(self.X, stiffness))
            scale = replace(scale, stiffness=stiffness + _DAMPING * self.unit)
        k = min(self.done, 1)
        round_of = replace(
            lbfgs,
            tol=max(lbfgs.tol, _REDUCTION[k] * norm / scale.gradient),
            max_iter=min(lbfgs.max_iter, _ITERATIONS[k]),
            scale=scale,
            snapshot_every=None,
        )
        objective = _KnownAtStart(Total(terms, self.objective.backend), known)
        return round_of.minimize(objective, self.constraint, self.X)

    def _unit_of_stiffness(self, edges: Edges, term: Term) -> float:
        """c: a part of the mean diagonal entry of the Hessian of the first batch."""
        n, m = self.X.shape
        free = np.ones(n, dtype=bool)
        free[self.constraint.fixed_items] = False
        n_free = max(int(free.sum()), 1)
        try:
            trace = _sum_of_usual(traces_by_item(edges, self.X)[free])
        except RuntimeError:  # a user's function that can be differentiated only once
            rows = torch.from_numpy(free).to(self.X.device)[:, None]
            trace = estimated_trace(
                lambda X: torch.where(rows, term.value_and_gradient(X)[1], 0.0),
                self.X,
                self.settings.generator,
            )
        mean = trace / (n_free * m)
        if not 0 < mean < math.inf:  # as if all pairs were as stiff as the units say
            scale = self.settings.scale
            mean = 2 * scale.gradient / scale.length / n_free
        return mean / _DAMPING

    def _measured(self, value: float | torch.Tensor, gradient: torch.Tensor) -> tuple[float, float]:
        """Value and norm of the projected gradient at X, on the host."""
        G = self.constraint.project_gradient(self.X, gradient).contiguous()
        groups = self.settings.lbfgs.groups
        G = G if groups is None else groups.outside(G)
        return float(value), math.sqrt(float(dot(G, G)))

    def _record(self, value: float, norm: float) -> None:
        """The row of the current embedding; the last one holds."""
        history, every = self.history, self.settings.lbfgs.snapshot_every
        row = value, norm, self.step, time.perf_counter() - self.began
        is_new = len(history.value) == self.done
        columns = history.value, history.residual_norm, history.step_size, history.seconds
        for column, number in zip(columns, row, strict=True):
            column[self.done :] = [number]
        if is_new and every is not None and self.done % every == 0:
            history.snapshots.append((self.done, self.X.cpu().numpy().copy()))

    def _asked_to_stop(self, value: float, norm: float) -> bool:
        return asks_to_stop(self.callbacks, SolverState.at(self.done, value, norm, self.X))

    def _value_of_last_pass(self) -> float:
        length = self.settings.batches.rounds_per_pass or len(self.sums)
        total, count = (sum(column) for column in zip(*self.sums[-length:], strict=True))
        return total / count


class _KnownAtStart:
    """An objective whose value and gradient at the start of a solve are known.

    A solver first evaluates its start, where the proximal term vanishes.
    """

    def __init__(
        self, objective: Objective, known: tuple[float | torch.Tensor, torch.Tensor]
    ) -> None:
        self.backend = objective.backend
        self._objective = objective
        self._known: tuple[float | torch.Tensor, torch.Tensor] | None = known

    def value_and_gradient(self, X: torch.Tensor) -> tuple[float | torch.Tensor, torch.Tensor]:
        known, self._known = self._known, None
        return self._objective.value_and_gradient(X) if known is None else known


def _sum_of_usual(traces: np.ndarray) -> float:
    """Sum over items, none of which counts much more than the median."""
    held = traces[traces > 0]
    if not len(held):
        return 0.0
    return float(np.minimum(traces, _MOST_OF_AN_ITEM * np.median(held)).sum())
