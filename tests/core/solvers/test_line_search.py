"""The line search on functions of one variable."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, strategies as st

from skmde.core.solvers.line_search import WolfeConstants, strong_wolfe


@dataclass
class Point:
    step: float
    value: float
    slope: float


class Line:
    """A function of the step and its derivative, and the steps that were tried."""

    def __init__(self, function, derivative):
        self.function, self.derivative = function, derivative
        self.steps = []

    def at(self, step):
        try:
            return Point(step, self.function(step), self.derivative(step))
        except (ValueError, OverflowError, ZeroDivisionError):
            return Point(step, math.nan, math.nan)

    def __call__(self, step):
        self.steps.append(step)
        return self.at(step)


def search(line, step=1.0, noise=0.0, wolfe=None, **limit):
    return strong_wolfe(line, line.at(0.0), step, wolfe or WolfeConstants(), noise, **limit)


def check_wolfe(line, trial, wolfe=None):
    wolfe = wolfe or WolfeConstants()
    start = line.at(0.0)
    assert trial.value <= start.value + wolfe.c1 * trial.step * start.slope
    assert abs(trial.slope) <= wolfe.c2 * abs(start.slope)
    assert trial.value < start.value


def quadratic(minimum):
    return Line(lambda t: (t - minimum) ** 2, lambda t: 2 * (t - minimum))


def quartic(minimum):
    return Line(lambda t: (t - minimum) ** 4, lambda t: 4 * (t - minimum) ** 3)


def rosenbrock():
    # from (-1.2, 1) along the negative gradient
    x, y, u, v = -1.2, 1.0, 215.6, 88.0

    def gradient(t):
        a, b = x + t * u, y + t * v
        return -2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)

    return Line(
        lambda t: (1 - x - t * u) ** 2 + 100 * (y + t * v - (x + t * u) ** 2) ** 2,
        lambda t: gradient(t)[0] * u + gradient(t)[1] * v,
    )


def log_barrier(wall):
    # infinite from the wall on: -log(wall - t) - 3 t / wall
    return Line(
        lambda t: -math.log(wall - t) - 3 * t / wall,
        lambda t: 1 / (wall - t) - 3 / wall if t < wall else math.nan,
    )


def wiggle():
    return Line(
        lambda t: -t - 0.3 * math.sin(9 * t) + 0.01 * t**4,
        lambda t: -1 - 2.7 * math.cos(9 * t) + 0.04 * t**3,
    )


# Moré and Thuente's first test function: a long flat valley far from 0.
def far_valley():
    return Line(lambda t: -t / (t * t + 2), lambda t: (t * t - 2) / (t * t + 2) ** 2)


LINES = {
    "quadratic": lambda: quadratic(1.3),
    "quadratic far": lambda: quadratic(1e6),
    "quadratic near": lambda: quadratic(1e-6),
    "quartic": lambda: quartic(2.0),
    "quartic near": lambda: quartic(1e-5),
    "quartic far": lambda: quartic(3e4),
    "rosenbrock": rosenbrock,
    "barrier": lambda: log_barrier(2.0),
    "barrier near": lambda: log_barrier(0.03),
    "barrier very near": lambda: log_barrier(1e-7),
    "barrier far": lambda: log_barrier(1e3),
    "far valley": far_valley,
    "tiny slope": lambda: Line(lambda t: 1e-12 * (t - 1e6) ** 2, lambda t: 2e-12 * (t - 1e6)),
    "exponential": lambda: Line(lambda t: math.exp(t) - 9 * t, lambda t: math.exp(t) - 9),
}


@pytest.mark.parametrize("step", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("name", LINES)
def test_accepted_step_meets_both_wolfe_conditions(name, step):
    line = LINES[name]()
    outcome = search(line, step)
    check_wolfe(line, outcome.trial)
    assert outcome.n_evaluations == len(line.steps) <= WolfeConstants().max_evaluations
    assert all(s > 0 for s in line.steps)
    assert outcome.trial.step in line.steps


@given(st.floats(-6, 6), st.floats(-6, 6), st.sampled_from([quadratic, quartic, log_barrier]))
def test_wolfe_conditions_hold_at_any_scale(where, step, make):
    line = make(10.0**where)
    check_wolfe(line, search(line, 10.0**step).trial)


@pytest.mark.parametrize(
    "wolfe", [WolfeConstants(c2=0.1), WolfeConstants(c1=0.3, c2=0.4), WolfeConstants(c2=0.01)]
)
def test_constants_of_the_conditions_are_those_given(wolfe):
    for make in (lambda: quartic(2.0), rosenbrock, lambda: log_barrier(2.0), far_valley, wiggle):
        line = make()
        trial = search(line, 0.01, wolfe=wolfe).trial
        check_wolfe(line, trial, wolfe)


def test_a_first_step_that_serves_costs_one_evaluation():
    line = quadratic(1.0)
    outcome = search(line, 0.9)
    assert outcome.n_evaluations == 1 and outcome.trial.step == 0.9


def test_growth_by_a_million_takes_few_evaluations():
    line = Line(lambda t: (t - 1e6) ** 2, lambda t: 2 * (t - 1e6))
    assert search(line, 1.0, wolfe=WolfeConstants(c2=0.1)).n_evaluations <= 10


def test_steps_grow_by_no_more_than_the_given_factor():
    line = Line(lambda t: -t, lambda t: -1.0)
    search(line, 1.0, wolfe=WolfeConstants(max_growth=4.0, max_evaluations=6))
    np.testing.assert_allclose(line.steps, 4.0 ** np.arange(6))


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_evaluations_are_limited_and_the_best_decrease_is_taken(limit):
    line = Line(lambda t: -t, lambda t: -1.0)  # falls forever: no step meets the conditions
    outcome = search(line, wolfe=WolfeConstants(max_evaluations=limit))
    assert outcome.n_evaluations == len(line.steps) == limit
    assert outcome.trial.value == min(-t for t in line.steps)


def test_best_trial_is_taken_even_if_it_was_not_the_last():
    # Nothing meets the second condition at this tiny c2; every trial lies around the minimum.
    line = Line(lambda t: abs(t - 1) + 0.1 * (t - 1) ** 2, lambda t: math.copysign(1, t - 1.0))
    outcome = search(line, 2.5, wolfe=WolfeConstants(c2=1e-9))
    assert outcome.trial.value == min(line.at(t).value for t in line.steps)
    assert outcome.trial.value < 0.01


@pytest.mark.parametrize("fault", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["value", "slope"])
def test_trials_that_are_not_finite_shrink_the_step(fault, where):
    def value(t):
        return fault if where == "value" and t > 1e-5 else -t + 1e4 * t * t

    def slope(t):
        return fault if where == "slope" and t > 1e-5 else -1 + 2e4 * t

    line = Line(value, slope)
    outcome = search(line, 1.0)
    assert outcome.trial.step <= 1e-5
    assert outcome.trial.value < 0
    assert all(b < a for a, b in zip(line.steps[:5], line.steps[1:6], strict=True))


def test_finite_everywhere_is_not_asked_of_the_line():
    # Finite only in a short stretch, and falling there to its end: no Wolfe step exists.
    line = Line(lambda t: -t if t < 0.37 else math.nan, lambda t: -1.0 if t < 0.37 else math.nan)
    outcome = search(line)
    assert 0.2 < outcome.trial.step < 0.37
    assert outcome.n_evaluations <= WolfeConstants().max_evaluations


def test_nowhere_finite_gives_nothing():
    line = Line(lambda t: 0.0 if t == 0 else math.nan, lambda t: -1.0)
    outcome = search(line)
    assert outcome.trial is None
    assert outcome.n_evaluations == len(line.steps) <= WolfeConstants().max_evaluations


def test_no_decrease_gives_nothing():
    # The slope at 0 promises a decrease that no trial shows.
    line = Line(lambda t: t, lambda t: 1.0 if t > 0 else -1.0)
    outcome = search(line)
    assert outcome.trial is None
    assert outcome.n_evaluations <= WolfeConstants().max_evaluations


def test_flat_function_ends_without_a_step():
    line = Line(lambda t: 3.0, lambda t: -1e-9)
    outcome = search(line)
    assert outcome.trial is None
    assert outcome.n_evaluations <= WolfeConstants().max_evaluations


def test_decreases_below_the_noise_are_judged_by_the_slope():
    # A decrease of 1e-13 is less than the first condition asks for, and less than can be told.
    line = Line(lambda t: 1 - 1e-13 * (t > 0), lambda t: 1e-8 * (t - 1))
    strict = search(line, 0.9, noise=0.0)
    assert strict.n_evaluations > 1
    lenient = search(line, 0.9, noise=1e-12)
    assert lenient.n_evaluations == 1 and lenient.trial.step == 0.9


def test_noise_does_not_excuse_an_increase():
    line = Line(lambda t: 1e-7 if t > 0 else 0.0, lambda t: -1e-9 if t == 0 else 0.0)
    assert search(line, noise=1e-6).trial is None


def test_huge_values_do_not_overflow_the_interpolation():
    line = Line(lambda t: 1e300 * (t - 0.1) ** 2, lambda t: 2e300 * (t - 0.1))
    check_wolfe(line, search(line, 1e3).trial)


@pytest.mark.parametrize("step", [0.2, 1.6, 5.0])
def test_interpolation_finds_the_minimum_of_a_cubic_at_once(step):
    # From below, from a step with a smaller value than the start, and from one with a larger.
    line = Line(lambda t: (t - 1) ** 2 * (t + 2), lambda t: 3 * (t - 1) * (t + 1))
    outcome = search(line, step, wolfe=WolfeConstants(c2=1e-9))
    assert outcome.n_evaluations == 2
    assert outcome.trial.step == pytest.approx(1.0)


def test_steps_grow_in_full_where_the_line_bends_down():
    line = Line(lambda t: -t - t * t, lambda t: -1 - 2 * t)
    search(line, 1.0, wolfe=WolfeConstants(max_evaluations=5))
    np.testing.assert_allclose(line.steps, 10.0 ** np.arange(5))


def test_steps_at_most_double_once_a_trial_was_not_finite():
    line = Line(lambda t: -t if t < 60 else math.nan, lambda t: -1.0)
    search(line, 100.0)
    assert line.steps[:4] == pytest.approx([100.0, 10.0, 20.0, 40.0])


def test_a_trial_that_is_not_finite_inside_a_bracket_is_left_behind():
    # A bracket (0, 1), and a hole where the first interpolation falls.
    def value(t):
        return math.nan if 0.2 < t < 0.6 else (t - 0.1) ** 2

    line = Line(value, lambda t: 2 * (t - 0.1))
    check_wolfe(line, search(line, 1.0).trial)


def test_search_ends_when_the_bracket_has_no_width():
    line = Line(lambda t: abs(t - 1), lambda t: math.copysign(1, t - 1.0))
    outcome = search(line, 2.5, wolfe=WolfeConstants(max_evaluations=1000))
    assert outcome.trial.step == pytest.approx(1.0, rel=1e-8)
    assert outcome.n_evaluations < 100


@pytest.mark.parametrize("longest", [1.0, 3.0, 40.0])
def test_no_step_is_longer_than_the_longest(longest):
    line = quadratic(1000.0)
    outcome = search(line, longest=longest)
    assert outcome.trial.step == longest == max(line.steps)
    assert outcome.n_evaluations == len(line.steps)


def test_the_longest_step_is_shortened_if_it_is_too_long():
    line = quadratic(1.0)
    outcome = search(line, step=30.0, longest=30.0)
    check_wolfe(line, outcome.trial)
    assert outcome.trial.step < 3.0
