"""Inputs at the edge of what repulsion of all pairs can take: a finite map, or a clear error.

``tests/test_faults.py`` has the list for all estimators with their defaults. Here, all pairs repel.
"""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest

from skmde import MDE, AnchoredMDE, Cauchy, Log1p, PreserveNeighbors
from skmde.exceptions import ConvergenceWarning

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 5))
PATH = np.stack([np.arange(N - 1), np.arange(1, N)], axis=1)
MANY = 2600  # more than sums without a lattice take
LONG = np.stack([np.arange(MANY - 1), np.arange(1, MANY)], axis=1)


def neighbors(rows, repulsion, n_components=2, **params):
    estimator = PreserveNeighbors(n_components, repulsion=repulsion, random_state=0, **params)
    return estimator.fit(rows).embedding_


def anchored(rows, repulsion, n_components=2, **params):
    anchors = np.arange(0, len(rows), max(2, len(rows) // 6))
    values = np.random.default_rng(1).standard_normal((len(anchors), n_components))
    params = {"repulsive_penalty": Cauchy(), **params}
    estimator = AnchoredMDE(
        attractive_penalty=Log1p(2.0), repulsion=repulsion, random_state=0, **params
    )
    return estimator.fit(rows, anchors=anchors, anchor_values=values).embedding_


def with_far_pair(rows):
    return np.concatenate([rows, rows[:2] + 1e6])


def two_groups(rows):
    return rows + 1e6 * (np.arange(len(rows)) < len(rows) // 2)[:, None]


LARGEST = np.float32(3e38)
INPUTS = {
    **{f"{n} rows": X[:n] for n in range(2, 11)},
    "equal rows": np.ones((N, 5)),
    "copies": np.repeat(X[:3], 20, axis=0),
    "one column": X[:, :1],
    "constant column": np.c_[X, np.full(N, 7.0)],
    "unit 1e30": 1e30 * X,
    "unit 1e38": 1e38 * X,
    "unit 1e-38": 1e-38 * X,
    "float32 at the end of its range": (X / np.abs(X).max() * LARGEST).astype(np.float32),
    "two far groups": two_groups(X),
    "far pair": with_far_pair(X),
}
EVERY = pytest.mark.parametrize("repulsion", ["all", "normalized"])
BOTH = pytest.mark.parametrize("fit", [neighbors, anchored])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The solve ended at max_iter")  # as asked
        yield


@BOTH
@EVERY
@pytest.mark.parametrize("name", list(INPUTS))
def test_a_finite_map_without_warnings(fit, repulsion, name):
    rows = INPUTS[name]
    Y = fit(rows, repulsion)
    assert np.isfinite(Y).all()
    assert np.abs(Y).max() < 1e4
    if fit is neighbors:
        assert Y.std() > 0.1
        assert len(np.unique(Y, axis=0)) == len(rows)


@BOTH
@EVERY
@pytest.mark.parametrize("m", [1, 2, 3, 4, 10])
def test_any_number_of_components(fit, repulsion, m):
    Y = fit(X, repulsion, m)
    assert Y.shape == (N, m)
    assert np.isfinite(Y).all()
    assert Y.std() > 0.1
    assert len(np.unique(Y, axis=0)) == N


@BOTH
@EVERY
@pytest.mark.parametrize("n_neighbors", [1, N - 1])
def test_hardly_any_and_all_neighbours(fit, repulsion, n_neighbors):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # parts without an anchor
        Y = fit(X, repulsion, n_neighbors=n_neighbors)
    assert np.isfinite(Y).all()
    assert Y.std() > 0.1


@BOTH
@EVERY
def test_data_that_no_float_can_square_are_refused(fit, repulsion):
    with pytest.raises(ValueError, match=r"must be at most 1e\+100"):
        fit(1e200 * X, repulsion)
    with pytest.raises(ValueError, match=r"must be at least 1e-100"):
        fit(1e-200 * X, repulsion)
    for bad, message in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=message):
            fit(np.where(np.arange(N)[:, None] == 3, bad, X), repulsion)


@EVERY
def test_anchors_hold_a_map_open_without_repulsion(repulsion):
    assert np.isfinite(anchored(X, repulsion, repulsive_weight=0.0)).all()


@BOTH
@pytest.mark.parametrize("penalty", ["log1p", "linear", "quadratic"])
def test_repulsion_that_outgrows_attraction_warns(fit, penalty):
    with pytest.warns(ConvergenceWarning, match="move apart without end"):
        fit(X, "all", repulsive_penalty=penalty)


def test_a_normalized_problem_without_minimum_warns():
    with pytest.warns(ConvergenceWarning, match="move apart without end"):
        neighbors(X, "normalized", repulsive_weight=1e6)


def solved(repulsion, edges=PATH, n=N, start=None, m=2, **params):
    problem = MDE(n, m, edges, (Log1p(2.0), Cauchy()), repulsion=repulsion, **params)
    return problem.embed(start, random_state=0, max_iter=20).numpy()


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**-10, 2.0**10, 2.0**40])
def test_a_common_factor_of_the_item_weights_changes_nothing_if_normalized(factor):
    def fitted(unit):
        options = {"repulsion": "normalized", "item_weights": unit * (1.0 + np.arange(N) % 2)}
        problem = MDE(N, 2, PATH, (Log1p(2.0), Cauchy()), **options)
        return problem.embed(random_state=0), problem.result

    (Y, plain), (Z, other) = fitted(1.0), fitted(factor)
    assert other.n_iter == plain.n_iter
    np.testing.assert_allclose(Z, Y, atol=1e-4 * float(Y.abs().max()))
    assert other.value == pytest.approx(plain.value + 2 * np.log(factor), abs=1e-5)


