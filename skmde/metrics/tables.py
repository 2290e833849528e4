"""Tables of results: as text, as HTML, and as a data frame."""

from __future__ import annotations

import html


class Table:
    """A result that is shown as a table, under a title if it has one.

    A subclass sets ``_header`` and returns the rows of texts from ``_cells``.
    """

    _header: tuple[str, ...] = ()

    def _cells(self):
        raise NotImplementedError

    def _title(self):
        return ""

    def __repr__(self) -> str:
        title = self._title()
        return f"{title}\n" * bool(title) + as_text(self._header, self._cells())

    def _repr_html_(self) -> str:
        return as_html(self._header, self._cells(), self._title())


def as_text(header, rows):
    """A table with aligned columns; the cells are strings."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join(lines)


def as_html(header, rows, title=""):
    """The same table in HTML, under a title if there is one; all texts are escaped."""
    caption = f"<caption>{html.escape(title)}</caption>" if title else ""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def as_frame(columns, index=None):
    """The columns, a dict, as a pandas DataFrame.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame() needs pandas, which is not installed: pip install pandas. The numbers are "
            "in the attributes of the result, too."
        ) from error
    return pd.DataFrame(columns, index=index)
