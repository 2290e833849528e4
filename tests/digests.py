"""Do two versions of the code give the same bits? Numbers of many fits, saved or compared.

Use this to hold a change that is not meant to alter any result, such as moving files or rewriting
code. Save before the change and compare after it, on one machine::

    python tests/digests.py --save before.npz
    python tests/digests.py --compare before.npz

Each case gives arrays: embeddings, unseen rows, extended maps, pairs. The exit code is 1 if any of
them differs in one bit. Bits differ between processors and between versions of numpy and torch, so
this is not part of the test suite.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.metrics import pairwise_distances

import skmde
from skmde import (
    MDE,
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
    preprocessing,
)

CASES: dict[str, Callable[[], dict]] = {}

DIGITS, LABELS = load_digits(return_X_y=True)
TRAIN, NEW, FURTHER = DIGITS[:600], DIGITS[600:680], DIGITS[680:730]
ROLL = make_swiss_roll(400, random_state=0)[0]


def case(function):
    """Register a case under its function's name."""
    CASES[function.__name__] = function
    return function


def everything(estimator, X=TRAIN, new=NEW, further=FURTHER, **fit_params):
    """Results of an estimator: of fitted rows, of unseen rows, and after `extend`."""
    estimator.fit(X, **fit_params)
    found = {"fit": estimator.embedding_}
    for name in (
        *("edges_", "weights_", "distances_", "distortion_", "residual_norm_", "forces_"),
        *("stress_", "scale_", "eigenvalues_"),
    ):
        value = getattr(estimator, name, None)
        if value is not None:
            found[name] = np.asarray(value)
    if hasattr(estimator, "graph_"):
        found["graph_"] = estimator.graph_.data
    if hasattr(estimator, "history_"):
        found["history"] = estimator.history_["value"]
    if new is not None:
        found["transform"] = estimator.transform(new)
        for name in ("score_samples", "score"):
            if hasattr(estimator, name):
                found[name] = np.asarray(getattr(estimator, name)(new))
    if further is not None and hasattr(estimator, "extend"):
        estimator.extend(further)
        found["extend"] = estimator.embedding_
        if new is not None and new.shape[1] == estimator.n_features_in_:
            found["transform_after_extend"] = estimator.transform(new)
    return found


def some_places(X, every=10):
    """Every tenth row anchored."""
    y = np.full((len(X), 2), np.nan)
    y[::every] = X[::every, 20:22]
    return y


def neighbors(**params):
    """PreserveNeighbors with a seed."""
    return PreserveNeighbors(random_state=0, max_iter=60, **params)


@case
def preserve_neighbors():
    return everything(neighbors())


@case
def preserve_neighbors_threads():
    return everything(neighbors(n_jobs=1, n_components=3, init="random"), TRAIN.astype(np.float32))


@case
def preserve_neighbors_standardized():
    return everything(neighbors(attractive_penalty="quadratic", repulsive_penalty=None, init="pca"))


@case
def preserve_neighbors_penalties():
    found = {}
    for attract, repel in (
        *((skmde.Huber(0.3), "inverse_power"), ("linear", "log_ratio"), ("cubic", "log")),
        *((skmde.Logistic(0.2), skmde.Barrier(0.01)), (skmde.Power(1.7), skmde.Hinge(1.0))),
        *((skmde.Sigmoid(), "log"), (lambda d: d**2 / (1 + d), lambda d: torch.log(1e-3 + d))),
    ):
        estimator = neighbors(attractive_penalty=attract, repulsive_penalty=repel)
        try:
            part = everything(estimator, TRAIN[:300], NEW, None)
        except (ValueError, TypeError) as error:
            part = {"error": np.frombuffer(type(error).__name__.encode(), np.uint8)}
        name = f"{getattr(attract, '__name__', attract)} {getattr(repel, '__name__', repel)}"
        found |= {f"{name}: {key}": value for key, value in part.items()}
    return found


@case
def preserve_neighbors_weights_and_targets():
    rng = np.random.default_rng(0)
    weight = rng.uniform(0, 2, len(TRAIN))
    weight[::7] = 0
    found = everything(neighbors(), sample_weight=weight)
    other = everything(neighbors(target_weight=0.5), y=LABELS[:600])
    return found | {f"y: {key}": value for key, value in other.items()}