@EVERY
@pytest.mark.parametrize(
    "params",
    [
        {"weights": np.zeros(N - 1)},
        {"weights": (np.arange(N - 1) % 2).astype(float)},
        {"item_weights": (np.arange(N) % 2).astype(float)},
        {"repulsive_weight": 0.0},
        {"start": np.ones((N, 2))},
    ],
    ids=["weights 0", "some weights 0", "some items without weight", "no repulsion", "equal start"],
)
def test_problems_with_zeros_are_solved(repulsion, params):
    Y = solved(repulsion, **params)
    assert np.isfinite(Y).all()
    assert len(np.unique(Y, axis=0)) == N


def test_items_without_weight_repel_nothing():
    Y = solved("all", item_weights=np.zeros(N))
    np.testing.assert_array_equal(Y, solved("all", repulsive_weight=0.0))
    with pytest.warns(ConvergenceWarning, match="not finite at the starting point"):
        solved("normalized", item_weights=np.zeros(N))


@EVERY
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("extent", [1e3, 1e10, 1e20, 1e38])
def test_extents_beyond_any_lattice(repulsion, m, extent):
    start = np.random.default_rng(2).uniform(-extent, extent, (MANY, m)).astype(np.float32)
    # Beyond 1e30, no step within float32 decreases the normalized objective.
    is_stuck = extent > 1e30 and repulsion == "normalized"
    stuck = pytest.warns(ConvergenceWarning, match="no step") if is_stuck else nullcontext()
    with stuck:
        Y = solved(repulsion, LONG, MANY, start, m)
    assert np.isfinite(Y).all()


@EVERY
@pytest.mark.parametrize("m", [1, 2])
def test_far_groups_on_a_lattice(repulsion, m):
    start = np.random.default_rng(2).standard_normal((MANY, m))
    start[MANY // 2 :] += 1e6
    Y = solved(repulsion, LONG, MANY, start, m)
    assert np.isfinite(Y).all()
    parts = Y[: MANY // 2], Y[MANY // 2 :]
    assert min(np.ptp(part, axis=0).min() for part in parts) > 5  # both are spread out
