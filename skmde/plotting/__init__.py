"""Pictures of embeddings, drawn by matplotlib, which is imported on first use.

Displays follow scikit-learn's convention: ``from_...`` checks what is drawn, computes it and draws
it; ``plot`` draws it again, on other axes or in another way. All take ``ax``, and keep what they
drew in ``ax_`` and ``figure_``. matplotlib comes with ``pip install "skmde[plot]"``.
"""

from skmde.plotting.animation import EmbeddingAnimation, animate
from skmde.plotting.compare import CompareEmbeddingsDisplay
from skmde.plotting.convergence import ConvergenceDisplay
from skmde.plotting.distortion import DistortionDisplay
from skmde.plotting.embedding import EmbeddingDisplay
from skmde.plotting.penalty import PenaltyDisplay
from skmde.plotting.shepard import ShepardDisplay

__all__ = [
    "CompareEmbeddingsDisplay",
    "ConvergenceDisplay",
    "DistortionDisplay",
    "EmbeddingAnimation",
    "EmbeddingDisplay",
    "PenaltyDisplay",
    "ShepardDisplay",
    "animate",
]
