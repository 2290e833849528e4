"""Maps of the United States with a colour for each county.

Shapes come from a TopoJSON file: the borders that counties share are stored once, as *arcs* of
steps on a grid, and a county lists the arcs around it; ``~k`` is arc k backwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np


def county_shapes(path: Path) -> dict[int, list[np.ndarray]]:
    """The rings of each county, by its FIPS code, in the units of the file."""
    topology = json.loads(path.read_text(encoding="utf-8"))
    scale, shift = (np.array(topology["transform"][name]) for name in ("scale", "translate"))
    arcs = [np.cumsum(steps, axis=0) * scale + shift for steps in topology["arcs"]]

    def ring(numbers: list[int]) -> np.ndarray:
        parts = [arcs[k] if k >= 0 else arcs[~k][::-1] for k in numbers]
        return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])

    shapes = {}
    for county in topology["objects"]["counties"]["geometries"]:
        outlines = county.get("arcs", [])
        polygons = outlines if county["type"] == "MultiPolygon" else [outlines]
        shapes[int(county["id"])] = [ring(numbers) for polygon in polygons for numbers in polygon]
    return shapes


def county_maps(
    shapes: dict[int, list[np.ndarray]], fips: np.ndarray, panels: list[tuple[str, Any, str, Any]]
) -> Any:
    """A figure of maps, one above the other.

    Parameters
    ----------
    shapes : dict
        Of `county_shapes`; their vertical axis points down.
    fips : ndarray of shape (n,), int
        The code of each county.
    panels : list of (str, ndarray of shape (n,), str, tuple)
        Title, values, colour map, and the values at which its colours end. None: at the 2nd and
        98th percentile of the counties with a shape. NaN is grey.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.2 * len(panels)), layout="constrained")
    drawn = [k for k, code in enumerate(fips) if int(code) in shapes]
    rings = [(k, ring) for k in drawn for ring in shapes[int(fips[k])]]
    for ax, (title, values, name, ends) in zip(
        np.ravel(figure.subplots(len(panels))), panels, strict=True
    ):
        ends = np.nanpercentile(values[drawn], [2, 98]) if ends is None else ends
        colors = ScalarMappable(Normalize(*ends), name)
        colors.cmap.set_bad("0.75")
        faces = colors.to_rgba(np.ma.masked_invalid(values))
        polygons = PolyCollection([ring for _, ring in rings], linewidths=0.1, edgecolors="0.4")
        polygons.set_facecolor([faces[k] for k, _ in rings])
        ax.add_collection(polygons)
        ax.autoscale_view()
        ax.set(title=title, aspect="equal")
        ax.invert_yaxis()
        ax.axis("off")
        figure.colorbar(colors, ax=ax, shrink=0.6, extend="both")
    return figure
