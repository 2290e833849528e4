"""What is written down more than once agrees: versions, lower bounds, versions of Python, files.

`make release-check` checks what is built; these tests need neither a network nor a build.
"""

import itertools
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import skmde

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What conda-forge calls a package of PyPI.
CONDA_NAMES = {"torch": "pytorch"}


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def load(path):
    return yaml.safe_load(read(path))


def lower_bounds(requirements):
    """Map each requirement to its lower bound, without extras of skmde itself."""
    pairs = (re.fullmatch(r"([\w.-]+)\s*>=\s*([\d.]+)", line) for line in requirements)
    return {pair[1].lower(): pair[2] for pair in pairs if pair}


def release(version):
    """Parts of a version without zeros at the end, so that 1.26 equals 1.26.0."""
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


@pytest.fixture(scope="module")
def pins():
    lines = [line.partition("#")[0].strip() for line in read("constraints-lowest.txt").splitlines()]
    return dict(line.lower().split("==") for line in lines if line)


EXTRAS = PROJECT["optional-dependencies"]
# Pinned since the pinned version of another package does not work well with newer ones.
NEEDED_BY_OTHERS = {"pyparsing"}
ALL_BOUNDS = lower_bounds([*PROJECT["dependencies"], *itertools.chain(*EXTRAS.values())])


def test_lowest_versions_are_the_lower_bounds(pins):
    ours = {name: version for name, version in pins.items() if name not in NEEDED_BY_OTHERS}
    assert {name: release(version) for name, version in ours.items()} == {
        name: release(ALL_BOUNDS[name]) for name in ours
    }


def test_everything_that_the_lowest_session_needs_of_skmde_is_pinned(pins):
    (members,) = (re.fullmatch(r"skmde\[(.+)\]", line)[1] for line in EXTRAS["all"])
    extras = itertools.chain(*(EXTRAS[name] for name in members.split(",")))
    needed = [*PROJECT["dependencies"], *extras]
    assert set(lower_bounds(needed)) <= set(pins)


def test_each_runtime_requirement_has_a_lower_bound_and_no_upper_one():
    assert len(lower_bounds(PROJECT["dependencies"])) == len(PROJECT["dependencies"])


@pytest.mark.parametrize(
    ("path", "keys"),
    [("CITATION.cff", ["version"]), ("conda/recipe.yaml", ["context", "version"])],
)
def test_version_is_that_of_the_package(path, keys):
    value = load(path)
    for key in keys:
        value = value[key]
    assert value == skmde.__version__


def licences():
    """Licence of skmde, then those of the packages in its wheel."""
    return PROJECT["license"].split(" AND ")


def test_licences_of_the_packages_in_the_wheel_are_declared():
    (_, path) = PROJECT["license-files"]
    packaged = re.findall(r"^@?[a-z][\w./-]* [\d.]+ \((.+)\)$", read(path), flags=re.MULTILINE)
    assert len(packaged) > 5
    assert set(packaged) == set(licences()[1:])
    assert licences()[0] == "BSD-3-Clause"
    assert read("LICENSE").startswith("BSD 3-Clause License")


def test_citation_names_licence_and_monograph():
    citation = load("CITATION.cff")
    assert citation["license"] == licences()[0]
    assert citation["preferred-citation"]["doi"] == "10.1561/2200000090"
    assert [author["family-names"] for author in citation["preferred-citation"]["authors"]] == [
        "Agrawal",
        "Ali",
        "Boyd",
    ]


def test_recipe_of_conda_has_the_same_requirements():
    requirements = load("conda/recipe.yaml")["requirements"]
    run = [line.replace("${{ python_min }}", "3.11") for line in requirements["run"]]
    expected = {
        CONDA_NAMES.get(name, name): bound
        for name, bound in lower_bounds(PROJECT["dependencies"]).items()
    }
    python = PROJECT["requires-python"].removeprefix(">=")
    assert lower_bounds(run) == {**expected, "python": python}
    assert load("conda/recipe.yaml")["context"]["python_min"] == python


def test_recipe_of_conda_repeats_summary_licence_and_links():
    about = load("conda/recipe.yaml")["about"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert {about["homepage"], about["documentation"], about["repository"]} == {
        PROJECT["urls"][name] for name in ("Homepage", "Documentation", "Source")
    }


def classified_pythons():
    prefix = "Programming Language :: Python :: 3."
    return [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if name.startswith(prefix)]


def test_hosted_ci_runs_on_each_version_of_python_that_is_classified():
    jobs = load(".github/workflows/ci.yml")["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == classified_pythons()
    assert PROJECT["requires-python"] == f">={classified_pythons()[0]}"


def commands_of(workflow):
    return [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]


def test_hosted_ci_runs_commands_that_developers_have():
    commands = commands_of(load(".github/workflows/ci.yml"))
    assert "bash .ci/run" in commands
    made = {command.split()[1] for command in commands if command.startswith("make ")}
    assert {"test-lowest", "coverage", "doc", "release-check"} <= made
    assert made <= makefile_targets()


def makefile_targets():
    return set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), flags=re.MULTILINE))


PAGES = ["CONTRIBUTING.md", "SECURITY.md", "doc/criteria.rst", "doc/how_it_was_made.rst"]


@pytest.mark.parametrize("page", PAGES)
def test_targets_that_a_page_names_exist(page):
    named = re.findall(r"`make ((?:[a-z][a-z-]+ ?)+)", read(page))
    assert {target for targets in named for target in targets.split()} <= makefile_targets()


@pytest.mark.parametrize("page", ["doc/criteria.rst", "doc/how_it_was_made.rst"])
def test_files_that_are_evidence_exist(page):
    literals = re.findall(r"``([^`\s]+)``", read(page))
    paths = [text for text in literals if "/" in text or re.search(r"\.(md|toml|cff|yaml)$", text)]
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#]+)\)", read(page))
    local = [target for target in targets if not target.startswith("https://")]
    assert [target for target in local if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("page", ["doc/criteria.rst"])
def test_each_criterion_is_met_or_says_what_is_open(page):
    rows = re.findall(r"^   \* - (.+?)(?=^   \* - |^\S|\Z)", read(page), flags=re.M | re.S)
    cells = [re.split(r"\n     - ", row.strip()) for row in rows]
    criteria = [row for row in cells if row[0] != "criterion"]
    assert len(criteria) > 40
    assert all(len(row) == 3 for row in criteria)
    assert {row[1] for row in criteria} == {"met", "open", "no"}
    # What is met names a file or a command.
    assert [row[0] for row in criteria if row[1] == "met" and "``" not in row[2]] == []


def test_forms_for_issues_have_what_the_host_asks_for():
    folder = ROOT / ".github/ISSUE_TEMPLATE"
    forms = [path for path in folder.glob("*.yml") if path.name != "config.yml"]
    assert len(forms) == 4
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"] and form["description"]
        identifiers = [entry["id"] for entry in form["body"]]
        assert len(set(identifiers)) == len(identifiers)
        assert all(entry["attributes"]["label"] for entry in form["body"])
