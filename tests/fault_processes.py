"""What the list of faults asks of whole processes, for all estimators at once.

Starting a process takes seconds, so that each does all that it can: every one says what it found as
one line of JSON.
"""

import json
import os
from pathlib import Path

import pytest
from processes import run_python

HERE = Path(__file__).parent

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

COMMON = """
import hashlib, json, os, pickle, signal, sys, threading, time, warnings
import numpy as np
from importlib.util import find_spec
from fault_cases import CASES

rng = np.random.default_rng(5)
X = rng.standard_normal((300, 20))
X[:, :2] += 6 * rng.integers(0, 3, (300, 2))
UNSEEN = X[250:] + 0.1
X = X[:250]

def bits(case, estimator, unseen=UNSEEN):
    answers = case.found(estimator).tobytes() + case.ask(estimator, unseen).tobytes()
    return hashlib.sha256(answers).hexdigest()
"""

# Many rows and columns, so that there is work for several threads.
ALL_BITS = """
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

rows = rng.standard_normal((900, 70)) * np.linspace(3, 0.1, 70)
unseen = rows[:50] + 0.01
D, TO = cdist(rows, rows), cdist(unseen, rows)
kinds = {
    "precomputed": (D, TO),
    "graph": (kneighbors_graph(rows, 7), TO),
}

def all_bits(**params):
    found = {}
    for name, case in CASES.items():
        short = {"max_iter": 15} if case.has("max_iter") else {}
        for way in ({}, *case.ways):
            data, new = kinds.get(way.get("metric"), (rows, unseen))
            estimator = case.fit(data, rows, **short, **way, **params)
            numbers = [
                np.asarray(value).tobytes()
                for attribute, value in sorted(vars(estimator).items())
                if isinstance(value, np.ndarray | float) and attribute.endswith("_")
            ]
            answers = [bits(case, estimator, new).encode(), *numbers]
            found[f"{name}, {way}"] = hashlib.sha256(b"".join(answers)).hexdigest()
    return found
"""
BITS = 'said["bits"] = all_bits()'
BITS_IN_JOBS = """
import torch
torch.set_num_threads(1)
said["bits with n_jobs=2"] = all_bits(n_jobs=2)
"""

# Pickles of what searches neighbours by approximation, and of what calls a function of the user's.
WRITE = """
import metrics_of_mine
search = "faiss" if find_spec("faiss") else "pynndescent"
for name, case in CASES.items():
    ways = [{"neighbors_algorithm": search}, {"metric": metrics_of_mine.taxi}]
    ways += [{"loss": metrics_of_mine.loss}] if case.has("loss") else []
    estimators = [case.fit(X[:100], **way) for way in ways]
    answers = [case.ask(estimator, UNSEEN) for estimator in estimators]
    with open(name + ".pickle", "wb") as file:
        pickle.dump((estimators, answers), file)
said["written"] = list(CASES)
"""
READ = """
read = []
for name, case in CASES.items():
    with open(name + ".pickle", "rb") as file:
        estimators, answers = pickle.load(file)
    same = [np.array_equal(case.ask(e, UNSEEN), a) for e, a in zip(estimators, answers)]
    read += [name] if all(same) else []
said["read"] = read
"""

FORK = """
def in_child(case):
    pipe, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(end, bits(case, case.fit(X, n_jobs=2)).encode())
        os._exit(0)
    os.close(end)
    with os.fdopen(pipe) as file:
        found = file.read()
    os.waitpid(child, 0)
    return found

bits_here = {name: bits(case, case.fit(X)) for name, case in CASES.items()}
said["forked"] = {name: in_child(case) == bits_here[name] for name, case in CASES.items()}
"""

INTERRUPT = """
def press():
    started.wait(60)
    os.kill(os.getpid(), signal.SIGINT)

def slow(a, b):
    started.set()
    time.sleep(0.001)
    return abs(a - b).sum()

signal.signal(signal.SIGINT, signal.default_int_handler)
said["interrupted"] = {}
for name, case in CASES.items():
    started = threading.Event()
    estimator = case.make(metric=slow)
    before = dict(vars(estimator))
    threading.Thread(target=press).start()
    try:
        estimator.fit(X, case.y(X))
        end = "finished"
    except BaseException as error:
        end = type(error).__name__
    same = "as before" if vars(estimator) == before else "changed"
    again = estimator.set_params(metric="euclidean").fit(X, case.y(X))
    works = "works" if bits(case, again) == bits_here[name] else "broken"
    said["interrupted"][name] = f"{end}, {same}, {works}"
children = [folder for folder in os.listdir("/proc") if folder.isdigit()] if (
    os.path.isdir("/proc")) else []
said["children"] = 0
for folder in children:
    try:
        with open(f"/proc/{folder}/stat") as file:
            parent = int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        continue
    said["children"] += parent == os.getpid()
"""

QUIET = """
said["quiet"] = []
with warnings.catch_warnings():
    warnings.simplefilter("error")
    for name, case in CASES.items():
        case.ask(case.make().fit(X, case.y(X)), UNSEEN)
        said["quiet"].append(name)
"""

FINITE = """
said["finite"] = [
    name for name, case in CASES.items()
    if np.isfinite(case.ask(case.fit(X[:20]), UNSEEN[:5])).all()
]
"""


def run(folder, parts, threads, **environment):
    """What a process says that does these things in this folder, with so many threads."""
    code = [COMMON, "said = {}", *parts, "print('\\n' + json.dumps(said))"]
    done = run_python("\n".join(code), folder=folder, paths=[HERE], threads=threads, **environment)
    *output, said = done.stdout.strip("\n").split("\n")
    return {**json.loads(said), "output": "\n".join(output) + done.stderr}


def run_all(folder):
    """The processes that the rows need, by number of threads; one has no cache of kernels."""
    (folder / "metrics_of_mine.py").write_text(
        "def taxi(a, b):\n    return abs(a - b).sum()\n"
        "def loss(delta, d):\n    return (delta - d) ** 2\n"
    )
    posix = [FORK, INTERRUPT] if hasattr(os, "fork") else []
    # a file: no process, not even root's, can make a folder of it
    no_folder = folder / "file"
    no_folder.write_text("")
    return {
        "1": run(folder, [ALL_BITS, BITS, WRITE], 1),
        # last, as it leaves torch with one thread
        "2": run(folder, [READ, *posix, ALL_BITS, BITS_IN_JOBS], 2),
        "4": run(folder, [ALL_BITS, BITS, QUIET], 4),
        # It compiles every kernel, which takes old versions of numba more than five minutes.
        "no cache": run(
            folder, [FINITE], 2, timeout=1800, NUMBA_CACHE_DIR=str(no_folder / "cache")
        ),
    }
