"""scikit-learn's own callbacks (``sklearn.callback``, experimental since 1.9) around a solve."""

from __future__ import annotations

from functools import partial

from skmde._utils.sklearn_compat import CallbackSupportMixin, has_callbacks


class FitCallbacksMixin(CallbackSupportMixin):
    """``set_callbacks``, where scikit-learn has it: a fit is a task, its iterations are subtasks.

    The fit's task ends where the fit ends: see ``InputMixin._all_or_nothing``.
    """

    def _fit_callbacks(self, X, attributes):
        """Callbacks of the solver that call those of scikit-learn.

        Parameters
        ----------
        X : array-like
            Training data.
        attributes : callable or None
            From an iterate, the attributes that make this estimator one that was fitted by then;
            None if there is no such estimator.
        """
        if not has_callbacks(self):
            return []
        fit = self._init_callback_context(max_subtasks=getattr(self, "max_iter", 0))
        fit.call_on_fit_task_begin(estimator=self, X=X)

        def iteration(state):
            task = fit.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=self, X=X)
            fitted = None if attributes is None else partial(attributes, state.X)
            return task.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes=fitted)

        return [iteration]
