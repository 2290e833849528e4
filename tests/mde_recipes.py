"""Random problems of `skmde.MDE`, and what holds of each solve, in any unit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from embedding_properties import both_refused, outcome, require
from hypothesis import strategies as st
from limits import LIMITS
from problem_recipes import Bowl, Gap, Times
from strategies import ANY_PENALTY, PLAIN_LOSSES, REPULSIVE, UNITS

import skmde
from skmde.functions.registry import NAMED_LOSSES


@dataclass(frozen=True)
class Problem:
    """A problem of random pairs.

    Attributes
    ----------
    n, m, seed : int
    share : float or None
        Share of the pairs that there are; None for the problem of all pairs.
    distortion : str, function or pair of them
    keeps_distances : bool
        Whether `distortion` is a loss.
    signs : str
        "none": no weights; "above 0", or "both".
    constraint : str or None
    repulsion : str or None
    repulsive_weight : float
    by_item : bool
        Whether items have weights in the repulsion of all pairs.
    dtype : str
    max_iter : int
    tol : float
    weight_unit, length_unit : float
        Units of the weights, and of the original distances and of the starting point.
    limits : tuple
    """

    n: int = 10
    m: int = 2
    seed: int = 0
    share: float | None = 0.5
    distortion: object = "squared"
    keeps_distances: bool = True
    signs: str = "above 0"
    constraint: str | None = None
    repulsion: str | None = None
    repulsive_weight: float = 1.0
    by_item: bool = False
    dtype: str = "float64"
    max_iter: int = 20
    tol: float = 1e-5
    weight_unit: float = 1.0
    length_unit: float = 1.0
    limits: tuple = ()

    def solved(self):
        """The solved problem."""
        rng = np.random.default_rng(self.seed)
        i, j = np.triu_indices(self.n, 1)
        if self.share is not None:
            kept = rng.random(len(i)) < self.share
            kept[rng.integers(len(i))] = True
            i, j = i[kept], j[kept]
        weights = rng.uniform(0.5, 2.0, len(i))
        if self.signs == "both":
            weights *= np.where(rng.random(len(i)) < 0.3, -1.0, 1.0)
        deviations = rng.uniform(0.5, 2.0, len(i))
        start = rng.standard_normal((self.n, self.m))
        item_weights = rng.uniform(0.5, 2.0, self.n)
        # the logarithm of "normalized" follows the weights by itself
        follows = self.weight_unit if self.repulsion == "all" else 1.0
        problem = skmde.MDE(
            self.n,
            self.m,
            None if self.share is None else np.stack([i, j], axis=1),
            self.distortion,
            self.constraint,
            weights=None if self.signs == "none" else self._typed(self.weight_unit * weights),
            deviations=self._typed(self.length_unit * deviations) if self.keeps_distances else None,
            repulsion=self.repulsion,
            repulsive_weight=self.repulsive_weight * follows,
            item_weights=self._typed(item_weights) if self.by_item and self.repulsion else None,
        )
        problem.embed(self._typed(self.length_unit * start), max_iter=self.max_iter, tol=self.tol)
        return problem

    @property
    def attracts_by_log(self):
        """Whether the value has no lower bound, and slopes none where items meet."""
        attractive = self.distortion[0] if isinstance(self.distortion, tuple) else self.distortion
        return not self.keeps_distances and isinstance(attractive, str) and attractive == "log"

    def _typed(self, values):
        return values.astype(self.dtype)


def check_problem(problem, other, unit):
    """Solve a problem in two units, which give the same embedding; "embedding" or "error"."""
    one, two = (outcome(each.limits, each.solved) for each in (problem, other))
    if both_refused(one, two):
        return "error"
    _check_solve(problem, one)
    _check_solve(other, two)
    endless = ["without end" in solved.result.reason for solved in (one, two)]
    if any(endless):  # no embedding is told apart from the next
        require(all(endless), "only one of them is without end")
        return "embedding"
    if problem.attracts_by_log and problem.dtype == "float32":
        return "embedding"  # large units are solved in float64, which rounds another slope near 0
    X, Z = one.X.double().numpy(), two.X.double().numpy() / unit
    if problem.n == 2:  # a first step that is a bit longer makes them change places
        Z = Z * np.sign(np.sum(X * Z))
    # if the items have met at a point, only rounding errors of the start are left
    apart, size = np.abs(X - Z).max(), max(np.abs(X).max(), 1e-2 * problem.length_unit)
    # Large units are solved in float64. Where values are rounded, a line search finds its step only
    # to the square root of that.
    near = 1e-4 if problem.dtype == "float64" else 1e-3
    require(apart <= near * size, f"the unit matters: {apart:.3g} of {size:.3g} apart")
    return "embedding"


def _check_solve(problem, solved):
    result, X = solved.result, solved.X.double().numpy()
    values, norms = result.history.value, result.history.residual_norm
    told = f"{values[0]:.6g} to {result.value:.6g}, {result.n_iter} iterations: {result.reason}"
    require(np.isfinite(X).all() and np.isfinite(result.value), f"not finite: {told}")
    require(result.value <= values[0] + 1e-5 * abs(values[0]), f"worse than the start: {told}")
    require(len(values) == len(norms) == result.n_iter + 1, f"history: {told}")
    require(result.converged or "at most tol" not in result.reason, f"converged: {told}")
    require(result.n_iter <= problem.max_iter, f"too many iterations: {told}")
    size = np.abs(X).max()
    require(np.abs(X.mean(axis=0)).max() <= 1e-4 * size, f"mean {X.mean(axis=0)}")
    if problem.constraint == "standardized":
        require(np.abs(X.T @ X / len(X) - np.eye(X.shape[1])).max() < 1e-4, "not standardized")


@st.composite
def problems(draw):
    """A problem, the same in other units, and the unit of its embedding."""
    dtype = draw(st.sampled_from(["float32", "float64"]))
    factor = 2.0 ** draw(st.sampled_from([-40, -20, -2, 2, 20, 40]))
    keeps = draw(st.booleans())
    fields = {"keeps_distances": keeps, "dtype": dtype, "n": draw(st.integers(2, 40))}
    fields["constraint"] = draw(st.sampled_from([None, "centered", "standardized"]))
    if keeps:
        names = [
            *NAMED_LOSSES,
            skmde.HuberLoss(0.5),
            Gap(),
            Times(Gap(), draw(st.sampled_from(UNITS))),
        ]
        fields["distortion"] = draw(st.sampled_from(names))
    else:
        fields["distortion"] = draw(st.sampled_from([*ANY_PENALTY, Bowl()]))
        if draw(st.booleans()):
            fields["signs"] = "both"
            fields["distortion"] = fields["distortion"], draw(st.sampled_from(REPULSIVE))
            fields["repulsion"] = draw(st.sampled_from([None, "all", "normalized"]))
            fields["by_item"] = draw(st.booleans())
            fields["repulsive_weight"] = draw(st.sampled_from([0.01, 1.0]))
    fields["limits"] = tuple(
        draw(
            st.lists(
                st.sampled_from([x for x in sorted(LIMITS) if "core" in x]), max_size=3, unique=True
            )
        )
    )
    problem = Problem(
        m=draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 1000)),
        share=draw(st.sampled_from([None, 0.2, 0.9])),
        max_iter=draw(st.sampled_from([0, 1, 8])),
        tol=draw(st.sampled_from([0.0, 1e-5, 1e-1])),
        **fields,
    )
    own_length = not keeps or problem.distortion not in PLAIN_LOSSES
    if own_length or problem.constraint == "standardized" or draw(st.booleans()):
        return problem, replace(problem, weight_unit=factor), 1.0
    if dtype == "float32":  # whose range the cube of a length must not leave
        factor = 2.0 ** draw(st.sampled_from([-12, -2, 2, 12]))
    return problem, replace(problem, length_unit=factor), factor
