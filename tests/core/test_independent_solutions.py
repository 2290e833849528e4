"""Solutions of small problems, compared with scipy's optimizers and with closed forms.

The distortions are written out here in numpy. Each comparison is made in several units of length,
weight or radius.
"""

import numpy as np
import pytest
import scipy.linalg
from core_problems import Sphere
from scipy.optimize import minimize
from scipy.spatial.distance import pdist

import skmde
from skmde import MDE, Anchored, AnchoredClassifier, AnchoredMDE, Standardized

N = 16
RNG = np.random.default_rng(7)
POINTS = RNG.normal(size=(N, 4))
STARTS = RNG.normal(size=(4, N, 2))
START = STARTS[0]
EDGES = np.stack(np.triu_indices(N, 1), axis=1)
FIRST, SECOND = EDGES.T
DELTA = pdist(POINTS)
NEAR = np.where(DELTA < np.median(DELTA), 1.0, -1.0)
UNITS = [1e-12, 1.0, 1e12]


def scipy_minimum(value, start, free=None):
    """L-BFGS-B from a start; `value` maps coordinates to the value and the derivatives f'(d) / d.

    Only the rows `free` move. Both are in units in which coordinates are about 1.
    """
    free = np.arange(N) if free is None else free

    def objective(x):
        X = start.copy()
        X[free] = x.reshape(len(free), -1)
        total, slopes = value(X)
        forces = slopes[:, None] * (X[FIRST] - X[SECOND])
        G = np.zeros_like(X)
        np.add.at(G, FIRST, forces)
        np.add.at(G, SECOND, -forces)
        return total, G[free].ravel()

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(objective, start[free].ravel(), jac=True, method="L-BFGS-B", options=options)


def lengths(X):
    return np.maximum(np.linalg.norm(X[FIRST] - X[SECOND], axis=1), 1e-12)


def start_over(X, start, fixed):
    """The start, with the given coordinates of anchors."""
    start = start.copy()
    start[fixed] = X[fixed]
    return start


