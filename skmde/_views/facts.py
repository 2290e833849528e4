"""Facts about a result, by name: as a table in HTML, with a picture beside it."""

from __future__ import annotations

import html
from collections.abc import Mapping

_LONGEST = 300  # characters of a fact

# `!important` because notebooks have rules of their own for tables, with other borders and sides.
_STYLE = (
    "<style>"
    ".skmde-facts{display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start;margin:.5em 0}"
    ".skmde-facts table{border-collapse:collapse;margin:0;max-width:40em;font-size:.9em}"
    ".skmde-facts :is(th,td){text-align:left!important;vertical-align:top;padding:.15em .8em "
    ".15em 0;white-space:normal;max-width:none}"
    ".skmde-facts th{font-weight:normal;opacity:.7;white-space:nowrap}"
    ".skmde-facts figure{margin:0}"
    ".skmde-facts figcaption{font-size:.75em;opacity:.7;max-width:220px}"
    "</style>"
)


def as_html(facts: Mapping[str, str], picture: str = "") -> str:
    """The facts as a table; names and facts are escaped, and long facts are cut.

    Parameters
    ----------
    facts : mapping of str to str
    picture : str, default=""
        HTML of what is shown beside the table.
    """
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(_cut(fact))}</td></tr>'
        for name, fact in facts.items()
    )
    table = f"<table><tbody>{rows}</tbody></table>"
    return f'{_STYLE}<div class="skmde-facts">{table}{picture}</div>'


def counted(number: int, noun: str) -> str:
    """A number of things, such as "1 pair" and "2,000 pairs"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
