"""Penalties: distortion functions derived from weights (monograph, section 4.1).

A pair with weight w and embedding distance d has the distortion w p(d). Every p increases with d,
so a pair with w > 0 attracts and one with w < 0 repels. This module holds the public names; the
classes are in ``_attractive.py`` and ``_repulsive.py``, by what they are mostly used for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skmde._attractive import Cubic, Huber, Linear, Log1p, Logistic, Power, Quadratic, Sigmoid
from skmde._distortion import Penalty, resolve_penalty
from skmde._repulsive import Barrier, Hinge, InversePower, Log, LogRatio

__all__ = [
    "PENALTIES",
    "Barrier",
    "Cubic",
    "Hinge",
    "Huber",
    "InversePower",
    "Linear",
    "Log",
    "Log1p",
    "LogRatio",
    "Logistic",
    "Power",
    "Quadratic",
    "Sigmoid",
    "push_and_pull",
]

PENALTIES: dict[str, type[Penalty]] = {
    "linear": Linear,
    "quadratic": Quadratic,
    "cubic": Cubic,
    "power": Power,
    "huber": Huber,
    "logistic": Logistic,
    "log1p": Log1p,
    "log": Log,
    "inverse_power": InversePower,
    "log_ratio": LogRatio,
    "sigmoid": Sigmoid,
    "hinge": Hinge,
    "barrier": Barrier,
}

# What `resolve_penalty` accepts by name.
NAMED: dict[str, Callable[[], Penalty]] = dict(PENALTIES)


def push_and_pull(attractive: Any = "log1p", repulsive: Any = "log") -> tuple[Penalty, Penalty]:
    """The two penalties of a problem in which some pairs attract and others repel.

    For users of PyMDE, whose ``PushAndPull`` this replaces: the result is a valid ``distortion``
    of `skmde.MDE`, which applies the first penalty where weights are positive and the second
    where they are negative.

    Parameters
    ----------
    attractive : str, Penalty or callable, default="log1p"
        Penalty of pairs with positive weights.
    repulsive : str, Penalty or callable, default="log"
        Penalty of pairs with negative weights.

    Returns
    -------
    tuple of (Penalty, Penalty)
        The attractive and the repulsive penalty.

    Raises
    ------
    ValueError
        If a name is unknown or a parameter is out of range.
    TypeError
        If an argument is a class or cannot be called.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 4.1.

    Examples
    --------
    >>> from skmde import Huber, push_and_pull
    >>> push_and_pull(Huber(threshold=1.0))
    (Huber(threshold=1.0), Log())
    """
    return resolve_penalty(attractive), resolve_penalty(repulsive)
