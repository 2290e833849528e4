"""Errors and warnings that callers of skmde may want to name.

Bad input raises ``ValueError`` (``TypeError`` for a wrong kind of object), as in scikit-learn.
"""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning"]
