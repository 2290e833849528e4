"""What a notebook shows of a fitted estimator, below scikit-learn's diagram."""

from __future__ import annotations

from typing import Any

from skmde._utils.sklearn_compat import check_is_fitted
from skmde._views import facts
from skmde._views.thumbnail import thumbnail


class RepresentationMixin:
    """A table of what was solved, and a thumbnail of the embedding.

    Both are added to the two hooks of notebooks that scikit-learn's estimators have. An estimator
    implements `_solved_facts`. If anything is wrong with the fitted state, scikit-learn's diagram
    is shown alone: an estimator must be shown whatever happened to it.
    """

    def _solved_facts(self) -> dict[str, str]:
        """Facts about the pairs and the constraint of the problem that was solved last."""
        raise NotImplementedError

    def _facts(self: Any) -> dict[str, str]:
        """All facts, in the order in which they are shown."""
        n, m = self.embedding_.shape
        found = {"items": f"{n:,} in {facts.counted(m, 'dimension')}"} | self._solved_facts()
        found["average distortion"] = f"{self.distortion_:.4g}"
        for name, attribute in (("stress", "stress_"), ("residual norm", "residual_norm_")):
            if hasattr(self, attribute):
                found[name] = f"{getattr(self, attribute):.3g}"
        found["iterations"] = f"{self.n_iter_:,}"
        if hasattr(self, "stop_reason_"):
            found["stopped"] = self.stop_reason_
        return found

    def _picture(self: Any) -> str:
        return thumbnail(self.embedding_)

    def _summary(self) -> str:
        """The table and the thumbnail; empty if the estimator is not fitted, or damaged."""
        try:
            check_is_fitted(self)
            return facts.as_html(self._facts(), self._picture())
        except Exception:
            return ""

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_  # type: ignore[misc]  # an AttributeError says that it is off
        return lambda: diagram() + self._summary()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._summary()
        return bundle
