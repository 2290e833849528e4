"""Standardized embeddings of too few items: X^T X = n I with mean 0 needs n - 1 >= m."""

import warnings

import numpy as np
import pytest
import torch

from skmde import (
    MDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
    Standardized,
    mde,
)
from skmde.estimators.spectral.methods import METHODS

SIZES = [(1, 1), (2, 2), (3, 3), (4, 6)]
MESSAGE = r"at least n_components \+ 1 items.*Use at most {} components"


def rows(n):
    return np.random.default_rng(0).standard_normal((n, 5))


FITS = {
    "PreserveNeighbors": lambda X, m: PreserveNeighbors(m, constraint="standardized").fit(X),
    "no repulsion": lambda X, m: PreserveNeighbors(m, repulsive_penalty=None).fit(X),
    "PreserveDistances": lambda X, m: PreserveDistances(m, constraint="standardized").fit(X),
    "mde": lambda X, m: mde(X, n_components=m),
}


@pytest.mark.parametrize(("n", "m"), SIZES[1:])
@pytest.mark.parametrize("fit", FITS)
def test_estimators_refuse_more_components_than_are_possible(fit, n, m):
    with pytest.raises(ValueError, match=MESSAGE.format(n - 1)):
        FITS[fit](rows(n), m)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_problem_and_the_constraint_refuse_them(n, m):
    constraint = Standardized()
    generator = np.random.default_rng(0)
    for refuse in (
        lambda: MDE(n, m, None, "quadratic", "standardized"),
        lambda: constraint.project(torch.ones(n, m)),
        lambda: constraint.initialize(n, m, generator, torch.float32, torch.device("cpu")),
    ):
        with pytest.raises(ValueError, match=MESSAGE.format(n - 1)):
            refuse()


@pytest.mark.parametrize("weights", METHODS)
def test_quadratic_problems_refuse_them_or_say_which_columns_are_zero(weights):
    def fit(n, m):
        X = np.ones((n, n)) - np.eye(n) if weights == "precomputed" else rows(n)
        return QuadraticMDE(m, weights=weights).fit(X).embedding_

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer neighbours than asked for; equal eigenvalues
        for n, m in SIZES[2:]:
            with pytest.raises(ValueError, match=rf"n_components={m} must .* most {n - 1}"):
                fit(n, m)
        full = fit(4, 3)
    if weights != "normalized_laplacian":
        np.testing.assert_allclose(full.T @ full, 4 * np.eye(3), atol=1e-5)
    with pytest.warns(UserWarning, match="Only 1 eigenvalues are usable"):
        assert not fit(2, 2)[:, 1].any()
