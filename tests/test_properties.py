"""Properties of every fit, for random problems; `make fuzz` tries the same for longer.

Three sorts: whatever is fed to an estimator gives a finite embedding that satisfies its constraint
and is not worse than its start, or an error that says why not; other units, and other ways to give
the same data, change no embedding; and moving the data moves the embedding as it should.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from embedding_properties import answer, check, found
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from limits import LIMITS, lowered
from mde_recipes import check_problem, problems
from problem_recipes import Recipe
from relations import RELATIONS, Relation, check_relation
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group
from strategies import BORDERS, ESTIMATORS, SMALL, recipes

import skmde

EXAMPLES = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    # a recipe says it all, and to shrink it may take minutes
    phases=[Phase.explicit, Phase.generate],
)
FEW = settings(EXAMPLES, max_examples=16)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@EXAMPLES
@given(data=st.data())
def test_an_embedding_within_its_constraint_or_an_error_that_explains(estimator, data):
    # `make fuzz` tries more of the larger sizes
    check(data.draw(recipes(estimators=(estimator,), sizes=(*(10 * SMALL), *BORDERS[:4]))))


# Cases of `make fuzz` that failed once.
FOUND = {
    "equal rows in float16": Recipe(
        "PreserveDistances",
        n=5,
        d=3,
        seed=1,
        spread="integers",
        scale=1e-9,
        dtype="float16",
        form="csc",
        limits=("_linalg.principal._SMALL",),
        params={"init": "pca", "n_components": 1, "constraint": "standardized"},
    ),
    "proportional rows under hellinger": Recipe(
        "AnchoredClassifier",
        n=4,
        d=1,
        seed=4,
        spread="line",
        scale=1e-9,
        n_anchors=1,
        weightless=0.0,
        weight_unit=1e-6,
        params={"metric": "hellinger", "max_distance": 1e9, "n_neighbors": None},
    ),
    "one pair": Recipe("PreserveDistances", n=300, d=1, seed=1, params={"max_pairs": 1}),
    "thrown apart by the warm start": Recipe(
        "PreserveNeighbors",
        n=51,
        d=6,
        seed=3,
        spread="integers",
        scale=1e-6,
        shift=1.0,
        kind="tables",
        dtype="uint8",
        n_anchors=4,
        measured="manhattan",
        weightless=0.9,
        weight_unit=1e-12,
        params={
            "max_distance": 0.5,
            "tol": 0.1,
            "constraint": "anchored",
            "metric": "precomputed",
        },
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_random_problems_have_found_stays_mended(name):
    check(FOUND[name])


def test_the_first_of_equal_places_is_taken_in_any_unit():
    one = Recipe("PreserveDistances", n=8, d=3, seed=289, params={"max_iter": 5, "n_components": 1})
    check_relation(Relation(one, replace(one, scale=2.0**-40), unit=2.0**-40))


@pytest.mark.parametrize("relation", RELATIONS)
@FEW
@given(data=st.data())
def test_other_units_and_other_ways_to_give_data_change_nothing(relation, data):
    check_relation(data.draw(RELATIONS[relation]))


@EXAMPLES
@given(problem=problems())
def test_problems_in_two_units_have_one_embedding(problem):
    check_problem(*problem)


# Generic data, in which no two distances are the same: what is asked for holds of these.
TABLES = st.builds(
    lambda seed, n, d: np.random.default_rng([seed, 9]).standard_normal((n + 3, d)),
    seed=st.integers(0, 10_000),
    n=st.integers(8, 30),
    d=st.integers(2, 6),
)


def moved(X, seed):
    """X rotated (or reflected) and shifted."""
    rng = np.random.default_rng(seed)
    rotation = ortho_group.rvs(X.shape[1], random_state=rng.integers(1 << 31))
    return X @ rotation + 10 * rng.standard_normal(X.shape[1])


def fit(estimator, X, y=None):
    """Fitted, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return estimator.fit(X, y)


def coordinates(n, seed=0):
    """Every fourth sample anchored somewhere."""
    y = np.full((n, 2), np.nan)
    y[::4] = np.random.default_rng(seed).standard_normal((len(y[::4]), 2))
    return y


def of_neighbors(n):
    """Estimators that see the neighbours of samples only, and targets for them."""
    return [
        (skmde.PreserveNeighbors(random_state=0), None),
        (skmde.QuadraticMDE(n_neighbors=5, random_state=0), None),
        (skmde.AnchoredMDE(random_state=0), coordinates(n)),
        (skmde.AnchoredClassifier(), np.where(np.arange(n) % 3, np.nan, np.arange(n) % 2)),
    ]


