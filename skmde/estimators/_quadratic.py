"""Quadratic MDE problems: spectral embeddings, solved to the global optimum."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.metrics.pairwise import kernel_metrics

from skmde._linalg.signs import fix_signs
from skmde._utils.device import cpu_by_default
from skmde._utils.rows import blocks_of_rows, count_rows, rows_of
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
from skmde.estimators.base.peer_arguments import suggest_spectral_arguments
from skmde.estimators.base.typing import Callbacks, Data, Metric, Parameters, RandomState
from skmde.estimators.judging.problem import SolvedProblem
from skmde.estimators.judging.redundancy import HeldOutPairs, without_pairs
from skmde.estimators.samples.support import support_by_tables, support_of_tables
from skmde.estimators.spectral.methods import METHODS
from skmde.estimators.unseen.support import SupportMixin
from skmde.exceptions import ConvergenceWarning
from skmde.functions.powers import Quadratic
from skmde.preprocessing.dimension import intrinsic_dimension
from skmde.preprocessing.graphs.weights import edges_from_graph
from skmde.preprocessing.neighbors.search import ALGORITHMS

_FLAT = 1e-11  # eigenvalues below this fraction of the largest are rounding errors
_LOST = 1e-2  # errors of eigenvalues, relative to the largest wanted, that a user must know of
_EQUAL = 1e-6  # eigenvalues with a smaller relative gap count as repeated
_FEW = 10_000  # samples; larger graphs get the looser tolerance, which is enough for a plot
_TOLERANCES = (1e-7, 1e-3)
_SHOWN = 5  # eigenvalues that a notebook shows


class QuadraticMDE(SupportMixin, BaseEmbedding):
    r"""Quadratic minimum-distortion embedding (spectral embedding), solved globally.

    The embedding minimises the average distortion

    .. math:: \frac{1}{p} \sum_{(i, j)} w_{ij}\, \|x_i - x_j\|^2 = \frac{1}{p} \mathrm{tr}\,X^T L X

    over standardized embeddings: mean zero and :math:`X^T X = n I`. The columns of the solution are
    :math:`\sqrt{n}` times eigenvectors of L. Laplacian eigenmaps, PCA, kernel PCA, locally linear
    embedding, classical multidimensional scaling, Isomap and maximum variance unfolding solve this
    problem and differ only in the weights.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding. It must be less than the number of samples, or 2.
    weights : str, default="laplacian"
        Weights of the pairs, which define L, and the number of pairs p. In "pca" and the methods
        after it, p is the number of all pairs, n (n - 1) / 2, unless stated otherwise.

        - "laplacian": 2 if each sample is a neighbour of the other, 1 if only one is a neighbour
          of the other; p is the number of these pairs.
        - "normalized_laplacian": the same pairs, with weights divided by the mean degree (the
          degree of a sample is the sum of its weights). With D the diagonal matrix of degrees,
          also divided by the mean degree, the embedding Y satisfies :math:`Y^T D 1 = 0` and
          :math:`Y^T D Y = n I`. The eigenvalues are those of :math:`D^{-1/2} L D^{-1/2}`, between 0
          and 2.
        - "pca": inner products of the centred rows Y; :math:`L = -Y Y^T`.
        - "kernel_pca": the centred kernel matrix K; :math:`L = -K`.
        - "lle": locally linear embedding, :math:`L = (I - W)^T (I - W)` for reconstruction weights
          W; p is the number of pairs with an entry in L.
        - "classical_mds": doubly centred squared distances; L is half of this matrix. For rows
          under the Euclidean metric, this is PCA, and computed as such.
        - "isomap": as "classical_mds", with lengths of shortest paths in the neighbour graph.
        - "mvu": maximum variance unfolding. L is minus the Gram matrix that has maximum variance
          and preserves the distances between neighbours. Suitable for up to about a thousand
          samples; needs ``skmde[mvu]``.
        - "precomputed": X is the matrix of weights, dense or sparse, of any sign; p is the number
          of pairs of nonzero weight.
    n_neighbors : int, default=None
        Number of neighbours of each sample, for the weights "laplacian", "normalized_laplacian",
        "lle", "isomap" and "mvu". None means 15, but a tenth of the number of samples for fewer
        than 150 samples, and at least 5. With a precomputed sparse graph or neighbour tables, None
        uses all stored entries, unless they are the distances of all pairs.
    metric : str or callable, default="euclidean"
        Any metric that scikit-learn or pynndescent names, or a function of two rows. With
        "precomputed", X is a matrix of distances; for all weights but "classical_mds" it may also
        be a sparse graph, or a pair (indices, distances) of neighbour tables. "precomputed" is
        available for weights that need distances only: "laplacian", "normalized_laplacian",
        "classical_mds" and "isomap". "pca" and "kernel_pca" do not use a metric.
    metric_params : dict, default=None
        Additional parameters of the metric.
    neighbors_algorithm : {"auto", "exact", "faiss", "pynndescent", "torch"}, default="auto"
        Algorithm of the neighbour search; see :class:`skmde.PreserveNeighbors`.
    kernel : str or callable, default="linear"
        Kernel of "kernel_pca", as in :class:`sklearn.decomposition.KernelPCA`. With "precomputed",
        X is the kernel matrix.
    gamma : float, default=None
        Coefficient of the kernels "rbf", "poly" and "sigmoid". None means 1 / n_features.
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant of the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Parameters of a kernel that is a function.
    solver : {"auto", "dense", "lanczos", "lobpcg", "lbfgs"}, default="auto"
        Eigenvalue solver. "auto" decomposes small matrices and uses LOBPCG for all others. With
        "auto" (up to 40 components), "lobpcg" and "lbfgs", results are identical to the last bit
        for any number of threads, provided the matrix is: inner products and kernels are computed
        by BLAS, which does not guarantee this. With "dense" and "lanczos", results are identical
        up to rounding errors.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=None
        Tolerance: the largest norm of the residuals of unit eigenvectors, relative to the largest
        of the eigenvalues used. None means 1e-7, or 1e-3 for graphs of more than 10,000 samples,
        where the eigenvalues are far more precise than the tolerance.
    random_state : int, RandomState instance or None, default=None
        Seeds approximate neighbour searches.
    n_jobs : int, default=None
        Maximum number of threads. None means torch's number (``torch.get_num_threads()``).
    memory_limit : float, str or None, default=None
        Memory that `fit` may need, beyond what is in use: bytes, or a text such as "4GB". None
        means what is free. `fit` raises an error before it begins if it needs more; `plan` says how
        much.
    callbacks : list of callable, default=None
        Functions called after every iteration of the solvers "lobpcg" and "lbfgs" with a state that
        has the attributes `iteration`, `X` (the current embedding), `value` (its average
        distortion) and `residual_norm` (2 sqrt(n) / p times the norm of the residuals of the
        eigenvectors). The iteration stops if one of them returns True. "dense" and "lanczos" do not
        call them.
    verbose : int, default=0
        1 shows the progress of the iteration, and of the search for shortest paths or the
        semidefinite program that precedes it, and the seconds of each stage, on stderr.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding, in the float dtype of X, with a fixed sign convention. Columns without a
        usable eigenvalue are zero, and `fit` warns.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L in ascending order. For inner products they are negative; the most negative
        one corresponds to the largest variance. 0 for columns that are zero.
    dual_ : ndarray of shape (n_components, n_components)
        The multiplier of the constraint: a diagonal matrix, n / p times the eigenvalues.
    distortion_ : float
        Average distortion: the trace of `dual_`, n / p times the sum of the eigenvalues.
    n_pairs_ : int
        The number of pairs p.
    graph_ : csr_array of shape (n_samples, n_samples)
        The weights, for neighbour graphs, "lle" and "precomputed"; the graph of neighbours whose
        distances are preserved, for "mvu". Other methods do not set it.
    n_iter_ : int
        Number of iterations; 1 if the matrix was decomposed.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string names.

    See Also
    --------
    skmde.PreserveNeighbors : Other penalties for the same graph.
    skmde.PreserveDistances : Losses that compare distances.

    Notes
    -----
    If a graph has several connected components, vectors that are constant on each component have
    eigenvalue 0. They are the first columns of the embedding: the first column separates the
    largest component from the others, the second separates the next largest from the smaller ones,
    and so on. `fit` warns about this. For "isomap" and "mvu", any two components are
    connected by their closest pair, if there is a distance between them. If a sparse matrix or
    tables give none, the distance of pairs that no path connects is twice the longest distance.

    The embedding is unique if the eigenvalues used differ from each other and from the next one;
    signs are fixed by convention. `fit` warns if the last eigenvalue used equals the next one.

    References
    ----------
    A. Agrawal, A. Ali, S. Boyd, *Minimum-Distortion Embedding*, 2021: chapter 3 (quadratic
    problems), sections 3.2 (historical examples) and 2.4.2 (incremental embedding).

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

    _training_data_attribute = "_problem"

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
        "memory_limit": [Real, str, None],
        "callbacks": ["array-like", None],
        "verbose": ["verbose"],
    }

    @suggest_spectral_arguments
    def __init__(
        self,
        n_components: int = 2,
        *,
        weights: str = "laplacian",
        n_neighbors: int | None = None,
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
        memory_limit: float | str | None = None,
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
        self.memory_limit = memory_limit
        self.callbacks = callbacks
        self.verbose = verbose

    def _is_precomputed(self):
        # scikit-learn reads the tags before the parameters are checked
        method = METHODS.get(self.weights) if isinstance(self.weights, str) else None
        return method is not None and method.takes_distances and self._metric_is("precomputed")

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
        """Compute the weights and the optimal embedding.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; or weights, distances or a kernel matrix, depending on `weights`, `metric` and
            `kernel`.
        y : None
            Ignored.

        Returns
        -------
        self : QuadraticMDE
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter is invalid, or if the fit needs more memory than `memory_limit`
            allows; the message says what to change.
        TypeError
            If `metric` is a class in place of a function.
        ImportError
            If ``weights="mvu"`` and cvxpy is not installed, or if
            ``neighbors_algorithm="faiss"`` and faiss is not installed.

        Warns
        -----
        UserWarning
            If the graph is not connected, there are fewer usable eigenvalues than components, the
            last eigenvalue used equals the next one, or `n_neighbors` exceeds the number of other
            samples.
        ConvergenceWarning
            If the solver did not converge in `max_iter` iterations.
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
        self.embedding_ = as_output(self._embedding(problem, values, vectors), X)
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
        self._problem, self._problem_name = problem, self.weights

    def _solve(self, problem, callbacks):
        """The smallest eigenpairs of the problem."""
        form, n_known = problem.form, len(problem.component_eigenvectors[: self.n_components])
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
        """A function that passes each iteration of the solver to the callbacks, or None."""
        if not callbacks:
            return None
        n, unit = problem.n_items, problem.squared_unit / problem.n_pairs
        kept = copy.copy(problem)  # a state may compute its X after the fit

        def watch(step, values, vectors, norm):
            values, vectors = self._usable(problem, values, vectors)
            value, norm = n * unit * values.sum(), 2 * np.sqrt(n) * unit * norm

            def embedding():
                return torch.from_numpy(self._embedding(kept, values, vectors))

            return asks_to_stop(callbacks, SolverState(step, float(value), norm, embedding))

        return watch

    def _stages(self, size, n_fitted=0):
        return METHODS[self.weights].stages(size, self)

    def _advice(self, size, n_fitted=0):
        return (
            "use weights='laplacian' or 'pca', or fit a sample of the rows and call `transform` "
            "for the rest"
        )

    def _usable(self, problem, values, vectors):
        """Eigenpairs of the nonzero columns; those of component eigenvectors come first."""
        known = problem.component_eigenvectors[: self.n_components]
        values = np.concatenate([np.zeros(len(known)), values])
        vectors = np.concatenate([known, vectors])
        if METHODS[self.weights].is_gram:
            # other eigenvalues are rounding errors: the data have no variance in their directions
            kept = values < -max(problem.rounding, _FLAT * -values.min(initial=0.0))
            values, vectors = values[kept], vectors[kept]
        return values, vectors

    def _embedding(self, problem, values, vectors):
        """The embedding for the given eigenpairs."""
        embedding = np.zeros((problem.n_items, self.n_components))
        embedding[:, : len(values)] = problem.embedding_columns(vectors, values).T
        return fix_signs(embedding)

    def _check_parameters(self):
        """Check combinations of parameters; scikit-learn checks one parameter at a time."""
        super()._check_parameters()
        if isinstance(self.kernel, type):
            raise ValueError(
                f"kernel must be a name, or a function of two rows; got the type {self.kernel!r}."
            )
        if self._metric_is("precomputed") and not METHODS[self.weights].takes_distances:
            advice = {
                "kernel_pca": "Use kernel='precomputed' for a matrix of inner products.",
                "precomputed": "X holds the weights; set metric to its default.",
            }.get(self.weights, "Use weights='classical_mds' for a matrix of distances.")
            raise ValueError(
                f"metric='precomputed' cannot be combined with weights={self.weights!r}, because "
                f"distances are not enough to compute them. {advice}"
            )

    def _tolerance(self, n):
        if self.tol is not None:
            return self.tol
        return _TOLERANCES[n > _FEW and not METHODS[self.weights].is_gram]

    def _training(self, X):
        """Checked X and the number of samples."""
        X = self._checked_input(X)
        n = count_rows(X)
        self._check_size(n, Centered())  # not Standardized: columns without an eigenvalue are zero
        self._check_memory(X)
        return X, n

    def _finite_values(self):
        method = METHODS.get(self.weights)
        return (
            True if method is not None and method.computes_with_rows else super()._finite_values()
        )

    def _is_neighbor_tables(self, X):
        enough = METHODS[self.weights].takes_neighbors
        return enough and self._is_precomputed() and isinstance(X, tuple)

    def _warn(self, problem, found, n_usable):
        m = self.n_components
        n_parts = len(problem.component_eigenvectors) + 1
        if n_parts > 1:
            more = " at least" if n_parts > m else ""
            warn(
                f"The graph has{more} {n_parts} connected components. The first "
                f"{min(m, n_parts - 1)} columns of the embedding only separate the components and "
                "are constant within each. Raise n_neighbors, or embed each component separately.",
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
                    f"Eigenvalues {m} and {m + 1} are equal, {last * problem.squared_unit:.6g}, so "
                    "the optimal embedding is not unique. Change n_components to include all or "
                    "none of these eigenvalues.",
                )
        rounding = np.finfo(np.float64).eps * problem.form.bound
        of_weights = problem.graph is not None and len(found.values)
        if of_weights and rounding > _LOST * abs(found.values).max():
            warn(
                "The weights differ so much that the embedding is lost in rounding errors: the "
                f"eigenvalues are at most {abs(found.values).max():.3g}, and have errors of "
                f"{rounding:.3g}. Join the items of the largest weights, or make these smaller.",
            )
        if not found.converged:
            warn(
                f"The eigenvectors did not converge in max_iter={self.max_iter} iterations; raise "
                "max_iter or tol, or use solver='dense' for few samples.",
                ConvergenceWarning,
            )

    def _solved_problem(self):
        if METHODS[self._problem_name].is_gram:
            raise ValueError(
                f"weights={self._problem_name!r} gives every two samples a weight, their entry in "
                "the centred matrix of inner products, and the fit does not keep this matrix. Fit "
                "QuadraticMDE(weights='precomputed') to it: the embedding is the same, and has "
                "distortions. Or judge this one by its distances: skmde.metrics.embedding_report."
            )
        edges, weights = edges_from_graph(self.graph_)
        if self._problem_name == "normalized_laplacian":
            # Eigenvalues, and `distortion_`, are in units of the mean degree.
            weights = weights / (2 * weights.sum(dtype=np.float64) / len(self.embedding_))
        return SolvedProblem(self.embedding_, edges, weights, (Quadratic(), Quadratic()))

    def _can_leave_one_out(self):
        return self._is_compact() or self._problem.can_leave_out

    def _leave_one_out(self, X, items):
        if not self._problem.can_leave_out:
            raise ValueError(
                f"weights={self._problem_name!r} places samples by all inner products at once, "
                "not by other samples, so none can be left out. Use the weights 'laplacian' or "
                "'lle', PreserveNeighbors or PreserveDistances; or skmde.inspection.stability."
            )
        embedding = self.embedding_.astype(np.float64)
        return self._problem.place_others(rows_of(X, items), items, embedding)

    def _why_no_support(self):
        weights = getattr(self, "_problem_name", self.weights)
        if weights in METHODS and METHODS[weights].places_by_neighbors:
            return None
        return (
            f"weights={weights!r} places a sample by all training samples, not by its nearest "
            "ones, so there is no distance that says how far it is from them. Use the weights "
            "'laplacian', 'normalized_laplacian' or 'lle', PreserveNeighbors or PreserveDistances."
        )

    def _support(self, X):
        return support_by_tables(self._problem.neighbors, X, None)

    def _support_of_fitted(self):
        tables = self._problem.neighbors
        k = max(1, int(np.ceil(np.mean((tables.indices >= 0).sum(axis=1)))))
        return support_of_tables(tables, k, intrinsic_dimension(tables.distances))

    def _solved_facts(self):
        shown = [f"{value:.3g}" for value in self.eigenvalues_[:_SHOWN]]
        by_degree = self._problem_name == "normalized_laplacian"
        return {
            "weights": self._problem_name,
            "pairs": f"{self.n_pairs_:,}",
            "constraint": "standardized" + ", weighted by degree" * by_degree,
            "eigenvalues": ", ".join(shown) + ", …" * (len(self.eigenvalues_) > _SHOWN),
        }

    def _fitted_without(self, holdout, X, y, fit_params):
        full = clone(self).fit(X, y, **fit_params)
        if full.weights not in ("laplacian", "precomputed"):
            raise ValueError(
                f"The weights of weights={full.weights!r} belong together, so no pair can be left "
                "out. Check another estimator, or weights='laplacian'."
            )
        edges, weights = edges_from_graph(full.graph_)
        left = holdout.chosen(np.ones(len(edges), dtype=bool), edges)
        holdout.pairs = HeldOutPairs(edges[left], weights[left])
        other = clone(self).set_params(weights="precomputed", metric="euclidean")
        return other.fit(without_pairs(full.graph_, edges[left])), holdout.pairs

    def transform(self, X: Data) -> np.ndarray:
        """Place unseen samples in the embedding of the training samples.

        Unseen samples do not influence each other, so the result for a row does not depend on the
        rest of X. A sample that equals a training sample, or whose nearest neighbour is at distance
        0, gets the coordinates of that training sample. The formula for all other samples depends
        on `weights`:

        - "pca": the linear projection, exact.
        - "kernel_pca", "classical_mds", "isomap": Nystrom's extension, computed from the inner
          products with, or the distances to, all training samples.
        - "laplacian", "normalized_laplacian": the weighted mean of the nearest training samples,
          which minimises the sample's distortion to them.
        - "lle", "mvu": the linear combination of the nearest training samples that reconstructs the
          row.
        - "precomputed": the weighted mean of the training samples, with the weights in the row. A
          row of zeros gets the mean of all training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Samples; or distances, inner products or weights of shape (n_new, n_samples), as for
            `fit`.

        Returns
        -------
        embedding : ndarray of shape (n_new, n_components)
            Coordinates, in the float dtype of X.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If X is invalid, if it does not match the training data, or if `compact` discarded
            them; or if the given weights of an unseen sample do not have a positive sum, so
            that its distortion has no minimum.

        References
        ----------
        Monograph, section 2.4.2 (incremental embedding).
        """
        check_is_fitted(self)
        with cpu_by_default():
            X = self._checked_unseen(X)
            embedding = self.embedding_.astype(np.float64)
            # Gram methods compare each row with all training samples, so rows come in blocks.
            whole = not METHODS[self.weights].is_gram
            coordinates = [
                self._problem.place(part, embedding, self.eigenvalues_)
                for part in ([X] if whole else blocks_of_rows(X, len(embedding)))
            ]
            return as_output(np.concatenate(coordinates), X)
