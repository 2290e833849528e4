"""The parameters `solver`, `batch_size` and `n_rounds` of estimators that solve a list of pairs."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

from skmde._utils.sklearn_compat import Interval, StrOptions
from skmde.core.rounds import check_takes_batches

# Above this number of pairs, `solver="auto"` takes them in batches. It is the same on all machines,
# since the embedding depends on it. L-BFGS takes about a second for an iteration with so many pairs
# on two cores.
_MOST_PAIRS = 200_000_000

SOLVER_CONSTRAINTS: dict[str, list[Any]] = {
    "solver": [StrOptions({"auto", "lbfgs", "stochastic"})],
    "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    "n_rounds": [Interval(Integral, 1, None, closed="left"), None],
}


class SolverChoiceMixin:
    """Chooses between L-BFGS with all pairs and the stochastic proximal method."""

    solver: str
    batch_size: int | None
    n_rounds: int | None

    def _check_solver(self, obstacle: str | None) -> None:
        """Check the three parameters.

        Parameters
        ----------
        obstacle : str or None
            What is not compatible with the stochastic solver.
        """
        if self.solver == "stochastic" and obstacle is not None:
            raise ValueError(f"{obstacle} is not compatible with solver='stochastic'.")
        for name in ("batch_size", "n_rounds"):
            number = getattr(self, name)
            if number is not None:
                check_takes_batches(self.solver, name, number)

    def _pair_solver(
        self, n_pairs: int, obstacle: str | None, seed: Callable[[], int]
    ) -> dict[str, Any]:
        """Options of :meth:`skmde.MDE.embed` for a number of pairs; none for L-BFGS.

        `seed` is called for a seed of the batches, only if there are any.
        """
        is_large = self.solver == "auto" and obstacle is None and n_pairs > _MOST_PAIRS
        if not (is_large or self.solver == "stochastic"):
            return {}
        return {
            "solver": "stochastic",
            "batch_size": self.batch_size,
            "n_rounds": self.n_rounds,
            "random_state": seed(),
        }
