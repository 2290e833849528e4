"""Docstrings of public objects follow numpydoc; their examples run as doctests elsewhere."""

import dataclasses
import inspect
import tomllib
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import get_validation_checks, validate

import skmde

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


CONFIG = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["numpydoc_validation"]
CHECKS = get_validation_checks(set(CONFIG["checks"]))


def _public_objects():
    """(dotted name, object) of every public function and class of skmde's own."""
    modules = [skmde.inspection, skmde.metrics, skmde.plotting, skmde.preprocessing]
    public = [(name, getattr(skmde, name)) for name in skmde._MODULE_OF]
    public += [(name, getattr(module, name)) for module in modules for name in module.__all__]
    return {
        f"{value.__module__}.{name}": value
        for name, value in public
        if value.__module__.startswith("skmde.")
    }


PUBLIC = _public_objects()
# Results are received, not made: their docstrings list attributes, and show no example.
MADE = [
    name
    for name, value in PUBLIC.items()
    if not dataclasses.is_dataclass(value) and not hasattr(value, "_fields")
]
METHODS = [
    f"{name}.{attribute}"
    for name, value in PUBLIC.items()
    if inspect.isclass(value)
    for attribute, member in vars(value).items()
    if inspect.isfunction(member) and member.__doc__ and not attribute.startswith("_")
]


@pytest.mark.parametrize("name", [*PUBLIC, *METHODS])
def test_docstring_follows_numpydoc(name):
    checks = CHECKS if name in MADE or name in METHODS else CHECKS - {"PR01"}
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code in checks]
    assert errors == []


FITTED = [
    skmde.PreserveNeighbors,
    skmde.PreserveDistances,
    skmde.QuadraticMDE,
    skmde.AnchoredMDE,
    skmde.AnchoredClassifier,
    skmde.MDE,
    skmde.StreamedMDE,
]


@pytest.mark.parametrize("fitted", FITTED)
def test_methods_of_a_fit_say_which_errors_they_raise(fitted):
    methods = {
        name: method
        for name, method in inspect.getmembers(fitted, callable)
        if not name.startswith("_") and method.__module__.startswith("skmde.")
    }
    silent = [name for name, method in methods.items() if not _section(method, "Raises")]
    assert methods and silent == []


def _section(method, name):
    return NumpyDocString(inspect.getdoc(method))[name]


@pytest.mark.parametrize("name", MADE)
def test_public_object_shows_an_example(name):
    assert ">>> " in inspect.getdoc(PUBLIC[name])
