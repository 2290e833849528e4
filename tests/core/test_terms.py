"""Problems of several terms: values, gradients and forces, precision, scale and errors."""

import numpy as np
import pytest
import torch
from core_problems import random_graph
from hypothesis import given, settings, strategies as st

import skmde
from skmde import MDE, Anchored, Barrier, DistortionTerm
from skmde.functions.base import Loss
from skmde.functions.registry import LOSSES, PENALTIES, resolve_loss, resolve_penalty

N = 12
# Huge slopes at short distances would hide the error of all others.
SMOOTH = sorted(set(PENALTIES) - {"barrier", "inverse_power"})


def pairs_of(rng, p):
    i = rng.integers(0, N, p)
    return np.stack([i, (i + rng.integers(1, N, p)) % N], axis=1)


def own_loss(factor):
    return lambda delta, d: factor * torch.tanh(d - delta) ** 2


@st.composite
def mixes(draw):
    """Terms, and for each of them its functions for positive and for negative weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terms, functions = [], []
    kinds = ["loss", "penalty", "pair", "own loss", "own penalty", "barrier"]
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5)):
        p = int(rng.integers(1, 30))
        weights = draw(st.sampled_from([None, rng.normal(size=p), rng.gamma(1.0, size=p)]))
        delta = rng.gamma(2.0, size=p)
        if kind == "loss":
            one = draw(st.sampled_from(sorted(LOSSES)))
            both, given = (resolve_loss(one), resolve_loss(one)), one
        elif kind == "penalty":
            one = draw(st.sampled_from(SMOOTH))
            both, given = (resolve_penalty(one), resolve_penalty(one)), one
        elif kind == "pair":
            given = draw(st.tuples(st.sampled_from(SMOOTH), st.sampled_from(SMOOTH)))
            both = tuple(resolve_penalty(one) for one in given)
        elif kind == "own loss":
            given = own_loss(torch.from_numpy(rng.uniform(1, 2, p)))
            both = resolve_loss(given), resolve_loss(given)
        elif kind == "own penalty":
            given = lambda d: torch.log1p(d**3)  # noqa: E731
            both = resolve_penalty(given), resolve_penalty(given)
        else:
            given = Barrier(1e-3 * rng.random(p))
            both, weights = (given, given), None
        known = delta if "loss" in kind else None
        terms.append(DistortionTerm(pairs_of(rng, p), given, weights, known))
        functions.append(both)
    return terms, functions, rng.normal(size=(N, 3))


def independent_distortions(terms, functions, X):
    """The distortions of all pairs, from the formulas of the functions' values alone."""
    found = []
    for term, both in zip(terms, functions, strict=True):
        i, j = torch.from_numpy(term.edges).T
        d = (X[i] - X[j]).square().sum(dim=1).sqrt()
        w = torch.ones(len(d), dtype=d.dtype)
        if term.weights is not None:
            w = torch.from_numpy(term.weights)
        values = []
        for function in both:
            if isinstance(function, Loss):
                values.append(w * function.value(torch.from_numpy(term.deviations), d))
            else:
                values.append(function.weighted_value(d, w))
        found.append(torch.where(w >= 0, *values))
    return torch.cat(found)


@settings(max_examples=25, deadline=None)
@given(mixes())
def test_gradient_and_forces_of_any_mix_are_those_of_autograd(mix):
    terms, functions, X = mix
    problem = MDE(N, 3, terms)
    Z = torch.tensor(X, requires_grad=True)
    distortions = independent_distortions(terms, functions, Z)
    distortions.mean().backward()
    size = float(Z.grad.abs().max()) or 1.0
    assert float((problem.gradient(X) - Z.grad).abs().max()) <= 1e-10 * size
    torch.testing.assert_close(problem.distortions(X), distortions.detach(), rtol=1e-12, atol=1e-12)
    assert problem.average_distortion(X) == pytest.approx(float(distortions.mean().detach()))
    forces = problem.forces(X)
    net = torch.zeros(N, 3, dtype=torch.float64)
    net.index_add_(0, problem.edges[:, 0], forces)
    net.index_add_(0, problem.edges[:, 1], -forces)
    assert float((net / len(forces) + Z.grad).abs().max()) <= 1e-10 * size


@settings(max_examples=15, deadline=None)
@given(mixes(), st.sampled_from([None, "standardized", Anchored([0, 5], [[0.0] * 3, [1.0] * 3])]))
@pytest.mark.filterwarnings("ignore::skmde.exceptions.ConvergenceWarning")
def test_a_solve_of_any_mix_decreases_its_value_within_the_constraint(mix, constraint):
    terms, _, X = mix
    problem = MDE(N, 3, terms, constraint=constraint)
    Y = problem.embed(X, max_iter=20)
    assert bool(torch.isfinite(Y).all()) and problem.constraint.violation(Y) < 1e-6
    values = np.array(problem.result.history.value)
    assert (np.diff(values) <= 1e-9 * np.abs(values[:-1]) + 1e-12).all()
    assert problem.average_distortion() == pytest.approx(problem.value, rel=1e-9, abs=1e-12)


