r"""Newton's method in a trust region, for many small unconstrained problems at once.

Row r of the result minimises its own smooth function f_r of m variables. An iteration solves

    minimise  g^T s + s^T H s / 2   subject to  ||s|| <= radius,

where g and H are the gradient and Hessian of f_r at the current point. The minimiser is
s = -(H + shift I)^{-1} g with the least shift >= 0 that makes H + shift I positive semidefinite
and s short enough (Moré and Sorensen 1983). So a row decreases f_r even where f_r is not convex,
and leaves saddle points along a direction of negative curvature. The radius grows if the model
predicted the decrease of f_r well. It shrinks if the model did not, or if f_r is not finite. Near
a minimiser, shift = 0 and convergence is quadratic.

Each row has its own radius and its own stopping test. All numbers of a row are computed from that
row only, in an order fixed by m. So its result has the same bits alone and in any batch. Rows
that have stopped leave the batch, so only moving rows cost time.

References
----------
Agrawal, Ali and Boyd, Minimum-Distortion Embedding (2021), section 2.4.2 (incremental embedding).
Moré and Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4 (1983).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skmde._utils.jit import jit

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

# State of a row: still moving, or the reason why it stopped.
_MOVING, _STATIONARY, _PRECISION, _STALLED, _NOT_FINITE = range(5)

_SUBPROBLEM_STEPS = 40
# Relative tolerance of a step's length: the radius is only a rough estimate.
_SLACK = 0.2


class Expansion(NamedTuple):
    """Second-order expansions of the functions of B rows at one point each.

    Attributes
    ----------
    value : ndarray of shape (B,)
    rounding : ndarray of shape (B,)
        Bounds on the rounding errors of ``value``.
    gradient : ndarray of shape (B, m)
    hessian : ndarray of shape (B, m, m)
    """

    value: Floats
    rounding: Floats
    gradient: Floats
    hessian: Floats

    def divided_by(self, total: Floats) -> Expansion:
        """The functions divided by a number each, shape (B,): sums become averages."""
        value, rounding, gradient, hessian = self
        return Expansion(
            value / total,
            rounding / total,
            gradient / total[:, None],
            hessian / total[:, None, None],
        )


class RowObjective(Protocol):
    """One function of m variables for each row."""

    def expand(self, points: Floats, rows: Rows) -> Expansion:
        """Expand the functions of ``rows``, shape (B,), at ``points``, shape (B, m).

        Results may contain NaN or infinity; the step to such a point is rejected.
        """
        ...

    def values(self, points: Floats, rows: Rows) -> Floats:
        """The functions of ``rows``, shape (B,), at ``points``."""
        ...


def values_at(objective: RowObjective, points: Floats) -> Floats:
    """Values of all rows at points of shape (s, q, m): (s, q), infinite where they are not finite.

    The points are evaluated one by one, since a function may need much memory for each.
    """
    rows = np.arange(points.shape[1])
    values = np.stack([objective.values(np.ascontiguousarray(x), rows) for x in points])
    values[~np.isfinite(values)] = np.inf
    return values


class RowMinimum(NamedTuple):
    """What :func:`minimize_rows` found.

    Attributes
    ----------
    X : ndarray of shape (q, m)
        The best point of each row: never worse than its start.
    value : ndarray of shape (q,)
        The function of each row there.
    converged : ndarray of bool of shape (q,)
        False for rows that did not stop in ``max_iter`` steps or whose start was not finite.
    n_iter : int
        Iterations of the slowest row.
    """

    X: Floats
    value: Floats
    converged: NDArray[np.bool_]
    n_iter: int

    def improve(self, other: RowMinimum) -> None:
        """Take the minima of another run for the rows where they are lower."""
        better = other.value < self.value
        for old, new in zip(self[:3], other[:3], strict=True):
            old[better] = new[better]


@jit()
def _factor(H: Any, shift: float, L: Any) -> bool:
    """Write the Cholesky factor of H + shift I to L (lower); return False if not definite."""
    m = H.shape[0]
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(H[i, i] + shift))
    for j in range(m):
        pivot = H[j, j] + shift
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        if not pivot > 1e-14 * largest:
            return False
        root = np.sqrt(pivot)
        L[j, j] = root
        for i in range(j + 1, m):
            total = H[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / root
    return True


@jit()
def _forward(L: Any, b: Any, out: Any) -> float:
    """Solve L out = b; return ||out||."""
    square = 0.0
    for i in range(b.shape[0]):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * out[k]
        out[i] = total / L[i, i]
        square += out[i] * out[i]
    return np.sqrt(square)


@jit()
def _backward(L: Any, b: Any, out: Any) -> float:
    """Solve L^T out = b, where out may be b; return ||out||."""
    m = b.shape[0]
    square = 0.0
    for j in range(m):
        i = m - 1 - j
        total = b[i]
        for k in range(i + 1, m):
            total -= L[k, i] * out[k]
        out[i] = total / L[i, i]
        square += out[i] * out[i]
    return np.sqrt(square)


@jit()
def _norm(a: Any) -> float:
    square = 0.0
    for i in range(a.shape[0]):
        square += a[i] * a[i]
    return np.sqrt(square)


@jit()
def _lengthen(g: Any, L: Any, radius: float, s: Any, z: Any) -> None:
    """Move s along the eigenvector of the least eigenvalue of L L^T until ||s|| = radius.

    This is the "hard case" of Moré and Sorensen: g has no component along the most negative
    curvature, as at a saddle point, so no shift makes s long enough. The step goes downhill.
    """
    m = s.shape[0]
    # The entries differ, so that this vector is unlikely to be orthogonal to the eigenvector,
    # even if the anchors are arranged symmetrically.
    for i in range(m):
        z[i] = 1.0 / (1.0 + 0.6180339887498949 * i)
    for _ in range(4):
        _forward(L, z, z)
        length = _backward(L, z, z)
        for i in range(m):
            z[i] /= length
    sz = gz = ss = 0.0
    for i in range(m):
        sz += s[i] * z[i]
        gz += g[i] * z[i]
        ss += s[i] * s[i]
    sign = -1.0 if gz > 0.0 else 1.0
    sz *= sign
    tau = sign * (np.sqrt(max(sz * sz + radius * radius - ss, 0.0)) - sz)
    for i in range(m):
        s[i] += tau * z[i]


@jit()
def _solve_subproblem(g: Any, H: Any, radius: float, s: Any, L: Any, z: Any) -> None:
    """Write the minimiser of the quadratic model in the ball to s; L and z are scratch space."""
    m = g.shape[0]
    lowest, largest = np.inf, 0.0
    for i in range(m):
        off = 0.0
        for j in range(m):
            largest = max(largest, abs(H[i, j]))
            if j != i:
                off += abs(H[i, j])
        lowest = min(lowest, H[i, i] - off)
    # By Gershgorin's theorem, H + high I is positive definite and its step is short enough.
    high = (_norm(g) / radius + max(0.0, -lowest)) * (1.0 + 1e-9) + 1e-9 * largest + 1e-200
    low, shift = 0.0, 0.0
    for _ in range(_SUBPROBLEM_STEPS):
        guess = -1.0
        if _factor(H, shift, L):
            forward = _forward(L, g, z)
            length = _backward(L, z, s)
            fits = length <= radius * (1.0 + _SLACK)
            if fits and (shift == 0.0 or length >= radius * (1.0 - _SLACK)):
                for i in range(m):
                    s[i] = -s[i]
                return
            if fits:
                high = shift
            else:
                low = shift
            # Newton's method for 1 / ||s(shift)|| = 1 / radius, which is nearly linear in shift.
            if forward > 0.0:
                soft = _forward(L, s, z)
                if soft > 0.0:
                    guess = shift + (length / soft) ** 2 * (length - radius) / radius
        else:
            low = shift
        if high - low <= 1e-3 * high:
            break
        if not low < guess < high:
            guess = max(np.sqrt(low * high), low + 0.01 * (high - low))
        shift = guess
    _factor(H, high, L)
    _forward(L, g, z)
    length = _backward(L, z, s)
    for i in range(m):
        s[i] = -s[i]
    if length < radius * (1.0 - _SLACK):
        _lengthen(g, L, radius, s, z)


@jit()
def _propose(rows: Any, trial: Any, current: Any, radius: Any, tol: Any, state: Any) -> Any:
    """Add a step to each row's point in ``trial``; return model decreases and step lengths.

    For rows that are stationary, ``state`` is set instead.
    """
    B, m = trial.shape
    decrease = np.zeros(B)
    length = np.zeros(B)
    L = np.empty((m, m))
    s = np.empty(m)
    z = np.empty(m)
    for b in range(B):
        r = rows[b]
        g, H = current.gradient[r], current.hessian[r]
        if _norm(g) <= tol[r]:
            largest = 0.0
            for i in range(m):
                largest = max(largest, abs(H[i, i]))
            # Zero curvature along a direction is accepted as a minimum; negative curvature is not.
            if _factor(H, 1e-8 * largest + 1e-200, L):
                state[r] = _STATIONARY
                continue
        _solve_subproblem(g, H, radius[r], s, L, z)
        model = 0.0
        for i in range(m):
            bend = 0.0
            for j in range(m):
                bend += H[i, j] * s[j]
            model -= s[i] * (g[i] + 0.5 * bend)
            trial[b, i] += s[i]
        decrease[b] = model
        length[b] = _norm(s)
    return decrease, length


@jit()
def _is_finite(value: float, g: Any, H: Any) -> bool:
    total = value
    for i in range(g.shape[0]):
        total += abs(g[i])
        for j in range(g.shape[0]):
            total += abs(H[i, j])
    return np.isfinite(total)


@jit()
def _judge(
    rows: Any,
    trial: Any,
    decrease: Any,
    length: Any,
    found: Any,
    current: Any,
    radius: Any,
    limit: float,
    shortest: float,
    state: Any,
) -> Any:
    """Return which rows' trial points are better; update the radius and state of every row."""
    better = np.zeros(rows.shape[0], dtype=np.bool_)
    for b in range(rows.shape[0]):
        r = rows[b]
        finite = _is_finite(found.value[b], found.gradient[b], found.hessian[b])
        if not finite or _norm(trial[b]) > limit:
            radius[r] = 0.25 * min(radius[r], length[b])
            if radius[r] < shortest:
                state[r] = _STALLED
            continue
        gain = current.value[r] - found.value[b]
        noise = current.rounding[r] + found.rounding[b]
        if decrease[b] <= noise:
            # The values differ by less than their rounding errors, but the gradients may not.
            better[b] = gain >= -noise and _norm(found.gradient[b]) < _norm(current.gradient[r])
            if not better[b]:
                state[r] = _PRECISION
        else:
            better[b] = gain > 1e-4 * decrease[b]
            if gain < 0.25 * decrease[b]:
                radius[r] = 0.25 * min(radius[r], length[b])
            elif gain > 0.75 * decrease[b] and length[b] > 0.7 * radius[r]:
                radius[r] = min(3.0 * radius[r], limit)
            if radius[r] < shortest:
                state[r] = _STALLED
    return better


