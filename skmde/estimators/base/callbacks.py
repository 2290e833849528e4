"""Support of scikit-learn's callbacks (``sklearn.callback``, experimental since 1.9)."""

from __future__ import annotations

from functools import partial

from skmde._utils.sklearn_compat import CallbackSupportMixin, has_callbacks


class FitCallbacksMixin(CallbackSupportMixin):
    """The method ``set_callbacks``, if scikit-learn has it.

    A fit is a task and its iterations are subtasks. ``AtomicFitMixin._all_or_nothing`` ends the
    task of the fit.
    """

    def _fit_callbacks(self, X, attributes):
        """Solver callbacks that call the callbacks of scikit-learn.

        Parameters
        ----------
        X : array-like
            Training data.
        attributes : callable or None
            Maps an iterate to the attributes that turn this estimator into one fitted up to that
            iteration. None if an iterate is not enough for that.
        """
        if not has_callbacks(self):
            return []
        most = getattr(self, "max_iter", 0) * getattr(self, "n_init", 1)
        fit = self._init_callback_context(max_subtasks=most)
        fit.call_on_fit_task_begin(estimator=self, X=X)

        def iteration(state):
            task = fit.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=self, X=X)
            fitted = None if attributes is None else partial(attributes, state.X)
            return task.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes=fitted)

        return [iteration]
