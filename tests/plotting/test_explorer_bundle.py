"""The bundle that is shipped is the one that the sources in the folder ``explorer`` give."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest

import skmde

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "explorer"
BUNDLE = Path(skmde.__file__).parent / "plotting" / "explorer" / "bundle"
RECORD = json.loads((BUNDLE / "build.json").read_text(encoding="utf-8"))
ADVICE = "Run `make explorer`."


def _digest(*paths):
    hashed = hashlib.sha256()
    for path in paths:
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def test_the_bundle_was_built_from_these_sources():
    files = sorted(
        (path for path in (SOURCES / "src").rglob("*") if path.is_file()),
        key=lambda path: path.relative_to(SOURCES).as_posix(),
    )
    assert len(files) > 10
    assert RECORD["sources_sha256"] == _digest(*files, SOURCES / "package-lock.json"), ADVICE
    assert (BUNDLE / "page.html").read_bytes() == (SOURCES / "src" / "page.html").read_bytes()


@pytest.mark.parametrize("name", ["explorer.js", "explorer.css"])
def test_the_bundle_is_as_it_was_built(name):
    assert RECORD[f"{name}_sha256"] == _digest(BUNDLE / name), ADVICE


def test_the_engine_has_the_version_that_is_asked_for_and_its_licence():
    asked = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))["dependencies"]
    licences = (BUNDLE / "LICENSES.txt").read_text(encoding="utf-8")
    assert asked.items() <= RECORD["packages"].items()
    for name, version in RECORD["packages"].items():
        assert f"{name.split('/')[-1]} {version} (" in licences
    assert licences.count("Permission is hereby granted") >= 8


def test_the_script_cannot_end_its_own_element_and_names_no_address():
    script = (BUNDLE / "explorer.js").read_text(encoding="utf-8")
    assert script.isascii()
    assert "</script" not in script.lower() and "<!--" not in script
    for way_out in ("XMLHttpRequest", "fetch(", "WebSocket", "sendBeacon", "EventSource"):
        assert way_out not in script


def test_the_wheel_takes_the_bundle_along():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["skmde"]
    package = Path(skmde.__file__).parent
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    assert set(BUNDLE.iterdir()) <= shipped