def test_gradient_includes_the_repulsion_of_all_pairs():
    rng = np.random.default_rng(0)
    path = random_graph(rng, N, 1)
    terms = [
        DistortionTerm(path, ("log1p", "cauchy")),
        DistortionTerm(pairs_of(rng, 4), "squared", deviations=np.ones(4)),
    ]
    problem = MDE(N, 2, terms, repulsion="all", repulsive_weight=0.5, accuracy="precise")
    X = torch.tensor(rng.normal(size=(N, 2)), requires_grad=True)
    repulsion = 0.5 / (len(path) + 4) / (1 + torch.pdist(X) ** 2)
    listed = MDE(N, 2, terms).average_distortion(X)
    (listed + repulsion.sum()).backward()
    torch.testing.assert_close(problem.gradient(X), X.grad, rtol=1e-6, atol=1e-9)
    problem.embed(random_state=0)
    assert problem.result.converged


@pytest.mark.parametrize("edges", [random_graph(np.random.default_rng(0), N, 30), None])
def test_one_term_is_the_problem_without_terms(edges):
    p = N * (N - 1) // 2 if edges is None else len(edges)
    deviations = np.random.default_rng(1).gamma(2.0, size=p)
    plain = MDE(N, 2, edges, "huber", deviations=deviations)
    term = DistortionTerm(edges, "huber", deviations=deviations)
    X = plain.embed(random_state=0)
    for terms in ([term], (term,), term):
        problem = MDE(N, 2, terms)
        assert torch.equal(problem.embed(random_state=0), X)
        assert torch.equal(problem.edges, plain.edges) and repr(problem) == repr(plain)


@pytest.mark.parametrize("loss", ["squared", "kamada_kawai"])
def test_a_list_of_pairs_can_be_cut_into_terms(loss):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(40, 2))
    points[1] = points[0] + 1e-6  # a tight pair
    edges = random_graph(rng, 40, 300)
    deviations = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    whole = MDE(40, 2, edges, loss, deviations=deviations)
    cuts = [slice(0, 70), slice(70, 150), slice(150, None)]
    parts = [DistortionTerm(edges[cut], loss, deviations=deviations[cut]) for cut in cuts]
    parts = MDE(40, 2, parts)
    torch.testing.assert_close(parts.gradient(points), whole.gradient(points))
    assert vars(parts._scale()) == pytest.approx(vars(whole._scale()), rel=1e-6)
    assert (whole._groups is None) == (parts._groups is None)
    if whole._groups is not None:
        assert parts._groups.shortest == pytest.approx(whole._groups.shortest, rel=1e-6)
    start = points + 0.01 * rng.normal(size=points.shape)
    for problem in (whole, parts):
        problem.embed(start, max_iter=1000)
        assert problem.result.converged and problem.value < 1e-6


def mixed_problem(length=1.0, factor=1.0, constraint=None, n=60, loss="squared"):
    """A penalty on some pairs, a loss on others, in a unit of length and with a common factor."""
    rng = np.random.default_rng(3)
    near, far = random_graph(rng, n, 150), pairs_of(rng, 40)
    terms = [
        DistortionTerm(near, "quadratic", factor * rng.gamma(2.0, size=len(near))),
        DistortionTerm(far, loss, factor * np.ones(40), length * (1 + rng.random(40))),
    ]
    return MDE(n, 2, terms, constraint=constraint)


@pytest.mark.parametrize(("length", "factor"), [(1.0, 1e8), (1e5, 1.0), (1e-4, 1e-9)])
def test_units_and_common_factors_change_nothing(length, factor):
    plain, other = mixed_problem(), mixed_problem(length, factor)
    start = np.random.default_rng(4).normal(size=(60, 2))
    X, Y = plain.embed(start), other.embed(length * start)
    assert plain.result.converged and other.result.converged
    assert abs(plain.result.n_iter - other.result.n_iter) <= 2
    np.testing.assert_allclose(Y / length, X, atol=1e-3 * float(X.abs().max()))
    assert other._scale().value == pytest.approx(factor * length**2 * plain._scale().value)


def test_few_heavy_pairs_of_a_mix_do_not_stall_the_solver():
    rng = np.random.default_rng(5)
    n = 100
    near, known = random_graph(rng, n, 400), np.stack([rng.permutation(n) for _ in range(2)], 1)
    known = known[known[:, 0] != known[:, 1]]
    heavy = DistortionTerm(near[:2], "quadratic", weights=[1e8, 1e8])
    terms = [
        DistortionTerm(near[2:], "quadratic", weights=np.ones(len(near) - 2)),
        DistortionTerm(known, "squared", deviations=1 + rng.random(len(known))),
        DistortionTerm([[10, 20]], "kamada_kawai", deviations=[1e-6]),
    ]
    problem = MDE(n, 2, [*terms, heavy])
    held = {frozenset(level.items.tolist()) for level in problem._groups.levels}
    assert set().union(*held) == {10, 20, *near[:2].ravel().tolist()}
    problem.embed(random_state=0)
    plain = MDE(n, 2, terms[:2])
    plain.embed(random_state=0)
    assert problem.result.converged and problem.result.n_iter < 3 * plain.result.n_iter
    assert problem.distances()[-3] == pytest.approx(1e-6, rel=1e-3)