LOSSES = {
    "squared": (lambda t, d: (d - t) ** 2, lambda t, d: 2 * (d - t), 2),
    "cubic": (lambda t, d: np.abs(d - t) ** 3, lambda t, d: 3 * (d - t) * np.abs(d - t), 3),
    "sammon": (lambda t, d: (d - t) ** 2 / t, lambda t, d: 2 * (d - t) / t, 1),
    "kamada_kawai": (lambda t, d: (d - t) ** 2 / t**2, lambda t, d: 2 * (d - t) / t**2, 0),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_distances_are_kept_as_well_as_by_scipy(loss, anchored, unit):
    value, derivative, degree = LOSSES[loss]

    def average(X):
        d = lengths(X)
        return value(DELTA, d).mean(), derivative(DELTA, d) / d / len(d)

    fixed = np.array([0, 5, 9]) if anchored else np.array([], dtype=int)
    free = np.setdiff1d(np.arange(N), fixed)
    constraint = Anchored(fixed, unit * START[fixed]) if anchored else None
    problem = MDE(N, 2, EDGES, loss, constraint, deviations=unit * DELTA)
    found, wanted = [], []
    for start in STARTS:
        X = problem.embed(unit * start, max_iter=2000).numpy() / unit
        found.append(average(X)[0])
        assert problem.value == pytest.approx(found[-1] * unit**degree, rel=1e-6)
        assert scipy_minimum(average, X, free).fun >= 0.999 * found[-1]
        wanted.append(scipy_minimum(average, start_over(X, start, fixed), free).fun)
    assert min(found) <= 1.1 * min(wanted)  # they may be at other local minima


PENALTIES = {
    "quadratic": (lambda d: d**2, lambda d: 2 * d),
    "log1p": (lambda d: np.log1p(d**1.5), lambda d: 1.5 * np.sqrt(d) / (1 + d**1.5)),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("penalty", sorted(PENALTIES))
def test_neighbours_are_kept_as_well_as_by_scipy_in_any_unit_of_weights(penalty, unit):
    attract, pull = PENALTIES[penalty]
    near = NEAR > 0

    def average(X):  # the repulsive penalty is log(1 - exp(-d))
        d = lengths(X)
        values = np.where(near, attract(d), -np.log(-np.expm1(-d)))
        slopes = np.where(near, pull(d), -1 / np.expm1(d)) / d
        return values.mean(), slopes / len(d)

    problem = MDE(N, 2, EDGES, (penalty, "log"), weights=unit * NEAR)
    found, wanted = [], []
    for start in STARTS:
        X = problem.embed(start, max_iter=2000).numpy()
        found.append(average(X)[0])
        assert problem.value == pytest.approx(unit * found[-1], rel=1e-6)
        assert scipy_minimum(average, X).fun >= 0.999 * found[-1]
        wanted.append(scipy_minimum(average, start).fun)
    assert min(found) <= 1.1 * min(wanted)  # they may be at other local minima


@pytest.mark.parametrize("unit", UNITS)
def test_a_standardized_quadratic_problem_is_an_eigenproblem(unit):
    weights = unit * np.exp(-DELTA)
    problem = MDE(N, 2, EDGES, "quadratic", Standardized(), weights=weights)
    problem.embed(START, max_iter=2000, tol=1e-9)
    L = np.zeros((N, N))
    L[FIRST, SECOND] = L[SECOND, FIRST] = -weights
    L -= np.diag(L.sum(axis=0))
    values = scipy.linalg.eigh(L, eigvals_only=True)
    assert problem.value == pytest.approx(N * values[1:3].sum() / len(EDGES), rel=1e-6)


@pytest.mark.parametrize("radius", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_a_sphere_of_any_radius_is_solved_as_by_scipy(radius):
    # Polar angles make it a problem without constraints.
    delta = np.minimum(DELTA / DELTA.max() * 2, 2)

    def stress(angles):
        X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.mean((lengths(X) - delta) ** 2)

    angles = np.linspace(0, 6, N)
    wanted = minimize(stress, angles, method="L-BFGS-B").fun
    start = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    problem = MDE(N, 2, EDGES, "squared", Sphere(radius), deviations=radius * delta)
    X = problem.embed(start, max_iter=2000)
    np.testing.assert_allclose(X.norm(dim=1), radius, rtol=1e-5)
    assert problem.value <= 1.05 * radius**2 * wanted


def harmonic(weights, labelled, values):
    """The exact extension of values to the other items of a graph of weights."""
    L = np.diag(weights.sum(axis=1)) - weights
    free = np.setdiff1d(np.arange(len(L)), labelled)
    inner = -L[np.ix_(free, labelled)] @ values
    return free, np.linalg.solve(L[np.ix_(free, free)], inner)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("scale", UNITS)
def test_anchored_quadratic_problems_are_harmonic_extensions(scale, unit):
    weights = np.zeros((N, N))
    weights[FIRST, SECOND] = weights[SECOND, FIRST] = np.where(NEAR > 0, np.exp(-DELTA), 0.0)
    labelled = np.array([1, 4, 11])
    values = scale * START[labelled]
    free, wanted = harmonic(weights, labelled, values)
    model = AnchoredMDE(2, metric="affinity")
    found = model.fit(unit * weights, anchors=labelled, anchor_values=values).embedding_
    np.testing.assert_allclose(found[free], wanted, atol=1e-6 * scale)
    np.testing.assert_array_equal(found[labelled], values)


@pytest.mark.parametrize("unit", UNITS)
def test_a_classifier_of_two_classes_is_a_harmonic_extension(unit):
    weights = np.zeros((N, N))
    weights[FIRST, SECOND] = weights[SECOND, FIRST] = np.where(NEAR > 0, np.exp(-DELTA), 0.0)
    labelled = np.array([1, 4, 11])
    y = np.full(N, -1)
    y[labelled] = [0, 1, 0]
    free, wanted = harmonic(weights, labelled, np.eye(2)[y[labelled]])
    model = AnchoredClassifier(metric="affinity").fit(unit * weights, y)
    found = model.label_distributions_[free]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("unit", UNITS)
def test_the_function_mde_does_not_depend_on_the_unit_of_the_data(unit):
    data = np.vstack([POINTS, POINTS[::-1] + 5.0])
    plain = skmde.mde(data, seed=0)
    np.testing.assert_allclose(np.cov(plain.T, bias=True), np.eye(2), atol=1e-5)
    np.testing.assert_allclose(skmde.mde(unit * data, seed=0), plain, atol=1e-2)
