"""Pictures of embeddings. What draws them is imported when it is first used.

Displays are drawn by matplotlib. They follow scikit-learn's convention: ``from_...`` checks what is
drawn, computes it and draws it; ``plot`` draws it again, on other axes or in another way. All take
``ax``, and keep what they drew in ``ax_`` and ``figure_``. matplotlib comes with
``pip install "skmde[plot]"``. `explore` writes a page for a browser.
"""

import importlib
from typing import TYPE_CHECKING

_MODULE_OF = {
    "CompareEmbeddingsDisplay": "skmde.plotting.compare",
    "ConvergenceDisplay": "skmde.plotting.convergence",
    "DistortionDisplay": "skmde.plotting.distortion",
    "EmbeddingAnimation": "skmde.plotting.animation",
    "EmbeddingDisplay": "skmde.plotting.embedding",
    "ExplorerPage": "skmde.plotting.explorer",
    "PenaltyDisplay": "skmde.plotting.penalty",
    "ShepardDisplay": "skmde.plotting.shepard",
    "animate": "skmde.plotting.animation",
    "explore": "skmde.plotting.explorer",
}

__all__ = [
    "CompareEmbeddingsDisplay",
    "ConvergenceDisplay",
    "DistortionDisplay",
    "EmbeddingAnimation",
    "EmbeddingDisplay",
    "ExplorerPage",
    "PenaltyDisplay",
    "ShepardDisplay",
    "animate",
    "explore",
]

if TYPE_CHECKING:
    from skmde.plotting.animation import (
        EmbeddingAnimation as EmbeddingAnimation,
        animate as animate,
    )
    from skmde.plotting.compare import CompareEmbeddingsDisplay as CompareEmbeddingsDisplay
    from skmde.plotting.convergence import ConvergenceDisplay as ConvergenceDisplay
    from skmde.plotting.distortion import DistortionDisplay as DistortionDisplay
    from skmde.plotting.embedding import EmbeddingDisplay as EmbeddingDisplay
    from skmde.plotting.explorer import ExplorerPage as ExplorerPage, explore as explore
    from skmde.plotting.penalty import PenaltyDisplay as PenaltyDisplay
    from skmde.plotting.shepard import ShepardDisplay as ShepardDisplay
else:

    def __getattr__(name):
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'skmde.plotting' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