def minimize_rows(
    objective: RowObjective,
    start: Floats,
    *,
    radius: Floats,
    limit: float,
    scale: float = 1.0,
    tol: float | Floats = 1e-10,
    max_iter: int = 100,
) -> RowMinimum:
    """Minimise the function of each row from its own start.

    Parameters
    ----------
    objective : RowObjective
        The functions and their first two derivatives.
    start : ndarray of shape (q, m)
        Starting points of the rows. The array is not modified.
    radius : ndarray of shape (q,)
        Initial bound on the length of a row's step, above 0.
    limit : float
        Bound on a row's distance from the origin, so that a row whose function decreases without
        bound ends at a finite point.
    scale : float, default=1.0
        Size of the embedding. A row stops if its trust radius falls below 1e-13 times this, as
        happens at a kink.
    tol : float or ndarray of shape (q,), default=1e-10
        A row stops if the norm of its gradient is at most this and its Hessian is positive
        semidefinite. It should follow the unit of the row's function: a row of tolerance 0 stops
        where rounding errors hide its decrease.
    max_iter : int, default=100
        Maximum number of steps of a row.

    Returns
    -------
    minimum : RowMinimum
        Points, values, and which rows converged.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.core.placement.newton import Expansion, minimize_rows
    >>> class Bowl:
    ...     centers = np.array([[0.0, 1.0], [2.0, 3.0]])
    ...     def expand(self, points, rows):
    ...         offset = points - self.centers[rows]
    ...         hessian = np.broadcast_to(2 * np.eye(2), (len(rows), 2, 2)).copy()
    ...         value = (offset**2).sum(axis=1)
    ...         return Expansion(value, 1e-15 * value, 2 * offset, hessian)
    >>> minimize_rows(Bowl(), np.zeros((2, 2)), radius=np.ones(2), limit=10.0).X.round(6)
    array([[0., 1.],
           [2., 3.]])
    """
    X = np.array(start, dtype=np.float64, order="C")
    radius = np.array(radius, dtype=np.float64)
    tol = np.array(np.broadcast_to(tol, len(X)), dtype=np.float64)
    current = Expansion(*(np.array(part) for part in objective.expand(X, np.arange(len(X)))))
    finite = np.isfinite(current.value)
    finite &= np.isfinite(current.gradient).all(axis=1)
    finite &= np.isfinite(current.hessian).all(axis=(1, 2))
    state = np.where(finite, _MOVING, _NOT_FINITE)
    rows = np.flatnonzero(finite)
    n_iter = 0
    while rows.size and n_iter < max_iter:
        n_iter += 1
        trial = X[rows]
        decrease, length = _propose(rows, trial, current, radius, tol, state)
        moving = np.flatnonzero(state[rows] == _MOVING)
        if moving.size < rows.size:
            rows, trial = rows[moving], trial[moving]
            decrease, length = decrease[moving], length[moving]
        if not rows.size:
            break
        found = objective.expand(trial, rows)
        better = _judge(
            rows, trial, decrease, length, found, current, radius, limit, 1e-13 * scale, state
        )
        moved = rows[better]
        X[moved] = trial[better]
        for old, new in zip(current, found, strict=True):
            old[moved] = new[better]
        rows = rows[state[rows] == _MOVING]
    converged = (state != _MOVING) & (state != _NOT_FINITE)
    return RowMinimum(X, current.value, converged, n_iter)
