"""The disk cache of compiled kernels: used where it can be, never in the way."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skmde

PACKAGE = Path(skmde.__file__).parent

# Two files, because numba by itself notices a change in the file of the outer function only.
INNER = """
from skmde._utils.jit import jit

@jit()
def inner(x):
    return x + {number}
"""
OUTER = """
from inner import inner
from skmde._utils.jit import jit

@jit()
def outer(x):
    return 10 * inner(x)
"""


def run(code, folder, **environment):
    """Run Python in another process; its standard output."""
    path = os.pathsep.join([str(folder), str(PACKAGE.parent)])
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return finished.stdout.strip()


def copy_package(folder):
    shutil.copytree(PACKAGE, folder / "skmde", ignore=shutil.ignore_patterns("__pycache__", "core"))


@pytest.fixture
def kernels(tmp_path):
    """A folder with two kernels, and a cache folder of its own."""
    (tmp_path / "inner.py").write_text(INNER.format(number=1))
    (tmp_path / "outer.py").write_text(OUTER)
    return tmp_path


CALL = "from outer import outer; print(outer(2), sum(outer.stats.cache_hits.values()))"


def test_second_process_finds_the_compiled_kernel(kernels):
    cache = {"NUMBA_CACHE_DIR": str(kernels / "cache")}
    assert run(CALL, kernels, **cache) == "30 0"
    assert run(CALL, kernels, **cache) == "30 1"


def test_kernel_is_compiled_anew_when_a_file_that_it_calls_into_changes(kernels):
    cache = {"NUMBA_CACHE_DIR": str(kernels / "cache")}
    assert run(CALL, kernels, **cache) == "30 0"
    (kernels / "inner.py").write_text(INNER.format(number=5))
    assert run(CALL, kernels, **cache) == "70 0"


@pytest.mark.parametrize(
    ("use", "module"),
    [
        ("from constants import SCALE", "constants.py"),
        ("from skmde.functions import kinds", "kinds"),
    ],
    ids=["by name", "in a module of the package"],
)
def test_kernel_is_compiled_anew_when_a_constant_changes(kernels, use, module):
    cache = {"NUMBA_CACHE_DIR": str(kernels / "cache")}
    copy_package(kernels)
    (kernels / "constants.py").write_text("SCALE = 10")
    file = kernels / module if module.endswith(".py") else kernels / "skmde/functions/kinds.py"
    file.open("a").write("\nSCALE = 10\n")
    scale = "SCALE" if module.endswith(".py") else "kinds.SCALE"
    text = OUTER.replace("from inner", f"{use}\nfrom inner").replace("10 *", f"{scale} *")
    (kernels / "outer.py").write_text(text)
    assert run(CALL, kernels, **cache) == "30 0"
    assert run(CALL, kernels, **cache) == "30 1"
    with file.open("a") as end:
        end.write("\nSCALE = 100\n")
    assert run(CALL, kernels, **cache) == "300 0"
    assert run(CALL, kernels, **cache) == "300 1"


def test_kernel_without_a_source_file_is_not_cached(kernels):
    # Nobody could tell when such an entry is stale, so it is compiled in memory.
    cache = {"NUMBA_CACHE_DIR": str(kernels / "cache")}
    for number in (1, 5):
        source = INNER.format(number=number)
        hidden = f"code = {source!r}\nexec(compile(code, 'nowhere.py', 'exec'), globals())\n"
        (kernels / "inner.py").write_text(hidden)
        assert run(CALL, kernels, **cache) == f"{10 * (2 + number)} 0"


@pytest.mark.slow
def test_same_bits_from_a_kernel_just_compiled_and_from_one_loaded(tmp_path):
    # Unless its helpers are inlined, a kernel that is loaded may call another copy of them, which
    # was optimised otherwise.
    code = (
        "import hashlib, warnings, numpy as np, skmde;warnings.simplefilter('ignore');"
        "delta = np.linspace(0, 2, 300 * 299 // 2, dtype=np.float32);"
        "problem = skmde.MDE(300, 2, None, 'absolute', deviations=delta);"
        "X = problem.embed(max_iter=30, random_state=0).numpy();"
        "print(hashlib.md5(X.tobytes()).hexdigest())"
    )
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(code, tmp_path, **cache) == run(code, tmp_path, **cache)


def test_kernels_run_where_no_folder_for_a_cache_can_be_written(kernels):
    # Files stand where numba would make folders: nothing can be written there, even by root.
    copy_package(kernels)
    obstacle = kernels / "obstacle"
    for file in (obstacle, kernels / "__pycache__", kernels / "skmde" / "__pycache__"):
        file.write_text("")
    coordinates = {
        "NUMBA_CACHE_DIR": str(obstacle / "cache"),
        "HOME": str(obstacle),
        "XDG_CACHE_HOME": str(obstacle),
    }
    assert run(CALL, kernels, **coordinates) == "30 0"
    assert run(CALL, kernels, **coordinates) == "30 0"


def test_kernels_run_when_the_cache_folder_vanishes_after_import(kernels):
    cache = kernels / "cache"
    code = (
        "import shutil, pathlib; from outer import outer;"
        f"cache = pathlib.Path({str(cache)!r}); shutil.rmtree(cache); cache.write_text('');"
        "print(outer(2))"
    )
    assert run(code, kernels, NUMBA_CACHE_DIR=str(cache)) == "30"


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize("broken", [True, False])
def test_loading_a_kernel_leaves_the_garbage_collector_as_it_was(kernels, collecting, broken):
    cache = {"NUMBA_CACHE_DIR": str(kernels / "cache")}
    run(CALL, kernels, **cache)
    if broken:
        for file in (kernels / "cache").rglob("*.nbc"):
            file.write_bytes(b"")
    code = (
        f"import gc; gc.enable() if {collecting} else gc.disable();"
        "from outer import outer; outer(2); print(gc.isenabled())"
    )
    assert run(code, kernels, **cache) == str(collecting)


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
def test_broken_cache_files_are_compiled_over(kernels, pattern):
    cache = {"NUMBA_CACHE_DIR": str(kernels / "cache")}
    run(CALL, kernels, **cache)
    broken = list((kernels / "cache").rglob(pattern))
    assert broken
    for file in broken:
        file.write_bytes(file.read_bytes()[:30])
    assert run(CALL, kernels, **cache) == "30 0"
    assert run(CALL, kernels, **cache) == "30 1"


def test_kernels_keep_nan_and_release_the_interpreter():
    from skmde._utils.jit import REASSOCIATE, jit

    @jit(fastmath=REASSOCIATE)
    def is_number(x):
        return x == x

    assert is_number(1.0) and not is_number(float("nan"))
    assert is_number.targetoptions["nogil"] is True


def test_division_by_zero_gives_infinity_as_in_numpy():
    from skmde._utils.jit import jit

    @jit()
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == float("inf")
