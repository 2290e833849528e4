r"""How the place of an item depends on its features, by the derivative of an implicit function.

An item with the features v has original distances delta_k(v) to the landmarks at a_k, and is placed
at a minimum x(v) of F(x, v) = sum_k l(delta_k(v), ||x - a_k||). There the gradient by x vanishes,
for all v. So

    dx/dv = -H^{-1} M,    H = d^2 F / dx^2,    M = d^2 F / dx dv.

With u_k = (x - a_k) / d_k, M = sum_k (d^2 l / dd d delta) u_k (d delta_k / dv)^T, and for Euclidean
distances d delta_k / dv = (v - v_k) / delta_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from skmde._utils.device import cpu_by_default
from skmde._utils.rows import rows_of
from skmde.estimators import PreserveDistances, QuadraticMDE
from skmde.inspection.given import check_rows, checked_items, judged
from skmde.metrics.preservation import check_integer

_NEAR, _KINK = 1e-6, 1e-2  # relative: where a kink is looked for, and its least height


@dataclass(frozen=True, eq=False, repr=False)
class FeatureSensitivity:
    """How places change with the features; :func:`feature_sensitivity` returns it.

    Attributes
    ----------
    items : ndarray of int of shape (k,)
        The items.
    jacobian : ndarray of shape (k, n_components, n_features)
        Derivatives of the coordinates by the features, in units of the embedding over units of the
        features; NaN where the minimum has no definite curvature.
    importance : ndarray of shape (k, n_features)
        Lengths of these derivatives, times the standard deviation of the feature over all items:
        how far the item moves, for a usual change of one feature.

    See Also
    --------
    feature_sensitivity :
        Which features drive the places of items: derivatives of their coordinates.
    """

    items: np.ndarray
    jacobian: np.ndarray
    importance: np.ndarray

    def __repr__(self) -> str:
        return f"FeatureSensitivity({len(self.items)} items, {self.importance.shape[1]} features)"

    def top(self, n=10, names=None) -> list[tuple[str, float]]:
        """The features that move the items most, on average over the items.

        Parameters
        ----------
        n : int, default=10
            Number of features.
        names : sequence of str, default=None
            Names of the features; their indices if None.

        Returns
        -------
        list of tuple of (str, float)
            Names and mean importances, the largest first.
        """
        check_integer(n, "n")
        if n < 1:
            raise ValueError(f"n must be at least 1; got {n}.")
        names, n_features = None if names is None else list(names), self.importance.shape[1]
        if names is not None and len(names) != n_features:
            raise ValueError(
                f"names must hold {n_features} names, one for each feature; got {len(names)}."
            )
        known = ~np.isnan(self.importance).any(axis=1)
        if not known.any():
            raise ValueError(
                "The derivatives of these items are not known, because the minimum of none of them "
                "has a definite curvature; ask for other items."
            )
        mean = self.importance[known].mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:n]
        return [(str(k if names is None else names[k]), float(mean[k])) for k in order]


def feature_sensitivity(estimator, X, items=None):
    """Which features drive the places of items: derivatives of their coordinates.

    Each item is taken as a new one, as :func:`leave_one_out` does: the derivative is that of its
    placement by the landmarks, which stay where they are. It exists where the coordinates depend
    smoothly on the features. So this takes a :class:`~skmde.PreserveDistances` with a loss without
    a kink and the Euclidean distances of dense rows; or a :class:`~skmde.QuadraticMDE` that is a
    principal component analysis, whose derivatives are those of the projection and the same for all
    items. Other estimators place an item by its neighbours alone. Its features choose these, but do
    not weigh them, so the coordinates are constant between jumps.

    Parameters
    ----------
    estimator : PreserveDistances or QuadraticMDE
        Fitted to X, with ``metric="euclidean"`` and a smooth loss, such as "squared"; or with
        ``weights="pca"``, or "classical_mds" of rows under the Euclidean metric.
    X : array-like of shape (n_samples, n_features)
        What it was fitted to.
    items : array-like of int, default=None
        Indices of the items; None means all.

    Returns
    -------
    FeatureSensitivity
        Derivatives for each item, and how much each feature matters.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If the placements of the estimator have no derivative by features.

    See Also
    --------
    forces_on : The pairs that pull and push an item most strongly.
    point_report : How far to trust the place of each item: a table with one row for each.

    Examples
    --------
    Only the first of three features varies, so it alone moves the items:

    >>> import numpy as np
    >>> from skmde import PreserveDistances
    >>> from skmde.inspection import feature_sensitivity
    >>> X = np.zeros((30, 3))
    >>> X[:, 0] = np.random.default_rng(0).random(30)
    >>> estimator = PreserveDistances(n_components=1, loss="squared", random_state=0).fit(X)
    >>> found = feature_sensitivity(estimator, X, [4, 7])
    >>> np.abs(found.jacobian[:, 0]).round(3)
    array([[1., 0., 0.],
           [1., 0., 0.]])
    >>> found.top(1, ["length", "width", "height"])[0][0]
    'length'
    """
    estimator = judged(estimator)
    with cpu_by_default():
        is_linear = _is_linear(estimator)
        if not is_linear:
            _check_differentiable(estimator)
        X = estimator._checked_unseen(X)
        if not isinstance(X, np.ndarray):
            raise ValueError("Derivatives by features need dense rows; pass X.toarray().")
        check_rows(X, len(estimator.embedding_))
        items = checked_items(items, len(X))
        if is_linear:
            one = estimator._problem.jacobian(estimator.embedding_.shape[1])
            jacobian = np.tile(one, (len(items), 1, 1))
        else:
            jacobian = _jacobians(estimator, X, items)
    spread = X.astype(np.float64).std(axis=0)
    return FeatureSensitivity(items, jacobian, np.linalg.norm(jacobian, axis=1) * spread)


def _is_linear(estimator):
    """Whether samples are placed by a linear projection of their features."""
    if not isinstance(estimator, QuadraticMDE):
        return False
    estimator._check_not_compact()
    return hasattr(estimator._problem, "jacobian")


def _check_differentiable(estimator):
    if getattr(estimator, "disparities_", None) is not None:
        raise ValueError(
            f"monotone={estimator.monotone!r}: places depend on the order of distances, which has "
            "no derivative by the features; fit with monotone=False."
        )
    if not isinstance(estimator, PreserveDistances):
        name = type(estimator).__name__
        if isinstance(estimator, QuadraticMDE):
            name += f" with weights={estimator._problem_name!r}"
        raise ValueError(
            f"The places of {name} have no useful derivative by features: features only choose the "
            "neighbours of an item, which change in jumps, or act through a kernel or paths. Use "
            "PreserveDistances(loss='squared') or QuadraticMDE(weights='pca')."
        )
    metric, whole = estimator.metric, estimator.n_neighbors is None and estimator._parts is None
    if not (isinstance(metric, str) and metric in ("euclidean", "l2") and whole):
        raise ValueError(
            "Derivatives by features are known for metric='euclidean' without n_neighbors or "
            f"pair_weights; got metric={metric!r}, n_neighbors={estimator.n_neighbors}."
        )
    one = torch.ones(1, dtype=torch.float64)
    near, far = (float(estimator._loss.slope(one, one * d)) * d for d in (1 + _NEAR, 2.0))
    if abs(near) > _KINK * abs(far):
        raise ValueError(
            f"The loss {estimator._loss!r} has a kink at d = delta, so places do not change "
            "smoothly with the features. Fit with loss='squared', for example."
        )


def _jacobians(estimator, X, items):
    """Derivatives of the places of some items, shape (k, m, n_features)."""
    unit, loss = estimator._unit, estimator._loss
    # in the units of the solver, as in the placement itself
    x = unit.inside(estimator._leave_one_out(X, items))
    landmarks = estimator._landmarks
    rows = rows_of(X, items).astype(np.float64)
    found = np.full((len(items), x.shape[1], X.shape[1]), np.nan)
    for r, item in enumerate(items):
        others = landmarks[landmarks != item]
        away = rows[r] - X[others].astype(np.float64)
        lengths = np.linalg.norm(away, axis=1)
        far = lengths > 0  # a twin gives no direction in which its distance changes
        away, lengths, others = away[far], lengths[far], others[far]
        u = x[r] - unit.inside(estimator.embedding_[others].astype(np.float64))
        d = np.linalg.norm(u, axis=1)
        scale = unit.inside(estimator.scale_)
        slope, curvature, mixed = _derivatives(loss, scale * lengths, d)
        u /= np.where(d > 0, d, 1.0)[:, None]
        H = slope.sum() * np.eye(len(x[r])) + (u * (curvature - slope)[:, None]).T @ u
        M = (u * (mixed * scale / lengths)[:, None]).T @ away
        if np.linalg.eigvalsh(H)[0] > 0:
            found[r] = -unit.outside(np.linalg.solve(H, M))
    return found


def _derivatives(loss, delta, d):
    """Slope, curvature, and the mixed second derivative by d and delta."""
    delta, d = torch.from_numpy(delta), torch.from_numpy(d)
    with torch.enable_grad():
        t, e = delta.clone().requires_grad_(), d.clone().requires_grad_()
        (first,) = torch.autograd.grad(loss.value(t, e).sum(), e, create_graph=True)
        (mixed,) = torch.autograd.grad(first.sum(), t)
    return loss.slope(delta, d).numpy(), loss.curvature(delta, d).numpy(), mixed.numpy()
