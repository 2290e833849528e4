"""Faults from outside during a fit: functions that fail, disks, signals, forks, threads.

Nothing may be corrupted: there is an error that explains, or the user's own, and the estimator is
as before; no process or broken cache file is left behind.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from embedding_properties import is_documented
from fault_cases import CASES, assert_finite, over
from fault_processes import COMMON, HERE, needs_posix, run
from processes import ROOT
from slowly import slow

from skmde.exceptions import ConvergenceWarning

X = np.random.default_rng(0).standard_normal((60, 5))
UNSEEN = np.random.default_rng(1).standard_normal((20, 5))
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


class Mine(Exception):  # noqa: N818
    """An error of the user's own."""


def assert_as_before(estimator, before):
    """All that it holds is what it held, the same objects."""
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is value for name, value in before.items())


def assert_fit_fails(case, kind, params, data=X, targets=None):
    """Before any fit and after one, a fit that fails leaves the estimator as it was."""
    targets = case.y(X) if targets is None else targets
    for estimator in (case.make(), case.make().fit(X, case.y(X))):
        estimator.set_params(**params)
        before = dict(vars(estimator))
        with pytest.raises(kind) as caught:
            estimator.fit(data, targets)
        assert_as_before(estimator, before)
    return caught.value


# Functions of the user's that fail


class OneNaN:
    """The taxi metric, NaN between two of the fitted rows or to one unseen row."""

    def __init__(self, *broken):
        self.broken = broken

    def __call__(self, a, b):
        if all(any(np.array_equal(row, other) for other in (a, b)) for row in self.broken):
            return np.nan
        return float(np.abs(a - b).sum())


@over(lambda case: case.has("metric"))
def test_a_metric_that_is_nan_for_one_pair(case):
    error = assert_fit_fails(case, ValueError, {"metric": OneNaN(X[3], X[4])})
    assert is_documented(error)
    assert "NaN" in str(error)


@over(lambda case: case.has("metric"))
def test_a_metric_that_is_nan_for_one_unseen_row(case):
    estimator = case.make(metric=OneNaN(UNSEEN[2], X[4])).fit(X, case.y(X))
    before, answers = dict(vars(estimator)), case.ask(estimator, UNSEEN[:2])
    with pytest.raises(ValueError, match="NaN") as caught:
        case.ask(estimator, UNSEEN)
    assert is_documented(caught.value)
    assert_as_before(estimator, before)
    np.testing.assert_array_equal(case.ask(estimator, UNSEEN[:2]), answers)


@over(lambda case: case.has("metric"))
def test_a_metric_that_raises(case):
    def metric(a, b):
        raise Mine

    assert_fit_fails(case, Mine, {"metric": metric})


def rooted(d):
    """A penalty whose gradient at 0 is NaN."""
    return torch.where(d > 0, torch.sqrt(d), torch.zeros_like(d))


def rooted_error(delta, d):
    """A loss whose gradient is NaN where a distance is kept, or is 0."""
    return torch.sqrt(torch.abs(delta - d)) + rooted(d)


def functions(case):
    """The parameters that take a function of distances, and one whose gradient is NaN at 0."""
    named = case.make().get_params(deep=False)
    if named.get("loss") is not None:
        return {"loss": rooted_error}
    return {"attractive_penalty": rooted} if "attractive_penalty" in named else {}