@case
def preserve_neighbors_precomputed():
    both = np.concatenate([TRAIN[:300], FURTHER])
    D = pairwise_distances(TRAIN[:300])
    new = pairwise_distances(NEW, TRAIN[:300])
    further = pairwise_distances(FURTHER, both)
    found = everything(neighbors(metric="precomputed"), D, new, further)
    sparse = sp.csr_array(np.where(D < np.quantile(D, 0.05), D, 0))
    found |= {
        f"sparse: {key}": value
        for key, value in everything(
            neighbors(metric="precomputed"), sparse, sp.csr_array(new), None
        ).items()
    }
    tables = preprocessing.nearest_neighbors(TRAIN[:300], 8)[:2]
    pair = everything(neighbors(metric="precomputed"), tables, None, None)
    return found | {f"tables: {key}": value for key, value in pair.items()}


@case
def preserve_neighbors_anchored():
    constraint = skmde.Anchored(np.arange(0, 600, 20), TRAIN[::20, 20:22] / 4)
    return everything(neighbors(constraint=constraint))


@case
def preserve_neighbors_parts():
    X = np.concatenate([ROLL[:120], ROLL[120:200] + 1000, ROLL[200:203] - 500])
    return everything(neighbors(), X, ROLL[210:220], ROLL[220:230])


@case
def preserve_neighbors_metrics():
    found = {}
    for metric in ("cosine", "manhattan", "jaccard", "correlation"):
        X = (TRAIN > 8) if metric == "jaccard" else TRAIN
        new = (NEW > 8) if metric == "jaccard" else NEW
        part = everything(neighbors(metric=metric), X, new, None)
        found |= {f"{metric}: {key}": value for key, value in part.items()}
    part = everything(neighbors(), sp.csr_array(TRAIN), sp.csr_array(NEW), sp.csr_array(FURTHER))
    return found | {f"sparse: {key}": value for key, value in part.items()}


@case
def preserve_neighbors_large():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((20, 30)) * 6
    X = centers[rng.integers(0, 20, 12_000)] + rng.standard_normal((12_000, 30))
    found = {}
    for algorithm in ("faiss", "pynndescent", "torch"):
        part = everything(
            neighbors(neighbors_algorithm=algorithm), X[:10_000], X[10_000:11_000], X[11_000:]
        )
        found |= {f"{algorithm}: {key}": value for key, value in part.items()}
    return found


@case
def preserve_distances():
    found = {}
    for loss in (
        *("absolute", "squared", "sammon", "kamada_kawai", "fractional", "soft_fractional"),
        *("cubic", skmde.HuberLoss(3.0), skmde.LogisticLoss(), skmde.PowerLoss(1.5)),
        lambda delta, d: (delta - d) ** 2 / (1 + delta),
    ):
        estimator = PreserveDistances(loss=loss, random_state=0, max_iter=60)
        part = everything(estimator, TRAIN[:250], NEW[:30], FURTHER[:20])
        name = getattr(loss, "__name__", str(loss))
        found |= {f"{name}: {key}": value for key, value in part.items()}
    return found


@case
def preserve_distances_paths():
    found = everything(
        PreserveDistances(n_neighbors=8, loss="squared", random_state=0, max_iter=60),
        *(ROLL[:300], ROLL[300:330], ROLL[330:350]),
    )
    graph = preprocessing.neighbor_graph(*preprocessing.nearest_neighbors(ROLL[:300], 6)[:2])
    part = everything(
        PreserveDistances(metric="graph", random_state=0, max_iter=60), graph, None, None
    )
    return found | {f"graph: {key}": value for key, value in part.items()}


