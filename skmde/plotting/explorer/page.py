"""The HTML file, and the object that holds it."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import skmde
from skmde.plotting.explorer.packing import to_json
from skmde.plotting.explorer.widget import make_widget

_BUNDLE = resources.files("skmde.plotting.explorer") / "bundle"


@dataclass(frozen=True)
class ExplorerPage:
    """An embedding as a page, as `skmde.plotting.explore` returns it.

    In a notebook the object shows itself as the value of a cell.

    Attributes
    ----------
    html : str
        The file's text. It needs nothing else: no network, no other file.
    height : int
        Height in a notebook, in pixels.

    See Also
    --------
    explore : Return an embedding as one HTML file, to move about in, search and select.
    """

    html: str = field(repr=False)
    height: int = 600

    def save(self, path: str | Path) -> None:
        """Write the file.

        Parameters
        ----------
        path : str or path-like
            Where to write it, such as "digits.html". A file of that name is replaced.
        """
        Path(path).write_text(self.html, encoding="utf-8", newline="\n")

    def widget(self) -> Any:
        """Return the page as a notebook widget that knows what is selected.

        Returns
        -------
        widget : anywidget.AnyWidget
            Shows the page. ``widget.selection`` is the list of the indices selected in it, in
            ascending order, and ``widget.observe(function, "selection")`` calls a function when
            it changes.

        Raises
        ------
        ImportError
            If anywidget is not installed.
        """
        return make_widget(self.html, self.height)

    def _repr_html_(self) -> str:
        # The frame can neither read the notebook nor its cookies.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 0" title="Embedding"></iframe>'
        )


def _asset(name: str) -> str:
    return (_BUNDLE / name).read_text(encoding="utf-8")


def render(title: str, data: dict[str, Any], sheets: list[str]) -> str:
    """Put the page's text together.

    Parameters
    ----------
    title : str
        Heading of the page.
    data : dict
        What the page's script reads.
    sheets : list of str
        Sheets of images, in base64.

    Returns
    -------
    text : str
        The HTML.
    """
    script = _asset("explorer.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    # This script alone may run, and nothing may be fetched. regl, inside the engine, makes
    # functions from text that it has put together itself.
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "generator": f"skmde {skmde.__version__}",
        "title": html.escape(title),
        "css": _asset("explorer.css"),
        "data": to_json(data),
        "script": script,
        "sheets": "\n".join(
            f'<script id="sheet-{k}" type="text/plain">{sheet}</script>'
            for k, sheet in enumerate(sheets)
        ),
    }
    return re.sub("@@([a-z]+)@@", lambda found: parts[found[1]], _asset("page.html"))
