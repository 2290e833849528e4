"""Minimum-distortion embedding with the interface of scikit-learn.

Public names are imported on first use (PEP 562), so ``import skmde`` does not load torch, numba or
matplotlib. A program that does not compute an embedding starts fast. A process can import the
package before it forks workers.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

# Modules of the public names. The block under TYPE_CHECKING repeats them for type checkers and
# editors, which do not run __getattr__. tests/test_package.py checks that the two agree.
_EXPORTS = {
    "skmde.functions.base": ("Loss", "Penalty"),
    "skmde.estimators._complete_distances": ("complete_distances",),
    "skmde.estimators._mde_function": ("mde",),
    "skmde._utils.show_versions": ("show_versions",),
    "skmde.constraints": (
        "Anchored",
        "Box",
        "Centered",
        "Constraint",
        "Disc",
        "NonNegative",
        "SameCoordinate",
        "Sphere",
        "Standardized",
    ),
    "skmde.core.objectives.terms": ("DistortionTerm",),
    "skmde.core.problem": ("MDE",),
    "skmde.core.solvers.result": ("SolveResult",),
    "skmde.core.streamed_problem": ("StreamedMDE",),
    "skmde.estimators": (
        "AnchoredClassifier",
        "AnchoredMDE",
        "PreserveDistances",
        "PreserveNeighbors",
        "QuadraticMDE",
    ),
    "skmde.exceptions": ("ConvergenceWarning",),
    "skmde.losses": (
        "AbsoluteLoss",
        "CubicLoss",
        "FractionalLoss",
        "HuberLoss",
        "LogisticLoss",
        "PowerLoss",
        "SoftFractionalLoss",
        "SquaredLoss",
        "WeightedSquaredLoss",
    ),
    "skmde.penalties": (
        "Barrier",
        "Cauchy",
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
    ),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_SUBMODULES = (
    "constraints",
    "exceptions",
    "inspection",
    "losses",
    "metrics",
    "penalties",
    "persistence",
    "plotting",
    "preprocessing",
)

__all__ = sorted([*_MODULE_OF, *_SUBMODULES, "__version__"])

if TYPE_CHECKING:
    from skmde import (
        constraints as constraints,
        exceptions as exceptions,
        inspection as inspection,
        losses as losses,
        metrics as metrics,
        penalties as penalties,
        persistence as persistence,
        plotting as plotting,
        preprocessing as preprocessing,
    )
    from skmde._utils.show_versions import show_versions as show_versions
    from skmde.constraints import (
        Anchored as Anchored,
        Box as Box,
        Centered as Centered,
        Constraint as Constraint,
        Disc as Disc,
        NonNegative as NonNegative,
        SameCoordinate as SameCoordinate,
        Sphere as Sphere,
        Standardized as Standardized,
    )
    from skmde.core.objectives.terms import DistortionTerm as DistortionTerm
    from skmde.core.problem import MDE as MDE
    from skmde.core.solvers.result import SolveResult as SolveResult
    from skmde.core.streamed_problem import StreamedMDE as StreamedMDE
    from skmde.estimators import (
        AnchoredClassifier as AnchoredClassifier,
        AnchoredMDE as AnchoredMDE,
        PreserveDistances as PreserveDistances,
        PreserveNeighbors as PreserveNeighbors,
        QuadraticMDE as QuadraticMDE,
    )
    from skmde.estimators._complete_distances import complete_distances as complete_distances
    from skmde.estimators._mde_function import mde as mde
    from skmde.exceptions import ConvergenceWarning as ConvergenceWarning
    from skmde.functions.base import Loss as Loss, Penalty as Penalty
    from skmde.losses import (
        AbsoluteLoss as AbsoluteLoss,
        CubicLoss as CubicLoss,
        FractionalLoss as FractionalLoss,
        HuberLoss as HuberLoss,
        LogisticLoss as LogisticLoss,
        PowerLoss as PowerLoss,
        SoftFractionalLoss as SoftFractionalLoss,
        SquaredLoss as SquaredLoss,
        WeightedSquaredLoss as WeightedSquaredLoss,
    )
    from skmde.penalties import (
        Barrier as Barrier,
        Cauchy as Cauchy,
        Cubic as Cubic,
        Hinge as Hinge,
        Huber as Huber,
        InversePower as InversePower,
        Linear as Linear,
        Log as Log,
        Log1p as Log1p,
        Logistic as Logistic,
        LogRatio as LogRatio,
        Power as Power,
        Quadratic as Quadratic,
        Sigmoid as Sigmoid,
        push_and_pull as push_and_pull,
    )

else:
    # Hidden from type checkers: with a __getattr__ they would accept any misspelt name.
    def __getattr__(name):
        if name in _SUBMODULES:
            return importlib.import_module(f"skmde.{name}")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'skmde' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        # Cached in the module, so that later look-ups do not call __getattr__.
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
