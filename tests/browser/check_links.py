"""Look for links between the pages of the documentation that lead nowhere; `make linkcheck`.

    python tests/browser/check_links.py doc/_build/html

A link leads somewhere if the file is there and, after a ``#``, an element of that name. Links to
other sites are counted and not asked for.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The names of a page's elements, and what it points to."""

    def __init__(self, file):
        super().__init__()
        self.names, self.targets = set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.names |= {attributes.get("id"), attributes.get("name")}
        link = "href" if tag in ("a", "link") else "src"
        if attributes.get(link):
            self.targets.append(attributes[link])


def dead_links(folder):
    """(page, target) of every link that leads nowhere, and how many links there are.

    Parameters
    ----------
    folder : Path
        Where the pages are.

    Returns
    -------
    dead : list of (str, str)
    n_local, n_outside : int
    """
    folder = folder.resolve()
    files = (file for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts)
    pages = {file: Page(file) for file in files}
    dead, n_local, n_outside = [], 0, 0
    for file, page in pages.items():
        for target in page.targets:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                n_outside += 1
                continue
            n_local += 1
            there = (file.parent / unquote(url.path)).resolve() if url.path else file
            found = there.is_file()
            if found and url.fragment and there in pages:
                found = unquote(url.fragment) in pages[there].names
            if not found:
                dead.append((file.relative_to(folder).as_posix(), target))
    return dead, n_local, n_outside


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pages are")
    args = parser.parse_args()
    dead, n_local, n_outside = dead_links(args.folder)
    if n_local == 0:
        sys.exit(f"There are no pages in {args.folder}: run `make doc` first.")
    for page, target in dead:
        print(f"{page}: {target} leads nowhere")
    print(f"{n_local} links between pages, {len(dead)} dead; {n_outside} to other sites")
    sys.exit(len(dead) > 0)


if __name__ == "__main__":
    main()
