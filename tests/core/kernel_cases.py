"""Every built-in distortion function, with several parameters: the cases of the kernels' tests.

The lists come from the registries and the signatures, so that a new function is covered by being
registered.
"""

import inspect
import itertools

from skmde import losses, penalties
from skmde.functions.registry import NAMED_LOSSES

_ONE = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
_EACH_OF_SEVERAL = (0.4, 1.0, 2.5)


def configurations(function_class, named=()):
    """Valid instances of a class: its defaults, and every combination of a few numbers."""
    names = list(inspect.signature(function_class).parameters)
    instances = [make() for make in named]
    instances = [instance for instance in instances if type(instance) is function_class]
    numbers = _ONE if len(names) == 1 else _EACH_OF_SEVERAL
    for values in itertools.product(numbers, repeat=len(names)):
        instance = function_class(**dict(zip(names, values, strict=True)))
        try:
            instance.validate()
        except ValueError:
            continue
        if instance not in instances:
            instances.append(instance)
    assert instances, f"no valid parameters for {function_class.__name__}"
    return instances


def _cases(classes, named):
    makers = [
        make
        for make in named.values()
        if not any(
            p.default is p.empty and p.kind is not p.VAR_KEYWORD
            for p in inspect.signature(make).parameters.values()
        )
    ]
    return [
        instance
        for function_class in dict.fromkeys(classes.values())
        for instance in configurations(function_class, makers)
    ]


PENALTIES = _cases(penalties.PENALTIES, penalties.PENALTIES)
LOSSES = _cases(losses.LOSSES, NAMED_LOSSES)
