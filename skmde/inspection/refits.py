"""How far the places of items depend on the seed and on the other samples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from skmde._utils.rows import rows_of
from skmde.exceptions import ConvergenceWarning
from skmde.inspection.given import as_given, check_rows, judged, root_mean_square_radius
from skmde.metrics.alignment import align
from skmde.metrics.fitted import last_step
from skmde.metrics.preservation import check_integer

_NEIGHBORS = 15


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How the places of items vary from fit to fit; :func:`stability` returns it.

    Attributes
    ----------
    displacement : ndarray of shape (n_samples,)
        Root mean square distance of an item from its place in the embedding, over the fits, each
        of which is aligned with the embedding by a shift, a rotation, a reflection and a scaling.
        It is divided by the root mean square distance of the items from their mean. NaN for an
        item that no fit has.
    kept_neighbors : ndarray of shape (n_samples,)
        Share of an item's 15 neighbours in the embedding that are among its 15 neighbours in a
        fit, averaged over the fits. Parts of a map may move as a whole, which this does not count.
    n_fits : int
        Number of fits.

    See Also
    --------
    stability :
        Fit again with other seeds, or to other samples, and see which items stay in place.
    """

    displacement: np.ndarray
    kept_neighbors: np.ndarray
    n_fits: int

    @property
    def overall(self) -> float:
        """Root mean square of the displacements; 0 if every fit gives the same embedding."""
        return float(np.sqrt(np.nanmean(self.displacement**2)))

    def __repr__(self) -> str:
        kept = np.nanmean(self.kept_neighbors)
        return (
            f"Stability({self.n_fits} fits, displacement {self.overall:.3g}, neighbours kept "
            f"{kept:.3g})"
        )


def stability(
    estimator, X, y=None, *, n=10, subsample="auto", n_jobs=None, random_state=0, **fit_params
):
    """Fit again with other seeds, or to other samples, and see which items stay in place.

    Parameters
    ----------
    estimator : object
        A fitted estimator of this package. It does not change.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        What it was fitted to.
    y : array-like, default=None
        As for its `fit`.
    n : int, default=10
        Number of fits.
    subsample : float or None, default="auto"
        Share of the rows of X in each fit, drawn at random without replacement; None means all of
        them, so that only the seed differs. Many fits do not depend on the seed. "auto" means 0.9,
        but None for X of distances or weights, with `fit_params`, and if `init` or the constraint
        of the estimator refers to single rows.
    n_jobs : int, default=None
        Number of fits that run at once, as for :class:`joblib.Parallel`.
    random_state : int, RandomState instance or None, default=0
        Seeds the seeds of the fits and the samples.
    **fit_params : dict
        Passed to `fit`. Not with a `subsample`.

    Returns
    -------
    Stability
        For each item, how far it moves and which of its neighbours it keeps.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If `n` or `subsample` is out of range, or X does not have the estimator's number of rows.

    See Also
    --------
    leave_one_out : Place each item among all others, as `transform` places an unseen one.
    sharpness :
        How firmly each item is held where it is: the least curvature of its own distortion.
    point_report : How far to trust the place of each item: a table with one row for each.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.5 (comparing embeddings).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmde import QuadraticMDE
    >>> from skmde.inspection import stability
    >>> X = load_iris().data
    >>> found = stability(QuadraticMDE(weights="pca").fit(X), X, n=3, subsample=0.8)
    >>> found.overall < 0.1
    True
    """
    embedding = np.asarray(judged(estimator).embedding_, dtype=np.float64)
    check_integer(n, "n")
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    X, fixed = as_given(X), _refers_to_rows(estimator)
    check_rows(X, len(embedding))
    whole = estimator.__sklearn_tags__().input_tags.pairwise or bool(fit_params) or bool(fixed)
    if isinstance(subsample, str) and subsample == "auto":
        subsample = None if whole else 0.9
    if subsample is not None and not (isinstance(subsample, Real) and 0 < subsample < 1):
        raise ValueError(
            f"subsample must be above 0 and below 1, None or 'auto'; got {subsample!r}."
        )
    if subsample is not None and whole:
        raise ValueError(
            "A subsample needs rows of data, without further arguments of `fit`"
            + (f", and {fixed} refers to all rows" if fixed else "")
            + "; use subsample=None, which varies the seed alone."
        )
    runs = list(_runs(len(embedding), n, subsample, check_random_state(random_state)))
    found = Parallel(n_jobs=n_jobs)(
        delayed(_fitted)(estimator, X, y, len(embedding), rows, seed, fit_params)
        for rows, seed in runs
    )
    squares, kept, counts = (np.zeros(len(embedding)) for _ in range(3))
    for (rows, _), other in zip(runs, found, strict=True):
        own = embedding[rows]
        squares[rows] += np.sum((align(other, own, scaling=True) - own) ** 2, axis=1)
        kept[rows] += _common_neighbors(own, other)
        counts[rows] += 1
    with np.errstate(invalid="ignore"):  # an item that no fit has
        away = np.sqrt(squares / counts) / (root_mean_square_radius(embedding) or 1.0)
        return Stability(away, kept / counts, n)


def _refers_to_rows(estimator):
    """The parameter that refers to single rows, so that a fit needs all of them; None if none does.

    These are a start that is an array, and a constraint that fixes items by their indices.
    """
    if not isinstance(getattr(estimator, "init", ""), str):
        return "init"
    fixed = getattr(getattr(estimator, "constraint", None), "fixed_items", None)
    return "constraint" if fixed is not None else None


def _runs(n_items, n, subsample, random):
    """The rows and the seed of each fit."""
    for _ in range(n):
        rows = np.arange(n_items)
        if subsample is not None:
            size = max(2, round(subsample * n_items))
            rows = np.sort(random.choice(n_items, size, replace=False))
        yield rows, int(random.randint(np.iinfo(np.int32).max))


def _fitted(estimator, X, y, n_items, rows, seed, fit_params):
    """The embedding of some rows under another seed."""
    other = clone(estimator)
    if "random_state" in other.get_params(deep=False):
        other.set_params(random_state=seed)
    # A checkpoint is that of one fit.
    kept = [name for name in other.get_params() if name.rpartition("__")[2] == "checkpoint"]
    other.set_params(**dict.fromkeys(kept))
    if len(rows) < n_items:
        X = X.iloc[rows] if hasattr(X, "iloc") else rows_of(X, rows)
        y = None if y is None else np.asarray(y)[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other.fit(X, y, **fit_params)
    return np.asarray(last_step(other).embedding_, dtype=np.float64)


def _common_neighbors(one, other):
    """Share of the neighbours of each item in one embedding that are so in the other."""
    k = min(_NEIGHBORS, len(one) - 1)
    tables = [
        NearestNeighbors(n_neighbors=k).fit(Z).kneighbors(return_distance=False)
        for Z in (one, other)
    ]
    return (tables[0][:, :, None] == tables[1][:, None, :]).any(axis=2).mean(axis=1)