@FEW
@given(X=TABLES, seed=st.integers(0, 100), factor=st.sampled_from([1.0, 1e-6, 7.0, 1e20]))
def test_neighbours_do_not_know_where_data_are_nor_how_large(X, seed, factor):
    X, unseen = X[:-3], X[-3:]
    changed = factor * moved(np.concatenate([X, unseen]), seed)
    for estimator, y in of_neighbors(len(X)):
        expected = fit(estimator, X, y)
        before, places_before = found(expected), answer(expected, unseen)
        again = fit(estimator, changed[:-3], y)
        # the same neighbours make the same problem, whose numbers are all the same
        np.testing.assert_array_equal(found(again), before)
        # weights of unseen samples come from distances, of which rounding changes the last bit
        np.testing.assert_allclose(answer(again, changed[-3:]), places_before, atol=1e-4)


@FEW
@given(X=TABLES, seed=st.integers(0, 100))
def test_distances_do_not_know_where_data_are(X, seed):
    # A few iterations only: rounding at the start grows in a solve that is not convex.
    estimator = skmde.PreserveDistances(loss="squared", max_iter=5, random_state=0)
    plain = fit(estimator, X)
    distances, embedded, stress = plain.distances_, pdist(plain.embedding_), plain.stress_
    again = fit(estimator, moved(X, seed))
    np.testing.assert_allclose(again.distances_, distances, rtol=1e-9)
    np.testing.assert_allclose(pdist(again.embedding_), embedded, atol=1e-3)
    assert again.stress_ == pytest.approx(stress, rel=1e-4)


@FEW
@given(X=TABLES, seed=st.integers(0, 100))
def test_eigenvalues_do_not_know_where_data_are(X, seed):
    # Eigenvectors may turn where two eigenvalues are close; the values may not.
    for weights in ("pca", "kernel_pca", "classical_mds", "isomap"):
        estimator = skmde.QuadraticMDE(weights=weights, n_neighbors=5, solver="dense")
        values = fit(estimator, X).eigenvalues_
        if weights == "kernel_pca":  # centred, linear kernel: PCA
            expected = fit(skmde.QuadraticMDE(weights="pca", solver="dense"), X).eigenvalues_
            np.testing.assert_allclose(values, expected, rtol=1e-6)
        again = fit(estimator, moved(X, seed)).eigenvalues_
        np.testing.assert_allclose(again, values, rtol=1e-6)


@FEW
@given(
    X=TABLES,
    loss=st.sampled_from(["absolute", "squared", "cubic", "fractional"]),
    power=st.sampled_from([-60, -3, 1, 40]),
)
def test_distances_in_other_units(X, loss, power):
    # A power of two changes no digit of the data; losses that have no unit of their own.
    X, unseen, unit = X[:-3], X[-3:], 2.0**power
    estimator = skmde.PreserveDistances(loss=loss, max_iter=8, random_state=0)
    plain = fit(estimator, X)
    embedding, stress, rows = plain.embedding_, plain.stress_, plain.transform(unseen)
    again = fit(estimator, unit * X)
    np.testing.assert_allclose(again.embedding_ / unit, embedding, rtol=0, atol=1e-9)
    assert again.stress_ == pytest.approx(stress, rel=1e-9)
    # searched for by steps whose length rounding may change
    np.testing.assert_allclose(again.transform(unit * unseen) / unit, rows, rtol=0, atol=1e-4)


@FEW
@given(X=TABLES, seed=st.integers(0, 100))
def test_places_go_where_anchors_go(X, seed):
    y = coordinates(len(X), seed)
    for estimator, atol in (
        # linear in the anchors, and solved in float64
        (skmde.AnchoredMDE(), 1e-6),
        # by iterations, of which few are compared
        (skmde.AnchoredMDE(loss="squared", max_iter=5, random_state=0), 1e-3),
    ):
        before = fit(estimator, X, y).embedding_
        anchored = ~np.isnan(y[:, 0])
        everywhere = moved(np.concatenate([before, y[anchored]]), seed)
        changed = y.copy()
        changed[anchored] = everywhere[len(X) :]
        np.testing.assert_allclose(
            fit(estimator, X, changed).embedding_, everywhere[: len(X)], atol=atol
        )


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_limit_of_size_exists(name):
    with lowered([name]):
        pass
