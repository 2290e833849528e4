"""The part of a constraint that holds for unseen rows."""

from __future__ import annotations

import copy
from functools import partial

import torch

from skmde._utils.warn import warn
from skmde.constraints.rows import holds_each_row, project_rows
from skmde.estimators.representation.texts import constraint_text


class RowConstraintMixin:
    """Unseen rows stay in the set of the fit, if it acts on rows.

    Attributes
    ----------
    _row_constraint : Constraint or None
        A copy of the constraint, if it acts on rows.
    _unheld : str or None
        Description of a constraint that unseen rows cannot satisfy, for a warning.
    _solved_under : str
        The constraint of the problem that was solved last, in words.
    """

    _row_constraint = _unheld = None

    def _keep_row_constraint(self, constraint, embedding):
        """Store what the constraint says of single rows; `embedding` has rows of its scale."""
        holds = holds_each_row(constraint, embedding)
        self._row_constraint = copy.deepcopy(constraint) if holds else None
        self._unheld, self._solved_under = None, constraint_text(constraint)
        if not holds and constraint.acts_on_rows is None:
            self._unheld = repr(constraint)

    def _own_distance(self):
        """A function from Euclidean distances to those of the constraint, or None."""
        constraint = self._row_constraint
        if constraint is None or not constraint.has_own_distance:
            return None
        return lambda d: constraint.own_distance(torch.from_numpy(d))[0].numpy()

    def _row_projection(self):
        """A function that projects new rows, or None, with a warning if they cannot be held."""
        if self._unheld is not None:
            warn(
                f"{self._unheld} asks something of all rows together, so unseen rows cannot be "
                "placed within it; they are placed as without it. Set its attribute acts_on_rows "
                "to False to say that this is right, or fit all rows together."
            )
        if self._row_constraint is None:
            return None
        return partial(project_rows, self._row_constraint)
