"""A warning names the line of the user's own call, by whatever way the call goes."""

import ast
import inspect
import io
import threading
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skmde
from skmde import MDE, AnchoredMDE, PreserveNeighbors, QuadraticMDE
from skmde._utils.warn import warn
from skmde.penalties import Barrier
from skmde.preprocessing import nearest_neighbors, precomputed_neighbors

PACKAGE = Path(skmde.__file__).parent
RNG = np.random.default_rng(0)
FEW = RNG.normal(size=(8, 3))  # less than n_neighbors
MANY = RNG.normal(size=(60, 3))
ASYMMETRIC = np.array([[0.0, 1.0, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


def few_neighbors(**parameters):
    return PreserveNeighbors(n_neighbors=30, max_iter=2, random_state=0, **parameters)


def classes_of_one():
    pipeline = make_pipeline(StandardScaler(), PreserveNeighbors(target_weight=1.0, max_iter=1))
    return lambda: pipeline.fit(MANY, np.arange(60))


def extension():
    graph = sp.csr_array(1.0 * (MANY @ MANY.T > 0))
    fitted = PreserveNeighbors(metric="precomputed", max_iter=2, random_state=0).fit(graph)
    apart = sp.csr_array((np.ones(2), ([0, 1], [61, 60])), shape=(2, 62))
    return lambda: fitted.extend(apart)


def placement():
    fitted = PreserveNeighbors(
        attractive_penalty="log1p",
        repulsive_penalty="cubic",
        n_neighbors=5,
        max_iter=0,
        random_state=0,
    )
    fitted.fit(MANY)
    return lambda: fitted.transform(MANY + 1)


def solve():
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    problem = MDE(4, 2, edges, Barrier(1.0))
    start = 0.1 * np.arange(8.0).reshape(4, 2)
    return lambda: problem.embed(start)


def loading():
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skmde, "__version__", "0.0.1")
        joblib.dump(few_neighbors(), file)
    file.seek(0)
    return lambda: joblib.load(file)


def anchored():
    blobs = np.concatenate([MANY[:30], MANY[30:] + 1000])
    y = np.full((60, 2), np.nan)
    y[:4] = RNG.normal(size=(4, 2))
    return lambda: AnchoredMDE(n_neighbors=4, max_iter=2).fit_transform(blobs, y)


CALLS = {
    "fit": lambda: lambda: few_neighbors().fit(FEW),
    "fit_transform": lambda: lambda: few_neighbors().fit_transform(FEW),
    "fit_transform, pandas": lambda: (
        lambda: few_neighbors().set_output(transform="pandas").fit_transform(FEW)
    ),
    "Pipeline.fit": lambda: lambda: make_pipeline(StandardScaler(), few_neighbors()).fit(FEW),
    "Pipeline.fit_transform": lambda: (
        lambda: make_pipeline(StandardScaler(), few_neighbors()).fit_transform(FEW)
    ),
    "Pipeline.fit, classes": classes_of_one,
    "decorated fit_transform": anchored,
    "classical scaling": lambda: (
        lambda: QuadraticMDE(weights="classical_mds", metric="precomputed", n_components=1).fit(
            ASYMMETRIC
        )
    ),
    "extend": extension,
    "transform": placement,
    "MDE.embed": solve,
    "joblib.load": loading,
    "nearest_neighbors": lambda: lambda: nearest_neighbors(FEW, 30),
    "precomputed_neighbors": lambda: lambda: precomputed_neighbors(ASYMMETRIC),
}


@pytest.mark.parametrize("way", CALLS)
def test_a_warning_names_the_line_of_the_call(way):
    call = CALLS[way]()
    with pytest.warns(UserWarning) as caught:
        call()
    # the innermost frame of this file is the function that was made
    lines, first = inspect.getsourcelines(call)
    for warning in caught:
        assert warning.filename == __file__
        assert first <= warning.lineno < first + len(lines)


def count(calls, *filters):
    """Number of warnings that are shown."""
    globals().setdefault("__warningregistry__", {}).clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        for arguments in filters:
            warnings.filterwarnings(*arguments)
        calls()
    return len(caught)


# Python shows a warning again if filters were changed meanwhile, as they are in some fits.
def twice_on_one_line():
    for _ in range(2):
        precomputed_neighbors(ASYMMETRIC)


def on_two_lines():
    precomputed_neighbors(ASYMMETRIC)
    precomputed_neighbors(ASYMMETRIC)


def test_repeats_are_shown_once_per_line_of_the_user():
    assert count(twice_on_one_line, ("default",)) == 1
    assert count(on_two_lines, ("default",)) == 2
    assert count(twice_on_one_line, ("always",)) == 2


def test_filters_by_module_are_about_the_module_of_the_user():
    ignore = ("ignore", "", UserWarning)
    assert count(on_two_lines, ("always",), (*ignore, __name__.replace(".", r"\."))) == 0
    assert count(on_two_lines, ("always",), (*ignore, r"skmde\.")) == 2


def test_an_example_in_a_docstring_is_a_user():
    example = compile("\n\nwarn('here')", "<doctest skmde.module[0]>", "exec")
    with pytest.warns(UserWarning, match="here") as caught:
        exec(example, {"__name__": "skmde.module", "warn": warn})
    assert (caught[0].filename, caught[0].lineno) == ("<doctest skmde.module[0]>", 3)


def test_a_thread_without_a_frame_of_the_user_names_the_package():
    with pytest.warns(UserWarning, match="n_neighbors=30") as caught:
        thread = threading.Thread(target=few_neighbors().fit, args=(FEW,))
        thread.start()
        thread.join()
    assert Path(caught[0].filename).is_relative_to(PACKAGE)


def test_nothing_in_the_package_counts_frames():
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("warn", "warn_explicit"):
                assert file.name == "warn.py", f"{file}:{node.lineno}"
