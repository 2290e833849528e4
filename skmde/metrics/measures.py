"""A report of an embedding: many measures, each with what it says in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from skmde.metrics.alignment import as_array, as_embedding, codes_of
from skmde.metrics.fitted import embedding_of, is_estimator, metric_of
from skmde.metrics.gaps import has_gaps, known_counts
from skmde.metrics.prediction import as_targets, is_continuous, knn_accuracy, knn_r2
from skmde.metrics.preservation import (
    checked_pair,
    continuity,
    recall_curve,
    sampled_rows,
    triplet_accuracy,
    trustworthiness,
)
from skmde.metrics.stress import normalized_stress, rank_correlation, sampled_distances
from skmde.metrics.tables import Table, as_frame

_RECALLS = (5, 15, 50, 100)  # numbers of neighbours


class Measure(NamedTuple):
    """One measure of an embedding.

    Attributes
    ----------
    value : float
        The measure.
    chance : float
        What an embedding that is unrelated to the data has.
    best : float
        What a perfect embedding has.
    meaning : str
        What the value says, as a sentence.

    See Also
    --------
    embedding_report : Measure an embedding in several ways, and say what each figure means.
    """

    value: float
    chance: float
    best: float
    meaning: str


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingReport(Table):
    """Measures of one embedding; :func:`embedding_report` returns it.

    Attributes
    ----------
    measures : dict of str to Measure
        By name: "recall_5" and so on, "trustworthiness", "continuity", "triplets",
        "distance_correlation", "stress", and "knn_accuracy" or "knn_r2".
    n_items : int
        Number of items.
    n_components : int
        Dimension of the embedding.

    See Also
    --------
    embedding_report : Measure an embedding in several ways, and say what each figure means.
    compare : Put reports of several embeddings side by side.
    """

    measures: dict[str, Measure]
    n_items: int
    n_components: int

    _header = ("measure", "value", "chance", "best", "meaning")

    def __getitem__(self, name) -> float:
        return self.measures[name].value

    def _cells(self):
        for name, one in self.measures.items():
            yield (name, *(_number(x) for x in one[:3]), one.meaning)

    def _title(self):
        return f"{self.n_items} items in {self.n_components} dimensions"

    def to_frame(self):
        """The table as a pandas DataFrame, with one row for each measure.

        Returns
        -------
        pandas.DataFrame
            With the columns "value", "chance", "best" and "meaning".
        """
        rows = self.measures.values()
        columns = {name: [getattr(one, name) for one in rows] for name in Measure._fields}
        return as_frame(columns, list(self.measures))


@dataclass(frozen=True, eq=False, repr=False)
class ReportComparison(Table):
    """Reports of several embeddings of the same data, side by side.

    Attributes
    ----------
    reports : dict of str to EmbeddingReport
        The reports by name.

    See Also
    --------
    compare : Put reports of several embeddings side by side.
    """

    reports: dict[str, EmbeddingReport]

    def _names(self):
        return list(dict.fromkeys(name for one in self.reports.values() for name in one.measures))

    def best(self, measure) -> str:
        """The name of the report that is best in a measure; the first if several are.

        Parameters
        ----------
        measure : str
            The name of the measure.

        Returns
        -------
        str
            The name of the report.
        """
        found = {
            name: abs(one.measures[measure].value - one.measures[measure].best)
            for name, one in self.reports.items()
            if measure in one.measures
        }
        found = {name: way for name, way in found.items() if not np.isnan(way)}
        if not found:
            raise ValueError(
                f"No report says what the best {measure!r} is; the measures are {self._names()}."
            )
        return min(found, key=lambda name: found[name])

    def _cells(self):
        for measure in self._names():
            there = {n: one for n, one in self.reports.items() if measure in one.measures}
            known = any(
                not np.isnan(one[measure] - one.measures[measure].best) for one in there.values()
            )
            best = self.best(measure) if known else None
            yield (
                measure,
                *(
                    _number(one[measure]) + " *" * (name == best) if name in there else ""
                    for name, one in self.reports.items()
                ),
            )

    @property
    def _header(self):
        return ("measure", *self.reports)

    def to_frame(self):
        """The values as a pandas DataFrame, with a row for each measure.

        Returns
        -------
        pandas.DataFrame
            With a column for each report; NaN where a report lacks a measure.
        """
        names = self._names()
        columns = {
            name: [one[m] if m in one.measures else np.nan for m in names]
            for name, one in self.reports.items()
        }
        return as_frame(columns, names)


def embedding_report(embedding, X, y=None, *, metric=None, test=None, zadu=(), random_state=0):
    """Measure an embedding in several ways, and say what each figure means.

    Large data are sampled, as :func:`quality_report` does, whose figures are among those here:
    1000 items for the recall, 5000 for trustworthiness and continuity, 200,000 triplets and pairs.

    Parameters
    ----------
    embedding : array-like of shape (n_items, n_components), or fitted estimator
        The embedding, or an estimator that has it as `embedding_`, or a pipeline that ends in one.
    X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
        The data, or their distances if ``metric="precomputed"``. Pairs at infinite distance have no
        distance, and no measure counts them.
    y : array-like of shape (n_items,) or (n_items, n_targets), default=None
        Classes, or numbers that are not all whole, which neighbours in the embedding predict.
    metric : str or callable, default=None
        "euclidean", "manhattan", "cosine", "precomputed", "chebyshev", "correlation", "canberra",
        "hamming", or a function of two rows. None means the metric of the estimator, or "euclidean"
        for an array or a pipeline.
    test : array-like of bool of shape (n_items,) or of int, default=None
        As for :func:`quality_report`.
    zadu : sequence of str, default=()
        Names of further measures that the package ZADU computes, such as "mrre" or "topo", on at
        most 2000 sampled items: ``pip install skmde[zadu]``.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    EmbeddingReport
        A table of the measures. Numbers of neighbours that the data are too small for are left out.

    Raises
    ------
    ValueError
        If the lengths differ, or there are fewer than 3 items.
    ImportError
        If `zadu` names measures and ZADU is not installed.

    See Also
    --------
    quality_report : Four of these figures, as the benchmarks compare them.
    compare : Reports side by side.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import embedding_report
    >>> X, y = load_iris(return_X_y=True)
    >>> report = embedding_report(PCA(2).fit_transform(X), X, y)
    >>> round(report["recall_15"], 2)
    0.8
    >>> print(report.measures["knn_accuracy"].meaning)
    95% of the items have the class of most of their 10 neighbours in the embedding.
    """
    metric = _own_metric(embedding) if metric is None else metric
    if isinstance(X, tuple):
        raise ValueError(
            "X is a pair of neighbour tables, but a report needs the distances of all pairs: pass "
            "rows of data, or a square matrix of distances."
        )
    embedding = as_embedding(embedding_of(embedding), "embedding")
    n = len(embedding)
    if n < 3:
        raise ValueError(f"A report needs 3 items or more; the embedding has {n}.")
    options = {"metric": metric, "random_state": random_state}
    n_others = _numbers_of_others(X, embedding, metric)
    measures = _recalls(X, embedding, n_others, options) | _ranks(X, embedding, n_others, options)
    value = triplet_accuracy(X, embedding, 200_000, **options)
    measures["triplets"] = _measure(
        value, 0.5, f"Of two random items, the nearer one stays the nearer one in {value:.0%}."
    )
    delta, d = sampled_distances(X, embedding, 200_000, metric, random_state)
    measures["distance_correlation"] = _measure(
        rank_correlation(delta, d), 0.0, "Rank correlation of all distances: the large shape."
    )
    value = normalized_stress(delta, d)
    measures["stress"] = Measure(
        value,
        1.0,
        0.0,
        f"Distances deviate by {value:.0%} from the original ones, at the best common scale.",
    )
    if y is not None:
        name, measure = _prediction(embedding, y, test)
        measures[name] = measure
    if len(zadu) and isinstance(metric, str) and metric == "precomputed":
        raise ValueError(
            f"zadu={list(zadu)} needs rows of data, but X holds distances; pass zadu=()."
        )
    measures |= _by_zadu(zadu, X, embedding, y, random_state)
    return EmbeddingReport(measures, n, embedding.shape[1])


def compare(*reports, names=None):
    """Put reports of several embeddings side by side.

    Parameters
    ----------
    *reports : EmbeddingReport
        Reports of embeddings of the same data.
    names : sequence of str, default=None
        Their names; "a", "b" and so on if None.

    Returns
    -------
    ReportComparison
        A table with a column for each report; a star marks the best value of a row.

    Raises
    ------
    ValueError
        If the reports are of different numbers of items, or the names do not fit.

    See Also
    --------
    embedding_report : Measure an embedding in several ways, and say what each figure means.
    procrustes_distance : Mean squared distance between two embeddings after alignment.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import compare, embedding_report
    >>> X, _ = load_iris(return_X_y=True)
    >>> reports = [embedding_report(PCA(m).fit_transform(X), X) for m in (1, 2)]
    >>> compare(*reports, names=["line", "plane"]).best("stress")
    'plane'
    """
    for one in reports or (None,):
        if not isinstance(one, EmbeddingReport):
            raise TypeError(
                "compare takes one or more results of embedding_report, as in compare(first, "
                f"second); got {'none' if one is None else type(one).__name__}."
            )
    names = _letters(len(reports)) if names is None else [str(name) for name in names]
    if len(names) != len(reports) or len(set(names)) != len(names):
        raise ValueError(
            f"names must be {len(reports)} different names, one for each report; got {names}."
        )
    sizes = {report.n_items for report in reports}
    if len(sizes) != 1:
        raise ValueError(
            f"The reports are of {sorted(sizes)} items; compare embeddings of the same data."
        )
    return ReportComparison(dict(zip(names, reports, strict=True)))


def _own_metric(embedding):
    """The metric of an estimator; that of Euclid for anything else."""
    if not is_estimator(embedding) or hasattr(embedding, "steps"):
        return "euclidean"
    metric = metric_of(embedding)
    if metric is None or metric == "graph":
        raise ValueError(
            f"This {type(embedding).__name__} was fitted to a graph or to weights, which are not "
            "distances of all pairs. Pass the distances that it should be judged by, a square "
            'matrix, as X with metric="precomputed"; of a graph, the lengths of its shortest paths.'
        )
    return metric


def _letters(n):
    """Names "a", "b" and so on; after "z" come "a2", "b2" and so on."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [alphabet[k % 26] + (str(k // 26 + 1) if k >= 26 else "") for k in range(n)]


