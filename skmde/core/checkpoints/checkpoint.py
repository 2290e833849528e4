"""A checkpoint: the states of the solves of one fit, in one file.

A fit makes one solve or several, always in the same order. Each has a number in that order, its own
facts, and its last state. A fit that goes on makes all of them again: those that had ended end at
once, with what they had found, and the one that was interrupted goes on. If a solve makes more
iterations than it had made, the states of later ones are of no use, since they began where it had
ended.

States are written every few seconds, and at the end.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import skmde
from skmde.core.checkpoints import archive
from skmde.core.checkpoints.facts import Facts, differences
from skmde.core.checkpoints.lock import locked
from skmde.core.checkpoints.saved import Saved

logger = logging.getLogger(__name__)

_FORMAT = "skmde checkpoint 1"
_SECONDS = 5.0  # between two writes
_MOST = 0.05  # share of the time that writes may take
_SHOWN = 5  # differences in an error
_MORE = "max_iter", "tol"  # limits, of which a fit that goes on may ask for more

PathLike = str | os.PathLike[str]


@dataclass
class _Record:
    """The last state of a solve, after so many iterations."""

    facts: Facts
    iteration: int
    state: Saved

    def is_at(self, iteration: int, state: Saved) -> bool:
        """Whether it is this state, after so many iterations."""
        if iteration != self.iteration or state.keys() != self.state.keys():
            return False
        return all(np.array_equal(value, self.state[name]) for name, value in state.items())


class Checkpoint:
    """An open checkpoint; :meth:`opened` gives one.

    Parameters
    ----------
    path : Path
        A file that `locked` holds. If it exists, it is read.

    Raises
    ------
    ValueError
        If there is a file that is no checkpoint, is damaged, or is of another version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._facts: Facts = {}
        self._limits: dict[str, float] = {}
        self._seed: int | None = None
        self._records: list[_Record] = []
        self._number = 0  # of the next solve
        self._is_new = False  # whether a state has been added since the last write
        self._next_write = time.monotonic() + _SECONDS
        if path.exists():
            self._read()

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: PathLike) -> Iterator[Checkpoint]:
        """Lock and read a checkpoint; write what is new in the end, also after an error.

        Raises
        ------
        OSError
            If the path is a folder, if its folder does not exist or cannot be written to, if
            another fit uses it, or if the disk is full.
        ValueError
            See the class.
        """
        file = _checked(path)
        with locked(file):
            checkpoint = cls(file)
            try:
                yield checkpoint
            except BaseException:
                with contextlib.suppress(OSError):  # the first error says more
                    checkpoint._write_if_new()
                raise
            checkpoint._write_if_new()

    def compare(self, facts: Mapping[str, Any], limits: Mapping[str, float]) -> None:
        """Compare a fit with that of the file.

        Parameters
        ----------
        facts : dict of str
            Must be the same.
        limits : dict of float
            `max_iter` must not be smaller, and `tol` not larger.

        Raises
        ------
        ValueError
            If they differ. The message says how.
        """
        wrong = differences(self._facts, facts) if self._records else []
        for name in _MORE:
            before, now = self._limits.get(name), limits[name]
            sign = 1 if name == "max_iter" else -1
            if before is not None and sign * now < sign * before:
                wrong.append(f"{name} was {before:g}, is {now:g}")
        self._refuse(wrong)
        self._facts = dict(facts)
        self._limits = {name: float(limits[name]) for name in _MORE}

    def seed(self) -> int:
        """The seed of a fit that was given none, drawn once for all fits with this file."""
        if self._seed is None:
            self._seed = secrets.randbits(32)
        return self._seed

    def next_solve(self, facts: Mapping[str, str]) -> SolveKeeper:
        """The keeper of the next solve.

        Parameters
        ----------
        facts : dict of str
            What tells the solve from others. If the file has a state of this solve, they must be
            the same.

        Raises
        ------
        ValueError
            If they are not. The message says which differ.
        """
        number = self._number
        self._number += 1
        saved = None
        if number < len(self._records):
            record = self._records[number]
            self._refuse(differences(record.facts, facts))
            saved = record.state
            logger.info("resuming from %s after iteration %d", self.path, record.iteration)
        return SolveKeeper(self, number, dict(facts), saved)

    def is_due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next_write

    def put(self, number: int, facts: Facts, iteration: int, state: Saved) -> None:
        """Take over the state of a solve, and write it if it is time."""
        known = self._records[number:]
        if known and known[0].is_at(iteration, state):
            return
        later = [] if not known or iteration > known[0].iteration else known[1:]
        self._records[number:] = [_Record(facts, iteration, state), *later]
        self._is_new = True
        if self.is_due():
            self._write_if_new()

    def _write_if_new(self) -> None:
        if not self._is_new:
            return
        begin = time.monotonic()
        self._is_new = False  # if it cannot be written now, it is not tried again
        solves, arrays = [], {}
        for number, record in enumerate(self._records):
            numbers = {}
            for name, value in record.state.items():
                if isinstance(value, np.ndarray):
                    arrays[f"{number}/{name}"] = value
                else:
                    numbers[name] = value
            solves.append(
                {"facts": record.facts, "iteration": record.iteration, "numbers": numbers}
            )
        header = {
            "format": _FORMAT,
            "version": skmde.__version__,
            "facts": self._facts,
            "limits": self._limits,
            "seed": self._seed,
            "solves": solves,
        }
        archive.write(self.path, header, arrays)
        end = time.monotonic()
        self._next_write = end + max(_SECONDS, (end - begin) / _MOST)

    def _read(self) -> None:
        header, arrays = archive.read(self.path)
        own = {"format": _FORMAT, "version": skmde.__version__}
        self._refuse(differences({name: str(header.get(name)) for name in own}, own))
        try:
            self._facts, self._limits = header["facts"], header["limits"]
            self._seed = header["seed"]
            for solve in header["solves"]:
                self._records.append(_Record(solve["facts"], solve["iteration"], solve["numbers"]))
            for place, array in arrays.items():
                number, _, name = place.partition("/")
                self._records[int(number)].state[name] = array
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(archive.damaged(self.path, error)) from error

    def _refuse(self, wrong: list[str]) -> None:
        if len(wrong) > _SHOWN:
            wrong = [*wrong[:_SHOWN], f"and {len(wrong) - _SHOWN} more differences"]
        if wrong:
            raise ValueError(
                f"{self.path} is the checkpoint of another fit: {'; '.join(wrong)}. To resume that "
                "fit, give the same data and parameters; to begin this one, give another path, or "
                "delete the file."
            )


