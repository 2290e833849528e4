"""The plan of a fit: how much memory each stage needs, and what is done to stay below a limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from skmde._utils.memory.amounts import as_text


@dataclass(frozen=True)
class Stage:
    """A stage of a fit.

    Attributes
    ----------
    name : str
        As in the log of the fit.
    n_bytes : float
        Memory in use at its peak, beyond what was in use before the fit.
    what : str
        What is done.
    """

    name: str
    n_bytes: float
    what: str


def peak(stages: Iterable[Stage]) -> float:
    """Memory in use at the peak of some stages."""
    return max(stage.n_bytes for stage in stages)


@dataclass(frozen=True)
class MemoryPlan:
    """What a fit will do, and how much memory it will need.

    Amounts are in bytes, beyond the memory that is in use before the fit: that of libraries and of
    X itself does not count. They are estimates, within about a quarter of what a fit of at least
    100 MB needs on the CPU.

    Attributes
    ----------
    stages : tuple of Stage
        In the order of the fit; each has a `name`, its peak `n_bytes`, and says `what` it does.
    limit : float
        The limit: `memory_limit`, or what is free.
    advice : str
        What lowers the need, as the end of a sentence.
    """

    stages: tuple[Stage, ...]
    limit: float
    advice: str

    @property
    def n_bytes(self) -> float:
        """Memory in use at the peak of the fit."""
        return peak(self.stages)

    @property
    def fits(self) -> bool:
        """Whether the fit stays below the limit."""
        return self.n_bytes <= self.limit

    def check(self, task: str = "fit") -> None:
        """Raise ValueError if the fit would need more than the limit.

        Parameters
        ----------
        task : str, default="fit"
            What the error calls it.

        Raises
        ------
        ValueError
            If it does not fit.
        """
        if self.fits:
            return
        worst = max(self.stages, key=lambda stage: stage.n_bytes)
        raise ValueError(
            f"This {task} needs about {as_text(worst.n_bytes)} of memory ({worst.name}: "
            f"{worst.what}), but the limit is {as_text(self.limit)}. To lower the need, "
            f"{self.advice}; or raise memory_limit, if there is more memory."
        )

    def __str__(self) -> str:
        rows = [(stage.name, as_text(stage.n_bytes), stage.what) for stage in self.stages]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c}" for a, b, c in rows]
        return "\n".join([*lines, self._summary()])

    def _summary(self) -> str:
        there = "" if self.limit == float("inf") else f" of {as_text(self.limit)}"
        return f"peak {as_text(self.n_bytes)}{there}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(stage.name)}</td><td>{as_text(stage.n_bytes)}</td>"
            f"<td style='text-align:left'>{escape(stage.what)}</td></tr>"
            for stage in self.stages
        )
        return f"<table>{rows}</table><p>{escape(self._summary())}</p>"
