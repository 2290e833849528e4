"""What holds of every fit: a finite embedding within its constraint, or an error that explains."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from limits import lowered

import skmde
from skmde import QuadraticMDE
from skmde.exceptions import ConvergenceWarning

PACKAGE = str(Path(skmde.__file__).parent)
# scikit-learn's own checks of parameters and input, whose messages its users know
CHECKS = ("sklearn/utils/validation.py", "sklearn/utils/_param_validation.py")

# Functions with kinks, some by default.
KINKED = ("absolute", "logistic", "fractional", "linear", "hinge")


class UndocumentedError(AssertionError):
    """An error that is none of ours, or a result that is wrong."""


def is_documented(error):
    """Whether it was raised by our checks or scikit-learn's, not by what we call in good faith."""
    if type(error) not in (ValueError, TypeError):
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
    ours = frame.startswith(PACKAGE) or frame.endswith(CHECKS) or "sklearn/metrics/" in frame
    return ours and len(str(error)) > 20


def outcome(limits, action):
    """What an action returns with some limits lowered; or the message of a documented error."""
    with lowered(limits), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            return action()
        except (ValueError, TypeError) as error:
            if is_documented(error):
                return str(error)
            raise


def both_refused(*outcomes):
    """Whether all outcomes are documented errors; one alone may not be."""
    refused = [isinstance(one, str) for one in outcomes]
    if any(refused):
        require(all(refused), f"only one of them is refused: {outcomes[refused.index(True)]}")
    return any(refused)


def check(recipe):
    """Fit, fit again, transform and extend; "embedding", or "error" where a documented one came."""
    with lowered(recipe.limits), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        # ours, ConvergenceWarning too
        warnings.simplefilter("always", UserWarning)
        return check_fit(recipe, caught)


def check_fit(recipe, caught):
    """The same, with the list of the warnings that have come."""
    X, unseen, further = recipe.data()
    before = fingerprint(X)
    if recipe.kind == "rows" and not all_finite(X):
        # numpy's, of the sum by which scikit-learn's check sees at once that all is well
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        estimator = recipe.make().fit(X, recipe.y(), **recipe.fit_params())
    except (ValueError, TypeError) as error:
        if is_documented(error):
            return "error"
        raise
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    Y = found(estimator)
    require(before == fingerprint(X), "fit changed its input")
    require(len(Y) == recipe.n, f"{len(Y)} rows of {recipe.n}")
    require(np.isfinite(Y).all(), f"not finite: {Y}")
    check_constraint(recipe, estimator, Y)
    check_solve(estimator, warned, has_kinks(recipe.params))
    again = recipe.make().fit(X, recipe.y(), **recipe.fit_params())
    require(found(again).tobytes() == Y.tobytes(), "another fit is another embedding")
    metric, hole = estimator.get_params().get("metric"), recipe.hole
    skips_missing = metric == "nan_euclidean" and hole is not None and np.isnan(hole)
    if is_moderate(unseen) and (recipe.kind != "rows" or all_finite(unseen) or skips_missing):
        check_transform(estimator, unseen)
    else:
        refuses(lambda: answer(estimator, unseen))
        return "error"
    if hasattr(again, "extend"):
        return check_extend(again, further)
    return "embedding"


def has_kinks(params):
    """Whether a function has kinks, at one of which a start may be the best embedding."""
    loss = params.get("loss", "absolute")
    of_ratios = skmde.FractionalLoss | skmde.SoftFractionalLoss
    if isinstance(loss, of_ratios) or loss == "soft_fractional":
        return True  # at the distance 0 of equal rows
    return any(str(name) in KINKED for name in (loss, params.get("attractive_penalty")))


def check_solve(estimator, warned, has_kinks):
    """What is told of the solve is true, and the embedding is not worse than the start."""
    if not hasattr(estimator, "history_"):
        return
    history, reason = estimator.history_, estimator.stop_reason_
    values, norms, n_iter = history["value"], history["residual_norm"], estimator.n_iter_
    told = f": {values[0]:.6g} to {estimator.distortion_:.6g}, residuals {norms[0]:.6g} to "
    told += f"{estimator.residual_norm_:.6g}, {n_iter} iterations: {reason}"
    last = [estimator.distortion_, estimator.residual_norm_]
    if warned and not np.isfinite(last).all():  # as the start is infinite, which is told
        return
    require(np.isfinite([*last, *values[1:], *norms[1:]]).all(), f"not finite{told}")
    if "solved exactly" in reason:
        require(estimator.converged_, f"not converged{told}")
        return
    # a float32 solve, whose last value is computed in float64
    slack = 1e-4 * np.abs(values[0]) + 1e-30
    require(estimator.distortion_ <= values[0] + slack, f"worse than the start{told}")
    require(n_iter in (len(values) - 1, 1), f"a history of {len(values)}{told}")
    require(n_iter <= max(estimator.max_iter, 1), f"too many iterations{told}")
    require(estimator.converged_ or "at most tol" not in reason, f"not converged{told}")
    silent = not (estimator.converged_ or warned or has_kinks)
    if silent and estimator.max_iter >= 40 and n_iter <= 2:
        # nothing is left to gain, or the value is the rounding error of float32 coordinates
        gain = estimator.residual_norm_ * np.linalg.norm(estimator.embedding_)
        value = abs(estimator.distortion_)
        require(gain <= 1e-3 * value or value <= 1e-4 * gain, f"not begun, silently{told}")


