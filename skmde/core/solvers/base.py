"""A solve as its users see it: with a progress bar, and with a warning if it failed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from skmde._utils.warn import warn
from skmde.constraints import Constraint
from skmde.core.solvers.lbfgs import Objective, minimize
from skmde.core.solvers.progress import progress_bar
from skmde.core.solvers.result import Callback, SolveResult
from skmde.exceptions import ConvergenceWarning

_FIRST_STEPS = 2  # iterations after which a solve that ends is not taken for a failed one


def solve(
    objective: Objective,
    constraint: Constraint,
    start: torch.Tensor,
    *,
    tol: float,
    max_iter: int,
    memory_size: int,
    callbacks: Sequence[Callback] = (),
    snapshot_every: int | None = None,
    verbose: int = 0,
) -> SolveResult:
    """Projected L-BFGS from a feasible start; see :func:`~skmde.core.solvers.lbfgs.minimize`.

    Warns
    -----
    ConvergenceWarning
        If no finite, sensible solution could be reached.
    """
    with progress_bar(verbose, max_iter) as bar:
        result = minimize(
            objective,
            constraint,
            start,
            tol=tol,
            max_iter=max_iter,
            memory_size=memory_size,
            callbacks=[*callbacks, *bar],
            snapshot_every=snapshot_every,
        )
    _warn_if_failed(result)
    return result


def _warn_if_failed(result: SolveResult) -> None:
    norms = result.history.residual_norm
    # As good as the precision allows: moving every item by its own length would change the value,
    # to first order, by some square roots of a rounding: what rounding changes in the
    # slopes of d ** 1.5 where items coincide. Or the value itself is but rounding of positions.
    gain = norms[-1] * float(torch.linalg.matrix_norm(result.X))
    eps, value = torch.finfo(result.X.dtype).eps, abs(result.value)
    settled = gain <= 30 * eps**0.5 * value or value <= 100 * eps * gain
    # Later on it is the kink of a loss, or rounding, that ends the solve.
    begun = result.n_iter > _FIRST_STEPS
    stuck = "no step" in result.reason and norms[-1] > 0.01 * norms[0] and not (settled or begun)
    endless = "without end" in result.reason
    if stuck or endless or "not finite" in result.reason:
        advice = (
            "Give a repulsive penalty that grows less than the attractive one, or less repulsion."
            if endless
            else "Check the scale of the data and of the starting point."
        )
        warn(
            f"The solve stopped early: {result.reason} (iteration {result.n_iter}, average "
            f"distortion {result.value:.6g}, residual norm {result.residual_norm:.3g}). {advice}",
            ConvergenceWarning,
        )
