"""What the package does not do: evaluate strings, open connections, write files unasked."""

import ast
from pathlib import Path

import pytest
from processes import run_python

import skmde

PACKAGE = Path(skmde.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

# Names whose call runs text, reads pickles, starts programs or opens connections.
FORBIDDEN_CALLS = {
    *("eval", "exec", "compile", "__import__", "system", "popen", "Popen", "urlopen"),
    *("load", "loads", "Unpickler", "read_pickle", "from_file"),
}
FORBIDDEN_MODULES = {
    "marshal",
    "shelve",
    "subprocess",
    "socket",
    "urllib",
    "http",
    "requests",
    "ftplib",
    "ctypes",
}


def test_the_list_of_sources_is_not_empty():
    assert len(SOURCES) > 80


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_source_runs_text_or_imports_what_could(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            method_of_torch = name == "compile" and isinstance(called, ast.Attribute)
            of_a_kernel = ast.unparse(called) == "tl.load"  # a number of an array, in Triton
            allowed = method_of_torch or of_a_kernel
            assert name not in FORBIDDEN_CALLS or allowed, f"line {node.lineno}: {name}"
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] not in FORBIDDEN_MODULES, f"line {node.lineno}: {name}"


WATCHED = """
import os, sys, tempfile
import numpy as np
import skmde
from sklearn.datasets import load_digits

def use():
    X, y = load_digits(return_X_y=True)
    X, y, unseen = X[:120], y[:120], X[120:125]
    coordinates = np.full((120, 2), np.nan)
    coordinates[:9] = X[:9, 20:22]
    for estimator, target in (
        (skmde.PreserveNeighbors(random_state=0), None),
        (skmde.PreserveNeighbors(random_state=0, metric="cosine"), None),
        (skmde.PreserveDistances(random_state=0, n_neighbors=10, max_iter=20), None),
        (skmde.QuadraticMDE(), None),
        (skmde.AnchoredMDE(random_state=0), coordinates),
    ):
        estimator.fit(X, target).transform(unseen)
        if hasattr(estimator, "extend"):
            estimator.extend(unseen)
    skmde.AnchoredClassifier().fit(X, np.where(np.arange(120) < 50, y, -1)).predict(unseen)

use()  # imports, and compiles what is not in the cache yet
seen = []

def hook(event, args):
    if event == "open":
        path, mode, flags = args
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
            mode is None and isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        )
        if writes and str(path) != os.devnull:
            seen.append((event, str(path)))
    elif event.split(".")[0] in ("socket", "subprocess", "urllib", "ftplib", "shutil"):
        seen.append((event, repr(args)))
    elif event in ("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename",
                   "os.mkdir", "exec"):
        seen.append((event, repr(args)[:200]))

sys.addaudithook(hook)
use()
for event in seen:
    print(*event)
"""


def test_a_warm_process_writes_no_file_opens_no_connection_and_runs_no_text(tmp_path):
    done = run_python(WATCHED, folder=tmp_path)
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
