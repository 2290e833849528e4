"""Targets and sample weights of a neighbour embedding."""

from __future__ import annotations

import warnings
from decimal import Decimal
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d

from skmde._utils.warn import warn
from skmde.estimators.samples.labels import known_labels
from skmde.estimators.samples.targets import dense_argument, is_missing, target_array
from skmde.preprocessing.neighbors.search import nearest_neighbors
from skmde.preprocessing.pairs.sampling import deduplicate_edges, sample_dissimilar, sample_edges


def target_pairs(y, n_samples, n_partners, fraction, rng):
    """Pairs of samples with similar targets, and pairs with different targets.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets. With several, samples are similar if all their targets are: numbers are compared
        in units of their standard deviations, and two classes differ by one unit. If any target
        is a number that is not an integer, all are numbers, with NaN for unknown ones. Otherwise
        they are classes, as for :func:`~skmde.estimators.samples.labels.known_labels`.
    n_samples : int
    n_partners : int
        Similar samples for each sample: random ones of its class, or the nearest in y.
    fraction : float
        Number of differing pairs for each similar pair.
    rng : numpy.random.Generator

    Returns
    -------
    alike, differing : ndarray of shape (p, 2), int32
        Pairs ``i < j``, each once.

    Raises
    ------
    ValueError
        If y does not hold one target for each sample, or no target is known.
    """
    columns = target_array(y)
    if columns.ndim == 2 and columns.shape[1] > 1:
        return _of_several_targets(columns, n_samples, n_partners, fraction, rng)
    numbers = _as_numbers(y)
    if numbers is None:
        known, classes = _known_classes(y, n_samples)
        names, groups = np.unique(classes, return_inverse=True)
        if len(names) > max(10, len(known) / 2):
            warn(
                f"y holds {len(names)} classes for {len(known)} samples, so few samples share a "
                "class. To use numeric targets, pass floats that are not all integers.",
            )
        alike = _within_groups(groups, n_partners, rng)
        wanted = fraction * max(len(alike), n_partners * len(known) / 2)
        differing = _between_groups(groups, wanted, rng)
    else:
        _check_length(numbers, n_samples, "y")
        known = np.flatnonzero(~np.isnan(numbers))
        alike = _nearest_in_order(numbers[known], n_partners)
        differing = sample_dissimilar(len(known), round(fraction * len(alike)), alike, rng)
    return known[alike].astype(np.int32), known[differing].astype(np.int32)


