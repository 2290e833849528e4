"""Atomic fits, their checkpoints, and the log of their stages."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from contextvars import ContextVar

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import callbacks_of_running_fit, end_fit_task
from skmde.core.checkpoints.checkpoint import Checkpoint
from skmde.core.checkpoints.facts import described, of_data

logger = logging.getLogger("skmde")

_verbose_of_fit: ContextVar[int] = ContextVar("verbose of the fit that runs", default=0)

# Parameters that change nothing of a result, and those that a checkpoint compares by itself.
_NOT_COMPARED = {
    *("callbacks", "checkpoint", "device", "memory_limit", "n_jobs", "verbose"),
    *("max_iter", "tol"),
}


class AtomicFitMixin:
    """Mixin that fits a copy and takes over its state at the end; not for direct use."""

    _open_checkpoint: Checkpoint | None = None  # only during a fit

    @contextlib.contextmanager
    def _all_or_nothing(self, checkpoint=None):
        """Yield a copy to fit; take over its state unless the fit ends by an error or Ctrl-C.

        The copy keeps the states of its solves in `checkpoint`, the path of a file or None.
        During the fit, other threads and callbacks see the previous state of the estimator.
        """
        # Without the copy, an interrupted fit would leave the estimator half fitted. Tested by
        # `assert_fit_fails`, `test_while_it_is_fitted_again_it_answers_as_before` and
        # `test_what_a_callback_writes_to_the_estimator_is_kept` (tests/test_fault_injection.py) and
        # `test_a_failing_callback_is_taken_down_and_leaves_the_estimator`
        # (tests/estimators/base/test_callbacks.py).
        before, fitted = dict(self.__dict__), object.__new__(type(self))
        fitted.__dict__.update(before)
        outer = _verbose_of_fit.set(int(getattr(self, "verbose", 0)))
        try:
            with (
                cpu_by_default(),
                fitted._told_of_memory(),
                _with_checkpoint(fitted, checkpoint),
            ):
                yield fitted
                end_fit_task(fitted)
        except BaseException:
            self.__dict__.update(callbacks_of_running_fit(fitted))
            raise
        finally:
            _verbose_of_fit.reset(outer)
        # attributes set by a callback and not by the fit
        absent = object()
        written = {
            name: value
            for name, value in self.__dict__.items()
            if value is not before.get(name, absent)
            and vars(fitted).get(name, absent) is before.get(name, absent)
        }
        self.__dict__ = {**vars(fitted), **written}

    def _compare_with_checkpoint(self, X):
        """Compare the parameters and checked data of a fit with those of its checkpoint, if any."""
        if self._open_checkpoint is None:
            return
        parameters = self.get_params(deep=False)
        facts = {"estimator": type(self).__name__, "entries of X": of_data(X)}
        for name, value in parameters.items():
            if name not in _NOT_COMPARED:
                facts[name] = described(value)
        self._open_checkpoint.compare(facts, parameters)


@contextlib.contextmanager
def _with_checkpoint(fitted, path):
    """Keep a checkpoint open during a fit."""
    if path is None:
        yield
        return
    with Checkpoint.opened(path) as fitted._open_checkpoint:
        try:
            yield
        finally:
            del fitted._open_checkpoint


@contextlib.contextmanager
def stage(name):
    """Log the duration of a stage of a fit, as attributes ``stage`` and ``seconds`` of a record.

    With ``verbose=1``, it is also printed to stderr, where the progress bar is.
    """
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    logger.info("%s: %.3f s", name, seconds, extra={"stage": name, "seconds": seconds})
    if _verbose_of_fit.get() and sys.stderr is not None:  # None in a process without a console
        print(f"{name}: {seconds:.3g} s", file=sys.stderr, flush=True)
