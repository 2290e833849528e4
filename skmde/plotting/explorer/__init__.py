"""`explore`: an embedding as one HTML file, to move about in, search and select.

The page is JavaScript around the engine regl-scatterplot. Its sources are in the folder
``explorer`` of the repository, its bundle in ``bundle`` beside this file. Here its data are put
together: coordinates and columns (`columns`), images (`sheets`), and the file (`page`).
"""

from skmde.plotting.explorer._explore import explore
from skmde.plotting.explorer.page import ExplorerPage

__all__ = ["ExplorerPage", "explore"]