def _of_several_targets(columns, n_samples, n_partners, fraction, rng):
    """The same for several targets; only samples with all of them known have pairs."""
    _check_length(columns, n_samples, "y")
    is_known, parts, all_classes = np.ones(n_samples, bool), [], True
    for column in columns.T:
        numbers = _as_numbers(column)
        if numbers is None:
            known, classes = _known_classes(column, n_samples)
            codes = np.full(n_samples, -1)
            codes[known] = np.unique(classes, return_inverse=True)[1]
            is_known &= codes >= 0
            parts.append(np.sqrt(0.5) * (codes[:, None] == np.arange(codes.max() + 1)))
        else:
            is_known &= ~np.isnan(numbers)
            parts.append(numbers[:, None] / (np.nanstd(numbers) or 1.0))
            all_classes = False
    known = np.flatnonzero(is_known)
    if len(known) < 2:
        raise ValueError(
            f"All targets are known for {len(known)} of the {n_samples} samples, but at least 2 "
            "are needed. Pass fewer targets, or fill in the unknown ones."
        )
    rows = np.hstack(parts)[known]
    if all_classes:
        groups = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        alike = _within_groups(groups, n_partners, rng)
        wanted = fraction * max(len(alike), n_partners * len(known) / 2)
        differing = _between_groups(groups, wanted, rng)
    else:
        k = min(max(1, n_partners // 2), len(known) - 1)
        indices, _, _ = nearest_neighbors(rows, k, algorithm="exact")
        alike = deduplicate_edges(
            np.stack([np.repeat(np.arange(len(known)), k), indices.ravel()], axis=1)
        )
        differing = sample_dissimilar(len(known), round(fraction * len(alike)), alike, rng)
    return known[alike].astype(np.int32), known[differing].astype(np.int32)


def _known_classes(y, n_samples):
    with warnings.catch_warnings():
        # that warning is for classifiers
        warnings.filterwarnings("ignore", "The number of unique classes")
        return known_labels(y, n_samples)


def with_targets(edges, weights, graph, alike, differing, target_weight):
    """Add the pairs of the targets to pairs and weights, and the attractive ones to the graph.

    Parameters
    ----------
    edges : ndarray of shape (p, 2)
    weights : ndarray of shape (p,)
    graph : csr_array of shape (n, n)
        The weights of pairs of neighbours.
    alike, differing : ndarray of shape (p, 2)
        As `target_pairs` returns them.
    target_weight : float

    Returns
    -------
    edges, weights, graph
        As given, with the pairs of the targets. Pairs that attract come first.
    """
    split = np.count_nonzero(weights > 0)
    pull = np.full(len(alike), target_weight, weights.dtype)
    push = np.full(len(differing), -target_weight, weights.dtype)
    edges = np.concatenate([edges[:split], alike, edges[split:], differing])
    weights = np.concatenate([weights[:split], pull, weights[split:], push])
    one_way = sp.coo_array((pull, alike.T), shape=graph.shape)
    return edges, weights, sp.csr_array(graph + one_way + one_way.T)


def checked_sample_weight(sample_weight, n_samples):
    """Weights of samples, relative to their mean.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,)
    n_samples : int

    Returns
    -------
    weights : ndarray of shape (n_samples,), float64
    """
    advice = "use weight 0 to leave out a sample"
    sample_weight = dense_argument(sample_weight, "sample_weight", advice)
    try:
        weights = column_or_1d(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must hold one number for each of the {n_samples} samples ({error})."
        ) from error
    _check_length(weights, n_samples, "sample_weight")
    if not np.isfinite(weights).all() or (weights < 0).any():
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise ValueError(f"sample_weight must be finite and at least 0; got {wrong}.")
    largest = weights.max(initial=0.0)
    if not largest > 0:
        raise ValueError("All entries of sample_weight are zero; some must be positive.")
    weights = weights / largest
    return weights / weights.mean()


def _as_numbers(y):
    """The targets as floats if they are numbers, None if they are classes."""
    y = target_array(y)
    if y.dtype.kind == "O" and all(_is_number(target) for target in y.flat):
        # None, NaN and pandas.NA are unknown targets
        y = np.array([float(t) if _is_known(t) else np.nan for t in y.flat]).reshape(y.shape)
    if y.dtype.kind != "f":
        return None
    y = column_or_1d(y).astype(np.float64)
    if np.isinf(y).any():
        raise ValueError("y contains infinity; use NaN for unknown targets.")
    there = y[~np.isnan(y)]
    return None if (there == np.rint(there)).all() else y


def _is_number(target):
    number = isinstance(target, Real | Decimal) and not isinstance(target, bool | np.bool_)
    return number or not _is_known(target)


def _is_known(target):
    return not is_missing(target)


def _check_length(values, n_samples, name):
    if len(values) != n_samples:
        raise ValueError(
            f"X and {name} have inconsistent numbers of samples: {n_samples} and {len(values)}."
        )


def _within_groups(groups, n_partners, rng):
    """Pairs along random rings through each group: about `n_partners` for each item."""
    rings = []
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(members) < 2:
            continue
        for _ in range(max(1, n_partners // 2)):
            ring = rng.permutation(members)
            rings.append(np.stack([ring, np.roll(ring, 1)], axis=1))
    return deduplicate_edges(np.concatenate(rings)) if rings else np.empty((0, 2), np.int32)


def _between_groups(groups, wanted, rng):
    """About `wanted` random pairs of items of different groups."""
    n = len(groups)
    sizes = np.bincount(groups).astype(np.float64)
    share = 1 - (sizes * (sizes - 1)).sum() / max(n * (n - 1), 1)
    if not share > 0:
        return np.empty((0, 2), np.int32)
    drawn = sample_edges(n, int(min(np.ceil(wanted / share), n * (n - 1) // 2)), rng)
    return drawn[groups[drawn[:, 0]] != groups[drawn[:, 1]]]


def _nearest_in_order(values, n_partners):
    """Pairs of each item with the next ``n_partners // 2`` items in the order of the values."""
    order = np.argsort(values, kind="stable")
    most = min(max(1, n_partners // 2), len(values) - 1)
    if most < 1:
        return np.empty((0, 2), np.int32)
    steps = [np.stack([order[:-step], order[step:]], axis=1) for step in range(1, most + 1)]
    return deduplicate_edges(np.concatenate(steps))
