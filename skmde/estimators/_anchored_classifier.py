"""Semi-supervised classification: known labels are anchors, the others follow their neighbours."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from skmde._utils.rows import count_rows
from skmde._utils.sklearn_compat import (
    BaseEstimator,
    Interval,
    StrOptions,
    check_is_fitted,
    fit_context,
)
from skmde._utils.warn import warn
from skmde.estimators._anchored import AnchoredMDE
from skmde.estimators.base.callbacks import FitCallbacksMixin
from skmde.estimators.base.input import InputMixin
from skmde.estimators.base.peer_arguments import suggest_peer_arguments
from skmde.estimators.base.typing import Data, Device, Metric, Parameters, RandomState
from skmde.estimators.samples.labels import known_labels
from skmde.estimators.samples.supervision import checked_sample_weight
from skmde.preprocessing.neighbors.search import ALGORITHMS


class AnchoredClassifier(ClassifierMixin, FitCallbacksMixin, InputMixin, BaseEstimator):
    r"""Classifier for data of which some labels are known.

    Each class is a corner of a simplex, and a labelled sample is anchored at the corner of its
    class. The others are placed by :class:`AnchoredMDE` with the quadratic penalty: each is at the
    weighted mean of its neighbours, and its coordinates, which are at least 0 and sum to 1, are
    the probabilities of the classes. A coordinate is also the chance that a random walk from
    the sample over the graph of neighbours meets a label of that class first (the harmonic function
    of Zhu, Ghahramani and Lafferty).

    Parameters
    ----------
    n_neighbors : int, default=None
        Number of neighbours of each sample; see :class:`AnchoredMDE`.
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows.
        "precomputed": X holds distances, as for :class:`PreserveNeighbors`. "affinity": X is a
        graph, a sparse or dense matrix of weights or a networkx graph.
    metric_params : dict, default=None
        Further parameters of the metric.
    max_distance : float, default=None
        Samples farther apart than this are no neighbours.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        How neighbours are searched; see :class:`PreserveNeighbors`.
    random_state : int, RandomState instance or None, default=None
        Seeds approximate neighbours.
    n_jobs : int, default=None
        Limit on the number of threads; None is torch's number.
    device : None, str or torch.device, default=None
        Where the neighbours are compared by the algorithm "torch".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The known labels, sorted.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes for the samples given to `fit`.
    transduction_ : ndarray of shape (n_samples,)
        Label of each sample given to `fit`: its own if known, else the most probable one.
    embedding_estimator_ : AnchoredMDE
        What placed them.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if X had string names.

    See Also
    --------
    AnchoredMDE : Coordinates instead of labels, and other penalties.
    sklearn.semi_supervised.LabelSpreading : Also lets given labels change.

    Notes
    -----
    Under cross-validation, `score` leaves out the samples whose labels are not known. There, mark
    them by -1, or by None: scikit-learn does not split by class an array of floats that holds NaN,
    and needs ``cv=KFold()`` for that. Other scores than the estimator's own, such as
    ``scoring="accuracy"``, take -1 for a class that is never predicted.

    References
    ----------
    A. Agrawal, A. Ali, S. Boyd, *Minimum-Distortion Embedding*, 2021: section 2.4.2
    (semi-supervised learning).
    X. Zhu, Z. Ghahramani, J. Lafferty, *Semi-supervised learning using Gaussian fields and harmonic
    functions*, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from skmde import AnchoredClassifier
    >>> X, labels = load_digits(return_X_y=True)
    >>> y = np.full(1000, -1)
    >>> y[:100] = labels[:100]
    >>> classifier = AnchoredClassifier(n_neighbors=7).fit(X[:1000], y)
    >>> bool(np.mean(classifier.transduction_[100:] == labels[100:1000]) > 0.9)
    True
    >>> bool(classifier.score(X[1000:], labels[1000:]) > 0.85)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "max_distance": [Interval(Real, 0, None, closed="neither"), None],
        "neighbors_algorithm": [StrOptions(set(ALGORITHMS))],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str, torch.device, None],
    }

    @suggest_peer_arguments
    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        metric: Metric = "euclidean",
        metric_params: Parameters | None = None,
        max_distance: float | None = None,
        neighbors_algorithm: str = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        device: Device = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.max_distance = max_distance
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    _square = ("precomputed", "affinity")
    _source = "embedding_estimator_"

    @fit_context
    def fit(self, X: Data, y: Any) -> Self:
        """Give every sample probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or distances or a graph, as `metric` says.
        y : array-like of shape (n_samples,)
            Label of each sample, a number, a string or a date: -1, None or NaN where it is not
            known. Where None or NaN says so, or where beside it there is one other number only, -1
            is a label like others.

        Returns
        -------
        self : AnchoredClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter make no problem; the message says why.

        Warns
        -----
        UserWarning
            If no chain of neighbours joins some samples to a labelled one: they get the shares of
            the classes among the known labels. If y is -1 and one other label: -1 is taken for
            a class.
        """
        with self._all_or_nothing() as fitted:
            fitted._fit(X, y)
        n_loose = self.embedding_estimator_.n_loose_
        if n_loose:
            warn(
                f"No chain of neighbours joins {n_loose} samples to a labelled one, so they get "
                "the shares of the classes among the known labels. Label more samples, or raise "
                "n_neighbors.",
            )
        return self

    def _fit(self, X, y):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None. Give each sample its label, -1 if it is not known."
            )
        X = self._checked_input(X)
        self._fit_callbacks(X, None)  # a task without iterations that can be told
        labelled, labels = known_labels(y, count_rows(X))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        estimator = AnchoredMDE(
            n_neighbors=self.n_neighbors,
            metric=self.metric,
            metric_params=self.metric_params,
            max_distance=self.max_distance,
            neighbors_algorithm=self.neighbors_algorithm,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            device=self.device,
        )
        corners = np.eye(len(self.classes_))
        estimator._fit(X, None, labelled, corners[codes])
        self.embedding_estimator_ = estimator
        self.label_distributions_ = _probabilities(estimator.embedding_)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]

    def _is_compact(self):
        return self.embedding_estimator_._is_compact()

    def compact(self) -> Self:
        """Forget the training data; see :meth:`AnchoredMDE.compact`.

        Returns
        -------
        self : AnchoredClassifier
            The classifier, with the probabilities of the samples given to `fit`.
        """
        check_is_fitted(self)
        self.embedding_estimator_.compact()
        return self

    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes.

        A sample gets the weighted mean of the probabilities of its nearest neighbours among the
        fitted samples. Samples do not influence each other. One that equals a fitted sample gets
        that sample's probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; or their distances to the fitted samples, or weights, as `metric` says.

        Returns
        -------
        probabilities : ndarray of shape (n_new, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        X = self._checked_unseen(X)
        return _probabilities(self.embedding_estimator_.transform(X))

    def predict(self, X: Data) -> np.ndarray:
        """The most probable class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `predict_proba`.

        Returns
        -------
        labels : ndarray of shape (n_new,)
            Of equally probable classes, the first.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def score(self, X: Data, y: Any, sample_weight: Any = None) -> float:
        """Share of the samples whose class is predicted, of those whose class is known.

        So a search for parameters may split data that are labelled in part, as `fit` takes them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `predict_proba`.
        y : array-like of shape (n_new,)
            Their classes. Samples do not count if theirs is None or NaN; nor if it is -1, unless
            that is one of ``classes_`` or None or NaN is there as well.
        sample_weight : array-like of shape (n_new,), default=None
            Weights of the samples, at least 0.

        Returns
        -------
        score : float
            Between 0 and 1.

        Raises
        ------
        ValueError
            If no class is known, or those samples all have the weight 0.
        """
        predicted = self.predict(X)
        known, labels = known_labels(y, len(predicted), self.classes_)
        if sample_weight is not None:
            sample_weight = checked_sample_weight(sample_weight, len(predicted))[known]
            if not sample_weight.any():
                raise ValueError(
                    "All samples whose class is known have the sample_weight 0; some must count."
                )
        return float(accuracy_score(labels, predicted[known], sample_weight=sample_weight))


def _probabilities(coordinates):
    """Rows in the simplex, which rounding may have left by a hair."""
    coordinates = np.maximum(coordinates, 0.0)
    return coordinates / coordinates.sum(axis=1, keepdims=True)
