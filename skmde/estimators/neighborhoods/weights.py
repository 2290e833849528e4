"""Weights of pairs of neighbours, by the rule that an estimator's parameter names.

The rules are those of :mod:`skmde.preprocessing.graphs.weights`, and "affinity", under which the
similarity of a pair is its weight. The unit of a rule (the width of "exponential", the mean of the
similarities) is that of the fitted samples, so that a pair has the same weight in `transform`.
"""

from __future__ import annotations

import numpy as np

from skmde.preprocessing.graphs.weights import default_width, distance_weights, weighted_graph


class NeighborWeights:
    """A rule for the weights of pairs of neighbours.

    Parameters
    ----------
    rule : {"count", "uniform", "exponential", "affinity"} or callable, default="count"
    width : float or None, default=None
        For "exponential"; None means a width of the fitted samples.
    of_similarities : bool, default=False
        Whether a distance is the reciprocal of a similarity, which functions are then given.
    """

    def __init__(self, rule="count", width=None, *, of_similarities=False):
        self._rule, self.width, self._of_similarities = rule, width, of_similarities
        self._unit = None

    def graph(self, near, device=None):
        """The symmetric graph of the weights of neighbours; the first call fits the unit.

        Parameters
        ----------
        near : csr_array of shape (n, n)
            Row i stores the distances of the neighbours of sample i.
        device : torch.device, default=None
            Where the graph is computed.
        """
        if self._rule == "exponential" and self.width is None:
            self.width = default_width(near.data)
        if self._rule == "affinity" and self._unit is None:
            self._unit = float(np.mean(1.0 / near.data)) if near.nnz else 1.0
        return weighted_graph(near, self._function(), self.width, device)

    def of_pairs(self, distances, mutual):
        """Weights of pairs of unseen samples with fitted ones.

        Parameters
        ----------
        distances : ndarray of shape (q, k)
            Infinite where there is no pair.
        mutual : ndarray of bool of shape (q, k)
            Whether the unseen sample would be a neighbour of the fitted one.

        Returns
        -------
        weights : ndarray of shape (q, k), float64
        """
        if self._rule == "count":
            return np.where(np.isfinite(distances), 1.0 + mutual, 0.0)
        weights = np.zeros(np.shape(distances))
        there = np.isfinite(distances)
        weights[there] = distance_weights(distances[there], self._function(), self.width)
        return weights

    def _function(self):
        if self._rule == "affinity":
            return self._relative
        if callable(self._rule) and self._of_similarities:
            return self._of_reciprocals
        return self._rule

    def _relative(self, distances):
        return 1.0 / (distances * self._unit)

    def _of_reciprocals(self, distances):
        return self._rule(1.0 / distances)


def check_weights(weights, width, metric):
    """Raise an error if the rule for the weights does not fit the metric.

    Parameters
    ----------
    weights : str or callable
    width : float or None
    metric : str or callable
    """
    similar = isinstance(metric, str) and metric == "affinity"
    if weights == "exponential" and similar:
        raise ValueError(
            "weights='exponential' needs distances, but metric='affinity' gives similarities. Use "
            "weights='affinity' to take these as weights, or a function of them."
        )
    if weights == "affinity" and not similar:
        raise ValueError(
            f"weights='affinity' takes similarities as weights, but metric={metric!r} gives "
            "distances. Use metric='affinity', weights='exponential' or a function of distances."
        )
    if width is not None and weights != "exponential":
        raise ValueError(
            f"weights_width={width} is the width of weights='exponential', but weights is "
            f"{weights!r}; set it to None."
        )
