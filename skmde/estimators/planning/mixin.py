"""What estimators do with plans: they make one before they allocate, and show it to who asks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from skmde._utils.device import memory_errors
from skmde._utils.memory.amounts import as_bytes, as_text, available_memory
from skmde._utils.sklearn_compat import check_parameters
from skmde.estimators.base.typing import Data
from skmde.estimators.planning.plan import MemoryPlan
from skmde.estimators.planning.sizes import Size

logger = logging.getLogger("skmde")

_plan_of_fit: ContextVar[MemoryPlan | None] = ContextVar("plan of the fit that runs", default=None)


class PlanningMixin:
    """Plans of memory; not for direct use.

    Subclasses have ``_stages(size, n_fitted=0)``, the stages of a fit or, if samples are fitted, of
    their extension by further ones; `size` is that of all. They may have ``_advice(size,
    n_fitted=0)``: what lowers the need, as the end of a sentence.
    """

    def plan(self, X: Data | tuple[int, int]) -> MemoryPlan:
        """Plan a fit: what it does, and how much memory each stage needs.

        Nothing is fitted, and X is not read beyond its size.

        Parameters
        ----------
        X : array-like, sparse matrix, graph, pair of arrays, or tuple of two int
            As for `fit`; or the shape (n_samples, n_features) of a dense X in float64.

        Returns
        -------
        plan : MemoryPlan
            Its `stages` have a name, a peak in bytes, and a text. Its `n_bytes` is the peak of the
            fit, `limit` what the fit may need, and `fits` says whether it does. `fit` raises
            ValueError if not. Amounts count from what is in use before the fit.

        Raises
        ------
        ValueError
            If X has no shape that `fit` takes, or if a parameter is invalid.
        """
        check_parameters(self)
        return self._planned(Size.of(X))

    def _planned(self, size: Size, n_fitted: int = 0) -> MemoryPlan:
        stages, advice = self._stages(size, n_fitted), self._advice(size, n_fitted)
        return MemoryPlan(stages, self._limit(), advice)

    def _limit(self) -> float:
        limit: Any = self.memory_limit  # type: ignore[attr-defined]
        return available_memory() if limit is None else as_bytes(limit)

    def _check_memory(self, X: Any) -> None:
        """Plan a fit of checked input, log the plan, and raise ValueError if there is no room."""
        self._check_plan(self._planned(Size.of(X)))

    def _check_memory_of_extension(self, X: Any) -> None:
        """As `_check_memory`, of the extension by checked X."""
        n_fitted = len(self.embedding_)  # type: ignore[attr-defined]
        self._check_plan(self._planned(self._size_with(X), n_fitted), "extension")

    def _size_with(self, X: Any) -> Size:
        """The size of the fitted samples and checked further ones."""
        rows = isinstance(X, tuple) or not self._is_precomputed()  # type: ignore[attr-defined]
        return Size.of(X).joined(len(self.embedding_), rows=rows)  # type: ignore[attr-defined]

    def _check_plan(self, plan: MemoryPlan, task: str = "fit") -> None:
        _plan_of_fit.set(plan)
        for planned in plan.stages:
            logger.info("plan: %s, %s: %s", planned.name, as_text(planned.n_bytes), planned.what)
        plan.check(task)

    @contextmanager
    def _told_of_memory(self) -> Iterator[None]:
        """Tell of the plan if the device of a fit has no memory left."""
        before = _plan_of_fit.set(None)
        try:
            with memory_errors(_needed):
                yield
        finally:
            _plan_of_fit.reset(before)

    def _stages(self, size: Size, n_fitted: int = 0) -> Any:
        raise NotImplementedError

    def _advice(self, size: Size, n_fitted: int = 0) -> str:
        if n_fitted:
            return "extend by fewer samples, or place them with `transform`"
        return (
            "use fewer neighbours, rows of float32 or of fewer features (PCA), or fit a sample of "
            "the rows and call `transform` for the rest"
        )


def _needed() -> str:
    """What the fit that runs needs, and what lowers the need, as sentences for an error."""
    plan = _plan_of_fit.get()
    if plan is None:
        return "Use fewer samples."
    return (
        f"Host and GPU together need about {as_text(plan.n_bytes)} for this fit. To lower the "
        f"need, {plan.advice}."
    )
