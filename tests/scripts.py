"""Scripts of the gallery: run without a screen, and with other numbers."""

import contextlib
import re
from unittest import mock

import pytest


@contextlib.contextmanager
def without_a_screen():
    """Give matplotlib's pyplot, which shows nothing and keeps no figures in the end."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    with mock.patch.object(pyplot, "show", lambda: None):
        yield pyplot
    pyplot.close("all")


def run_script(path, **constants):
    """Names that a script defines, with other values in the lines that begin with a name."""
    source = path.read_text(encoding="utf-8")
    for name, value in constants.items():
        source, n_lines = re.subn(rf"^{name} = .*$", f"{name} = {value}", source, flags=re.M)
        assert n_lines == 1, f"{path.name} has {n_lines} lines that set {name}"
    names = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(source, path.name, "exec"), names)
    return names
