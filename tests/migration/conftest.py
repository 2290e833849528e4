"""Runs tests of scikit-learn and PyMDE with skmde in their place; see README.md."""

import os
import sys
import tomllib
from pathlib import Path

import pymde_shims
import pytest
import sklearn.manifold
import sklearn_shims

os.environ["SKLEARN_RUN_FLOAT32_TESTS"] = "1"  # for scikit-learn's conftest.py
LIST = Path(__file__).with_name("differences.toml")


def read_list():
    """The reason of each entry that differs, and of each that tests nothing of ours."""
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return (
        {test: group["reason"] for group in tables[kind] for test in group["tests"]}
        for kind in ("differs", "theirs")
    )


def pytest_configure(config):
    for name in sklearn.manifold.__all__:
        theirs = getattr(sklearn.manifold, name)
        for module in (sklearn.manifold, sys.modules[theirs.__module__]):
            setattr(module, name, getattr(sklearn_shims, name))
    root = Path(pymde_shims.install()).parent
    config.pluginmanager.register(Differences(root))


class Differences:
    """Expects the listed tests to fail, and all others to pass and to use skmde."""

    def __init__(self, root):
        self.root = root
        self.differs, self.theirs = read_list()

    def names(self, item):
        """The test, and the test with its parameters, from the folder of the packages on."""
        file = item.path.relative_to(self.root).as_posix()
        full = f"{file}::{item.nodeid.partition('::')[2]}"
        return full.partition("[")[0], full

    @pytest.hookimpl(tryfirst=True)  # before -k leaves tests out
    def pytest_collection_modifyitems(self, items):
        left = {*self.differs, *self.theirs}
        files = set()
        for item in items:
            files.add(self.names(item)[0].partition("::")[0])
            for name in self.names(item):
                left.discard(name)
                if name in self.theirs:
                    item.add_marker(pytest.mark.skip(reason=self.theirs[name]))
                elif name in self.differs:
                    item.add_marker(pytest.mark.xfail(reason=self.differs[name], strict=True))
        gone = sorted(name for name in left if name.partition("::")[0] in files)
        if gone:
            raise pytest.UsageError(f"{LIST.name} names tests that do not exist: {gone}")

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        sklearn_shims.USED.clear()
        result = yield
        if not sklearn_shims.USED:
            pytest.fail(f"This test uses nothing of skmde: list it in {LIST.name} under 'theirs'.")
        return result
