"""Derivatives of solved problems by single items: finite differences, and the solver's residual."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from slowly import slow
from test_distortions_of_fits import CASES, X, fitted

SMOOTH = [
    "all",
    *slow("normalized"),
    "sampled",
    *slow("weighted"),
    "sampled distances",
    "anchored, soft",
    "lle",
]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_and_hessian_are_those_of_the_distortion(name):
    estimator, data = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = clone(estimator).set_params(random_state=0).fit(X[:60], **cut(data))
    problem = estimator._solved_problem()

    def total(item, step):
        moved = np.array(problem.points)
        moved[item] += step
        found = replace(problem, embedding=moved).distortions()
        return found.average * found.n_counted

    gradient, hessian = problem.item_derivatives()
    h = 1e-5 * np.abs(problem.points).max()
    for item in (12, 31):
        for a in range(2):
            step = np.zeros(2)
            step[a] = h
            low, middle, high = (total(item, k * step) for k in (-1, 0, 1))
            scale = np.abs(hessian[item]).max()
            assert gradient[item, a] == pytest.approx((high - low) / (2 * h), abs=1e-5 * scale)
            second = (high - 2 * middle + low) / h**2
            assert hessian[item, a, a] == pytest.approx(second, abs=1e-3 * scale)
        np.testing.assert_allclose(hessian[item], hessian[item].T)


def cut(data):
    return {name: values[:60] for name, values in data.items()}


@pytest.mark.parametrize("name", ["all", "normalized", "distances", "anchored, all"])
def test_the_gradient_is_the_residual_of_the_fit(name):
    estimator = fitted(name)
    problem = estimator._solved_problem()
    gradient, _ = problem.item_derivatives()
    gradient /= problem.distortions().n_counted
    if name == "anchored, all":
        np.testing.assert_allclose(-gradient[estimator.anchors_], estimator.forces_, atol=1e-8)
        gradient[estimator.anchors_] = 0
    assert np.linalg.norm(gradient) == pytest.approx(estimator.residual_norm_, rel=0.02, abs=1e-6)
