"""Pictures of embeddings. What draws them is imported when it is first used."""

import importlib
from typing import TYPE_CHECKING

_MODULE_OF = {
    "ExplorerPage": "skmde.plotting.explorer",
    "explore": "skmde.plotting.explorer",
}

__all__ = ["ExplorerPage", "explore"]

if TYPE_CHECKING:
    from skmde.plotting.explorer import ExplorerPage as ExplorerPage, explore as explore
else:

    def __getattr__(name):
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'skmde.plotting' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
