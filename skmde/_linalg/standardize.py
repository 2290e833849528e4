"""Projection onto the standardized embeddings, with the same bits for any number of threads.

Let Z = U D V^T be centred and of full rank. The standardized X (X^T 1 = 0, X^T X / n = I) closest
to Z is sqrt(n) U V^T (monograph, section 6.1.2). This equals Z S^(-1/2) with the m x m matrix
S = Z^T Z / n, so only m x m matrices are decomposed.

S^(-1/2) is computed by the coupled Newton-Schulz iteration, which needs only matrix products. The
last bits of LAPACK's eigendecomposition depend on the number of threads from m = 60 on, and so do
those of BLAS products of n x m arrays. Here the order of every sum depends only on the shape.

Z is in units of the embedding. S is in float64; the n x m arrays keep their dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from skmde._linalg.reductions import column_means, gram
from skmde._utils.device import is_cpu
from skmde._utils.jit import CONTRACT, jit

# Newton-Schulz needs one more iteration for each factor of 2.25 in the condition number of S. Up to
# _DIRECT iterations (singular values of Z within a factor of about 10), X^T X / n equals I up to a
# few rounding errors after one pass. Up to _FULL_RANK iterations (a factor of 10^5), it does after
# a second pass. Beyond that, the smallest direction of Z consists of rounding errors.
_DIRECT = 12
_FULL_RANK = 34
_RIDGE = 1e-12
_MAX_PASSES = 6
_SEED = 20210


@jit()
def _shifted_rows(x: Any, shift: Any) -> Any:
    out = np.empty_like(x)
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            out[r, c] = np.float64(x[r, c]) + shift[c]
    return out


@jit(fastmath=CONTRACT)
def _affine_rows(x: Any, s: Any, shift: Any, base: Any, add_base: bool) -> Any:
    n, m = x.shape
    q = s.shape[1]
    out = np.empty((n, q), x.dtype)
    if m == 2 and q == 2:
        s00, s01, s10, s11 = s[0, 0], s[0, 1], s[1, 0], s[1, 1]
        t0, t1 = shift[0], shift[1]
        for r in range(n):
            x0, x1 = x[r, 0], x[r, 1]
            out[r, 0] = t0 + x0 * s00 + x1 * s10
            out[r, 1] = t1 + x0 * s01 + x1 * s11
        if add_base:
            for r in range(n):
                out[r, 0] += base[r, 0]
                out[r, 1] += base[r, 1]
        return out
    for r in range(n):
        for e in range(q):
            out[r, e] = base[r, e] + shift[e] if add_base else shift[e]
    # Four rows by four columns at a time: four loaded entries of s serve sixteen products.
    n4, m4 = n - n % 4, m - m % 4
    for r in range(0, n4, 4):
        for c in range(0, m4, 4):
            a0, a1, a2, a3 = x[r, c], x[r, c + 1], x[r, c + 2], x[r, c + 3]
            b0, b1, b2, b3 = x[r + 1, c], x[r + 1, c + 1], x[r + 1, c + 2], x[r + 1, c + 3]
            c0, c1, c2, c3 = x[r + 2, c], x[r + 2, c + 1], x[r + 2, c + 2], x[r + 2, c + 3]
            d0, d1, d2, d3 = x[r + 3, c], x[r + 3, c + 1], x[r + 3, c + 2], x[r + 3, c + 3]
            for e in range(q):
                s0, s1, s2, s3 = s[c, e], s[c + 1, e], s[c + 2, e], s[c + 3, e]
                out[r, e] += a0 * s0 + a1 * s1 + a2 * s2 + a3 * s3
                out[r + 1, e] += b0 * s0 + b1 * s1 + b2 * s2 + b3 * s3
                out[r + 2, e] += c0 * s0 + c1 * s1 + c2 * s2 + c3 * s3
                out[r + 3, e] += d0 * s0 + d1 * s1 + d2 * s2 + d3 * s3
        for c in range(m4, m):
            a0, b0, c0, d0 = x[r, c], x[r + 1, c], x[r + 2, c], x[r + 3, c]
            for e in range(q):
                s0 = s[c, e]
                out[r, e] += a0 * s0
                out[r + 1, e] += b0 * s0
                out[r + 2, e] += c0 * s0
                out[r + 3, e] += d0 * s0
    for r in range(n4, n):
        for c in range(m):
            a0 = x[r, c]
            for e in range(q):
                out[r, e] += a0 * s[c, e]
    return out


@jit(fastmath=CONTRACT)
def _inverse_sqrt(matrix: Any, max_iterations: int) -> Any:
    m = matrix.shape[0]
    bound = 0.0
    for c in range(m):
        bound = max(bound, np.sum(np.abs(matrix[c])))
    zero = np.zeros(m)
    eye = np.eye(m)
    y = matrix / bound
    z = eye.copy()
    for iteration in range(1, max_iterations + 1):
        product = _affine_rows(z, y, zero, z, False)
        error = np.max(np.abs(eye - product))
        step = 1.5 * eye - 0.5 * product
        y = _affine_rows(y, step, zero, y, False)
        z = _affine_rows(step, z, zero, z, False)
        # Convergence is quadratic, so the update above has squared the error.
        if error < 1e-8:
            return z / np.sqrt(bound), iteration
    return z / np.sqrt(bound), max_iterations + 1


def affine_rows(
    X: torch.Tensor, matrix: torch.Tensor, shift: torch.Tensor, base: torch.Tensor | None = None
) -> torch.Tensor:
    """``base + shift + X @ matrix`` in one pass over the rows.

    Parameters
    ----------
    X : torch.Tensor of shape (n, m)
        The rows.
    matrix : torch.Tensor of shape (m, q)
        Multiplied with each row; cast to the dtype of ``X``.
    shift : torch.Tensor of shape (q,)
        Added to every row; cast to the dtype of ``X``.
    base : torch.Tensor of shape (n, q), default=None
        Added row by row.

    Returns
    -------
    rows : torch.Tensor of shape (n, q)
        A new tensor with the dtype and device of ``X``.
    """
    matrix, shift = matrix.to(X), shift.to(X)
    if not is_cpu(X):
        # in float64, as a GPU may multiply float32 with 10 bits (TF32) if torch is told so
        out = torch.addmm(shift.double(), X.double(), matrix.double()).to(X.dtype)
        return out if base is None else out.add_(base)
    rows = X.detach().contiguous().numpy()
    return torch.from_numpy(
        _affine_rows(
            rows,
            matrix.contiguous().numpy(),
            shift.contiguous().numpy(),
            rows if base is None else base.detach().contiguous().numpy(),
            base is not None,
        )
    )


def centered(Z: torch.Tensor) -> torch.Tensor:
    """``Z`` minus its column means, subtracted in float64 so that an offset costs no accuracy."""
    means = column_means(Z)
    if not is_cpu(Z):
        return (Z - means).to(Z.dtype)
    return torch.from_numpy(_shifted_rows(Z.detach().contiguous().numpy(), -means.numpy()))


def inverse_sqrt(
    matrix: torch.Tensor, max_iterations: int = _FULL_RANK
) -> tuple[torch.Tensor, int]:
    """Inverse square root of a symmetric positive definite matrix.

    Parameters
    ----------
    matrix : torch.Tensor of shape (m, m), float64
        On the CPU; finite, and not zero.
    max_iterations : int, default=34
        Enough for a condition number of 10^10.

    Returns
    -------
    root : torch.Tensor of shape (m, m), float64
        On the CPU.
    iterations : int
        Number of iterations; ``max_iterations + 1`` if it did not converge.
    """
    root, iterations = _inverse_sqrt(matrix.contiguous().numpy(), max_iterations)
    return torch.from_numpy(root), int(iterations)


def standardize(Z: torch.Tensor) -> torch.Tensor:
    """Standardized embedding closest to ``Z``.

    ``Z`` is rank deficient if its extent in a direction is at most about 10^-6 of its largest
    extent. Such a direction is replaced by a fixed pseudo-random one orthogonal to the others. All
    such replacements are equally close to ``Z``.

    Parameters
    ----------
    Z : torch.Tensor of shape (n, m)
        Any matrix, with n > m. It is not modified.

    Returns
    -------
    X : torch.Tensor of shape (n, m)
        X^T 1 = 0 and X^T X / n = I. All NaN if ``Z`` has an entry that is not finite.
    """
    dtype = Z.dtype
    for _ in range(_MAX_PASSES):
        Z, mean, moment = _prepare(Z)
        if not bool(torch.isfinite(moment).all()):
            return torch.full_like(Z, float("nan"))
        if not bool(moment.any()):
            Z = _completed(Z)
            continue
        root, iterations = inverse_sqrt(moment)
        if iterations > _FULL_RANK:
            ridge = _RIDGE * moment.abs().sum(dim=1).max() * torch.eye(len(moment))
            root, _ = inverse_sqrt(moment + ridge, 2 * _FULL_RANK)
            # In float32, the rounding error of a large root times a vanishing direction of Z would
            # rotate the other directions.
            Z = _completed(_central_rows(Z.double(), mean, root)).to(dtype)
            continue
        Z = _central_rows(Z, mean, root)
        if iterations <= _DIRECT:
            break
    return Z


def _prepare(Z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``Z`` (shifted or scaled for accurate moments), its column means and central moments."""
    mean, moment, size = _moments(Z)
    if not 1e-60 < size < 1e60:
        largest = float(Z.abs().max())
        if 0 < largest < math.inf:
            Z = Z / largest
            mean, moment, size = _moments(Z)
    # moment - mean mean^T cancels when the offset is larger than the extent.
    if float(mean @ mean) > 0.5 * size:
        offset = size
        Z = centered(Z)
        mean, moment, size = _moments(Z)
        # If all rows are equal, only rounding errors remain: Z has no extent.
        if size - float(mean @ mean) <= torch.finfo(Z.dtype).eps ** 2 * offset:
            return torch.zeros_like(Z), torch.zeros_like(mean), torch.zeros_like(moment)
    return Z, mean, moment - torch.outer(mean, mean)


