"""A table of how far to trust each item of an embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skmde.inspection.curvature import sharpness
from skmde.inspection.given import as_given, check_rows, checked_items, data_of_neighbors, judged
from skmde.inspection.left_out import leave_one_out
from skmde.metrics.preservation import check_integer, recall_by_item
from skmde.metrics.tables import as_frame, as_html, as_text

_SHOWN, _SHOWN_IN_HTML = 10, 50  # rows


@dataclass(frozen=True, eq=False, repr=False)
class PointReport:
    """Figures of each item; :func:`point_report` returns it.

    Attributes
    ----------
    items : ndarray of int of shape (k,)
        The items.
    columns : dict of str to ndarray of shape (k,)
        "recall", "distortion", "sharpness", "leave_one_out", "displacement", "kept_neighbors" and
        "label_disagreement", as far as the estimator has them and they were asked for.

    See Also
    --------
    point_report : How far to trust the place of each item: a table with one row for each.
    """

    items: np.ndarray
    columns: dict[str, np.ndarray]

    def __getitem__(self, name) -> np.ndarray:
        return self.columns[name]

    def _cells(self, n):
        for k in range(min(n, len(self.items))):
            yield (str(self.items[k]), *(f"{column[k]:.3g}" for column in self.columns.values()))

    def __repr__(self) -> str:
        more = len(self.items) - _SHOWN
        tail = f"\n... and {more} more items" if more > 0 else ""
        return as_text(("item", *self.columns), self._cells(_SHOWN)) + tail

    def _repr_html_(self) -> str:
        return as_html(("item", *self.columns), self._cells(_SHOWN_IN_HTML))

    def to_structured(self) -> np.ndarray:
        """The table as a structured array.

        Returns
        -------
        ndarray of shape (k,)
            With the field "item" and one for each column.
        """
        fields = [("item", np.intp), *((name, np.float64) for name in self.columns)]
        table = np.empty(len(self.items), dtype=fields)
        table["item"] = self.items
        for name, column in self.columns.items():
            table[name] = column
        return table

    def to_frame(self):
        """The table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            With a row for each item, and one column for each figure.
        """
        return as_frame(self.columns, self.items)


def point_report(estimator, X, y=None, *, items=None, n_neighbors=15, metric=None, stability=None):
    """How far to trust the place of each item: a table with one row for each.

    Parameters
    ----------
    estimator : object
        A fitted estimator of this package.
    X : array-like, sparse matrix or networkx graph
        What it was fitted to.
    y : array-like of shape (n_samples,), default=None
        Labels, for the column "label_disagreement".
    items : array-like of int or bool, default=None
        The items of the table, or a mask of them; None means all. For large data pass
        some of them: the search for their neighbours compares each with all others.
    n_neighbors : int, default=15
        Number of neighbours of the column "recall"; all other items if there are fewer.
    metric : str or callable, default=None
        Distance between rows of X for "recall"; None means the metric of the estimator. Of a graph,
        the neighbours are the nodes that edges lead to. Weights have no distances, and no "recall".
    stability : Stability, default=None
        What :func:`stability` returned, for the columns "displacement" and "kept_neighbors".

    Returns
    -------
    PointReport
        The columns are:

        - "recall": share of the neighbours in the data that are neighbours in the embedding;
        - "distortion": average distortion of the pairs that attract the item;
        - "sharpness": how firmly it is held, see :func:`sharpness`;
        - "leave_one_out": how far it would go, were it new, see :func:`leave_one_out`;
        - "displacement" and "kept_neighbors": see :class:`Stability`;
        - "label_disagreement": share of its neighbours that have another label.

        Columns that the estimator does not have are left out.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If X does not have the estimator's number of rows, or `items` are not indices.

    See Also
    --------
    stability :
        Fit again with other seeds, or to other samples, and see which items stay in place.
    skmde.metrics.item_recall :
        `neighborhood_recall` of each item: how many of its neighbours the embedding keeps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmde import PreserveNeighbors
    >>> from skmde.inspection import point_report
    >>> X, y = load_iris(return_X_y=True)
    >>> report = point_report(PreserveNeighbors(random_state=0).fit(X), X, y)
    >>> list(report.columns)
    ['recall', 'distortion', 'sharpness', 'leave_one_out', 'label_disagreement']
    >>> int(report["label_disagreement"].argmax())
    106
    """
    estimator, X = judged(estimator), as_given(X)
    embedding = estimator.embedding_
    check_rows(X, len(embedding))
    items = checked_items(items, len(embedding))
    check_integer(n_neighbors, "n_neighbors")
    columns, found = {}, None
    data = data_of_neighbors(estimator, X, metric)
    if data is not None:
        k = [min(n_neighbors, len(embedding) - 1)]
        ((hits, there),) = recall_by_item(data[0], embedding, k, data[1], items)
        none = np.full(len(items), np.nan)
        columns["recall"] = np.divide(hits, there, out=none, where=there > 0)
    if _has_pairs(estimator):
        found = estimator.distortions()
        columns["distortion"] = found.by_item("attract")[items]
        columns["sharpness"] = sharpness(estimator)[items]
    if estimator._can_leave_one_out() and not estimator._is_compact():
        columns["leave_one_out"] = leave_one_out(estimator, X, items).displacement
    if stability is not None:
        if len(stability.displacement) != len(embedding):
            raise ValueError(
                f"stability is of {len(stability.displacement)} items, but the estimator was "
                f"fitted to {len(embedding)}; pass what skmde.inspection.stability returns for it."
            )
        columns["displacement"] = stability.displacement[items]
        columns["kept_neighbors"] = stability.kept_neighbors[items]
    if y is not None and found is not None:
        columns["label_disagreement"] = found.label_disagreement(y)[items]
    return PointReport(items, columns)


def _has_pairs(estimator):
    try:
        estimator._solved_problem()
    except ValueError:  # weights of all pairs, of which there is no list
        return False
    return True
