"""Citations of the monograph: Agrawal, Ali and Boyd, *Minimum-Distortion Embedding* (2021).

Code and docs cite its chapters, sections and tables by number. Here are the numbers and titles that
they may cite, the topics that citations name in parentheses, and the chapters of each folder.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# number: its title, then the paragraphs within that citations name
CONTENTS = {
    "2": ["minimum-distortion embedding"],
    "2.1": ["embedding"],
    "2.2": ["distortion"],
    "2.2.1": ["examples"],
    "2.2.2": ["average distortion"],
    "2.3": ["minimum-distortion embedding", "mechanical interpretation", "incidence matrix"],
    "2.4": ["constraints"],
    "2.4.1": ["centered embeddings"],
    "2.4.2": ["anchored embeddings", "incremental embedding", "semi-supervised learning"],
    "2.4.3": ["standardized embeddings", "natural length"],
    "2.4.4": ["attraction, repulsion, and spreading"],
    "2.4.5": ["comparing embeddings"],
    "2.5": ["simple examples"],
    "2.6": ["validation"],
    "3": ["quadratic problems", "quadratic placement"],
    "3.1": ["solution by eigenvector decomposition"],
    "3.2": ["historical examples", "classical multidimensional scaling"],
    "4": ["distortion functions"],
    "4.1": ["functions involving weights", "penalties"],
    "4.1.1": ["attractive distortion functions"],
    "4.1.2": ["repulsive distortion functions", "placement and sphere packing"],
    "4.2": ["functions involving original distances", "losses"],
    "4.2.1": ["examples", "examples of losses"],
    "4.3": ["preprocessing"],
    "4.3.1": ["neighborhoods", "choosing dissimilar items", "choosing weights"],
    "4.3.2": ["graph distance"],
    "4.3.3": ["other methods"],
    "5": ["stationarity conditions"],
    "5.1": ["centered problems"],
    "5.2": ["anchored problems"],
    "5.2.1": ["forces"],
    "5.3": ["standardized problems"],
    "5.3.1": ["dual variables"],
    "6": ["algorithms"],
    "6.1": ["projected quasi-newton algorithm"],
    "6.1.1": ["search direction"],
    "6.1.2": ["projection onto constraints"],
    "6.1.3": ["algorithm summary", "initial iterate"],
    "6.2": ["stochastic proximal algorithm"],
    "7": ["numerical examples"],
    "7.1": ["quadratic problems"],
    "7.1.1": ["comparison to other methods"],
    "7.1.2": ["scaling"],
    "7.2": ["other problems"],
    "7.3": ["a very large problem"],
    "7.4": ["implementation"],
    "8": ["images"],
    "9": ["networks"],
    "10": ["counties"],
    "11": ["population genetics"],
    "12": ["single-cell genomics"],
}
TABLES = {"7.1", "10.1"}
FOLDERS = {
    "skmde/_linalg": ("6.1.2",),
    "skmde/constraints": ("2.4", "5", "6.1.2"),
    "skmde/core/kernels": ("2.3", "5", "6.1.1"),
    "skmde/core/objectives": ("2.2", "2.3", "4", "5"),
    "skmde/core/placement": ("2.4.2", "6.1.2"),
    "skmde/core/solvers": ("2.2.2", "5", "6"),
    "skmde/core/spectral": ("2.4.2", "3"),
    "skmde/estimators/spectral": ("3.2",),
    "skmde/functions": ("4", "4.1", "4.2"),
    "skmde/metrics": ("2.3", "2.4.5", "2.6"),
    "skmde/preprocessing/graphs": ("4.3",),
}
OTHER_WORKS = r"(\*Numerical Optimization\*|JMLR 9 \(2008\)), section [\d.]+\d"
AUTHORS = r"Agrawal[^(]* Boyd, \*?Minimum-Distortion Embedding\*?(?: \(2021\)|, 2021)?[,:]"
NUMBER = r"\d+(?:\.\d+)*"
TOPIC = r"(?: \([^()]*\))?"
CITED = rf"(?:sections?|chapters?) ({NUMBER}{TOPIC}(?:(?:,| and|, and) {NUMBER}{TOPIC})*)"


def prose(path):
    """Text of a file on one line, without the marks of comments and of other works' sections."""
    text = re.sub(r"\s+(?:# )?", " ", path.read_text(encoding="utf-8"))
    return re.sub(OTHER_WORKS, "", text)


def citations(text):
    """(number, topic or "") of all cited chapters and sections."""
    for cited in re.findall(CITED, text):
        yield from re.findall(rf"({NUMBER})(?: \(([^()]*)\))?", cited)


def is_within(number, chapter):
    return number == chapter or number.startswith(chapter + ".")


def sources():
    for folder in ("skmde", "doc", "examples", "benchmarks", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".rst", ".md"} and path.name != Path(__file__).name:
                yield path
    yield ROOT / "README.md"


CITING = {
    path.relative_to(ROOT).as_posix(): text
    for path, text in ((path, prose(path)) for path in sources())
    if re.search(rf"[Mm]onograph|Minimum-Distortion Embedding|{CITED}", text)
}


def test_citations_are_found():
    text = "Boyd: sections 2.4 (constraints), 4.2 (losses) and 6.1, chapter 3. 1.5 of 2"
    found = [("2.4", "constraints"), ("4.2", "losses"), ("6.1", ""), ("3", "")]
    assert list(citations(text)) == found
    assert len([path for path in CITING if path.startswith("skmde/")]) > 40


@pytest.mark.parametrize("path", CITING)
def test_cited_chapters_and_sections_exist_and_have_the_cited_topics(path):
    for number, topic in citations(CITING[path]):
        assert number in CONTENTS, f"the monograph has no section {number}"
        topics = CONTENTS[number]
        assert not topic or topic.lower() in topics, f"{number} is {topics}, not {topic!r}"


@pytest.mark.parametrize("path", CITING)
def test_cited_tables_exist(path):
    for number in re.findall(r"table (\d+\.\d+)", CITING[path]):
        assert number in TABLES, f"the monograph has no table {number}"


@pytest.mark.parametrize("path", CITING)
def test_references_name_the_topics_of_sections(path):
    entries = re.findall(rf"[^(](?:{AUTHORS}|Monograph,) (.*?)\.(?= [A-Z]| *\"| *$)", CITING[path])
    for entry in entries:
        for number, topic in citations(entry):
            assert topic, f"the reference to {number} says not to what: {entry!r}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_cites_the_sections_on_its_subject(folder):
    cited = [
        (path, number)
        for path, text in CITING.items()
        if path.startswith(folder + "/")
        for number, _ in citations(text)
    ]
    assert cited
    subject = FOLDERS[folder]
    assert [c for c in cited if not any(is_within(c[1], chapter) for chapter in subject)] == []


def test_equations_of_the_architecture_have_sections_of_the_monograph():
    text = (ROOT / "doc" / "architecture.rst").read_text(encoding="utf-8")
    lines = re.findall(r"^(.*?) \((\d[\d., ]*)\) .*``", text, flags=re.MULTILINE)
    assert len(lines) > 12
    for line, numbers in lines:
        assert set(numbers.split(", ")) <= set(CONTENTS), line
