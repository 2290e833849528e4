"""Constraint sets: closed forms of their projections, bad input, and the checker for new ones."""

import doctest
import itertools
import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.spatial.distance import pdist
from sklearn.base import clone

from skmde.constraints import (
    Anchored,
    Centered,
    Constraint,
    Standardized,
    check_constraint,
    resolve_constraint,
)

ROOT = Path(__file__).parents[1]
DTYPES = [torch.float32, torch.float64]


def _normal(n, m, dtype=torch.float64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, m))).to(dtype)


def _gradient(X, seed=1):
    """L X with a random symmetric L whose rows sum to 0: the form of every gradient."""
    weights = _normal(len(X), len(X), seed=seed).to(X)
    weights = weights + weights.T
    return weights.sum(dim=1, keepdim=True) * X - weights @ X


def _anchored(n, m):
    index = list(range(0, n, 3))
    return Anchored(index, np.random.default_rng(7).standard_normal((len(index), m)) + 5)


BUILT_IN = {
    "centered": lambda n, m: Centered(),
    "standardized": lambda n, m: Standardized(),
    "anchored": _anchored,
}


@pytest.fixture(params=sorted(BUILT_IN))
def make(request):
    return BUILT_IN[request.param]


# All sets


@given(name=st.sampled_from(sorted(BUILT_IN)), n=st.integers(2, 25), data=st.data())
def test_projections_are_projections_for_any_shape(name, n, data):
    m = data.draw(st.integers(1, n - 1))
    check_constraint(BUILT_IN[name](n, m), n, m, random_state=data.draw(st.integers(0, 9)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_initial_embedding_is_feasible_random_and_seeded(make, dtype):
    constraint = make(50, 3)
    first, same, other = (
        constraint.initialize(50, 3, np.random.default_rng(seed), dtype, "cpu")
        for seed in (0, 0, 1)
    )
    assert first.shape == (50, 3) and first.dtype == dtype
    assert constraint.violation(first) < 1e-5
    assert torch.equal(first, same)
    assert (first - other).abs().max() > 0.1


def test_initial_embedding_uses_its_generator_alone(make):
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    make(9, 2).initialize(9, 2, np.random.default_rng(0), torch.float32, "cpu")
    assert torch.equal(torch.get_rng_state(), torch_before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)


def test_only_standardized_iterates_need_a_projection(make):
    constraint = make(30, 2)
    X = constraint.initialize(30, 2, np.random.default_rng(0), torch.float64, "cpu")
    step = constraint.project_tangent(X, _gradient(X))
    stays = constraint.violation(X + 0.1 * step) < 1e-12
    assert constraint.needs_projection is not stays


@pytest.fixture
def thread_counts():
    before = torch.get_num_threads()
    yield 1, 2, 4
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), [(50_001, 2), (5003, 17), (1001, 100)])
def test_results_have_the_same_bits_for_any_number_of_threads(make, n, m, dtype, thread_counts):
    constraint, Z = make(n, m), _normal(n, m, dtype, seed=1)
    found = []
    for threads in thread_counts:
        torch.set_num_threads(threads)
        X = constraint.initialize(n, m, np.random.default_rng(0), dtype, "cpu")
        T = constraint.project_tangent(X, Z)
        found.append((X, constraint.project(Z), T, constraint.project(X + 0.1 * T)))
    for first, second in itertools.product(found[:1], found[1:]):
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", DTYPES)
def test_cuda_agrees_with_the_cpu(make, dtype):
    constraint, Z = make(1000, 3), _normal(1000, 3, dtype)
    X = constraint.project(Z)
    on_device = constraint.project(Z.cuda())
    T = constraint.project_tangent(on_device, Z.cuda())
    assert on_device.is_cuda and T.is_cuda
    torch.testing.assert_close(on_device.cpu(), X, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(T.cpu(), constraint.project_tangent(X, Z), atol=1e-4, rtol=1e-4)
    assert constraint.violation(on_device) < 1e-5


def test_constraint_can_be_cloned_and_pickled(make):
    constraint, Z = make(10, 2), _normal(10, 2)
    expected = constraint.project(Z)
    for copy in (clone(constraint), pickle.loads(pickle.dumps(constraint))):
        assert type(copy) is type(constraint)
        assert torch.equal(copy.project(Z), expected)


# Centered


def test_centered_subtracts_the_mean():
    Z = torch.tensor([[0.0, 1.0], [2.0, 5.0]])
    assert Centered().project(Z).tolist() == [[-1.0, -2.0], [1.0, 2.0]]


def test_centered_violation_is_the_mean_over_the_size():
    assert Centered().violation(torch.tensor([[1.0, 1.0], [3.0, 1.0]])) == pytest.approx(
        np.sqrt(5 / 6)
    )
    assert Centered().violation(torch.zeros(4, 2)) == 0


# Standardized


def test_standardized_projection_is_the_polar_factor():
    Z = _normal(40, 3)
    U, _, Vt = torch.linalg.svd(Z - Z.mean(dim=0), full_matrices=False)
    torch.testing.assert_close(Standardized().project(Z), np.sqrt(40) * U @ Vt)


@pytest.mark.parametrize("dtype", DTYPES)
def test_standardized_tangent_projection_is_the_monographs(dtype):
    X = Standardized().project(_normal(40, 3, dtype))
    gradient = _gradient(X)
    expected = gradient - X @ (gradient.T @ X) / 40
    found = Standardized().project_tangent(X, gradient)
    atol = 1e-3 if dtype == torch.float32 else 1e-11
    torch.testing.assert_close(found, expected, atol=atol, rtol=0)


@given(n=st.integers(3, 40), data=st.data())
def test_standardized_tangents_keep_mean_and_covariance(n, data):
    m = data.draw(st.integers(1, n - 1))
    X, Z = Standardized().project(_normal(n, m)), _normal(n, m, seed=1) + 3
    T = Standardized().project_tangent(X, Z)
    assert T.mean(dim=0).abs().max() < 1e-12
    assert (X.T @ T + T.T @ X).abs().max() < 1e-10
    # What is removed is normal: a constant row plus X times a symmetric matrix.
    removed = Z - T - (Z - T).mean(dim=0)
    coefficients = X.T @ removed / n
    torch.testing.assert_close(coefficients, coefficients.T, atol=1e-10, rtol=0)
    torch.testing.assert_close(X @ coefficients, removed, atol=1e-10, rtol=0)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (10, 3), (50, 2)])
