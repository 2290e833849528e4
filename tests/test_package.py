"""The package as a whole: its public names, what importing it costs, who may import what."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from slowly import slow

import skmde

PACKAGE = Path(skmde.__file__).parent


def test_import_loads_no_heavy_package():
    heavy = ("torch", "numba", "matplotlib", "sklearn", "scipy", "pandas", "pynndescent", "faiss")
    code = f"import sys, skmde; print(*(name for name in {heavy} if name in sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert result.stdout.split() == []


@pytest.mark.parametrize("name", ["PreserveNeighbors", *slow("PreserveDistances", "QuadraticMDE")])
def test_a_small_fit_loads_no_library_that_it_does_not_need(name):
    unneeded = ("matplotlib", "pynndescent", "faiss", "tqdm.auto", "sklearn.neighbors", "cvxpy")
    code = (
        "import sys, numpy, skmde\n"
        "X = numpy.random.default_rng(0).random((60, 4))\n"
        f"skmde.{name}(random_state=0).fit(X)\n"
        f"print(*(name for name in {unneeded} if name in sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert result.stdout.split() == []


@pytest.mark.parametrize("name", skmde.__all__)
def test_public_name_resolves_and_is_listed(name):
    assert getattr(skmde, name) is not None
    assert name in dir(skmde)


@pytest.mark.parametrize("name", sorted(skmde._MODULE_OF))
def test_public_name_is_the_object_of_its_module(name):
    value = getattr(skmde, name)
    assert value.__name__ == name
    assert getattr(skmde, name) is value


def test_misspelt_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'skmde' has no attribute 'PreserveNeighbours'"):
        _ = skmde.PreserveNeighbours
    with pytest.raises(ImportError, match="PreserveNeighbours"):
        from skmde import PreserveNeighbours  # noqa: F401


def test_type_checkers_see_the_names_that_exist_at_run_time():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {(node.module, alias.asname) for node in block.body for alias in node.names}
    assert seen == {
        *((module, name) for name, module in skmde._MODULE_OF.items()),
        *(("skmde", name) for name in skmde._SUBMODULES),
    }


def _imported_names(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_are_allowed_in_this_file(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    private = [
        name
        for name in _imported_names(ast.walk(tree))
        if name.startswith("sklearn.") and any(part.startswith("_") for part in name.split("."))
    ]
    assert private == [] or path.name == "sklearn_compat.py"

    # Optional packages, and matplotlib with them, are imported inside the functions that need them.
    optional = {"PIL", "anywidget", "cuvs", "faiss", "matplotlib", "pandas", "polars", "tqdm"}
    assert optional.isdisjoint(name.split(".")[0] for name in _imported_names(tree.body))


def test_no_folder_holds_many_modules():
    folders = Counter(path.parent for path in SOURCES if path.name != "__init__.py")
    large = {str(path.relative_to(PACKAGE)): n for path, n in folders.items() if n > 12}
    assert large == {}, "group the modules of an idea in a folder of their own"


def test_one_file_asks_for_the_type_of_a_device():
    asking = [
        str(path.relative_to(PACKAGE))
        for path in SOURCES
        if any(
            isinstance(node, ast.Attribute)
            and node.attr == "type"
            and "device" in ast.unparse(node.value).lower()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]
    assert asking == ["_utils/device.py"]


def test_show_versions_names_every_dependency(capsys):
    skmde.show_versions()
    printed = capsys.readouterr().out
    for name in ("python", "skmde", "scikit-learn", "torch", "numpy", "numba", "CUDA devices"):
        assert f"{name}: " in printed
    assert skmde.__version__ in printed or "skmde: not installed" in printed
