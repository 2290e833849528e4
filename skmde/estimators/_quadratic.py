"""Quadratic MDE problems: spectral embeddings, solved to their global optimum."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch
from sklearn.metrics.pairwise import kernel_metrics

from skmde._linalg.signs import fix_signs
from skmde._utils.device import cpu_by_default
from skmde._utils.rows import blocks_of_rows, count_rows
from skmde._utils.sklearn_compat import Interval, StrOptions, check_is_fitted, fit_context
from skmde._utils.threads import count_threads
from skmde._utils.warn import warn
from skmde.constraints import Centered
from skmde.core.solvers.progress import progress_bar
from skmde.core.solvers.result import SolverState, asks_to_stop
from skmde.core.spectral.spectrum import SOLVERS, WATCHED, choose_solver, smallest_eigenpairs
from skmde.estimators.base.atomic import stage
from skmde.estimators.base.embedding import BaseEmbedding
from skmde.estimators.base.input import as_output
from skmde.estimators.base.peer_arguments import suggest_peer_arguments
from skmde.estimators.base.typing import Callbacks, Data, Metric, Parameters, RandomState
from skmde.estimators.spectral.methods import METHODS
from skmde.exceptions import ConvergenceWarning
from skmde.preprocessing.neighbors.search import ALGORITHMS

_FLAT = 1e-11  # part of the largest eigenvalue below which one is rounding
_EQUAL = 1e-6  # relative gap of eigenvalues below which they count as repeated
_FEW = 10_000  # samples; larger graphs get a tolerance that is enough to look at
_TOLERANCES = (1e-7, 1e-3)


class QuadraticMDE(BaseEmbedding):
    r"""Spectral embeddings: quadratic minimum-distortion embedding, solved globally.

    The embedding minimises the average distortion

    .. math:: \frac{1}{p} \sum_{(i, j)} w_{ij}\, \|x_i - x_j\|^2 = \frac{1}{p} \mathrm{tr}\,X^T L X

    over standardized embeddings: mean zero, :math:`X^T X = n I`. Its columns are
    :math:`\sqrt{n}` times eigenvectors of L. Laplacian eigenmaps, PCA, kernel PCA, locally linear
    embedding, classical multidimensional scaling, Isomap and maximum variance unfolding are such
    problems and differ in their weights only.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding: less than the number of samples, or 2.
    weights : str, default="laplacian"
        Which problem, with L and the number of pairs p:

        - "laplacian": 2 for pairs that are neighbours of each other, 1 for pairs of which one
          is a neighbour of the other; p is the number of such pairs.
        - "normalized_laplacian": the same pairs, weights divided by the mean degree (a sample's
          degree is the sum of its weights). The embedding Y is standardized in the degrees D:
          with D divided by the mean degree, too, :math:`Y^T D 1 = 0` and :math:`Y^T D Y = n I`.
          Eigenvalues are those of :math:`D^{-1/2} L D^{-1/2}`, from 0 to 2.
        - "pca": inner products of the centred rows; :math:`L = -Y Y^T`; p is the number of all
          pairs, n (n - 1) / 2, as for all that follow but "lle" and "precomputed".
        - "kernel_pca": the centred kernel matrix; L is minus it.
        - "lle": locally linear embedding, :math:`L = (I - W)^T (I - W)` for reconstruction weights
          W; p is the number of pairs with an entry in L.
        - "classical_mds": doubly centred squared distances; L is half of them.
        - "isomap": the same with lengths of shortest paths in the graph of neighbours.
        - "mvu": maximum variance unfolding; L is minus the Gram matrix of greatest variance that
          keeps the distances of neighbours, for up to about a thousand samples; needs
          ``skmde[mvu]``.
        - "precomputed": X is the matrix of weights, dense or sparse, of any sign; p is the number
          of pairs whose weight is not 0.
    n_neighbors : int or None, default=15
        Number of neighbours of each sample, for the weights "laplacian", "normalized_laplacian",
        "lle", "isomap" and "mvu". None takes all that precomputed neighbours store.
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows. "precomputed",
        for weights of distances only ("laplacian", "normalized_laplacian", "classical_mds",
        "isomap"): X is a matrix of distances, or, but for "classical_mds", a sparse graph or a pair
        (indices, distances) of neighbour tables. "pca" and "kernel_pca" have no metric.
    metric_params : dict, default=None
        Further parameters of the metric.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        How neighbours are searched; see :class:`skmde.PreserveNeighbors`.
    kernel : str or callable, default="linear"
        Kernel of "kernel_pca", as in :class:`sklearn.decomposition.KernelPCA`; "precomputed": X is
        the kernel matrix.
    gamma : float, default=None
        Coefficient of the kernels "rbf", "poly" and "sigmoid"; None is 1 / n_features.
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant of the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Parameters of a kernel that is a function.
    solver : {"auto", "dense", "lanczos", "lobpcg", "lbfgs"}, default="auto"
        How eigenvectors are found. "auto" decomposes small matrices and takes LOBPCG for all
        others. The results of "auto" (up to 40 components), "lobpcg" and "lbfgs" are the same to
        the last bit for any number of threads, as far as the matrix itself is: products of
        kernels and data are BLAS's. "dense" and "lanczos" are equal to rounding.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=None
        Largest norm of the residuals of unit eigenvectors, in units of the largest of the
        eigenvalues used. None is 1e-7, but 1e-3 for graphs of more than 10,000 samples, where
        eigenvalues are more precise than that by far.
    random_state : int, RandomState instance or None, default=None
        Seeds approximate searches for neighbours.
    n_jobs : int, default=None
        Limit on the number of threads; None is torch's number (``torch.get_num_threads()``).
    callbacks : list of callable, default=None
        Called after every iteration of the solvers "lobpcg" and "lbfgs" with a state that has
        `iteration`, `X` (the embedding by then), `value` (its average distortion) and
        `residual_norm` (2 sqrt(n) / p times the norm of the residuals of the eigenvectors);
        returning True ends the iteration. "dense" and "lanczos" have no steps to be seen.
    verbose : int, default=0
        1 shows the progress of the iteration, and before it that of the search for shortest paths,
        or of the semidefinite program.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding, in the float dtype of X; signs are fixed by rule. Columns for which there
        is no usable eigenvalue are zero, with a warning.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L, increasing: negative for inner products, of which the most negative
        are the largest variances. 0 for columns that are zero.
    dual_ : ndarray of shape (n_components, n_components)
        The multiplier of the constraint, diagonal: n / p times the eigenvalues.
    distortion_ : float
        Average distortion: the trace of `dual_`, n / p times the sum of the eigenvalues.
    n_pairs_ : int
        The number p.
    graph_ : csr_array of shape (n_samples, n_samples)
        The weights, for graphs of neighbours, "lle" and "precomputed"; the neighbours whose
        distances are kept, for "mvu".
    n_iter_ : int
        Number of iterations; 1 for a matrix that was decomposed.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if X had string names.

    See Also
    --------
    skmde.PreserveNeighbors : Other penalties for the same graph.
    skmde.PreserveDistances : Losses that compare distances.

    Notes
    -----
    In a graph of several connected parts, vectors that are constant on each part have eigenvalue 0
    and come first. The largest part is told from the others by the first of them, the next
    largest from those that are smaller by the second, and so on; a warning says so. For "isomap"
    and "mvu" of rows, each two parts are joined by their closest pair; pairs of precomputed
    distances that no path joins count as twice the longest distance apart.

    The embedding is unique up to the signs, which are fixed, if the eigenvalues used differ from
    each other and from the next one. A warning says if the next one is the same.

    References
    ----------
    A. Agrawal, A. Ali, S. Boyd, *Minimum-Distortion Embedding*, 2021: chapter 3 (quadratic
    problems and historical examples), section 2.4.2 (unseen items).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmde import QuadraticMDE
    >>> X, _ = load_digits(return_X_y=True)
    >>> estimator = QuadraticMDE(weights="pca").fit(X[:500])
    >>> estimator.embedding_.shape
    (500, 2)
    >>> estimator.transform(X[500:510]).shape
    (10, 2)
    """

    _source = "_fitted"

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions(set(METHODS))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "neighbors_algorithm": [StrOptions(set(ALGORITHMS))],
        "kernel": [StrOptions({*kernel_metrics(), "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "callbacks": ["array-like", None],
        "verbose": ["verbose"],
    }

    @suggest_peer_arguments
    def __init__(
        self,
        n_components: int = 2,
        *,
        weights: str = "laplacian",
        n_neighbors: int | None = 15,
        metric: Metric = "euclidean",
        metric_params: Parameters | None = None,
        neighbors_algorithm: str = "auto",
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Parameters | None = None,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        callbacks: Callbacks | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.neighbors_algorithm = neighbors_algorithm
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callbacks = callbacks
        self.verbose = verbose

    def _is_precomputed(self):
        # tags are asked for before the parameters are checked
        method = METHODS.get(self.weights) if isinstance(self.weights, str) else None
        return method is not None and method.takes_distances and self._is("precomputed")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kernel = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = (
            self._is_precomputed()
            or self.weights == "precomputed"
            or (self.weights == "kernel_pca" and kernel)
        )
        return tags

    @fit_context
    def fit(self, X: Data, y: Any = None) -> Self:
        """Find the weights, and the best embedding for them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or what `weights`, `metric` or `kernel` say.
        y : None
            Ignored.

        Returns
        -------
        self : QuadraticMDE
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter makes no problem; the message says why.
        ImportError
            If ``weights="mvu"`` and cvxpy is not installed.

        Warns
        -----
        UserWarning
            If the graph is not connected, there are fewer usable eigenvalues than components, the
            last one used is repeated, or `n_neighbors` exceeds the number of other samples.
        ConvergenceWarning
            If `max_iter` iterations were not enough.
        """
        with self._all_or_nothing() as fitted:
            fitted._fit(X)
        return self

    def _fit(self, X):
        self._check_parameters()
        X, n = self._training(X)
        m = self.n_components
        callbacks = [*self._callbacks(), *self._fit_callbacks(X, None)]
        with stage("weights"):
            problem = METHODS[self.weights].build(X, self)
        with stage("solve"):
            found = self._solve(problem, callbacks)
        values, vectors = self._usable(problem, found.values, found.vectors)
        self._warn(problem, found, len(values))
        self.embedding_ = as_output(self._lifted(problem, values, vectors), X)
        self.eigenvalues_ = np.zeros(m)
        self.eigenvalues_[: len(values)] = values * problem.squared_unit
        self.n_pairs_ = problem.n_pairs
        self.dual_ = np.diag(n / problem.n_pairs * self.eigenvalues_)
        self.distortion_ = float(np.trace(self.dual_))
        self.n_iter_ = max(found.n_iter, 1)
        self.__dict__.pop("graph_", None)
        if problem.graph is not None:
            self.graph_ = problem.graph
        problem.drop_training_state()
        self._fitted = problem

    def _solve(self, problem, callbacks):
        """The bottom of the spectrum."""
        form, n_known = problem.form, len(problem.separating[: self.n_components])
        count = min(self.n_components - n_known, form.null.shape[1] - len(form.null))
        tol = self._tolerance(problem.n_items)
        solver = choose_solver(form, count, self.solver, tol)
        verbose = self.verbose if solver in WATCHED else 0
        with progress_bar(verbose, self.max_iter) as bar:
            return smallest_eigenpairs(
                form,
                count,
                solver,
                tol=tol,
                max_iter=self.max_iter,
                n_threads=count_threads(self.n_jobs),
                watch=self._watch(problem, [*callbacks, *bar]),
            )

    def _watch(self, problem, callbacks):
        """What shows the steps of the iteration to callbacks."""
        if not callbacks:
            return None
        n, unit = problem.n_items, problem.squared_unit / problem.n_pairs
        kept = copy.copy(problem)  # states may be asked for X after the fit

        def watch(step, values, vectors, norm):
            values, vectors = self._usable(problem, values, vectors)
            value, norm = n * unit * values.sum(), 2 * np.sqrt(n) * unit * norm

            def embedding():
                return torch.from_numpy(self._lifted(kept, values, vectors))

            return asks_to_stop(callbacks, SolverState(step, float(value), norm, embedding))

        return watch

    def _usable(self, problem, values, vectors):
        """Eigenvalues and vectors of columns that are not zero, those known beforehand first."""
        known = problem.separating[: self.n_components]
        values = np.concatenate([np.zeros(len(known)), values])
        vectors = np.concatenate([known, vectors])
        if METHODS[self.weights].is_gram:
            # what does not lower the distortion is no direction of the data
            kept = values < -max(problem.rounding, _FLAT * -values.min(initial=0.0))
            values, vectors = values[kept], vectors[kept]
        return values, vectors

    def _lifted(self, problem, values, vectors):
        """The embedding of eigenvectors."""
        embedding = np.zeros((problem.n_items, self.n_components))
        embedding[:, : len(values)] = problem.lift(vectors, values).T
        return fix_signs(embedding)

    def _check_parameters(self):
        """What scikit-learn's check of one parameter at a time cannot see."""
        super()._check_parameters()
        if isinstance(self.kernel, type):
            raise ValueError(
                f"kernel must be a name, or a function of two rows; got the type {self.kernel!r}."
            )
        if self._is("precomputed") and not METHODS[self.weights].takes_distances:
            advice = {
                "kernel_pca": "Use kernel='precomputed' for a matrix of inner products.",
                "precomputed": "X holds weights then; leave metric as it is.",
            }.get(self.weights, "Use weights='classical_mds' for a matrix of distances.")
            raise ValueError(
                f"metric='precomputed' does not go with weights={self.weights!r}, which need "
                f"more than distances. {advice}"
            )

    def _tolerance(self, n):
        if self.tol is not None:
            return self.tol
        return _TOLERANCES[n > _FEW and not METHODS[self.weights].is_gram]

    def _training(self, X):
        """X, checked, and the number of samples."""
        X = self._checked_input(X)
        n = count_rows(X)
        self._check_size(n, Centered())  # columns that find no room are zero
        return X, n

    def _is_pair(self, X):
        enough = METHODS[self.weights].takes_neighbors
        return enough and self._is_precomputed() and isinstance(X, tuple)

    def _warn(self, problem, found, n_usable):
        m = self.n_components
        n_parts = len(problem.separating) + 1
        if n_parts > 1:
            more = " at least" if n_parts > m else ""
            warn(
                f"The graph has{more} {n_parts} connected parts. The first {min(m, n_parts - 1)} "
                "columns of the embedding tell them apart and say nothing of what is within. "
                "Raise n_neighbors, or embed the parts one by one.",
            )
        if n_usable < m:
            warn(
                f"Only {n_usable} eigenvalues are usable, fewer than n_components={m}; the other "
                "columns of the embedding are zero. Use fewer components.",
            )
        elif n_parts <= m and found.following is not None:
            last = found.values[-1]
            size = max(abs(last), abs(found.following))
            if found.following - last <= _EQUAL * size and size > _FLAT * problem.form.bound:
                warn(
                    f"Eigenvalues {m} and {m + 1} are the same, {last * problem.squared_unit:.6g}, "
                    "so other embeddings are as good as this one. Change n_components to have "
                    "all or none of them.",
                )
        if not found.converged:
            warn(
                f"The eigenvectors are not precise after max_iter={self.max_iter} iterations; "
                "raise max_iter or tol, or use solver='dense' for few samples.",
                ConvergenceWarning,
            )

    def transform(self, X: Data) -> np.ndarray:
        """Place unseen samples in the embedding of the training samples.

        Samples do not influence each other, so a row's place does not depend on the rest of X. A
        sample that equals a training sample, or whose nearest neighbour is at distance 0, gets that
        sample's vector. All others, by `weights`:

        - "pca": the linear projection, exact.
        - "kernel_pca", "classical_mds", "isomap": Nystrom's extension, from the products with, or
          the distances to, all training samples.
        - "laplacian", "normalized_laplacian": the weighted mean of the nearest training samples,
          where a sample's distortion to them is least.
        - "lle", "mvu": the combination of the nearest training samples that reconstructs its row.
        - "precomputed": X holds weights (n_new, n_samples); the weighted mean of the training
          samples. A row of zeros gets the mean of all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; or distances, products or weights (n_new, n_samples), as for `fit`.

        Returns
        -------
        embedding : ndarray of shape (n_new, n_components)
            In X's float dtype.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X does not fit the training data; or if given weights of an unseen sample sum to a
            number that is not positive, so that no place is best.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            embedding = self.embedding_.astype(np.float64)
            # others compare a row with its neighbours only
            whole = not METHODS[self.weights].is_gram
            coordinates = [
                self._fitted.place(part, embedding, self.eigenvalues_)
                for part in ([X] if whole else blocks_of_rows(X, len(embedding)))
            ]
            return as_output(np.concatenate(coordinates), X)
