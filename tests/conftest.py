"""Settings that every test shares, and which variants of a test are in each run."""

import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the first example of a test may compile a kernel, and CI machines stall.
# Derandomised, so that a run says the same as the run before it.
settings.register_profile("skmde", deadline=None, derandomize=True)
settings.load_profile("skmde")

HERE = Path(__file__).parent
OWN_SETTINGS = {HERE / name for name in ("browser", "integrations", "migration")}
# A test with more variants than this has about a fifth of them in each run.
MANY, SHARE = 6, 5
# What these check of one public name or estimator says nothing of the next.
WHOLE = {
    "test_docstrings.py",
    "test_migrating.py",
    "test_package.py",
    "test_readme.py",
    "test_security.py",
    "test_sklearn_checks.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark most variants of tests with many variants as slow.

    Which ones depends on their names alone, so each run on each machine takes the same.
    `make test-slow` runs the others.
    """
    own = [item for item in items if HERE in item.path.parents and item.path.name not in WHOLE]
    own = [item for item in own if OWN_SETTINGS.isdisjoint(item.path.parents)]
    variants = Counter(_test_of(item) for item in own)
    for item in own:
        if variants[_test_of(item)] > MANY and zlib.crc32(_name_of(item).encode()) % SHARE:
            item.add_marker(pytest.mark.slow)


def _test_of(item):
    return item.path, getattr(item, "originalname", None) or item.name


def _name_of(item):
    return f"{item.path.relative_to(HERE).as_posix()}::{item.name}"