def _number(value):
    return f"{value:.3f}"


def _measure(value, chance, meaning):
    return Measure(value, chance, 1.0, meaning)


def _numbers_of_others(X, embedding, metric):
    """How many others each item has a distance to, without the items that have none."""
    if isinstance(metric, str) and metric == "precomputed" and not issparse(X):
        X, embedding = checked_pair(X, embedding, metric)
        if has_gaps(X, metric):
            counts = known_counts(X)
            if not counts.any():
                raise ValueError("X has no finite distance of two items; pass one or more.")
            return counts[counts > 0]
    return np.array([len(embedding) - 1])


def _ranks(X, embedding, n_others, options):
    """Trustworthiness and continuity; of distances with gaps, half of the items count or more."""
    n = len(embedding)
    k = min(15, int(np.median(n_others) * min(1.0, 5000 / n)) // 2)
    if not k:
        return {}
    return {
        "trustworthiness": _measure(
            trustworthiness(X, embedding, k, sample=5000, **options),
            0.5,
            f"How far the {k} neighbours in the embedding are neighbours in the data, too; false "
            "ones count by how far they are.",
        ),
        "continuity": _measure(
            continuity(X, embedding, k, sample=5000, **options),
            0.5,
            f"How far the {k} neighbours in the data are neighbours in the embedding, too; torn "
            "ones count by how far they are.",
        ),
    }


def _recalls(X, embedding, n_others, options):
    gaps = len(n_others) > 1
    most = int(np.median(n_others)) - gaps  # with gaps, k of k neighbours do not count
    numbers = [k for k in _RECALLS if k <= most] or [most] * (most > 0)
    if not numbers:
        return {}
    found = recall_curve(X, embedding, numbers, sample=1000, **options)
    return {
        f"recall_{k}": _measure(
            share,
            float(np.mean(k / n_others[n_others >= k + gaps])),
            f"Of the {k} nearest items in the data, {share:.0%} are among the {k} nearest in the "
            "embedding.",
        )
        for k, share in zip(numbers, found, strict=True)
    }


def _prediction(embedding, y, test):
    y = as_targets(y)
    k = min(10, len(embedding) - 1)
    if is_continuous(y):
        value = knn_r2(embedding, y, k, test=test)
        text = f"The mean of {k} neighbours in the embedding explains {value:.0%} of the variance."
        return "knn_r2", _measure(value, 0.0, text)
    value = knn_accuracy(embedding, y, k, test=test)
    counts = np.bincount(codes_of(y, "y")[1])
    text = (
        f"{value:.0%} of the items have the class of most of their {k} neighbours in the embedding."
    )
    return "knn_accuracy", _measure(value, float(counts.max() / counts.sum()), text)


def _by_zadu(names, X, embedding, y, random_state):
    """Measures of the package ZADU, on a sample of the items."""
    if not len(names):
        return {}
    try:
        from zadu import zadu
    except ImportError as error:
        raise ImportError(
            f"zadu={list(names)} needs the package ZADU: pip install 'skmde[zadu]'."
        ) from error
    rows = sampled_rows(len(embedding), 2000, check_random_state(random_state), at_most=True)
    X = X if issparse(X) else as_array(X, "X")
    X = X[rows].toarray() if issparse(X) else X[rows]
    specs = [{"id": name, "params": {}} for name in names]
    labels = None if y is None else codes_of(as_array(y, "y")[rows], "y")[1]
    judge = zadu.ZADU(specs, np.asarray(X, dtype=np.float64))
    found = judge.measure(embedding[rows].astype(np.float64), labels)
    return {
        f"zadu_{name}": Measure(
            float(value), np.nan, np.nan, f"ZADU's {name}, of {len(rows)} items."
        )
        for numbers in found
        for name, value in numbers.items()
        if np.ndim(value) == 0
    }
