"""Two problems that must have one answer: the same data in another unit, or given in another way.

Units are powers of two, which change no digit of the data. So where neither an absolute constant
nor an overflow comes in, the two solves make the same steps, and their answers are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from embedding_properties import answer, both_refused, found, outcome, require
from hypothesis import strategies as st
from limits import PIECES
from problem_recipes import Bowl, Gap, Recipe, Taxi, Times
from scipy.spatial.distance import cdist
from strategies import ANY_PENALTY, ESTIMATORS, PLAIN_LOSSES, REPULSIVE

import skmde
from skmde import penalties
from skmde.functions.registry import NAMED_LOSSES

POWERS = st.sampled_from([-40, -27, -13, -1, 1, 13, 27, 40])  # 2**40 is about 1e12
# Metrics that generic rows of any sign, or rows above 0, have no ties under.
GENERIC = {
    "normal": [
        *("euclidean", "manhattan", "chebyshev", "cosine", "correlation", "sqeuclidean"),
        *("canberra", "seuclidean", "l1", "cityblock", Taxi()),
    ],
    "positive": ["euclidean", "braycurtis", "canberra", "cosine"],
}


@dataclass(frozen=True)
class Relation:
    """Two recipes of one embedding, but for its unit.

    Attributes
    ----------
    first, second : Recipe
    unit : float
        Unit of the second embedding.
    tolerance : float
        Of coordinates, relative to the largest one.
    distances : bool
        Whether distances in the embedding are compared, which neither signs nor rotations change.
    places : bool
        Whether the places of unseen rows are compared. Where the embedding is equal but for
        rounding, another of two places that are nearly as good may be the best.
    """

    first: Recipe
    second: Recipe
    unit: float = 1.0
    tolerance: float = 1e-9
    distances: bool = False
    places: bool = True


def check_relation(relation):
    """Both fail with a documented error, or both give the same; which of the two."""
    one, other = (_outcome(recipe) for recipe in (relation.first, relation.second))
    if both_refused(one, other):
        return "error"
    compared = ("fit", "transform") if relation.places else ("fit",)
    for name, Y, Z in zip(compared, one, other, strict=False):
        Y, Z = Y.astype(np.float64), Z.astype(np.float64) / relation.unit
        if relation.distances:
            Y, Z = cdist(Y, Y), cdist(Z, Z)
        size = max(np.abs(Y).max(), np.abs(Z).max())
        apart = np.abs(Y - Z).max()
        # a search for the place of an unseen row ends within a tolerance of it
        allowed = max(relation.tolerance, 1e-4 * (name == "transform"))
        require(apart <= allowed * size, f"{name}: {apart:.3g} of {size:.3g} apart")
    return "embedding"


def _outcome(recipe):
    """Embedding, and places of unseen rows; or the message of a documented error."""

    def answers():
        X, unseen, _ = recipe.data()
        estimator = recipe.make().fit(X, recipe.y(), **recipe.fit_params())
        return found(estimator), answer(estimator, unseen)

    return outcome(recipe.limits, answers)


def _plain(draw, estimators=tuple(ESTIMATORS), **fixed):
    """A recipe of generic rows."""
    estimator = draw(st.sampled_from(estimators))
    solved = estimator in ("PreserveNeighbors", "PreserveDistances", "AnchoredMDE")
    params = {"max_iter": 5} if solved else {}
    if estimator != "AnchoredClassifier":
        params["n_components"] = draw(st.integers(1, 3))
    params.update(fixed.pop("params", {}))
    return Recipe(
        **{
            "estimator": estimator,
            "n": draw(st.integers(8, 40)),
            "d": draw(st.integers(3, 6)),
            "seed": draw(st.integers(0, 1000)),
            "params": params,
            **fixed,
        }
    )


def _with(recipe, **params):
    return replace(recipe, params={**recipe.params, **params})


@st.composite
def units_of_weights(draw):
    """Weights of samples or of pairs, times a factor."""
    one = _plain(draw, weightless=draw(st.sampled_from([0.0, 0.3])))
    if one.estimator in ("QuadraticMDE", "AnchoredMDE", "AnchoredClassifier"):
        given = {"metric": "affinity"}
        if one.estimator == "QuadraticMDE":
            given = {"weights": "precomputed"}
        one = replace(
            _with(one, **given), kind="weights", form=draw(st.sampled_from(["array", "csr"]))
        )
    if one.estimator == "PreserveDistances":
        one = _with(one, loss=draw(st.sampled_from(sorted(NAMED_LOSSES))))
    if one.estimator == "AnchoredMDE":
        one = _with(one, attractive_penalty=draw(st.sampled_from(ANY_PENALTY)))
    if one.estimator == "PreserveNeighbors":
        one = _with(one, **_two_penalties(draw))
    power = draw(POWERS)
    other = replace(one, weight_unit=2.0**power)
    if abs(power) == 40:  # float64, since float32 has no room for products of such weights
        return Relation(one, other, tolerance=1e-2, places=False)
    return Relation(one, other)


def _two_penalties(draw):
    return {
        "attractive_penalty": draw(st.sampled_from(["auto", *ANY_PENALTY])),
        "repulsive_penalty": draw(st.sampled_from(["auto", None, *REPULSIVE])),
        "repulsion": draw(st.sampled_from(["auto", "all", "normalized", "sampled"])),
        "init": draw(st.sampled_from(["auto", "quadratic", "random"])),
    }


@st.composite
def units_of_functions(draw):
    """Callable penalties or losses, times a factor."""
    one = _plain(draw, ("PreserveNeighbors", "PreserveDistances", "AnchoredMDE"))
    loss = one.estimator == "PreserveDistances"

    def in_unit(unit):
        if loss:
            return _with(one, loss=Times(Gap(), unit))
        both = {"attractive_penalty": Times(Bowl(), unit)}
        if one.estimator == "PreserveNeighbors":
            both["repulsive_penalty"] = Times(Bowl(), unit / 8)
        return _with(one, **both)

    return Relation(in_unit(1.0), in_unit(2.0 ** draw(POWERS)))


@st.composite
def units_of_data(draw):
    """Data, times a factor, with the lengths of a loss."""
    weights = ("laplacian", "normalized_laplacian", "pca", "lle", "classical_mds", "isomap")
    one, power = _plain(draw), draw(POWERS)
    kind = draw(st.sampled_from(["rows", "matrix", "graph"]))
    unit, tolerance, exact, lengths = 2.0**power, 1e-9, True, {}
    if kind != "rows":
        one = replace(_with(one, metric="precomputed"), kind=kind)
    if one.estimator == "QuadraticMDE":
        chosen = weights if kind == "rows" else ("laplacian", "isomap")
        one, unit = _with(one, weights=draw(st.sampled_from(chosen)), solver="dense"), 1.0
    elif one.estimator == "PreserveDistances" or (
        one.estimator == "AnchoredMDE" and draw(st.booleans())
    ):
        one = _with(one, loss=draw(st.sampled_from([*PLAIN_LOSSES, "huber"])))
        if one.params["loss"] == "huber":
            one, lengths = (
                _with(one, loss=skmde.HuberLoss(0.5)),
                {"loss": skmde.HuberLoss(unit / 2)},
            )
            tolerance, exact = 1e-2, False  # float32 or float64, as the unit asks
    else:
        unit = 1.0
        if one.estimator == "PreserveNeighbors":
            one = _with(one, **_two_penalties(draw))
    other = replace(_with(one, **lengths), scale=2.0**power)
    return Relation(one, other, unit, tolerance, places=exact)


@st.composite
def units_of_anchors(draw):
    """Coordinates of anchors, times a factor, under penalties without a length of their own."""
    penalty = draw(st.sampled_from(["linear", "quadratic", "cubic", penalties.Power(1.5)]))
    one = _with(_plain(draw, ("AnchoredMDE",)), attractive_penalty=penalty)
    unit = 2.0 ** draw(POWERS)
    return Relation(one, replace(one, anchor_unit=unit), unit)


@st.composite
def ways_to_give_rows(draw):
    """Containers and types of the same numbers."""
    one = _plain(draw, spread="short")
    forms = ["fortran", "strided", "read-only", "list", "frame", "tensor", "csr", "csc", "coo"]
    dtype = draw(st.sampled_from(["float64", "float32", "object", ">f8"]))
    metric = draw(st.sampled_from(GENERIC["normal"]))
    if one.estimator == "QuadraticMDE":
        weights = ("laplacian", "pca", "kernel_pca", "lle", "classical_mds", "isomap")
        one = _with(one, weights=draw(st.sampled_from(weights)))
    if one.estimator == "PreserveDistances":  # a kink has many places that are nearly as good
        one = _with(one, loss="squared")
    one = _with(one, metric=metric, random_state=0)
    other = replace(one, form=draw(st.sampled_from(forms)), dtype=dtype)
    return Relation(one, other, tolerance=2e-3, distances=True)


@st.composite
def ways_to_give_distances(draw):
    """Rows, or their distances."""
    spread = draw(st.sampled_from(sorted(GENERIC)))
    # the variances of "seuclidean" are those of the rows of a fit
    metric = draw(st.sampled_from([x for x in GENERIC[spread] if x != "seuclidean"]))
    one = _plain(draw, spread=spread, measured=metric)
    kind = draw(st.sampled_from(["matrix", "matrix", "graph", "tables"]))
    if one.estimator == "PreserveDistances":
        kind = "matrix"
        one = _with(one, init="random", loss="squared")
    elif one.estimator == "PreserveNeighbors":
        one = _with(one, init=draw(st.sampled_from(["quadratic", "isomap", "random"])))
    if kind != "matrix":
        one = _with(one, n_neighbors=4)
    other = replace(_with(one, metric="precomputed"), kind=kind)
    # a given distance that may be a rounding error is 0, as a squared small angle may be
    places = metric not in ("cosine", "correlation")
    return Relation(_with(one, metric=metric), other, 1.0, 2e-3, distances=True, places=places)


@st.composite
def other_pieces(draw):
    """Work that is cut into more pieces, or done by more threads."""
    one = _plain(draw)
    if one.estimator == "PreserveDistances":
        one = _with(one, loss="squared")
    if draw(st.booleans()):
        one = _with(one, metric=draw(st.sampled_from(["manhattan", "seuclidean", "cosine"])))
    if draw(st.booleans()):
        return Relation(_with(one, n_jobs=1), _with(one, n_jobs=2), tolerance=0.0)
    limits = draw(st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=6, unique=True))
    other = replace(one, limits=tuple(limits))
    return Relation(one, other, tolerance=2e-3, distances=True)


RELATIONS = {
    "units of weights": units_of_weights(),
    "units of functions": units_of_functions(),
    "units of data": units_of_data(),
    "units of anchors": units_of_anchors(),
    "ways to give rows": ways_to_give_rows(),
    "ways to give distances": ways_to_give_distances(),
    "other pieces": other_pieces(),
}
