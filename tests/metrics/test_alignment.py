"""Rigid motions and Procrustes: closed forms, scipy's own, and bad input."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.spatial import procrustes
from scipy.stats import ortho_group

from skmde import metrics


def _normal(n, m, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@given(n=st.integers(1, 20), m=st.integers(1, 5), seed=st.integers(0, 99))
def test_align_undoes_rotation_reflection_and_shift(n, m, seed):
    target = _normal(n, m, seed)
    Q = ortho_group.rvs(m, random_state=seed) if m > 1 else np.array([[-1.0]])
    moved = target @ Q + 10 * _normal(1, m, seed + 1)
    np.testing.assert_allclose(metrics.align(moved, target), target, atol=1e-12)
    assert metrics.procrustes_distance(moved, target) < 1e-24


def test_align_undoes_scaling_when_asked():
    target = _normal(20, 3)
    moved = 1e-3 * target @ ortho_group.rvs(3, random_state=0) + 5
    np.testing.assert_allclose(metrics.align(moved, target, scaling=True), target, atol=1e-12)
    assert metrics.procrustes_distance(moved, target, scaling=False) > 1


def test_procrustes_distance_is_the_monographs_formula():
    X, other = metrics.center(_normal(30, 3)), metrics.center(_normal(30, 3, 1))
    sizes = np.linalg.svd(X.T @ other, compute_uv=False)
    expected = (np.sum(X**2) + np.sum(other**2) - 2 * np.sum(sizes)) / 30
    assert metrics.procrustes_distance(X, other) == pytest.approx(expected)
    assert metrics.procrustes_distance(other, X) == pytest.approx(expected)


def test_scaled_procrustes_distance_agrees_with_scipy():
    X, target = _normal(30, 3), metrics.center(_normal(30, 3, 1))
    _, _, disparity = procrustes(target, X)
    found = metrics.procrustes_distance(X, target, scaling=True)
    assert 30 * found / np.sum(target**2) == pytest.approx(disparity)


def test_aligned_embedding_is_closer_than_any_other_turn():
    X, target = _normal(15, 2), _normal(15, 2, 1)
    best = np.sum((metrics.align(X, target, center=False) - target) ** 2)
    for flip in (1, -1):
        for degrees in range(0, 360, 5):
            turned = metrics.rotate(X * [flip, 1], degrees)
            assert np.sum((turned - target) ** 2) >= best


def test_align_without_centring_keeps_the_origin():
    X = _normal(10, 2) + 5
    np.testing.assert_allclose(
        np.linalg.norm(metrics.align(X, _normal(10, 2, 1), center=False), axis=1),
        np.linalg.norm(X, axis=1),
    )


def test_align_of_coincident_points_is_finite():
    aligned = metrics.align(np.ones((4, 2)), _normal(4, 2), scaling=True)
    np.testing.assert_allclose(aligned, np.tile(_normal(4, 2).mean(axis=0), (4, 1)))


@pytest.mark.parametrize("function", [metrics.align, metrics.procrustes_distance])
def test_embeddings_to_compare_must_have_one_shape(function):
    with pytest.raises(ValueError, match=r"X has shape \(4, 2\) and target \(5, 2\)"):
        function(_normal(4, 2), _normal(5, 2))


def test_rotate_turns_the_plane_anticlockwise():
    np.testing.assert_allclose(
        metrics.rotate([[1.0, 0.0], [0.0, 2.0]], 90), [[0, 1], [-2, 0]], atol=1e-15
    )


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        ([90, 0, 0], [[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
        ([0, 90, 0], [[0, 0, -1], [0, 1, 0], [1, 0, 0]]),
        ([0, 0, 90], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
        ([90, 0, 90], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ],
)
def test_rotate_turns_space_about_each_axis_in_order(degrees, expected):
    np.testing.assert_allclose(metrics.rotate(np.eye(3), degrees), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("n_components", "degrees", "message"),
    [
        (4, 90, "needs an embedding with 2 or 3 components; X has 4"),
        (2, [1, 2, 3], "with 2 components needs one finite angle; got degrees=.1, 2, 3."),
        (3, 90, "needs three finite angles, one per axis; got degrees=90"),
        (2, np.nan, "one finite angle"),
    ],
)
def test_rotate_refuses_angles_that_do_not_fit(n_components, degrees, message):
    with pytest.raises(ValueError, match=message):
        metrics.rotate(_normal(3, n_components), degrees)


def test_center_subtracts_the_mean_in_float64():
    X = np.array([[1e6], [1e6], [1e6 + 1]], dtype=np.float32)
    centered = metrics.center(X)
    np.testing.assert_allclose(centered.ravel(), [-1 / 3, -1 / 3, 2 / 3], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "move",
    [metrics.center, lambda X: metrics.rotate(X, 30), lambda X: metrics.align(X, 2 * X)],
)
def test_moving_an_embedding_keeps_its_dtype_and_leaves_the_argument_alone(move, dtype):
    X = _normal(5, 2).astype(dtype)
    X.flags.writeable = False
    assert move(X).dtype == dtype
    assert move(torch.from_numpy(X.copy())).dtype == dtype
