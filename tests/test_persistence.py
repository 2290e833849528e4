"""Fitted estimators survive files: pickle, joblib and skops, read in another process."""

import importlib
import pickle
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from labels import label
from processes import run_python
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from slowly import slow

import skmde
from skmde import (
    Anchored,
    AnchoredClassifier,
    AnchoredMDE,
    Barrier,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
    Standardized,
)
from skmde.constraints import Box, Disc, NonNegative, SameCoordinate, Sphere
from skmde.losses import LOSSES
from skmde.penalties import PENALTIES
from skmde.persistence import TRUSTED_TYPES

ROOT = Path(skmde.__file__).parent.parent
X, Y = (part[:150] for part in load_digits(return_X_y=True))
UNSEEN = load_digits().data[150:160]
PLACES = np.full((150, 2), np.nan)
PLACES[:20] = np.random.default_rng(0).standard_normal((20, 2))
LABELS = np.where(np.arange(150) < 60, Y, -1)
D = pairwise_distances(X)
W = sp.csr_array(np.exp(-D / 20) * (D < np.quantile(D, 0.2)))
ROWS = pairwise_distances(UNSEEN, X)

CASES = {
    "neighbors": (PreserveNeighbors(), X, None, UNSEEN),
    "neighbors, sparse": (PreserveNeighbors(), sp.csr_array(X), None, sp.csr_array(UNSEEN)),
    "neighbors, cosine": (PreserveNeighbors(metric="cosine"), X, None, UNSEEN),
    "neighbors, manhattan": (PreserveNeighbors(metric="manhattan"), X, None, UNSEEN),
    "neighbors, faiss": (PreserveNeighbors(neighbors_algorithm="faiss"), X, None, UNSEEN),
    "neighbors, torch": (PreserveNeighbors(neighbors_algorithm="torch"), X, None, UNSEEN),
    "neighbors, matrix": (PreserveNeighbors(metric="precomputed"), D, None, ROWS),
    "neighbors, similarities": (PreserveNeighbors(metric="affinity"), W, None, W[:5]),
    "neighbors, paths": (PreserveNeighbors(metric="graph", n_neighbors=8), W, None, W[:5]),
    "neighbors, standardized": (
        PreserveNeighbors(constraint=Standardized(), target_weight=0.5),
        X,
        Y,
        UNSEEN,
    ),
    "neighbors, anchored": (
        PreserveNeighbors(constraint=Anchored([0, 1], [[0.0, 0.0], [1.0, 1.0]])),
        X,
        None,
        UNSEEN,
    ),
    "distances": (PreserveDistances(), X, None, UNSEEN),
    "distances, paths": (PreserveDistances(n_neighbors=10), X, None, UNSEEN),
    "distances, matrix": (PreserveDistances(metric="precomputed"), D, None, ROWS),
    "distances, graph": (PreserveDistances(metric="graph"), sp.csr_array(D), None, ROWS),
    "anchored": (AnchoredMDE(), X, PLACES, UNSEEN),
    "anchored, affinity": (AnchoredMDE(metric="affinity"), W, PLACES, W[:5]),
    "anchored, loss": (AnchoredMDE(loss="squared"), X, PLACES, UNSEEN),
    "classifier": (AnchoredClassifier(), X, LABELS, UNSEEN),
    **{
        f"quadratic, {weights}": (QuadraticMDE(weights=weights), X, None, UNSEEN)
        for weights in (
            "laplacian",
            "normalized_laplacian",
            "pca",
            "kernel_pca",
            "lle",
            "classical_mds",
            "isomap",
        )
    },
    "quadratic, precomputed": (QuadraticMDE(weights="precomputed"), W, None, W[:5]),
}
CASE = pytest.mark.parametrize("name", CASES)


