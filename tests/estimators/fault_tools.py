"""What the tests of inputs that break other libraries share."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import skmde

ROOT = Path(skmde.__file__).parent.parent


def assert_finite(Y, shape):
    assert Y.shape == shape
    assert np.isfinite(Y).all()


def n_distinct(Y):
    return len(np.unique(Y, axis=0))


def run_python(code, *, extra_path=None, stdin="", **environment):
    """Run code in a fresh process that must succeed."""
    path = os.pathsep.join(str(p) for p in (ROOT, extra_path) if p is not None)
    env = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=stdin,
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done
