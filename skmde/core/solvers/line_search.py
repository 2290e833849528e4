r"""Line search for the modified strong Wolfe conditions (monograph, section 6.1.1).

For a point X, a direction V and a step t,

    phi(t) = E(P(X + t V)),      slope(t) = tr(G_t^T V),

where P projects onto the constraint set and G_t is the projected gradient at P(X + t V). The step
has no unit; phi and slope are in the units of the objective. A step is accepted if

    phi(t) <= phi(0) + c1 t slope(0)      and      abs(slope(t)) <= c2 abs(slope(0)).

The search brackets such a step and narrows the bracket by cubic interpolation (Nocedal and
Wright, *Numerical Optimization*, section 3.5). A trial with a value or slope that is not finite is
too long, so the next trial is shorter. If no trial meets both conditions, the search returns the
trial with the smallest value, provided that it is below phi(0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Trial(Protocol):
    """A point on the line, with its step, value and slope. Solvers add further attributes."""

    step: float
    value: float
    slope: float


T = TypeVar("T", bound=Trial)


@dataclass(frozen=True)
class WolfeConstants:
    """Constants of the line search.

    Attributes
    ----------
    c1, c2 : float
        Constants of the conditions on sufficient decrease and curvature.
    max_evaluations : int
        Maximum number of trials. After these, the search returns the trial with the smallest value.
    max_growth : float
        Maximum ratio of one step to the one before it, while there is no bracket.
    weak : bool
        Whether a step beyond the minimum is accepted, however steeply phi rises there: the weak
        Wolfe conditions. Where phi has kinks, at which its slope jumps upwards, there may be no
        step that meets the strong ones.
    """

    c1: float = 1e-4
    c2: float = 0.9
    max_evaluations: int = 25
    max_growth: float = 10.0
    weak: bool = False


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The accepted trial, or None if no trial decreased the value, and the number of trials."""

    trial: T | None
    n_evaluations: int


def strong_wolfe(
    evaluate: Callable[[float], T],
    start: T,
    step: float,
    wolfe: WolfeConstants,
    noise: float,
    longest: float = math.inf,
) -> Outcome[T]:
    """Search along a line for a step that meets the Wolfe conditions.

    Parameters
    ----------
    evaluate : callable
        Returns the trial at a step.
    start : Trial
        The trial at step 0. Its slope is negative.
    step : float
        First step to try.
    wolfe : WolfeConstants
        Constants.
    noise : float
        Rounding error of a value. A smaller decrease cannot be distinguished from no decrease.
    longest : float
        Longest step, at least `step`. A trial there needs a sufficient decrease alone.

    Returns
    -------
    outcome : Outcome
    """
    low, high = start, None  # low: the smallest value of the steps that are not too long
    best: T | None = None
    n = 0
    max_growth = wolfe.max_growth
    while n < wolfe.max_evaluations:
        trial = evaluate(step)
        n += 1
        if not _is_finite(trial):
            high_step = trial.step
            step = low.step + 0.1 * (high_step - low.step)
            high = None
            if step == low.step:
                break
            # Values are not finite somewhere beyond the last finite trial: approach slowly.
            max_growth = min(max_growth, 2.0)
            continue
        if trial.value < start.value and (best is None or trial.value < best.value):
            best = trial
        bound = start.value + wolfe.c1 * trial.step * start.slope
        # Near a minimum, values differ only by rounding error, but slopes are still precise.
        level = trial.value <= start.value and start.value - trial.value <= noise
        too_long = trial.value > bound and not level
        if not too_long and abs(trial.slope) <= -wolfe.c2 * start.slope:
            return Outcome(trial, n)
        if wolfe.weak and trial.slope > 0 and trial.value <= bound:
            return Outcome(trial, n)
        if high is None:
            if too_long or trial.value > low.value or trial.slope >= 0:
                low, high = _bracket(low, trial, too_long)
            elif trial.step >= longest:
                return Outcome(trial, n)
            else:
                step = min(_extrapolate(low, trial, max_growth), longest)
                low = trial
                continue
        elif too_long or trial.value >= low.value:
            high = trial
        else:
            if trial.slope * (high.step - low.step) >= 0:
                high = low
            low = trial
        width = abs(high.step - low.step)
        if width <= 1e-9 * max(abs(high.step), abs(low.step)):
            break
        step = _interpolate(low, high)
    return Outcome(best, n)


def _is_finite(trial: Trial) -> bool:
    return math.isfinite(trial.value) and math.isfinite(trial.slope)


def _bracket(low: T, trial: T, too_long: bool) -> tuple[T, T]:
    """The two ends of a bracket, the one with the smaller value first."""
    if too_long or trial.value > low.value:
        return low, trial
    return trial, low


def _cubic_minimum(a: Trial, b: Trial) -> float:
    """Minimiser of the cubic through the values and slopes of two trials; NaN if it has none."""
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return math.nan
    d2 = math.copysign(math.sqrt(square), b.step - a.step)
    bottom = b.slope - a.slope + 2 * d2
    if bottom == 0:
        return math.nan
    return b.step - (b.step - a.step) * (b.slope + d2 - d1) / bottom


def _extrapolate(previous: Trial, trial: Trial, max_growth: float) -> float:
    guess = _cubic_minimum(previous, trial)
    lowest, highest = 1.1 * trial.step, max_growth * trial.step
    if not math.isfinite(guess) or guess <= trial.step:
        return highest
    return min(max(guess, lowest), highest)


def _interpolate(low: Trial, high: Trial) -> float:
    left, right = sorted((low.step, high.step))
    margin = 0.1 * (right - left)
    guess = _cubic_minimum(low, high)
    if not math.isfinite(guess):
        guess = 0.5 * (left + right)
    return min(max(guess, left + margin), right - margin)
