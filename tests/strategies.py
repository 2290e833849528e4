"""Random problems: what the property tests draw, and what `make fuzz` draws for longer."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from hypothesis import strategies as st
from limits import LIMITS
from problem_recipes import ARRAYS, Bowl, Gap, Nonsense, Recipe, Taxi, Times
from sklearn.neighbors import VALID_METRICS

import skmde
from skmde import penalties
from skmde.functions.registry import NAMED_LOSSES as LOSSES
from skmde.penalties import PENALTIES

ESTIMATORS = [
    "PreserveNeighbors",
    "PreserveDistances",
    "QuadraticMDE",
    "AnchoredMDE",
    "AnchoredClassifier",
]


# Losses without a length of their own.
PLAIN_LOSSES = sorted(set(LOSSES) - {"huber", "logistic"})
UNITS = [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12]
ANY_PENALTY = [*PENALTIES, penalties.Log1p(2.0), penalties.Huber(0.1), penalties.Power(1.2)]
ATTRACTIVE = [*ANY_PENALTY, penalties.Barrier(0.1), Bowl()]
REPULSIVE = [
    *PENALTIES,
    *(penalties.InversePower(2.0), penalties.Hinge(2.0), penalties.LogRatio(1.0), Bowl()),
]
# Names that only pynndescent has; those that compile for seconds are left out.
OF_PYNNDESCENT = ("hellinger", "kulsinski", "linf", "taxicab", "tsss", "symmetric_kl")
METRICS = [
    *["euclidean"] * 12,
    *sorted({*VALID_METRICS["brute"], *OF_PYNNDESCENT} - {"precomputed"}),
    *(Taxi(), Nonsense(-1.0), Nonsense(float("nan")), Nonsense((1.0, 2.0))),
]
SEARCHES = ["auto", "exact", "torch", *(["faiss"] if find_spec("faiss") else [])]
EUCLIDEAN = ("euclidean", "l2", "sqeuclidean", "cosine", "correlation", "precomputed")
SPREADS = ["normal", "integers", "equal", "line", "blobs", "copies", "mostly zeros", "far"]
SPREADS += ["positive"]
# the last are refused, or some of them, as their squares are no numbers
SCALES = [*[1.0] * 6, *UNITS, *[1e-25, 1e25, 1e-90, 1e90], *[1e-150, 1e150, 1e-300, 1e300]]
DTYPES = ["float64", "float64", "float32", "float16", "int64", "uint8", "bool", "object", ">f8"]
FORMS = [
    *("array", "fortran", "strided", "reversed", "read-only"),
    *("list", "frame", "tensor", "csr", "csc", "coo"),
]
SMALL = [1, *range(2, 31)]
# On both sides of the numbers of samples at which the code takes another way.
BORDERS = [50, 51, 64, 65, 149, 150, 256, 257, 300, 301]


def losses(unit):
    """Losses, whose own lengths are those of the data, or not."""
    own = [skmde.HuberLoss(0.1), skmde.PowerLoss(1.5), skmde.SoftFractionalLoss(2.0), Gap()]
    if 1e-15 < unit < 1e15:
        own.append(skmde.HuberLoss(unit))
    return st.sampled_from([*LOSSES, *own])


def _with_units(functions):
    """The functions, and callable ones in any unit."""
    times = st.builds(Times, st.just(Bowl()), st.sampled_from(UNITS))
    return st.one_of(st.sampled_from(functions), st.sampled_from(functions), times)


def _optional(**strategies):
    """Each parameter is there or has its default."""
    return st.fixed_dictionaries({}, optional=strategies)


def _solver():
    return {
        "max_iter": st.sampled_from([0, 1, 5, 40, 300]),
        "tol": st.sampled_from([0.0, 1e-5, 1e-1]),
        "memory_size": st.integers(1, 6),
    }


def _input(n):
    return {
        "n_neighbors": st.one_of(st.none(), st.integers(1, n + 2)),
        "metric": st.sampled_from(METRICS),
        "max_distance": st.sampled_from([None, None, 1e-6, 0.5, 2.0, 1e9]),
        "neighbors_algorithm": st.sampled_from(SEARCHES),
    }


def parameters(estimator, n, unit=1.0):
    """Parameters of an estimator of n samples, not all of which go together."""
    repulsive = st.one_of(st.none(), st.sampled_from(REPULSIVE))
    m = st.integers(1, 4)
    constraint = st.sampled_from([None, "centered", "standardized", "anchored"])
    if estimator == "PreserveNeighbors":
        return _optional(
            n_components=m,
            attractive_penalty=_with_units(ATTRACTIVE),
            repulsive_penalty=repulsive,
            repulsion=st.sampled_from(["auto", "all", "normalized", "sampled"]),
            repulsive_weight=st.sampled_from([None, None, 1e-3, 0.1, 1.0, 10.0]),
            repulsive_fraction=st.sampled_from([None, 0.01, 0.5, 3.0]),
            constraint=constraint,
            target_weight=st.sampled_from([0.0, 0.5]),
            init=st.sampled_from(["auto", "quadratic", "isomap", "pca", "random", *ARRAYS]),
            **_input(n),
            **_solver(),
        )
    if estimator == "PreserveDistances":
        given = _input(n)
        del given["max_distance"]
        return _optional(
            n_components=m,
            loss=losses(unit),
            max_path_length=st.sampled_from([None, None, 1e-6, 2.0]),
            max_pairs=st.sampled_from([1, 5, 50, np.inf]),
            constraint=constraint,
            init=st.sampled_from(["classical", "pca", "random", *ARRAYS]),
            **given,
            **_solver(),
        )
    if estimator == "QuadraticMDE":
        given = _input(n)
        del given["max_distance"]
        return _optional(
            n_components=m,
            weights=st.sampled_from(
                [
                    *("laplacian", "normalized_laplacian", "pca", "kernel_pca"),
                    *("lle", "classical_mds", "isomap"),
                ]
            ),
            kernel=st.sampled_from(["linear", "rbf", "poly", "cosine"]),
            solver=st.sampled_from(["auto", "dense", "lanczos", "lobpcg", "lbfgs"]),
            **given,
        )
    if estimator == "AnchoredMDE":
        return _optional(
            n_components=m,
            attractive_penalty=_with_units(ATTRACTIVE),
            repulsive_penalty=repulsive,
            repulsion=st.sampled_from(["all", "normalized", "sampled"]),
            loss=st.one_of(st.none(), losses(unit)),
            anchor_weight=st.sampled_from([None, 1e-3, 1.0, 1e3]),
            init=st.sampled_from(["auto", "random", *ARRAYS]),
            **_input(n),
            **_solver(),
        )
    return _optional(**_input(n))


@st.composite
def recipes(
    draw,
    estimators=tuple(ESTIMATORS),
    kinds=("rows", "rows", "rows", "matrix", "graph", "tables", "weights"),
    sizes=(*SMALL, *SMALL, *SMALL, *BORDERS),
    pynndescent=False,
):
    """Any problem: of any size, with or without a minimum.

    With `pynndescent`, its search is tried, for metrics that need no other compiled code.
    """
    estimator = draw(st.sampled_from(estimators))
    n = draw(st.sampled_from(sizes))
    kind = draw(st.sampled_from(kinds))
    scale = draw(st.sampled_from(SCALES))
    params = dict(draw(parameters(estimator, n, scale)))
    if kind != "rows":
        params["metric"] = "precomputed"
    if kind == "weights":
        params.update(_takes_weights(estimator))
    elif kind != "rows" and "max_path_length" in params:
        params.setdefault("n_neighbors", 3)
    limits = draw(st.lists(st.sampled_from(sorted(LIMITS)), max_size=4, unique=True))
    is_euclidean = str(params.get("metric", "euclidean")) in EUCLIDEAN
    if pynndescent and is_euclidean and draw(st.integers(0, 3)) == 0:
        params["neighbors_algorithm"] = "pynndescent"
        limits = [name for name in limits if not name.endswith("_SMALL_DENSE")]
    weightless = draw(st.sampled_from([None, None, 0.0, 0.3, 0.9]))
    return Recipe(
        estimator=estimator,
        n=n,
        d=draw(st.integers(1, 6)),
        seed=draw(st.integers(0, 1000)),
        spread=draw(st.sampled_from(SPREADS)),
        scale=scale,
        shift=draw(st.sampled_from([0.0, 0.0, 1.0, 1e8])),
        hole=draw(st.sampled_from([None] * 8 + [np.nan, np.inf])),
        kind=kind,
        dtype=draw(st.sampled_from(DTYPES)),
        form=draw(st.sampled_from(FORMS)),
        n_anchors=draw(st.integers(1, 5)),
        measured=draw(st.sampled_from(["euclidean", "manhattan", "chebyshev"])),
        weightless=weightless,
        weight_unit=draw(st.sampled_from([1.0, *UNITS])),
        limits=tuple(limits),
        params=params,
    )


def _takes_weights(estimator):
    """Parameters of an estimator that is given weights of pairs."""
    if estimator == "QuadraticMDE":
        return {"weights": "precomputed", "metric": "euclidean"}
    if estimator.startswith("Anchored"):
        return {"metric": "affinity", "n_neighbors": None, "max_distance": None}
    return {}  # to these, similarities are distances