def found(estimator):
    """Coordinates or probabilities of the fitted samples."""
    if hasattr(estimator, "label_distributions_"):
        return estimator.label_distributions_
    return estimator.embedding_


def answer(estimator, X):
    """Coordinates or probabilities of samples."""
    return (estimator.predict_proba if hasattr(estimator, "classes_") else estimator.transform)(X)


def require(condition, message):
    """An assertion that optimisation does not drop, with a type of its own."""
    if not condition:
        raise UndocumentedError(message)


def check_constraint(recipe, estimator, Y):
    """The embedding is centred, standardized or anchored, as was asked for."""
    params, n, m = estimator.get_params(deep=False), len(Y), Y.shape[1]
    constraint = params.get("constraint")
    if recipe.estimator == "AnchoredClassifier":
        require(np.abs(Y.sum(axis=1) - 1).max() < 1e-6 and Y.min() >= 0, "no probabilities")
        return
    if recipe.estimator == "AnchoredMDE" or isinstance(constraint, skmde.Anchored):
        if params.get("anchor_weight") is None:
            chosen, values = recipe.anchors(m)
            require((Y[chosen] == values.astype(Y.dtype)).all(), "anchors have moved")
        return
    Y = Y.astype(np.float64)
    size = np.abs(Y).max()
    if "sample_weight" in recipe.fit_params():  # it holds for those that count
        Y = Y[recipe.fit_params()["sample_weight"] > 0]
        n = len(Y)
    standardized = isinstance(estimator, QuadraticMDE) or constraint == "standardized"
    standardized |= constraint is None and params.get("repulsive_penalty", "") is None
    if not standardized:
        require(np.abs(Y.mean(axis=0)).max() <= 1e-4 * size, f"mean {Y.mean(axis=0)}")
        return
    weights = np.ones(n)
    if isinstance(estimator, QuadraticMDE) and estimator.weights == "normalized_laplacian":
        weights = np.asarray(estimator.graph_.sum(axis=1)).ravel()
        weights = weights / weights.mean()
    mean, covariance = weights @ Y / n, (Y.T * weights) @ Y / n
    wanted = np.eye(m)
    if isinstance(estimator, QuadraticMDE):  # columns without an eigenvalue are zero
        wanted = np.diag(np.any(Y != 0, axis=0).astype(float))
    require(np.abs(mean).max() < 2e-3, f"mean {mean}")
    require(np.abs(covariance - wanted).max() < 2e-3, f"covariance {covariance}")


def refuses(call):
    """A call that ends with a documented error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            call()
    except ValueError as error:
        if is_documented(error):
            return
        raise
    raise UndocumentedError("unseen samples that are not finite, or too large, were taken")


def all_finite(X):
    """Whether data, in whatever container, are finite."""
    X = X.data if sp.issparse(X) else np.asarray(X)
    return bool(np.isfinite(X.astype(np.float64)).all())


def is_moderate(X):
    """Whether no number, but infinity, is so large that its square is none."""
    X = X[1] if isinstance(X, tuple) else X.data if sp.issparse(X) else X
    X = np.abs(np.asarray(X).astype(np.float64))
    return not (X[np.isfinite(X)] > 1e100).any()


def check_transform(estimator, unseen):
    """Unseen samples get finite coordinates that do not depend on each other."""
    together = answer(estimator, unseen)
    require(np.isfinite(together).all(), f"unseen: {together}")
    size = max(np.abs(together).max(), np.abs(found(estimator)).max())
    tolerance = max(1e-6, rounding(estimator)) * size
    for row in range(len(together)):
        alone = answer(estimator, one_row(unseen, row))
        apart = np.abs(alone[0].astype(np.float64) - together[row]).max()
        require(apart <= tolerance, f"row {row} alone: {alone[0]}, together: {together[row]}")


def rounding(estimator):
    """What the last digit of a kernel's products, which BLAS rounds, makes of coordinates,
    relatively.

    Of data far from the origin the products are nearly all the same.
    """
    if not isinstance(estimator, QuadraticMDE) or estimator.weights != "kernel_pca":
        return 0.0
    values = np.abs(estimator.eigenvalues_[estimator.eigenvalues_ != 0])
    products = len(estimator.embedding_) * estimator._problem.squared_unit
    return 100 * np.finfo(float).eps * products / values.min(initial=np.inf)


def check_extend(estimator, further):
    """Old rows stay to the last bit, and new ones are finite; or nothing is changed."""
    old, before = estimator.embedding_.copy(), dict(vars(estimator))
    try:
        estimator.extend(further)
    except ValueError as error:
        if not is_documented(error):
            raise
        same = vars(estimator).keys() == before.keys() and all(
            vars(estimator)[name] is value for name, value in before.items()
        )
        require(same, "extend failed and left a trace")
        return "error"
    Y = estimator.embedding_
    require(Y[: len(old)].tobytes() == old.tobytes(), "extend moved old rows")
    require(np.isfinite(Y).all(), f"extended: {Y}")
    return "embedding"


def one_row(X, row):
    """One row of whatever was passed."""
    if isinstance(X, tuple):
        return tuple(table[row : row + 1] for table in X)
    if sp.issparse(X):
        return X.tocsr()[[row]].asformat(X.format)
    if hasattr(X, "iloc"):
        return X.iloc[row : row + 1]
    return X[row : row + 1]


def fingerprint(X):
    """Bytes of what was passed."""
    if isinstance(X, tuple):
        return tuple(map(fingerprint, X))
    if sp.issparse(X):
        return X.tocoo().data.tobytes(), X.toarray().tobytes()
    return np.asarray(X).tobytes()
