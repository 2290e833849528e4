"""No default of an estimator warns, however few the samples are."""

import warnings

import numpy as np
import pytest

import skmde
from skmde.estimators.spectral.methods import METHODS

SIZES = [7, 8, 10, 14, 15, 16, 17, 20, 31, 60, 149, 150, 151]


def rows(n):
    return np.random.default_rng(n).random((n, 4))


def positions(n):
    y = np.full((n, 2), np.nan)
    y[: n // 2] = np.random.default_rng(0).random((n // 2, 2))
    return y


def classes(n):
    y = np.full(n, -1)
    y[: n // 2] = np.arange(n // 2) % 2
    return y


FITS = {
    "PreserveNeighbors": lambda n: skmde.PreserveNeighbors().fit(rows(n)),
    # Pairs that are drawn take more iterations than the default max_iter for some draws.
    "PreserveNeighbors, sampled": lambda n: skmde.PreserveNeighbors(
        repulsion="sampled", max_iter=1000
    ).fit(rows(n)),
    "PreserveDistances": lambda n: skmde.PreserveDistances().fit(rows(n)),
    "AnchoredMDE": lambda n: skmde.AnchoredMDE().fit(rows(n), positions(n)),
    "AnchoredClassifier": lambda n: skmde.AnchoredClassifier().fit(rows(n), classes(n)),
    "mde": lambda n: skmde.mde(rows(n)),
    **{
        f"QuadraticMDE, {weights}": lambda n, weights=weights: skmde.QuadraticMDE(
            weights=weights
        ).fit(rows(n))
        for weights in METHODS
        if weights not in ("precomputed", "mvu")
    },
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("error")
def test_a_fit_with_defaults_warns_of_nothing(name, n):
    FITS[name](n)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
@pytest.mark.parametrize("name", FITS)
def test_defaults_that_do_not_fit_a_few_samples_do_not_count(name, n):
    # A solution may be no plane, or not unique; this the warning may say.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FITS[name](n)
    assert not [w for w in caught if "n_neighbors" in str(w.message)]


@pytest.mark.parametrize("weights", ["laplacian", "lle", "isomap"])
def test_a_number_of_neighbours_that_is_given_and_too_large_is_warned_of(weights):
    with pytest.warns(UserWarning, match="n_neighbors=15 is larger than the number of other rows"):
        skmde.QuadraticMDE(weights=weights, n_neighbors=15).fit(rows(12))


@pytest.mark.parametrize("weights", ["laplacian", "lle", "isomap"])
def test_default_neighbours_of_quadratic_problems_are_those_of_preserve_neighbors(weights):
    for n, n_neighbors in ((12, 5), (90, 9), (150, 15), (400, 15)):
        found, given = (
            skmde.QuadraticMDE(weights=weights, n_neighbors=k).fit(rows(n)).embedding_
            for k in (None, n_neighbors)
        )
        np.testing.assert_array_equal(found, given)
