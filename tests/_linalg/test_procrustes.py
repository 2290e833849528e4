"""The rigid motion that lays rows of an embedding over given points."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from skmde._linalg.procrustes import laid_over


def _turned(X, rng, offset=0.0):
    Q, _ = np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))
    return X @ Q + offset


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_a_turned_copy_is_laid_back(m, scale):
    rng = np.random.default_rng(m)
    X = scale * rng.standard_normal((20, m))
    rows = np.arange(m + 1)
    back = laid_over(_turned(X, rng, 3 * scale), rows, X[rows])
    np.testing.assert_allclose(back, X, atol=1e-13 * scale, rtol=0)


def test_no_rotation_fits_better_than_the_one_found():
    rng = np.random.default_rng(0)
    X, target, rows = rng.standard_normal((9, 2)), rng.standard_normal((5, 2)), np.arange(5)
    found = laid_over(X, rows, target)
    error = ((found[rows] - target) ** 2).sum()
    for angle in np.linspace(0, 2 * np.pi, 200):
        for mirror in (1.0, -1.0):
            c, s = np.cos(angle), np.sin(angle)
            moved = X[rows] @ np.array([[c, s], [-s * mirror, c * mirror]])
            moved += target.mean(axis=0) - moved.mean(axis=0)
            assert ((moved - target) ** 2).sum() >= error - 1e-12
    np.testing.assert_allclose(pdist(found), pdist(X))


@pytest.mark.parametrize("n_known", [1, 2])
def test_of_several_motions_the_nearest_to_the_identity_is_taken(n_known):
    X = np.random.default_rng(1).standard_normal((8, 3))
    rows, shift = np.arange(n_known), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(laid_over(X, rows, X[rows] + shift), X + shift, atol=1e-14)


def test_rows_at_their_target_are_not_touched():
    X = np.random.default_rng(2).standard_normal((8, 2))
    assert laid_over(X, np.array([1, 4]), X[[1, 4]]) is X