def fitted(name):
    estimator, data, y, _ = CASES[name]
    if "faiss" in name:
        pytest.importorskip("faiss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs of several parts
        if "random_state" in estimator.get_params():
            estimator = estimator.set_params(random_state=0)
        return estimator.fit(data, y)


def answer(estimator, unseen):
    method = "predict_proba" if isinstance(estimator, AnchoredClassifier) else "transform"
    return getattr(estimator, method)(unseen)


READ = """
import pickle, sys
import joblib, numpy as np
how, file, unseen, out = sys.argv[1:]
if how == "skops":
    import skops.io
    from skmde.persistence import TRUSTED_TYPES
    estimator = skops.io.load(file, trusted=TRUSTED_TYPES)
else:
    estimator = joblib.load(file)
unseen = joblib.load(unseen)
method = "predict_proba" if hasattr(estimator, "predict_proba") else "transform"
np.save(out, getattr(estimator, method)(unseen))
"""


@pytest.mark.parametrize("how", ["pickle", *slow("joblib", "skops")])
def test_another_process_answers_the_same(tmp_path, how):
    """All cases in one process for each kind of file: a process takes seconds to start."""
    code = ["import sys", "def read():", *("    " + line for line in READ.strip().split("\n"))]
    wanted = {}
    for number, name in enumerate(CASES):
        estimator = fitted(name)
        files = [str(tmp_path / f"{number}.{end}") for end in (how, "unseen", "npy")]
        if how == "skops":
            pytest.importorskip("skops.io").dump(estimator, files[0])
        elif how == "joblib":
            joblib.dump(estimator, files[0])
        else:
            Path(files[0]).write_bytes(pickle.dumps(estimator))
        joblib.dump(CASES[name][3], files[1])
        code.append(f"sys.argv = ['', {how!r}, *{files!r}]; read()")
        wanted[files[2]] = answer(estimator, CASES[name][3])
    run_python("\n".join(code), folder=tmp_path)
    for file, coordinates in wanted.items():
        np.testing.assert_array_equal(np.load(file), coordinates, strict=True)


@CASE
def test_skops_needs_no_type_that_is_not_listed(name):
    io = pytest.importorskip("skops.io")
    unknown = io.get_untrusted_types(data=io.dumps(fitted(name)))
    assert set(unknown) <= set(TRUSTED_TYPES)


@pytest.mark.parametrize("form", ["array", "matrix"])
@pytest.mark.parametrize("kind", ["coo", "csc", "csr", "lil"])
@pytest.mark.parametrize(
    "estimator",
    [
        PreserveNeighbors(max_iter=5, random_state=0),
        PreserveDistances(max_iter=5, random_state=0),
        QuadraticMDE(weights="isomap", random_state=0),
        AnchoredClassifier(),
    ],
    ids=label,
)
def test_skops_reads_sparse_rows_of_every_kind(estimator, kind, form):
    io = pytest.importorskip("skops.io")
    convert = getattr(sp, f"{kind}_{form}")
    y = LABELS if isinstance(estimator, AnchoredClassifier) else None
    fitted = clone(estimator).fit(convert(X), y)
    read = io.loads(io.dumps(fitted), trusted=TRUSTED_TYPES)
    unseen = convert(UNSEEN)
    np.testing.assert_array_equal(answer(read, unseen), answer(fitted, unseen))


@pytest.mark.parametrize(
    "estimator", [PreserveNeighbors(max_iter=5), PreserveDistances(max_iter=5)], ids=label
)
def test_skops_reads_metrics_of_booleans(estimator):
    io = pytest.importorskip("skops.io")
    fitted = clone(estimator).set_params(metric="jaccard", random_state=0).fit(X > 8)
    read = io.loads(io.dumps(fitted), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(read.transform(UNSEEN > 8), fitted.transform(UNSEEN > 8))


@pytest.mark.parametrize(
    "estimator",
    [
        PreserveDistances(monotone=True),
        PreserveDistances(monotone="interval"),
        PreserveDistances(loss="squared", constraint=Sphere(great_circle=True)),
        PreserveNeighbors(constraint=Box(-1.0, [1.0, 2.0])),
    ],
    ids=label,
)
def test_skops_reads_curves_and_boundaries(estimator):
    io = pytest.importorskip("skops.io")
    fitted = clone(estimator).set_params(max_iter=3, random_state=0).fit(X[:60])
    read = io.loads(io.dumps(fitted), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(read.transform(UNSEEN[:1]), fitted.transform(UNSEEN[:1]))


def test_functions_and_constraints_of_the_package_are_listed_and_nothing_else_is():
    io = pytest.importorskip("skops.io")
    functions = [cls(1.0) if cls is Barrier else cls() for cls in PENALTIES.values()]
    functions += [cls() for cls in LOSSES.values()]
    functions += [Box(), NonNegative(), Disc(), Sphere(), SameCoordinate([0, 0])]
    assert set(io.get_untrusted_types(data=io.dumps(functions))) <= set(TRUSTED_TYPES)
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES)
    for name in TRUSTED_TYPES:
        module, _, cls = name.rpartition(".")
        found = getattr(importlib.import_module(module), cls)
        assert isinstance(found, type)
        if module.startswith("skmde"):
            assert "__reduce__" not in vars(found)
            # what that of an index of pynndescent returns is for pickle; skops does not call it
            assert "__reduce_ex__" not in vars(found) or cls == "DescentSearch"


def test_skops_refuses_a_type_that_is_not_listed():
    io = pytest.importorskip("skops.io")
    estimator = PreserveNeighbors(attractive_penalty=np.polynomial.Polynomial([0, 1, 1]))
    with pytest.raises(Exception, match="Polynomial"):
        io.loads(io.dumps(estimator), trusted=TRUSTED_TYPES)


# The version


@pytest.mark.parametrize(
    ("saved", "read", "warned"),
    [
        ("0.1.0", "0.1.7", False),
        ("0.1.0.dev0", "0.1.0", False),
        ("0.1.0", "0.2.0", True),
        ("1.2.0", "1.9.1", False),
        ("1.2.0", "2.0.0", True),
        ("0.9.0", "1.0.0", True),
    ],
)
def test_another_series_of_releases_is_warned_of(monkeypatch, saved, read, warned):
    monkeypatch.setattr(skmde, "__version__", saved)
    data = pickle.dumps(fitted("neighbors"))
    assert saved.encode() in data
    monkeypatch.setattr(skmde, "__version__", read)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        pickle.loads(data)
    messages = [str(w.message) for w in record]
    assert messages == (
        [
            f"This PreserveNeighbors was saved by skmde {saved} and is loaded by skmde {read}, "
            "which may not be compatible; fit it again."
        ]
        if warned
        else []
    )


# Compact estimators


@CASE
def test_compact_estimators_keep_the_embedding_and_say_what_they_forgot(name):
    estimator = fitted(name)
    whole = len(pickle.dumps(estimator))
    public = {key: value for key, value in vars(estimator).items() if not key.startswith("_")}
    assert estimator.compact() is estimator
    assert len(pickle.dumps(estimator)) < whole
    for key, value in public.items():
        assert getattr(estimator, key) is value
    again = pickle.loads(pickle.dumps(estimator)).compact()
    unseen = CASES[name][3]
    calls = [lambda e: answer(e, unseen)]
    calls += [lambda e: e.extend(unseen)] if hasattr(estimator, "extend") else []
    calls += [lambda e: e.score_samples(unseen)] if hasattr(estimator, "score_samples") else []
    for call in calls:
        with pytest.raises(
            ValueError, match=r"compact\(\) discarded the training data.*Fit it again"
        ):
            call(again)
    assert answer(fitted(name), unseen) is not None


def test_compact_needs_a_fit():
    for estimator, *_ in CASES.values():
        with pytest.raises(ValueError, match="not fitted"):
            type(estimator)().compact()


@pytest.mark.slow
@pytest.mark.parametrize("cls", [PreserveNeighbors, QuadraticMDE])
def test_skops_rebuilds_an_index_of_pynndescent(cls):
    skops_io = pytest.importorskip("skops.io")
    estimator = cls(neighbors_algorithm="pynndescent", random_state=0).fit(X)
    read = skops_io.loads(skops_io.dumps(estimator), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(read.transform(UNSEEN), estimator.transform(UNSEEN))


@pytest.mark.parametrize(
    "estimator",
    [PreserveNeighbors(), PreserveDistances(), QuadraticMDE(weights="isomap")],
    ids=label,
)
def test_a_metric_of_pynndescent_is_saved_by_name(estimator):
    skops_io = pytest.importorskip("skops.io")
    estimator.set_params(metric="hellinger", random_state=0).fit(X)
    for read in (
        skops_io.loads(skops_io.dumps(estimator), trusted=TRUSTED_TYPES),
        pickle.loads(pickle.dumps(estimator)),
    ):
        np.testing.assert_array_equal(read.transform(UNSEEN), estimator.transform(UNSEEN))


MAPPED = """
import joblib, numpy as np
from sklearn.datasets import load_digits
from skmde import PreserveNeighbors

X = load_digits().data
for metric in ("euclidean", "hellinger"):  # searches that pynndescent compiles in two ways
    estimator = PreserveNeighbors(
        metric=metric, neighbors_algorithm="pynndescent", random_state=0, max_iter=5
    ).fit(X[:150])
    wanted = estimator.transform(X[150:155])
    joblib.dump(estimator, "map.joblib")
    read = joblib.load("map.joblib", mmap_mode="r")
    assert isinstance(read.embedding_, np.memmap)
    for _ in range(2):
        np.testing.assert_array_equal(read.transform(X[150:155]), wanted)
work = joblib.delayed(PreserveNeighbors.transform)
(found,) = joblib.Parallel(n_jobs=2, max_nbytes=10)([work(estimator, X[150:155])])
np.testing.assert_array_equal(found, wanted)
"""


@pytest.mark.slow
def test_an_index_of_pynndescent_may_be_mapped_into_memory(tmp_path):
    """In a process of its own, which writing into such an index would end."""
    run_python(MAPPED, folder=tmp_path)
