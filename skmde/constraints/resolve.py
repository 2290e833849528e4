"""Conversion of a ``constraint`` parameter (a name, an instance, or None) to a constraint."""

from __future__ import annotations

import inspect
from typing import Any

from skmde.constraints.anchored import Anchored
from skmde.constraints.base import Constraint
from skmde.constraints.standard import Centered, Standardized


def resolve_constraint(constraint: Any) -> Constraint:
    """Convert a ``constraint`` parameter to a constraint.

    Parameters
    ----------
    constraint : None, {"centered", "standardized"} or Constraint
        None means centred.

    Returns
    -------
    Constraint
        The instance.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is a class, or anything else that is not a constraint.

    Examples
    --------
    >>> from skmde.constraints import resolve_constraint
    >>> resolve_constraint("standardized")
    Standardized()
    """
    if constraint is None:
        return Centered()
    if isinstance(constraint, Constraint):
        return constraint
    if isinstance(constraint, str):
        by_name = {"centered": Centered, "standardized": Standardized}
        if constraint in by_name:
            return by_name[constraint]()
        hint = "; anchors need coordinates: pass Anchored(anchors, values)" * (
            constraint == "anchored"
        )
        raise ValueError(
            f'constraint={constraint!r} is not known{hint}. Use "centered", "standardized" or an '
            "instance of a subclass of skmde.Constraint."
        )
    if inspect.isclass(constraint):
        example = "Anchored(anchors, values)" if constraint is Anchored else "Standardized()"
        raise TypeError(
            f"constraint is the class {constraint.__name__}; pass an instance, e.g. {example}."
        )
    raise TypeError(
        f"constraint is of type {type(constraint).__name__}; pass None, a name or an instance of a "
        "subclass of skmde.Constraint."
    )
