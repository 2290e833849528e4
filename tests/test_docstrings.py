"""Docstrings of public objects follow numpydoc; their examples run as doctests elsewhere."""

import dataclasses
import inspect
import pydoc
import tomllib
from pathlib import Path

import pytest
from numpydoc.validate import get_validation_checks, validate

import skmde

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


CONFIG = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["numpydoc_validation"]
CHECKS = get_validation_checks(set(CONFIG["checks"]))


def _public_functions():
    """Dotted names of the public functions and classes, and of the methods they document."""
    for name in sorted(skmde._MODULE_OF):
        value = getattr(skmde, name)
        if not value.__module__.startswith("skmde."):
            continue
        dotted = f"{value.__module__}.{name}"
        yield dotted
        if inspect.isclass(value):
            for attribute, member in vars(value).items():
                if inspect.isfunction(member) and member.__doc__ and attribute[0] != "_":
                    yield f"{dotted}.{attribute}"


@pytest.mark.parametrize("name", list(_public_functions()))
def test_docstring_follows_numpydoc(name):
    checks = set(CHECKS)
    if dataclasses.is_dataclass(pydoc.locate(name)):
        checks.discard("PR01")  # nobody constructs it: the fields are under Attributes
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code in checks]
    assert errors == []


# Results and warnings are received, not made.
@pytest.mark.parametrize(
    "name", sorted(set(skmde._MODULE_OF) - {"ConvergenceWarning", "SolveResult"})
)
def test_public_object_shows_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(skmde, name))
