"""Semi-supervised classification by an anchored embedding: labelled samples are the anchors."""

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
from skmde._views.thumbnail import thumbnail
from skmde.estimators._anchored import AnchoredMDE
from skmde.estimators.base.callbacks import FitCallbacksMixin
from skmde.estimators.base.input import InputMixin
from skmde.estimators.base.peer_arguments import suggest_peer_arguments
from skmde.estimators.base.typing import Data, Device, Metric, Parameters, RandomState
from skmde.estimators.judging.mixin import JudgingMixin
from skmde.estimators.pairs.anchored import why_no_support
from skmde.estimators.planning.mixin import PlanningMixin
from skmde.estimators.representation.mixin import RepresentationMixin
from skmde.estimators.samples.labels import known_labels
from skmde.estimators.samples.supervision import checked_sample_weight
from skmde.estimators.unseen.support import SupportMixin
from skmde.preprocessing.neighbors.search import ALGORITHMS


class AnchoredClassifier(
    ClassifierMixin,
    SupportMixin,
    JudgingMixin,
    RepresentationMixin,
    FitCallbacksMixin,
    PlanningMixin,
    InputMixin,
    BaseEstimator,
):
    r"""Semi-supervised classifier for partially labelled data.

    Each class is a corner of a simplex, and each labelled sample is anchored at the corner of its
    class. :class:`AnchoredMDE` with the quadratic penalty places the unlabelled samples: each is at
    the weighted mean of its neighbours. Its coordinates are at least 0 and sum to 1; they are the
    probabilities of the classes. A coordinate is also the probability that a random walk on the
    neighbour graph, started at the sample, reaches a label of that class first (the harmonic
    function of Zhu, Ghahramani and Lafferty).

    Parameters
    ----------
    n_neighbors : int, default=None
        Number of neighbours of each sample; see :class:`AnchoredMDE`.
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows.
        "precomputed": X holds distances, in the forms that :class:`PreserveNeighbors` takes.
        "affinity": X is a graph, given as a sparse or dense matrix of weights or a networkx graph.
    metric_params : dict, default=None
        Additional parameters of the metric.
    max_distance : float, default=None
        Samples farther apart than this are not neighbours.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Algorithm of the neighbour search; see :class:`PreserveNeighbors`.
    random_state : int, RandomState instance or None, default=None
        Seeds approximate neighbours.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number.
    device : None, str or torch.device, default=None
        Device of the neighbour search with ``neighbors_algorithm="torch"``.
    memory_limit : float, str or None, default=None
        Memory that `fit` may need, beyond what is in use: bytes, or a text such as "4GB". None
        means what is free. `fit` raises an error before it begins if it needs more; `plan` says how
        much.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The known labels, sorted.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes for the samples given to `fit`.
    transduction_ : ndarray of shape (n_samples,)
        Label of each sample given to `fit`: the given label if known, else the most probable one.
    embedding_estimator_ : AnchoredMDE
        The fitted embedding estimator.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string names.

    See Also
    --------
    AnchoredMDE : Coordinates instead of labels, and other penalties.
    sklearn.semi_supervised.LabelSpreading : Can also change given labels.

    Notes
    -----
    In cross-validation, `score` ignores samples with unknown labels. Mark these by -1 or None:
    scikit-learn cannot stratify an array of floats that contains NaN, so NaN needs
    ``cv=KFold()``. Other scores, such as ``scoring="accuracy"``, treat -1 as a class that is never
    predicted.

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
        "memory_limit": [Real, str, None],
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
        memory_limit: float | str | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.max_distance = max_distance
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.memory_limit = memory_limit

    _square_metrics = ("precomputed", "affinity")
    _training_data_attribute = "embedding_estimator_"

    @fit_context
    def fit(self, X: Data, y: Any) -> Self:
        """Compute the class probabilities of all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or distances or a graph, depending on `metric`.
        y : array-like of shape (n_samples,)
            Label of each sample: a number, a string or a date. -1, None or NaN marks an unknown
            label, as -1 does for scikit-learn's semi-supervised classifiers. -1 is an ordinary
            label if y contains None or NaN, or if y contains only -1 and 1.

        Returns
        -------
        self : AnchoredClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid, if no label is known, or if the fit needs more
            memory than `memory_limit` allows; the message says what to change.
        TypeError
            If `metric` is a class in place of a function.
        ImportError
            If ``neighbors_algorithm="faiss"`` and faiss is not installed.
        MemoryError
            If the memory of a GPU is used up.

        Warns
        -----
        UserWarning
            If no chain of neighbours connects some samples to a labelled one; they get the class
            frequencies of the labelled samples. If -1 may be meant otherwise: beside 1 alone, where
            it is treated as a class, and beside one other number or further negative numbers, where
            it marks unknown labels.
        """
        with self._all_or_nothing() as fitted:
            fitted._fit(X, y)
        n_loose = self.embedding_estimator_.n_loose_
        if n_loose:
            warn(
                f"No chain of neighbours connects {n_loose} samples to a labelled one, so they get "
                "the class frequencies of the labelled samples. Label more samples, or raise "
                "n_neighbors.",
            )
        return self

    def _fit(self, X, y):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None. Pass one label for each sample, -1 if it is unknown."
            )
        X = self._checked_input(X)
        self._fit_callbacks(X, None)  # starts the fit's task, which has no subtasks
        labelled, labels = known_labels(y, count_rows(X))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        estimator = self._embedding_estimator()
        estimator._holdout = self._holdout
        corners = np.eye(len(self.classes_))
        estimator._fit(X, None, labelled, corners[codes])
        self.embedding_estimator_ = estimator
        self.label_distributions_ = _probabilities(estimator.embedding_)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]

    def _embedding_estimator(self):
        return AnchoredMDE(
            n_neighbors=self.n_neighbors,
            metric=self.metric,
            metric_params=self.metric_params,
            max_distance=self.max_distance,
            neighbors_algorithm=self.neighbors_algorithm,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            device=self.device,
            memory_limit=self.memory_limit,
        )

    def _stages(self, size, n_fitted=0):
        return self._embedding_estimator()._stages(size)

    def _solved_problem(self):
        return self.embedding_estimator_._solved_problem()

    def _facts(self):
        return {"classes": f"{len(self.classes_):,}"} | self.embedding_estimator_._facts()

    def _picture(self):
        n_classes = self.label_distributions_.shape[1]
        if n_classes < 3:
            return thumbnail(self.label_distributions_[:, :1])
        # The corners of the simplex, a dimension for each class, are set on a circle.
        angles = 2 * np.pi * np.arange(n_classes) / n_classes
        corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return thumbnail(self.label_distributions_ @ corners)

    def _is_compact(self):
        return self.embedding_estimator_._is_compact()

    def compact(self) -> Self:
        """Discard the training data; see :meth:`AnchoredMDE.compact`.

        Returns
        -------
        self : AnchoredClassifier
            The classifier. It keeps the probabilities of the samples given to `fit`.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        """
        check_is_fitted(self)
        self.embedding_estimator_.compact()
        return self

    def predict_proba(self, X: Data) -> np.ndarray:
        """Predict the class probabilities of unseen samples.

        A sample gets the weighted mean of the probabilities of its nearest neighbours among the
        fitted samples. Unseen samples do not influence each other. A sample that equals a fitted
        sample gets the probabilities of that sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; or their distances to, or weights with, the fitted samples, depending on
            `metric`.

        Returns
        -------
        probabilities : ndarray of shape (n_new, n_classes)
            Probabilities of the classes, in the order of ``classes_``.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is invalid, if it does not match the training data, or if `compact` discarded
            them.
        """
        check_is_fitted(self)
        X = self._checked_unseen(X)
        return _probabilities(self.embedding_estimator_.transform(X))

    def _why_no_support(self):
        return why_no_support(self.metric)

    def _support(self, X):
        return self.embedding_estimator_._support(X)

    def _support_of_fitted(self):
        return self.embedding_estimator_._support_of_fitted()

    def predict(self, X: Data) -> np.ndarray:
        """Predict the most probable class of unseen samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `predict_proba`.

        Returns
        -------
        labels : ndarray of shape (n_new,)
            Predicted labels; the first of equally probable classes.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict_proba`.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def score(self, X: Data, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on the samples whose class is known.

        Samples of unknown class are ignored, so a parameter search can split partially labelled
        data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As for `predict_proba`.
        y : array-like of shape (n_new,)
            Classes of the samples. None or NaN marks an unknown class. -1 also does, unless -1 is
            one of ``classes_`` or y contains None or NaN.
        sample_weight : array-like of shape (n_new,), default=None
            Weights of the samples, at least 0.

        Returns
        -------
        score : float
            Between 0 and 1.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is not as `predict_proba` takes it, no class is known, or all samples of known
            class have weight 0.
        """
        predicted = self.predict(X)
        known, labels = known_labels(y, len(predicted), self.classes_)
        if sample_weight is not None:
            sample_weight = checked_sample_weight(sample_weight, len(predicted))[known]
            if not sample_weight.any():
                raise ValueError(
                    "All samples whose class is known have sample_weight 0; give some of them a "
                    "positive weight."
                )
        return float(accuracy_score(labels, predicted[known], sample_weight=sample_weight))


def _probabilities(coordinates):
    """Class probabilities from coordinates; removes rounding errors."""
    coordinates = np.maximum(coordinates, 0.0)
    return coordinates / coordinates.sum(axis=1, keepdims=True)
