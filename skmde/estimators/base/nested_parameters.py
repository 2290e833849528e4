"""Parameters of parameters, such as ``attractive_penalty__exponent``, and their errors."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

from skmde._utils.sklearn_compat import BaseEstimator
from skmde.constraints import Anchored
from skmde.functions.registry import LOSSES, PENALTIES, example_call

# names and classes whose instances a parameter takes; the first that fits is an error's example
_CLASSES: dict[str, Mapping[str, type]] = {
    "attractive_penalty": {"log1p": PENALTIES["log1p"], **PENALTIES},
    "repulsive_penalty": {"log": PENALTIES["log"], **PENALTIES},
    "loss": LOSSES,
    "constraint": {"anchored": Anchored},
}


class NestedParametersMixin(BaseEstimator):
    """Mixin whose `set_params` says what to give before ``penalty__exponent`` can be set."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of a penalty, a loss or a constraint.

        Parameters
        ----------
        **params : dict
            Values by name. The parameter of an instance, such as that of
            ``attractive_penalty=Log1p()``, has the name ``attractive_penalty__exponent``.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            If there is no parameter of this name, or if a name has two parts and the first part is
            no instance that has parameters.
        """
        known = self.get_params(deep=False)
        for name in params:
            outer, is_nested, inner = name.partition("__")
            owner = params.get(outer, known.get(outer))
            if is_nested and outer in known and not _has_parameters(owner):
                kind = type(self).__name__
                raise ValueError(
                    f"{name!r} cannot be set, because {outer} of this {kind} is {owner!r}, not an "
                    f"instance with parameters. {_advice(kind, outer, owner, inner)}"
                )
        return super().set_params(**params)


def _has_parameters(owner: Any) -> bool:
    return hasattr(owner, "set_params") and not inspect.isclass(owner)


def _advice(kind: str, outer: str, owner: Any, inner: str) -> str:
    classes = _CLASSES.get(outer, {})
    fitting = [one for one in classes.values() if inner in inspect.signature(one).parameters]
    if not fitting:
        return f"No class for it has a parameter {inner!r}; set {outer} as a whole."
    given = classes.get(owner) if isinstance(owner, str) else owner
    example = example_call(given if given in fitting else fitting[0])
    names = ", ".join(one.__name__ for one in fitting)
    return (
        f"Give an instance first, as in {kind}({outer}={example}); classes with a parameter "
        f"{inner!r}: {names}."
    )