def test_terms_of_a_mix_have_the_precision_that_they_need():
    edges = [[0, 1], [1, 2]]
    losses = DistortionTerm(edges, "squared", deviations=np.array([1, 2], np.float32))
    penalty = DistortionTerm(edges, "quadratic")
    assert MDE(3, 1, [penalty, losses]).embed(random_state=0).dtype == torch.float32
    exact = DistortionTerm(edges, "quadratic", weights=np.ones(2))
    assert MDE(3, 1, [losses, exact]).embed(random_state=0).dtype == torch.float64
    short = DistortionTerm(edges, "squared", deviations=np.array([1, 1e-5], np.float32))
    assert MDE(3, 1, [penalty, short]).embed(random_state=0).dtype == torch.float64


@pytest.mark.parametrize("constraint", ["standardized", Anchored([0, 3], [[0.0, 0.0], [2.0, 1.0]])])
def test_a_mix_satisfies_its_constraint_and_is_stationary(constraint):
    problem = mixed_problem(constraint=constraint)
    X = problem.embed(random_state=0, tol=1e-7, max_iter=1000)
    assert problem.result.converged
    assert problem.constraint.violation(X) < 1e-6
    projected = problem.gradient(projected=True)
    assert float(projected.norm()) == pytest.approx(problem.residual_norm, rel=1e-3, abs=1e-9)
    assert float(projected.norm()) < 1e-5 * float(problem.gradient().norm())


def test_a_pair_may_be_in_several_terms():
    term = DistortionTerm([[0, 1]], "linear")
    problem = MDE(2, 1, [term, DistortionTerm([[1, 0]], "squared", deviations=[2.0])])
    assert problem.edges.tolist() == [[0, 1], [0, 1]]
    problem.embed(random_state=0)
    assert problem.distances().tolist() == pytest.approx([1.5, 1.5], rel=1e-4)


def test_measures_of_a_mix_are_of_all_its_pairs():
    problem = mixed_problem()
    X = np.random.default_rng(6).normal(size=(60, 2))
    d = problem.distances(X)
    w = problem._edges.to_callers_order(problem._edges.weights)
    assert problem.average_distortion(X, "cubic") == pytest.approx(float((w * d**3).mean()))
    with pytest.raises(ValueError, match="SquaredLoss is a loss, but the edges of some terms"):
        problem.average_distortion(X, skmde.SquaredLoss())


def all_pairs_of(n):
    return DistortionTerm(None, "squared", deviations=np.ones(n * (n - 1) // 2))


@pytest.mark.parametrize(
    ("terms", "arguments", "message"),
    [
        ([all_pairs_of(5), all_pairs_of(4)], {}, "term 1: the 6 deviations are those of all pairs"),
        ([all_pairs_of(5), DistortionTerm([[0, 5]], "linear")], {}, "term 1: edges name item 5, b"),
        ([all_pairs_of(5), DistortionTerm([[0, 1]], "squared")], {}, "term 1: unknown penalty"),
        ([all_pairs_of(5), DistortionTerm([[0, 1]], "linear", [1, 2])], {}, "term 1: weights must"),
        ([all_pairs_of(5)], {"deviations": np.ones(10)}, "terms, which have their own distortion"),
        (
            [all_pairs_of(5)],
            {"distortion": "standardized"},
            "got distortion, too. Pass",
        ),
        ([[0, 1]], {}, "distortion is missing"),
        (
            [all_pairs_of(5), DistortionTerm([[0, 1]], "linear")],
            {"repulsion": "all"},
            r"needs a pair \(attractive, repulsive\) of penalties",
        ),
        (
            [DistortionTerm([[0, 1]], ("log1p", name)) for name in ("cauchy", "log")],
            {"repulsion": "all"},
            "The terms have different repulsive penalties",
        ),
        (
            [all_pairs_of(5), DistortionTerm([[0, 1], [1, 2]], Barrier([0.1, 0.2, 0.3]))],
            {},
            r"term 1: Barrier: rho must be a number, or one number for each of the 2 pairs",
        ),
    ],
)
def test_terms_that_make_no_sense_are_refused(terms, arguments, message):
    with pytest.raises(ValueError, match=message):
        MDE(5, 2, terms, **arguments)


def test_a_list_that_mixes_terms_and_pairs_is_refused():
    with pytest.raises(TypeError, match="entry 1 of the list is a tuple"):
        MDE(5, 2, [all_pairs_of(5), (0, 1)])
