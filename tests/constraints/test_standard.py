"""Constraint sets: closed forms of their projections, bad input, and the checker for new ones."""

import doctest
import itertools
import pickle
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
    Standardized,
    check_constraint,
    resolve_constraint,
)

ROOT = Path(__file__).parents[2]
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
        ("anchored", ValueError, r"anchors need coordinates: pass Anchored\(anchors, values\)"),
        ("sphere", ValueError, "constraint='sphere' is not known"),
        (3, TypeError, "of type int; pass None, a name or an instance"),
    ],
)
def test_what_is_no_constraint_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        resolve_constraint(given)


def test_documentation_page_runs():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    page = ROOT / "doc" / "constraints.rst"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert tried > 5 and failed == 0
