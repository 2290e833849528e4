"""Estimators with scikit-learn's interface."""

from skmde.estimators._preserve_distances import PreserveDistances
from skmde.estimators._preserve_neighbors import PreserveNeighbors

__all__ = ["PreserveDistances", "PreserveNeighbors"]