@over(functions)
def test_a_function_with_a_gradient_of_nan_at_zero(case):
    assert torch.autograd.functional.jacobian(rooted, torch.zeros(1)).isnan().all()
    rows = np.repeat(X[:8], 4, axis=0)  # copies, which an optimum puts at distance 0
    for init in ({}, {"init": np.zeros((32, 2))}):
        estimator = case.fit(rows, max_iter=10, **functions(case), **init)
        assert_finite(case.found(estimator), 32)
        assert np.isfinite(estimator.distortion_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert_finite(case.ask(estimator, UNSEEN[:5]), 5)


def iterated(case):
    """Parameters under which the case is solved by iterations that callbacks hear of."""
    if not case.has("callbacks"):
        return {}
    exact = case.has("attractive_penalty", "loss") and case.make().loss is None
    return {"attractive_penalty": "log1p"} if exact else {"max_iter": 50}


@over(iterated)
@pytest.mark.parametrize("kind", [Mine, KeyboardInterrupt, SystemExit])
def test_a_callback_that_raises(case, kind):
    def callback(state):
        if state.iteration == 2:
            raise kind

    assert_fit_fails(case, kind, {"callbacks": [callback], **iterated(case)})
    plain = case.make(**iterated(case)).fit(X, case.y(X))
    again = case.make(callbacks=[lambda state: None], **iterated(case)).fit(X, case.y(X))
    np.testing.assert_array_equal(case.found(again), case.found(plain))


@over(iterated)
def test_while_it_is_fitted_again_it_answers_as_before(case):
    estimator = case.make(**iterated(case)).fit(X, case.y(X))
    expected, seen = case.ask(estimator, UNSEEN), []
    others = 5.0 * X[::-1] + 1.0
    estimator.set_params(callbacks=[lambda state: seen.append(case.ask(estimator, UNSEEN))])
    estimator.fit(others, case.y(others))
    assert seen
    for answer in seen:
        np.testing.assert_array_equal(answer, expected)
    assert not np.allclose(case.ask(estimator, UNSEEN), expected)


@over(iterated)
def test_what_a_callback_writes_to_the_estimator_is_kept(case):
    def write(state):
        estimator.seen = state.iteration
        estimator.set_params(n_jobs=1)

    estimator = case.make(callbacks=[write], **iterated(case))
    estimator.fit(X, case.y(X))
    assert estimator.seen == estimator.n_iter_
    assert estimator.n_jobs == 1
    plain = case.make(**iterated(case)).fit(X, case.y(X))
    np.testing.assert_array_equal(case.found(estimator), case.found(plain))


# Disks


USE = """
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
case = CASES["QuadraticMDE"]  # which has few kernels to compile
said["bits"] = bits(case, case.fit(X[:20]))
pipeline = make_pipeline(StandardScaler(), case.make(), memory="memory")
try:
    said["pipeline"] = hashlib.sha256(pipeline.fit_transform(X[:20]).tobytes()).hexdigest()
except OSError as error:  # joblib's
    said["pipeline"] = type(error).__name__
"""
FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # not a byte can be written to a file
try:
    with open("probe", "w") as file:
        file.write("x")
    said["full"] = False
except OSError:
    said["full"] = True
"""
READ_ONLY = """
import builtins, errno, io, tempfile
def refuse(function, writes):
    def refusing(*args, **kwargs):
        if writes(*args, **kwargs):
            said["refused"] = True
            raise OSError(errno.EROFS, "Read-only file system")
        return function(*args, **kwargs)
    return refusing
def opens_to_write(file, mode="r", *args, **kwargs):
    return not isinstance(file, int) and bool(set(mode) & set("wax+"))
said["refused"] = False
builtins.open = io.open = refuse(open, opens_to_write)
os.open = refuse(os.open, lambda path, flags, *a, **k: flags & (os.O_WRONLY | os.O_RDWR))
os.mkdir = refuse(os.mkdir, lambda *args, **kwargs: True)
os.replace = refuse(os.replace, lambda *args, **kwargs: True)
"""


@pytest.mark.slow
@needs_posix
def test_caches_on_a_disk_that_takes_nothing(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "cache").mkdir()
    full = run(tmp_path, [FULL, USE], 1, **cache)
    read_only = run(tmp_path, [READ_ONLY, USE], 1, **cache)
    assert full["full"] and read_only["refused"]
    assert not list((tmp_path / "cache").rglob("*.nbi"))
    # what was left behind is no obstacle: it is written anew, and then read
    whole, again = (run(tmp_path, [USE], 1, **cache) for _ in range(2))
    assert list((tmp_path / "cache").rglob("*.nbi"))
    assert full["bits"] == read_only["bits"] == whole["bits"] == again["bits"]
    assert whole["pipeline"] == again["pipeline"] != "OSError"
    assert {full["pipeline"], read_only["pipeline"]} <= {"OSError", whole["pipeline"]}
    assert whole["output"] == again["output"] == ""
    for said in (full, read_only):  # joblib may have a word to say
        assert "skmde" not in said["output"] and "numba" not in said["output"].lower()


# Signals


LONG = """
from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors
print("started", flush=True)
forever = {"max_iter": 10**9, "tol": 0.0, "n_jobs": 2, "random_state": 0}
X = np.random.default_rng(0).standard_normal((2000, 5))
if sys.argv[1] == "PreserveNeighbors":
    PreserveNeighbors(callbacks=[lambda state: print(flush=True)], **forever).fit(X)
elif sys.argv[1] == "PreserveDistances":
    PreserveDistances(callbacks=[lambda state: print(flush=True)], **forever).fit(X)
elif sys.argv[1] == "paths":  # by processes, which are told from the first searches on
    import contextlib
    from skmde.preprocessing.graphs import shortest_paths as paths
    paths._progress = lambda *args: contextlib.nullcontext(lambda count: print(flush=True))
    X = np.random.default_rng(0).standard_normal((20_000, 5))
    PreserveDistances(n_neighbors=10, max_pairs=10**5, **forever).fit(X)
else:
    y = np.full((2000, 2), np.nan)
    y[:50] = X[:50, :2]
    AnchoredMDE(
        attractive_penalty="log1p", repulsive_penalty="log",
        callbacks=[lambda state: print(flush=True)], **forever,
    ).fit(X, y)
"""


def start(code, folder, *arguments, **environment):
    """A process in a session of its own, so that what it leaves behind can be told."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + code, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, HERE))),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a process that was started in the background ignores Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def members(session):
    """Numbers of the processes of a session that are not over."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            state, _, _, owner = (
                (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                if folder.name.isdigit()
                else (None,) * 4
            )
        except OSError:
            continue
        if owner == str(session) and state != "Z":
            found.append(int(folder.name))
    return found


def assert_nobody_is_left(session):
    """All processes of a session end by themselves."""
    end = time.monotonic() + 20
    while members(session) and time.monotonic() < end:
        time.sleep(0.1)
    assert members(session) == []


@needs_posix
@needs_proc
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "name", ["PreserveNeighbors", *slow("PreserveDistances", "AnchoredMDE"), "paths"]
)
def test_a_signal_during_a_fit_leaves_no_process_behind(tmp_path, name, number):
    process = start(LONG, tmp_path, name)
    with process:
        for _ in range(4):  # some iterations into it
            assert process.stdout.readline()
        os.kill(process.pid, number)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == -number
    if number == signal.SIGINT:
        # joblib may add what it says of its folder in shared memory, which it removes
        assert "\nKeyboardInterrupt\n" in complaint
        assert name == "paths" or complaint.endswith("KeyboardInterrupt\n")
    assert_nobody_is_left(process.pid)
    assert list(tmp_path.iterdir()) == []


ONCE = """
case = CASES["QuadraticMDE"]
said = {"bits": bits(case, case.fit(X[:20]))}
print(json.dumps(said))
"""


@pytest.mark.slow
@needs_posix
@needs_proc
def test_a_process_that_is_killed_while_it_compiles_leaves_a_cache_that_works(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    for n_files in (1, 3, 6):  # killed as these are there, each time further on
        with start(ONCE, tmp_path, **cache) as process:
            end = time.monotonic() + 120
            while len(list(tmp_path.rglob("*.nb?"))) < n_files and time.monotonic() < end:
                time.sleep(0.001)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert_nobody_is_left(process.pid)
    answers = []
    for environment in (cache, cache, {}):
        with start(ONCE, tmp_path, **environment) as process:
            out, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
        assert complaint == ""
        answers.append(json.loads(out)["bits"])
    assert answers[0] == answers[1] == answers[2]


# Forks and threads


FORKS = """
fitted = {name: case.fit(X) for name, case in CASES.items()}
expected = {name: case.ask(fitted[name], UNSEEN) for name, case in CASES.items()}
said["same"] = []
children = []
for name, case in CASES.items():
    child = os.fork()
    if child == 0:
        same = np.array_equal(case.ask(fitted[name], UNSEEN), expected[name])
        os._exit(0 if same else 1)
    children.append(child)
    # the parent goes on at the same time
    if np.array_equal(case.ask(fitted[name], UNSEEN), expected[name]):
        said["same"].append(name)
said["codes"] = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
"""


@needs_posix
def test_children_answer_with_what_was_fitted_before_the_fork(tmp_path):
    said = run(tmp_path, [FORKS], 2)
    assert said["same"] == list(CASES)
    assert said["codes"] == [0] * len(CASES)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_threads_that_transform_and_fit_at_the_same_time():
    fitted = {name: case.make().fit(X, case.y(X)) for name, case in CASES.items()}
    expected = {
        name: (case.found(fitted[name]), case.ask(fitted[name], UNSEEN))
        for name, case in CASES.items()
    }
    ready = threading.Barrier(4)

    def work(k):
        ready.wait(30)
        for turn in range(3):
            for name, case in list(CASES.items())[k:] + list(CASES.items())[:k]:
                coordinates, answers = expected[name]
                np.testing.assert_array_equal(case.ask(fitted[name], UNSEEN), answers)
                row = (turn + k) % 20
                alone = case.ask(fitted[name], UNSEEN[[row]])
                np.testing.assert_allclose(alone[0], answers[row], rtol=0, atol=1e-7)
                again = case.make(n_jobs=1 + turn % 2).fit(X, case.y(X))
                np.testing.assert_array_equal(case.found(again), coordinates)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work, k) for k in range(4)]:
            future.result(timeout=120)
