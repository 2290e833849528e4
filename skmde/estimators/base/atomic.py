"""A fit that happens as a whole or not at all, and the log of its stages."""

from __future__ import annotations

import contextlib
import logging
import time

from skmde._utils.device import cpu_by_default
from skmde._utils.sklearn_compat import callbacks_of_running_fit, end_fit_task

logger = logging.getLogger("skmde")


class AtomicFitMixin:
    """Fit a copy, and become it at the end; not for direct use."""

    @contextlib.contextmanager
    def _all_or_nothing(self):
        """A copy to fit, which this estimator becomes unless it ends by an error or by Ctrl-C.

        Until then, the estimator answers as it did before: in other threads, and in callbacks.
        """
        # Fits that are interrupted would leave an estimator half fitted. Held by
        # `assert_fit_fails`, `test_while_it_is_fitted_again_it_answers_as_before` and
        # `test_what_a_callback_writes_to_the_estimator_is_kept` (tests/test_fault_injection.py) and
        # `test_a_failing_callback_is_taken_down_and_leaves_the_estimator`
        # (tests/estimators/base/test_callbacks.py).
        before, fitted = dict(self.__dict__), object.__new__(type(self))
        fitted.__dict__.update(before)
        try:
            with cpu_by_default():
                yield fitted
                end_fit_task(fitted)
        except BaseException:
            self.__dict__.update(callbacks_of_running_fit(fitted))
            raise
        # what a callback wrote, and the fit did not
        absent = object()
        written = {
            name: value
            for name, value in self.__dict__.items()
            if value is not before.get(name, absent)
            and vars(fitted).get(name, absent) is before.get(name, absent)
        }
        self.__dict__ = {**vars(fitted), **written}


@contextlib.contextmanager
def stage(name):
    """Log how long a stage of a fit took: attributes ``stage`` and ``seconds`` of the record."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    logger.info("%s: %.3f s", name, seconds, extra={"stage": name, "seconds": seconds})
