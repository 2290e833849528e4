"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import skmde

ROOT = Path(skmde.__file__).parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_python(code, *, folder=None, paths=(), threads=None, timeout=300, **environment):
    """Run code in this folder with so many threads; it must succeed.

    `paths` are folders to import from besides `folder` and the one that holds skmde.
    """
    paths = [ROOT, *paths, *([] if folder is None else [folder])]
    threads = {} if threads is None else dict.fromkeys(THREADS, str(threads))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            **threads,
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done
