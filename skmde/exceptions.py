"""Errors and warnings that users of skmde may want to catch or filter.

As in scikit-learn, invalid input raises ``ValueError``, and a wrong type raises ``TypeError``.
"""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning"]
