"""Dead links are found, whatever is wrong with them; live ones are left alone."""

import pytest
from check_links import dead_links


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "b.html").write_text('<h2 id="here"></h2><a name="old"></a>')

    def write(*targets):
        links = "".join(f'<a href="{target}"></a>' for target in targets)
        (tmp_path / "a.html").write_text(f'<p id="top">{links}<img src="part/b.html"></p>')
        return tmp_path

    return write


def test_live_links_are_not_reported(pages):
    folder = pages("#top", "part/b.html", "part/b.html#here", "part/b.html#old", "a.html")
    assert dead_links(folder) == ([], 6, 0)


@pytest.mark.parametrize("target", ["#nowhere", "c.html", "part/b.html#nowhere", "part/"])
def test_dead_link_is_reported_with_its_page(pages, target):
    dead, _, _ = dead_links(pages(target))
    assert dead == [("a.html", target)]


def test_links_to_other_sites_are_only_counted(pages):
    assert dead_links(pages("https://example.org/nowhere", "mailto:a@example.org"))[0::2] == ([], 2)