def _central_rows(Z: torch.Tensor, mean: torch.Tensor, root: torch.Tensor) -> torch.Tensor:
    zero = torch.zeros(len(mean))
    return affine_rows(Z, root, affine_rows(-mean[None], root, zero)[0])


def _moments(Z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
    mean, moment = column_means(Z), gram(Z, Z)
    if not is_cpu(Z):  # one copy, for which the host waits once
        mean, moment = torch.cat([mean[None], moment]).cpu().tensor_split([1])
        mean = mean[0]
    moment = moment / len(Z)
    return mean, moment, float(moment.diagonal().sum())


def _completed(X: torch.Tensor) -> torch.Tensor:
    """Fill the directions that ``X`` lacks.

    Let s_i be the singular values of X / sqrt(n), each in [0, 1]. The result is
    X + R (I - X^T X / n), where the columns of R are orthogonal to those of X. The squares of its
    singular values are s_i^2 + (1 - s_i^2)^2 >= 3/4.
    """
    n, m = X.shape
    noise = np.random.default_rng(_SEED).standard_normal((n, m))
    R = centered(torch.from_numpy(noise).to(X))
    zero = torch.zeros(m)
    R = affine_rows(X, -gram(X, R) / n, zero, R)
    missing = torch.eye(m, dtype=torch.float64) - gram(X, X).cpu() / n
    return affine_rows(R, missing, zero, X)
