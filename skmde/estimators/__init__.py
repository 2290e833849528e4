"""Estimators with scikit-learn's interface."""

from skmde.estimators._anchored import AnchoredMDE
from skmde.estimators._anchored_classifier import AnchoredClassifier
from skmde.estimators._preserve_distances import PreserveDistances
from skmde.estimators._preserve_neighbors import PreserveNeighbors
from skmde.estimators._quadratic import QuadraticMDE

__all__ = [
    "AnchoredClassifier",
    "AnchoredMDE",
    "PreserveDistances",
    "PreserveNeighbors",
    "QuadraticMDE",
]