def test_natural_length_is_the_rms_distance_of_every_standardized_embedding(n, m):
    X = Standardized().project(_normal(n, m))
    rms = np.sqrt(np.mean(pdist(X.numpy()) ** 2))
    assert Standardized.natural_length(n, m) == pytest.approx(rms)


def test_natural_length_of_one_item_is_refused():
    with pytest.raises(ValueError, match="at least 2 items; got 1"):
        Standardized.natural_length(1, 2)


def test_standardized_needs_more_items_than_components():
    Standardized().validate(3, 2)
    with pytest.raises(ValueError, match="n_items=3 and n_components=3"):
        Standardized().validate(3, 3)
    with pytest.raises(ValueError, match="n_items=2"):
        Standardized().project(torch.zeros(2, 2))


def test_standardized_violation_is_the_largest_error_of_mean_and_covariance():
    X = Standardized().project(_normal(30, 2))
    assert Standardized().violation(X) < 1e-12
    assert Standardized().violation(2 * X) == pytest.approx(3)
    assert Standardized().violation(X + 1e-3) == pytest.approx(1e-3, rel=1e-2)


# Anchored


def test_anchored_puts_its_values_in_and_zeroes_their_rows():
    constraint = Anchored([3, 0], [[1.0, 2.0], [3.0, 4.0]])
    Z = torch.full((4, 2), 9.0)
    assert constraint.project(Z).tolist() == [[3, 4], [9, 9], [9, 9], [1, 2]]
    assert constraint.project_tangent(Z, Z).tolist() == [[0, 0], [9, 9], [9, 9], [0, 0]]
    assert (Z == 9).all()


def test_anchored_zeroes_rows_that_are_not_finite():
    Z = torch.full((2, 2), float("nan"))
    assert Anchored([0], [[1.0, 2.0]]).project_tangent(Z, Z)[0].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_anchored_takes_tensors_and_keeps_the_dtype(dtype):
    values = torch.tensor([[0.1, 0.2]], requires_grad=True)
    constraint = Anchored(torch.tensor([1]), values)
    X = constraint.project(torch.zeros(2, 2, dtype=dtype))
    assert X.dtype == dtype and not X.requires_grad
    torch.testing.assert_close(X[1], values.detach()[0].to(dtype))
    assert constraint.violation(X) < 1e-7


def test_anchored_takes_the_same_anchor_twice_with_one_value():
    constraint = Anchored([1, 1, 0], [[1.0], [1.0], [2.0]])
    assert constraint.project(torch.zeros(3, 1)).tolist() == [[2], [1], [0]]


def test_every_item_anchored_leaves_nothing_to_move():
    values = np.arange(6.0).reshape(3, 2)
    constraint = Anchored([2, 1, 0], values[::-1])
    X = constraint.initialize(3, 2, np.random.default_rng(0), torch.float64, "cpu")
    np.testing.assert_array_equal(X.numpy(), values)
    assert not constraint.project_tangent(X, _normal(3, 2)).any()


