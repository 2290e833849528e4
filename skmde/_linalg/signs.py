"""Signs of eigenvectors and principal components, fixed by a rule."""

from __future__ import annotations

import numpy as np


def fix_signs(X: np.ndarray) -> np.ndarray:
    """Flip columns so that the entry of largest magnitude is positive.

    If several entries have the largest magnitude up to rounding error, the first one decides.
    """
    size = np.abs(X)
    rows = np.argmax(size >= (1 - 1e-5) * size.max(axis=0), axis=0)
    signs = np.sign(X[rows, np.arange(X.shape[1])])
    flipped: np.ndarray = X * np.where(signs == 0, 1, signs)
    return flipped
