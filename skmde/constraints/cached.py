"""Constraints whose parameters are arrays, which are converted once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from skmde.constraints.base import Constraint


class CachingConstraint(Constraint):
    """A constraint that keeps what it made of its parameters; not for direct use."""

    @abstractmethod
    def _source(self) -> tuple[Any, ...]:
        """The parameters that are converted."""

    @abstractmethod
    def _converted(self, *source: Any) -> tuple[Any, ...]:
        """Checked arrays for these parameters."""

    def _cached(self) -> dict[Any, Any]:
        """The arrays, under "arrays", and what else is stored beside them."""
        # The solver needs them in every iteration. If a parameter has been set since, it is another
        # object.
        cache: dict[Any, Any] | None = self.__dict__.get("_cache")
        source = self._source()
        if cache is None or any(a is not b for a, b in zip(cache["source"], source, strict=True)):
            cache = {"source": source, "arrays": self._converted(*source)}
            self.__dict__["_cache"] = cache
        return cache

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_cache", None)
        return state
