"""The pages and the gallery are complete: no name, page or script is left out."""

import ast
import re
from pathlib import Path

import pytest

import skmde

ROOT = Path(__file__).parents[1]
DOC, EXAMPLES = ROOT / "doc", ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))


def test_reference_lists_every_public_name():
    listed = set((DOC / "api.rst").read_text(encoding="utf-8").split())
    modules = [skmde.inspection, skmde.metrics, skmde.plotting, skmde.preprocessing]
    public = {*skmde._MODULE_OF, *(name for module in modules for name in module.__all__)}
    assert public - listed == set()


def _entries(page):
    """Names in the toctrees of a page, patterns included."""
    text = (DOC / page).read_text(encoding="utf-8")
    for block in re.findall(r"\.\. toctree::\n((?:   .*\n|\n)+)", text):
        for line in filter(None, map(str.strip, block.splitlines())):
            if not line.startswith(":"):
                yield re.sub(r".*<(.+)>", r"\1", line)


def test_every_page_has_a_place_in_the_navigation():
    named = {entry for page in DOC.rglob("*.rst") for entry in _entries(page)}
    built = ("_build", "_templates", "gallery", "generated")
    pages = [
        page.relative_to(DOC).with_suffix("")
        for suffix in (".rst", ".md")
        for page in DOC.rglob(f"*{suffix}")
        if page.relative_to(DOC).parts[0] not in built and page.stem != "sg_execution_times"
    ]
    lost = [page for page in pages if not any(page.match(name) for name in {*named, "index"})]
    assert lost == []


@pytest.mark.parametrize("folder", sorted({script.parent for script in SCRIPTS}))
def test_folder_of_the_gallery_has_a_header(folder):
    lines = (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
    # a section's heading is on the page of the gallery, too, below that page's own
    assert lines[0] and re.fullmatch("=+" if folder == EXAMPLES else "-+", lines[1])


@pytest.mark.parametrize(
    "script", SCRIPTS, ids=lambda script: script.relative_to(EXAMPLES).as_posix()
)
def test_script_of_the_gallery_starts_with_a_title(script):
    text = script.read_text(encoding="utf-8")
    title, line, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert re.fullmatch("[=#*-]+", line) and len(line) >= len(title)


def test_architecture_names_files_that_exist():
    text = (DOC / "architecture.rst").read_text(encoding="utf-8")
    paths = [path for name in ("skmde", "tests") for path in (ROOT / name).rglob("*")]
    known = {"/" + path.relative_to(ROOT).as_posix() for path in [*paths, ROOT / "explorer"]}
    named = {name for name in re.findall(r"``([\w./]+)``", text) if re.search(r"/|\.py$", name)}
    ends = ("/" + name.rstrip("/") for name in sorted(named - {"skmde/"}))
    assert [end for end in ends if not any(path.endswith(end) for path in known)] == []