@dataclass
class SolveKeeper:
    """The keeper of one of a checkpoint's solves; see ``saved.Keeper``.

    Parameters
    ----------
    checkpoint : Checkpoint
    number : int
    facts : dict of str
    saved : dict or None
    """

    checkpoint: Checkpoint
    number: int
    facts: Facts
    saved: Saved | None

    def offer(self, iteration: int, state: Callable[[], Saved], *, last: bool = False) -> None:
        if last or self.checkpoint.is_due():
            self.checkpoint.put(self.number, self.facts, iteration, state())


@contextlib.contextmanager
def opened(checkpoint: Any, **limits: float) -> Iterator[Checkpoint | None]:
    """The checkpoint for a problem that is solved by itself.

    Parameters
    ----------
    checkpoint : str, path-like, Checkpoint or None
        One that is open already stays open: it is that of an estimator's fit.
    **limits : dict
        `max_iter` and `tol`. Without iterations, there is nothing to keep.
    """
    if checkpoint is None or not limits["max_iter"]:
        yield None
    elif isinstance(checkpoint, Checkpoint):
        yield checkpoint
    else:
        with Checkpoint.opened(checkpoint) as own:
            own.compare({"estimator": "MDE"}, limits)
            yield own


def _checked(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ValueError(f"checkpoint must be the path of a file, or None; got {path!r}.")
    file = Path(os.path.realpath(os.path.expanduser(path)))
    if file.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "checkpoint must be the path of a file, but this is a folder", str(file)
        )
    return file
