"""The MDE problem whose pairs are never in memory together.

Minimise E(X) = (1/p) sum_k f_k(d_k) over the embeddings X in a constraint set (monograph, sections
2.3 and 2.4) by the stochastic proximal method (section 6.2). Each round reads a batch of the pairs.
Distances, and original distances (*deviations*), are in the units of the embedding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
import torch

from skmde._utils.device import cpu_by_default
from skmde.constraints import Constraint
from skmde.core.batches.arrays import ArrayBatches
from skmde.core.batches.base import RawBatch, RawBatches
from skmde.core.batches.streamed import CheckedBatches, IteratedBatches, SampledBatches, edge_list
from skmde.core.checkpoints.checkpoint import PathLike, opened
from skmde.core.checkpoints.facts import Facts
from skmde.core.checkpoints.problem_facts import problem_facts
from skmde.core.items import ItemsProblem
from skmde.core.objectives.base import Term
from skmde.core.objectives.edge_term import Edges, EdgeTerm
from skmde.core.objectives.edges import Distortion
from skmde.core.objectives.total import Total
from skmde.core.problem_values import as_embedding
from skmde.core.rounds import (
    ENDLESS,
    check_positive_integer,
    check_solve_numbers,
    generator_of_batches,
    sizes,
)
from skmde.core.scales.typical_scale import typical_scale
from skmde.core.solvers.base import solve
from skmde.core.solvers.lbfgs import LBFGS
from skmde.core.solvers.result import SolverState
from skmde.core.solvers.stochastic import Stochastic
from skmde.core.starts.starting_point import Starts
from skmde.functions.adapters import LossOfDistance

_LARGEST_BATCH = 1 << 21  # pairs that are read at a time, by default
# What MDE says of all pairs together.
_OF_ALL_PAIRS = (
    "differences",
    "distances",
    "distortions",
    "dual_",
    "edges",
    "effective_repulsive_weight",
    "forces",
    "gradient",
    "high_distortion_pairs",
)


class StreamedMDE(ItemsProblem):
    r"""A minimum-distortion embedding problem whose pairs do not fit in memory.

    It is the problem of :class:`MDE`, solved by the stochastic proximal method (monograph, section
    6.2): batch after batch of the pairs is read, and each moves the embedding. Memory holds the
    embedding and one batch, whatever the number of pairs.

    Parameters
    ----------
    n_items : int
        Number of items, n.
    n_components : int
        Dimension of the embedding, m.
    pairs : array of shape (p, 2), callable or iterable
        Pairs of items. Of an array, such as a :class:`numpy.memmap`, slices are read. A callable
        is called as ``pairs(k, generator)`` with the number of the round and a numpy generator, and
        returns the batch of this round. An iterable gives one batch after the other, and is
        iterated again after each pass; a :class:`torch.utils.data.DataLoader` is one. The end of an
        iterator is the end of the solve. A batch is an array of shape (b, 2), or a tuple
        ``(pairs, weights)`` or ``(pairs, weights, deviations)``, in which None stands for what
        there is not.
    distortion : str, Penalty, Loss, callable, or pair (attractive, repulsive)
        As for :class:`MDE`. A callable must take any number of distances.
    constraint : None, {"centered", "standardized"} or Constraint, default=None
        None means centered.
    weights : array of shape (p,), default=None
        Weights of the pairs of an array; may be memory-mapped, too.
    deviations : array of shape (p,), default=None
        Original distances of the pairs of an array; may be memory-mapped, too.
    device : None, str or torch.device, default=None
        None is the CPU; "auto" takes a GPU if there is one.
    n_jobs : int, default=None
        Maximum number of threads for the compiled kernels; None means torch's number of threads.
        The result does not depend on it.

    Attributes
    ----------
    X : torch.Tensor of shape (n_items, n_components)
        The embedding; None before `embed` is called.
    value : float
        Average distortion over the last pass: each batch of pairs is measured before it moves the
        items. For pairs of a callable, over the last 10 rounds. `average_distortion` measures all
        pairs at the final embedding.
    residual_norm : float
        Frobenius norm of the projected gradient of the last batch, before it moved the items.
    result : SolveResult
        The result of the last solve. Its iterations are rounds. Row k of ``result.history``
        describes the embedding after k rounds, measured on the pairs of the next round; the last
        row has `value`.

    Raises
    ------
    ValueError
        If the sizes, arrays, constraint or device are invalid. The message names the invalid one.
        Pairs are checked when they are read: see `embed`.

    See Also
    --------
    MDE : The problem with pairs in memory, whose `embed` has the same method as
        ``solver="stochastic"``.

    Notes
    -----
    The first batch gives the units of tolerances and steps, and the dtype, as all pairs do for
    :class:`MDE`. So it must be a fair sample. Batches from an array consist of chunks from all over
    the array, at random.

    Examples
    --------
    A ring of 300 items, of which each is near those that follow it:

    >>> import numpy as np
    >>> from skmde import StreamedMDE
    >>> def neighbors(k, generator):
    ...     first = generator.integers(300, size=2000)
    ...     return np.stack([first, (first + generator.integers(1, 30, size=2000)) % 300], axis=1)
    >>> problem = StreamedMDE(300, 2, neighbors, "quadratic", "standardized")
    >>> X = problem.embed(n_rounds=50, random_state=0)
    >>> radii = X.norm(dim=1)
    >>> bool(radii.min() > 1.3) and bool(radii.max() < 1.5)
    True
    """

    def __init__(
        self,
        n_items: int,
        n_components: int,
        pairs: Any,
        distortion: Distortion | tuple[Distortion | None, Distortion | None],
        constraint: str | Constraint | None = None,
        *,
        weights: Any = None,
        deviations: Any = None,
        device: str | torch.device | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_items, n_components, constraint, device, n_jobs)
        self.pairs, self.distortion = pairs, distortion
        self.weights, self.deviations = weights, deviations
        if not self._has_arrays:
            if not (callable(pairs) or isinstance(pairs, Iterable)):
                raise TypeError(
                    "pairs must be an array, a callable or an iterable; got "
                    f"{type(pairs).__name__}."
                )
            if weights is not None or deviations is not None:
                raise ValueError(
                    "weights and deviations are arrays beside an array of pairs. A callable or an "
                    "iterable returns those of a batch with it: (pairs, weights, deviations)."
                )

    def __repr__(self) -> str:
        return (
            f"StreamedMDE({self.n_items} items, {self.n_components} components, "
            f"{self.distortion!r}, {self.constraint!r})"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in _OF_ALL_PAIRS:
            raise AttributeError(
                f"StreamedMDE has no {name!r}, since its pairs are never in memory together. For "
                "some of them, build an MDE with these pairs and pass the embedding to its "
                f"{name!r}."
            )
        raise AttributeError(f"'StreamedMDE' object has no attribute {name!r}")

    def embed(
        self,
        X: Any = None,
        *,
        batch_size: int | None = None,
        n_rounds: int | None = None,
        shuffle: bool = True,
        tol: float = 1e-5,
        memory_size: int = 10,
        random_state: Any = None,
        callbacks: Callable[[SolverState], Any] | Sequence[Callable[[SolverState], Any]] = (),
        snapshot_every: int | None = None,
        verbose: int = 0,
        checkpoint: PathLike | None = None,
    ) -> torch.Tensor:
        """Solve the problem by the stochastic proximal method (monograph, section 6.2).

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            Starting point, as for :meth:`MDE.embed`. None means a random one.
        batch_size : int, default=None
            Largest number of pairs in a batch from an array. None means a tenth of the pairs, and
            at most 2,097,152. A callable or an iterable chooses the size itself.
        n_rounds : int, default=None
            Number of batches that are taken. None means 100, but at least one pass through an
            array, and all batches of an iterator.
        shuffle : bool, default=True
            Whether batches from an array consist of chunks of up to 4096 pairs from all over it, at
            random in each pass. If False, batches follow each other in the array.
        tol : float, default=1e-5
            A round ends when the norm of its projected gradient is at most `tol` times its unit,
            see :meth:`MDE.embed`. It mostly ends before: when the norm is a third of what it was,
            or after 5 iterations, 20 in the first round.
        memory_size : int, default=10
            Number of past steps from which the quasi-Newton matrix of a round is built.
        random_state : int, numpy Generator or None, default=None
            Seed of the random starting point, of the order of batches, and of the generator that a
            callable gets.
        callbacks : callable or sequence of callable
            Each is called after every round with a state that has `iteration`, `X`, `value` and
            `residual_norm`; the last two are measured on the pairs of the next round. A callback
            that returns True stops the solve.
        snapshot_every : int, default=None
            Keep a copy of every `snapshot_every`-th embedding in ``result.history.snapshots``.
        verbose : int, default=0
            1 shows a progress bar.
        checkpoint : str or path-like, default=None
            A file to which the state of the solver is written every few seconds, as for
            :meth:`MDE.embed`. If it exists, the solve goes on from there, and ends with the same
            bits as one that was not interrupted. `n_rounds` may then be larger. Without a seed,
            that of the file is used. The pairs are the same if their arrays have the same shapes
            and dtypes, and if the first batch is: it is read again. A callable is then asked for
            the rounds that are missing, with the generator as it was. Its batches may depend on
            the number of the round and that generator alone. An iterable or iterator must begin
            anew and give the same batches in the same order; those that were used are passed over.

        Returns
        -------
        X : torch.Tensor of shape (n_items, n_components)
            The embedding, on the problem's device.

        Raises
        ------
        ValueError
            If a parameter, the starting point, or the pairs of a batch are invalid, if the pairs
            end before `n_rounds`, or if `checkpoint` is a file of another problem. The message has
            the number of the round, from 0. Errors that a callable or an iterable raises reach the
            caller, with a note of the round.
        OSError
            If the checkpoint cannot be written, or if another solve is writing it.

        Warns
        -----
        ConvergenceWarning
            If the items move apart without end, or if the starting point has no finite value or
            gradient.
        """
        check_solve_numbers(tol, 1, memory_size, snapshot_every)
        for name, number in (("batch_size", batch_size), ("n_rounds", n_rounds)):
            if number is not None:
                check_positive_integer(name, number)
        callbacks = [callbacks] if callable(callbacks) else list(callbacks or ())
        with cpu_by_default(), opened(checkpoint, max_iter=1, tol=tol) as kept_in:
            if random_state is None and kept_in is not None:
                random_state = kept_in.seed()
            generator = generator_of_batches(random_state)
            raw, count = self._raw_batches(batch_size, n_rounds, shuffle, generator)
            batches = CheckedBatches(raw, self._edge_list)
            first = batches.first
            lbfgs = LBFGS(
                tol,
                memory_size=memory_size,
                snapshot_every=snapshot_every,
                scale=typical_scale(first, self.constraint, self.n_components),
            )
            kept: dict[str, Any] = {}
            if kept_in is not None:
                kept = {"checkpoint": kept_in, "facts": self._facts(first, raw, shuffle)}
            start = self._start(X, first, random_state, lbfgs, kept)
            first = batches.in_dtype(start.dtype).first
            result = solve(
                Stochastic(lbfgs, batches, self._term, count, measured=False, generator=generator),
                self._total(first),
                self.constraint,
                start,
                callbacks=callbacks,
                verbose=verbose,
                **kept,
            )
        return self._keep(result)

    @cpu_by_default()
    def average_distortion(self, X: Any = None, *, batch_size: int | None = None) -> float:
        """Mean of the distortions of all pairs, in one pass through them.

        Parameters
        ----------
        X : array-like of shape (n_items, n_components), default=None
            An embedding; None means the embedding found by `embed`.
        batch_size : int, default=None
            Largest number of pairs of an array that are read at a time, as for `embed`.

        Returns
        -------
        average_distortion : float

        Raises
        ------
        ValueError
            If there is no embedding, or if the pairs cannot be read again, because they come from a
            callable or an iterator.
        """
        if X is None and self.X is None:
            raise ValueError("there is no embedding yet: call embed() first, or pass X.")
        X = self.X if X is None else X
        embedding = as_embedding(X, self._shape, torch.float32, self.device).detach()
        raw, _ = self._raw_batches(batch_size, None, False, np.random.default_rng(0))
        if not isinstance(raw, ArrayBatches | IteratedBatches) or hasattr(self.pairs, "__next__"):
            raise ValueError(
                "average_distortion needs all pairs, but a callable or an iterator gives them only "
                "once. Pass an array, or an object that can be iterated again, or take `value`."
            )
        total, count = 0.0, 0
        for batch in raw.one_pass():
            edges = self._edge_list(batch, embedding.dtype)
            value, _ = self._term(edges).value_and_gradient(embedding)
            total, count = total + float(value) * len(edges), count + len(edges)
        return total / count

    @property
    def _shape(self) -> tuple[int, int]:
        return self.n_items, self.n_components

    @property
    def _has_arrays(self) -> bool:
        """Whether the pairs are an array; an iterable of batches has no shape."""
        return hasattr(self.pairs, "shape")

    def _raw_batches(
        self,
        batch_size: int | None,
        n_rounds: int | None,
        shuffle: bool,
        generator: np.random.Generator,
    ) -> tuple[RawBatches, int]:
        """The source of the batches, and the number of rounds."""
        if self._has_arrays:
            size = batch_size or min(sizes(len(self.pairs), None, None)[0], _LARGEST_BATCH)
            arrays = ArrayBatches(
                self.pairs,
                self.weights,
                self.deviations,
                batch_size=size,
                shuffle=shuffle,
                generator=generator,
            )
            count = max(sizes(len(arrays), None, None)[1], arrays.rounds_per_pass)
            return arrays, n_rounds or count
        if batch_size is not None:
            raise ValueError(
                f"batch_size={batch_size} is for pairs from an array; a callable or an iterable "
                "chooses the size of its batches itself."
            )
        count = sizes(1, None, n_rounds)[1]
        if callable(self.pairs):
            return SampledBatches(self.pairs, generator), count
        is_endless = n_rounds is None and hasattr(self.pairs, "__next__")
        return IteratedBatches(self.pairs, n_rounds), ENDLESS if is_endless else count

    def _edge_list(self, raw: RawBatch, dtype: torch.dtype | None) -> Any:
        if self.constraint.has_own_distance:
            if raw.deviations is None:
                raise ValueError(
                    f"{self.constraint!r} has distances of its own, which are compared with "
                    "original distances: deviations are missing."
                )
            dtype = torch.float64
        return edge_list(raw, dtype, self.n_items, self.distortion, self.device)

    def _term(self, edges: Edges) -> Term:
        if self.constraint.has_own_distance:
            edges = edges.with_functions(partial(LossOfDistance, constraint=self.constraint))
        return EdgeTerm(edges, *self._shape, dtype=edges.dtype, backend=self._backend)

    def _total(self, edges: Edges) -> Total:
        return Total([self._term(edges)], self._backend)

    def _facts(self, first: Edges, raw: RawBatches, shuffle: bool) -> Facts:
        """What tells this problem from others in a checkpoint: all but the later batches."""
        facts = problem_facts(self.n_items, first, self.constraint, None)
        own = ("edges", "weights", "deviations", "distortion")
        found = {(f"{k} of the first batch" if k in own else k): v for k, v in facts.items()}
        if not isinstance(raw, ArrayBatches):
            return found | {"pairs": "callable" if callable(self.pairs) else "iterable"}
        arrays = [x for x in (raw.pairs, *raw.values) if x is not None]
        told = ", ".join(f"{x.dtype} of shape {x.shape}" for x in arrays)
        return found | {"pairs": told, "batch_size": str(raw.batch_size), "shuffle": str(shuffle)}

    def _start(
        self, X: Any, first: Edges, random_state: Any, lbfgs: LBFGS, kept: dict[str, Any]
    ) -> torch.Tensor:
        """The starting point, as that of a problem with the first batch alone."""
        starts = Starts(
            first,
            self.constraint,
            self._shape,
            self.device,
            lambda dtype: self._total(first.to(dtype=dtype)),
            kept,
        )
        if X is None:
            return starts.random(random_state, lbfgs)
        given = as_embedding(X, self._shape, first.dtype, self.device, "the starting point X")
        return starts.given(given.detach(), lbfgs)