@case
def preserve_distances_sampled():
    weights = np.random.default_rng(0).uniform(0, 1, (300, 300))
    weights = weights + weights.T
    weights[weights < 0.5] = 0
    found = everything(
        PreserveDistances(constraint="standardized", max_pairs=5000, random_state=0, max_iter=40)
    )
    part = everything(
        PreserveDistances(random_state=0, max_iter=40, init="pca"),
        *(TRAIN[:300], NEW, None),
        pair_weights=weights,
    )
    D = pairwise_distances(TRAIN[:200])
    D[:20, 50:80] = D[50:80, :20] = np.inf
    missing = everything(
        PreserveDistances(metric="precomputed", random_state=0, max_iter=40),
        *(D, pairwise_distances(NEW, TRAIN[:200]), None),
    )
    anchored = everything(
        PreserveDistances(
            constraint=skmde.Anchored([0, 5, 9], TRAIN[[0, 5, 9], 20:22]),
            random_state=0,
            max_iter=40,
        )
    )
    for name, other in (("weighted", part), ("missing", missing), ("anchored", anchored)):
        found |= {f"{name}: {key}": value for key, value in other.items()}
    return found


@case
def quadratic():
    found = everything(QuadraticMDE(weights="mvu", n_neighbors=5), TRAIN[:60], NEW, None)
    for params in (
        *({"weights": "laplacian"}, {"weights": "normalized_laplacian"}, {"weights": "pca"}),
        *(
            {"weights": "kernel_pca", "kernel": "rbf"},
            {"weights": "lle"},
            {"weights": "classical_mds"},
        ),
        *({"weights": "isomap", "n_neighbors": 8}, {"weights": "laplacian", "solver": "lbfgs"}),
    ):
        try:
            estimator = QuadraticMDE(**params, random_state=0)
            part = everything(estimator, TRAIN[:300], NEW, None)
        except ValueError as error:
            part = {"error": np.frombuffer(str(error).encode(), np.uint8)}
        found |= {f"{params}: {key}": value for key, value in part.items()}
    return found


@case
def anchored():
    found = {}
    y = some_places(TRAIN[:400])
    for name, params in (
        *(("quadratic", {}), ("linear", {"attractive_penalty": "linear"})),
        ("repulsive", {"attractive_penalty": "log1p", "repulsive_penalty": "log"}),
        *(("soft", {"anchor_weight": 2.0, "attractive_penalty": "huber"}),),
        *(("squared", {"loss": "squared"}), ("absolute", {"loss": "absolute"})),
        *(("paths", {"loss": "huber", "n_neighbors": 10}), ("random", {"init": "random"})),
    ):
        estimator = AnchoredMDE(random_state=0, max_iter=60, **params)
        try:
            part = everything(estimator, TRAIN[:400], NEW, FURTHER, y=y)
        except ValueError as error:
            part = {"error": np.frombuffer(str(error).encode(), np.uint8)}
        found |= {f"{name}: {key}": value for key, value in part.items()}
    affinity = preprocessing.neighbor_graph(*preprocessing.nearest_neighbors(TRAIN[:400], 6)[:2])
    part = everything(AnchoredMDE(metric="affinity"), affinity, None, None, y=y)
    return found | {f"affinity: {key}": value for key, value in part.items()}


@case
def classifier():
    y = np.where(np.arange(600) < 60, LABELS[:600], -1)
    fitted = AnchoredClassifier(n_neighbors=7).fit(TRAIN, y)
    return {
        "fit": fitted.label_distributions_,
        "predict": fitted.predict_proba(NEW),
        "transduction": fitted.transduction_,
    }


def problem_of(n, m, p, seed, distortion, constraint=None, kind="weights"):
    """Everything that a random problem says of its solution."""
    rng = np.random.default_rng(seed)
    edges = preprocessing.sample_edges(n, p, random_state=seed)
    if kind == "weights":
        more = {"weights": np.where(rng.random(len(edges)) < 0.6, 1.0, -0.5)}
    else:
        more = {"deviations": rng.uniform(0.1, 3, len(edges))}
    problem = MDE(n, m, edges, distortion, constraint, **more)
    X = problem.embed(max_iter=40, random_state=seed)
    return {
        "X": X.numpy(),
        "value": np.asarray(problem.value),
        "residual_norm": np.asarray(problem.residual_norm),
        "distortions": problem.distortions().numpy(),
        "distances": problem.distances().numpy(),
        "average": np.asarray(problem.average_distortion()),
    }