def test_anchored_starts_about_its_anchors():
    values = np.array([[1000.0, -50.0], [1010.0, -50.0]])
    constraint = Anchored([0, 1], values)
    X = constraint.initialize(2002, 2, np.random.default_rng(0), torch.float64, "cpu")
    free = X[2:].numpy()
    np.testing.assert_allclose(free.mean(axis=0), [1005.0, -50.0], atol=0.5)
    np.testing.assert_allclose(free.std(axis=0), np.sqrt(12.5), rtol=0.1)


def test_a_single_anchor_gets_a_start_of_unit_size():
    X = Anchored([0], [[7.0]]).initialize(1001, 1, np.random.default_rng(0), torch.float64, "cpu")
    assert float(X.std()) == pytest.approx(1, rel=0.1)


def test_anchored_violation_is_relative_to_the_anchors():
    constraint = Anchored([0], [[10.0, 0.0]])
    assert constraint.violation(torch.tensor([[11.0, 0.0], [500.0, 0.0]])) == pytest.approx(0.1)
    origin = Anchored([0], [[0.0, 0.0]])
    assert origin.violation(torch.tensor([[1.0, 0.0], [4.0, 0.0]])) == pytest.approx(0.25)
    assert origin.violation(torch.zeros(2, 2)) == 0


def test_anchored_follows_set_params():
    constraint = Anchored([0], [[1.0]])
    Z = torch.zeros(2, 1)
    constraint.project(Z)
    constraint.set_params(anchors=[1], values=[[5.0]])
    assert constraint.project(Z).tolist() == [[0], [5]]


def test_anchored_pickle_holds_its_parameters_alone():
    constraint = Anchored([0], [[1.0]])
    size = len(pickle.dumps(constraint))
    constraint.project(torch.zeros(2, 1))
    assert len(pickle.dumps(constraint)) == size


@pytest.mark.parametrize(
    ("anchors", "values", "message"),
    [
        ([0, 0], [[1.0, 1.0], [1.0, 2.0]], r"Item 0 is anchored twice, at \[1.0, 1.0\] and at"),
        ([5], [[0.0, 0.0]], "item 5, but there are 5 items: anchors must be from 0 to 4"),
        ([-1], [[0.0, 0.0]], "item -1: anchors must be 0 or more"),
        ([0, 3], [[0.0, 0.0], [np.nan, 0.0]], r"anchor 3 is \[nan, 0.0\]: values must be finite"),
        ([0], [[np.inf, 0.0]], "values must be finite"),
        ([0], [[0.0, 0.0, 0.0]], "3 columns, but the embedding has 2 components"),
        ([0, 1], [[0.0, 0.0]], r"shape \(2, n_components\), one row for each anchor; got shape"),
        ([0], [0.0], r"got shape \(1,\)"),
        ([0], [["a", "b"]], "must be numbers"),
        ([], np.empty((0, 2)), "one item or more"),
        ([0.5], [[0.0, 0.0]], "integers of shape .* dtype float64"),
        ([[0]], [[0.0, 0.0]], r"integers of shape \(n_anchors,\); got shape \(1, 1\)"),
        ([True, False], [[0.0, 0.0], [0.0, 0.0]], "Turn a mask into indices"),
    ],
)
def test_bad_anchors_are_refused_when_used(anchors, values, message):
    constraint = Anchored(anchors, values)
    with pytest.raises(ValueError, match=message):
        constraint.validate(5, 2)
    with pytest.raises(ValueError, match=message):
        constraint.project(torch.zeros(5, 2))


# Names


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, Centered), ("centered", Centered), ("standardized", Standardized)],
)
def test_names_stand_for_constraints(given, expected):
    constraint = resolve_constraint(given)
    assert type(constraint) is expected
    assert given is None or constraint.name == given


def test_an_instance_stands_for_itself():
    constraint = Anchored([0], [[1.0]])
    assert resolve_constraint(constraint) is constraint


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (Standardized, TypeError, r"class Standardized; pass an instance, e.g. Standardized\(\)"),
        (Anchored, TypeError, r"class Anchored; pass an instance, e.g. Anchored\(anchors, values"),
        ("anchored", ValueError, r"anchors need places: pass Anchored\(anchors, values\)"),
        ("sphere", ValueError, "constraint='sphere' is not known"),
        (3, TypeError, "of type int; pass None, a name or an instance"),
    ],
)
def test_what_is_no_constraint_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        resolve_constraint(given)


# A constraint of one's own


