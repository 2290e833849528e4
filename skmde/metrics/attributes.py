"""Attributes that an embedding has not seen: how well it predicts them (monograph, section 2.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skmde.metrics.alignment import as_array, as_embedding, codes_of, missing_entries
from skmde.metrics.prediction import as_targets, is_continuous, knn_accuracy, knn_r2
from skmde.metrics.preservation import check_integer
from skmde.metrics.tables import Table, as_frame


class AttributeScore(NamedTuple):
    """What the neighbours of an item in the embedding tell of one attribute.

    Attributes
    ----------
    measure : str
        "knn_accuracy" for classes, "knn_r2" for numbers.
    score : float
        The score; 1 is best.
    baseline : float
        What it is without an embedding: the share of the most frequent class, or 0.
    n_items : int
        Number of items whose attribute is known.

    See Also
    --------
    held_out_attributes :
        How well an embedding predicts attributes of the items that it has not seen.
    """

    measure: str
    score: float
    baseline: float
    n_items: int

    @property
    def gain(self) -> float:
        """Part of the way from the baseline to 1 that the embedding goes; NaN if there is none."""
        way = 1.0 - self.baseline
        return (self.score - self.baseline) / way if way > 0 else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class HeldOutAttributes(Table):
    """Scores of attributes that an embedding has not seen.

    Attributes
    ----------
    scores : dict of str to AttributeScore
        By the names of the attributes, in the given order.

    See Also
    --------
    held_out_attributes :
        How well an embedding predicts attributes of the items that it has not seen.
    """

    scores: dict[str, AttributeScore]

    _header = ("attribute", "measure", "score", "baseline", "gain", "items")

    def __getitem__(self, name) -> AttributeScore:
        return self.scores[name]

    def _cells(self):
        for name, one in self.scores.items():
            numbers = f"{one.score:.3f}", f"{one.baseline:.3f}", f"{one.gain:.3f}"
            yield (str(name), one.measure, *numbers, str(one.n_items))

    def to_frame(self):
        """The table as a pandas DataFrame, with one row for each attribute.

        Returns
        -------
        pandas.DataFrame
            With the columns "measure", "score", "baseline", "gain" and "n_items".
        """
        columns = {name: [getattr(one, name) for one in self.scores.values()] for name in _COLUMNS}
        return as_frame(columns, list(self.scores))


_COLUMNS = ("measure", "score", "baseline", "gain", "n_items")


def held_out_attributes(embedding, attributes, *, n_neighbors=10, sample=None, random_state=None):
    """How well an embedding predicts attributes of the items that it has not seen.

    If items of similar attributes are near each other, this is a weak endorsement of the embedding
    (monograph, section 2.6). It says nothing if the embedding was made with the attribute, or if
    the attribute has nothing to do with the data.

    Parameters
    ----------
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    attributes : dict, DataFrame or array-like
        The attributes by name: classes, or numbers that are not all whole. An array of shape
        (n_items,) is one attribute, of shape (n_items, n_attributes) several. NaN and None mark
        items whose attribute is not known; they are left out, for that attribute.
    n_neighbors : int, default=10
        Number of neighbours in the embedding that predict.
    sample : int, default=None
        Number of randomly sampled items to predict; None means all.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Returns
    -------
    HeldOutAttributes
        For each attribute its score beside a baseline: :func:`knn_accuracy` beside the share of
        the most frequent class, or :func:`knn_r2` beside 0.

    Raises
    ------
    ValueError
        If the lengths differ, or an attribute is known for too few items.

    See Also
    --------
    knn_accuracy : Accuracy of a nearest-neighbour classifier in the embedding.
    knn_r2 : Coefficient of determination of a nearest-neighbour regressor in the embedding.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.6 (validation).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import held_out_attributes
    >>> X, species = load_iris(return_X_y=True)
    >>> embedding = PCA(2).fit_transform(X[:, :3])
    >>> held_out_attributes(embedding, {"species": species, "petal width": X[:, 3]})
    attribute    measure       score  baseline  gain   items
    species      knn_accuracy  0.940  0.333     0.910  150
    petal width  knn_r2        0.931  0.000     0.931  150
    """
    embedding = as_embedding(embedding, "embedding")
    check_integer(n_neighbors, "n_neighbors")
    options = {"sample": sample, "random_state": random_state}
    scores = {}
    for name, values in _columns(attributes).items():
        values = as_targets(values)
        if values.shape != (len(embedding),):
            raise ValueError(
                f"The attribute {name!r} has shape {values.shape}, but there are {len(embedding)} "
                "items; give one value for each item."
            )
        known = ~missing_entries(values)
        n_known = int(known.sum())
        if n_known < 2:
            raise ValueError(
                f"The attribute {name!r} is known for {n_known} items; it must be for 2 or more."
            )
        values = as_targets(values[known])
        baseline = 0.0
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise ValueError(
                f"The attribute {name!r} has infinite values; use NaN for values that are not "
                "known."
            )
        if is_continuous(values):
            kind = knn_r2
        else:
            kind = knn_accuracy
            codes = codes_of(values, f"The attribute {name!r}")[1]
            baseline = float(np.bincount(codes).max() / n_known)
        score = kind(embedding[known], values, min(n_neighbors, n_known - 1), **options)
        scores[name] = AttributeScore(kind.__name__, score, baseline, n_known)
    return HeldOutAttributes(scores)


def _columns(attributes):
    """The attributes as a dict of arrays."""
    if isinstance(attributes, Mapping):
        return {name: as_array(values, str(name)) for name, values in attributes.items()}
    if hasattr(attributes, "columns"):
        return {name: np.asarray(attributes[name]) for name in attributes.columns}
    values = as_array(attributes, "attributes")
    if values.ndim == 1:
        return {getattr(attributes, "name", None) or "attribute": values}
    if values.ndim != 2:
        raise ValueError(
            f"attributes must be a dict, a data frame, or an array of shape (n_items,) or "
            f"(n_items, n_attributes); got shape {values.shape}."
        )
    return {f"attribute {k}": column for k, column in enumerate(values.T)}