@case
def mde():
    found = {}
    penalties = (skmde.Log1p(), skmde.Log())
    calls = (lambda d: d**1.5, lambda d: -torch.exp(-d))
    problems = {
        "centered": (900, 2, 30_000, 0, penalties),
        "standardized": (900, 3, 30_000, 1, penalties, "standardized"),
        "anchored": (300, 2, 3000, 2, penalties, skmde.Anchored([0, 1], [[0, 0], [1, 1.0]])),
        "callables": (900, 2, 30_000, 3, calls, "standardized"),
        "loss": (200, 2, 3000, 4, "squared", None, "deviations"),
        "many components": (200, 40, 3000, 5, penalties),
    }
    for name, arguments in problems.items():
        found |= {f"{name}: {key}": value for key, value in problem_of(*arguments).items()}
    all_pairs = MDE(300, 2, None, "absolute", deviations=np.linspace(0, 2, 300 * 299 // 2))
    return found | {"all pairs": all_pairs.embed(max_iter=30, random_state=0).numpy()}


@case
def preprocess():
    table = preprocessing.nearest_neighbors(ROLL, 6)
    graph = preprocessing.neighbor_graph(*table[:2], rule="exponential")
    hops = graph.copy()
    hops.data[:] = 1
    found = {"indices": table[0], "distances": table[1]}
    for name, lengths in (("lengths", graph), ("hops", hops)):
        paths = preprocessing.shortest_paths(lengths, max_pairs=3000, random_state=0)
        found |= {f"{name} edges": paths.edges, f"{name} distances": paths.distances}
    found["dissimilar"] = preprocessing.sample_dissimilar(400, 500, paths.edges, random_state=0)
    found["packed"] = preprocessing.pack_components(ROLL, np.arange(400) % 7)
    for metric in ("seuclidean", "mahalanobis", "chebyshev", "canberra"):
        index = preprocessing.NeighborIndex(metric=metric).fit(DIGITS[:300, :20] + ROLL[:300, :1])
        queries = DIGITS[300:330, :20] + ROLL[300:330, :1]
        found[metric] = index.kneighbors(queries, 5)[1]
    return found


def numbers(names):
    """Arrays of some cases, and seconds."""
    found, seconds = {}, {}
    for name in names:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part = CASES[name]()
        seconds[name] = time.perf_counter() - start
        for key, value in part.items():
            found[f"{name} / {key}"] = np.asarray(value)
        errors = sum("error" in key for key in part)
        note = f", {errors} of them errors" if errors else ""
        print(f"{name}: {len(part)} arrays{note}, {seconds[name]:.1f} s", flush=True)
    return found


def difference(before, now):
    """What differs between two arrays, as a sentence; an empty one if nothing does."""
    if before.shape != now.shape or before.dtype != now.dtype:
        return f"{before.dtype} {before.shape} before, {now.dtype} {now.shape} now"
    if before.tobytes() == now.tobytes():
        return ""
    if before.dtype.kind not in "fiu":
        return "other entries"
    size = np.abs(before.astype(float)).max(initial=0.0) or 1.0
    gap = np.abs(before.astype(float) - now.astype(float)).max(initial=0.0)
    return f"differs by {gap / size:.3g} of its largest entry"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--save", metavar="FILE", help="where to write the numbers")
    parser.add_argument("--compare", metavar="FILE", help="numbers that were saved before")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    if not (arguments.save or arguments.compare):
        parser.error("give --save FILE or --compare FILE")
    found = numbers(arguments.cases)
    if arguments.save:
        np.savez(arguments.save, **found)
    if not arguments.compare:
        return 0
    failures = 0
    with np.load(arguments.compare) as saved:
        before = {k: saved[k] for k in saved.files if k.split(" / ")[0] in arguments.cases}
    for key in sorted(before.keys() | found.keys()):
        if key not in found or key not in before:
            what = "is missing now" if key in before else "is new"
        else:
            what = difference(before[key], found[key])
        if what:
            failures += 1
            print(f"{key}: {what}")
    print(f"{len(before)} arrays compared, {failures} differ")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