class Sphere(Constraint):
    """The least that a constraint of one's own needs."""

    def __init__(self, radius=1.0):
        self.radius = radius

    def project(self, Z):
        return self.radius * Z / Z.norm(dim=1, keepdim=True)

    def project_tangent(self, X, Z):
        return Z - (X * Z).sum(dim=1, keepdim=True) * X / self.radius**2


def test_two_methods_make_a_constraint():
    sphere = Sphere(2.0)
    X = sphere.initialize(9, 3, np.random.default_rng(0), torch.float64, "cpu")
    torch.testing.assert_close(X.norm(dim=1), torch.full((9,), 2.0).double())
    assert sphere.violation(3 * X) == pytest.approx(2)
    assert sphere.needs_projection and sphere.name == "sphere"
    sphere.validate(1, 1)


def test_a_constraint_without_its_projections_says_which_is_missing():
    Z = torch.zeros(2, 2)
    with pytest.raises(NotImplementedError, match=r"Constraint must define project\(Z\)"):
        Constraint().project(Z)
    with pytest.raises(NotImplementedError, match="must define project_tangent"):
        Constraint().project_tangent(Z, Z)


@pytest.mark.parametrize("radius", [0.01, 1.0, 300.0])
def test_checker_accepts_the_example_for_any_radius(radius):
    example = runpy.run_path(str(ROOT / "examples" / "plot_sphere.py"))
    check_constraint(example["Sphere"](radius), 12, 3)


class _UnscaledNormal(Sphere):
    def project_tangent(self, X, Z):
        return Z - (X * Z).sum(dim=1, keepdim=True) * X


class _HalfWay(Sphere):
    def project(self, Z):
        return (Z + super().project(Z)) / 2

    def initialize(self, *args):
        return super().project(_normal(*args[:2]))


class _Oblique(Sphere):
    """Removes the radial part along a wrong direction: idempotent, not orthogonal."""

    def project_tangent(self, X, Z):
        slanted = X.roll(1, dims=1) + 2 * X
        radial = (X * Z).sum(dim=1, keepdim=True) / (X * slanted).sum(dim=1, keepdim=True)
        return Z - radial * slanted


class _OtherSet(Sphere):
    """Tangents of a smaller set: the points of the sphere with a fixed first column."""

    def project_tangent(self, X, Z):
        normals = X.clone()
        normals[:, 0] = 0
        normals = normals / normals.norm(dim=1, keepdim=True)
        T = Z - (normals * Z).sum(dim=1, keepdim=True) * normals
        T[:, 0] = 0
        return T


class _InPlace(Sphere):
    def project(self, Z):
        return Z.mul_(self.radius / Z.norm(dim=1, keepdim=True))


class _InPlaceTangent(Sphere):
    def project_tangent(self, X, Z):
        return Z.sub_((X * Z).sum(dim=1, keepdim=True) * X / self.radius**2)


class _OneType(Sphere):
    def project(self, Z):
        return super().project(Z.double())


class _Infeasible(Sphere):
    def initialize(self, *args):
        return _normal(*args[:2])


class _Violated(Sphere):
    def violation(self, X):
        return 1.0


class _NotFinite(Sphere):
    def project_tangent(self, X, Z):
        return super().project_tangent(X, Z) / 0


class _Array(Sphere):
    def project(self, Z):
        return super().project(Z).numpy()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (_UnscaledNormal, "project_tangent is not idempotent"),
        (_HalfWay, "project is not idempotent"),
        (_Oblique, "project_tangent is not orthogonal"),
        (_OtherSet, "not the derivative of project"),
        (_InPlace, r"project\(Z\) changed Z"),
        (_InPlaceTangent, "project_tangent changed X or Z"),
        (_OneType, r"float64; it must have those asked for, \(8, 3\) and torch.float32"),
        (_Infeasible, "initialize must give a feasible X"),
        (_Violated, r"violation\(project\(Z\)\) is 1"),
        (_NotFinite, "not finite"),
        (_Array, "is no tensor: ndarray"),
    ],
)
def test_checker_finds_the_mistake(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_constraint(kind(2.0), 8, 3)


def test_unit_radius_hides_a_normal_that_is_not_scaled():
    check_constraint(_UnscaledNormal(1.0), 8, 3)


def test_checker_refuses_a_constructor_that_changes_its_arguments():
    class Changed(Sphere):
        def __init__(self, radius=1.0):
            self.radius = np.array(radius)

    with pytest.raises(RuntimeError, match="Cannot clone"):
        check_constraint(Changed(1.0), 8, 3)


def test_documentation_page_runs():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    page = ROOT / "doc" / "constraints.rst"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert tried > 5 and failed == 0
