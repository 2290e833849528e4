"""What holds of every fit: a finite embedding within its constraint, or an error that explains."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import skmde
from skmde import QuadraticMDE

PACKAGE = str(Path(skmde.__file__).parent)
# scikit-learn's own checks of parameters and input, whose messages its users know
CHECKS = ("sklearn/utils/validation.py", "sklearn/utils/_param_validation.py")


class UndocumentedError(AssertionError):
    """An error that is none of ours, or a result that is wrong."""


def is_documented(error):
    """Whether it was raised by our checks or scikit-learn's, not by what we call in good faith."""
    if type(error) not in (ValueError, TypeError):
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
    ours = frame.startswith(PACKAGE) or frame.endswith(CHECKS) or "sklearn/metrics/" in frame
    return ours and len(str(error)) > 20


def check(recipe):
    """Fit, fit again, transform and extend; "embedding", or "error" where a documented one came."""
    X, unseen, further = recipe.data()
    before = fingerprint(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # ours, ConvergenceWarning too
        warnings.simplefilter("ignore", UserWarning)
        if recipe.kind == "rows" and not all_finite(X):
            # numpy's, of the sum by which scikit-learn's check sees at once that all is well
            warnings.simplefilter("ignore", RuntimeWarning)
        try:
            estimator = recipe.make().fit(X, recipe.y(), **recipe.fit_params())
        except (ValueError, TypeError) as error:
            if is_documented(error):
                return "error"
            raise
        Y = found(estimator)
        require(before == fingerprint(X), "fit changed its input")
        require(len(Y) == recipe.n, f"{len(Y)} rows of {recipe.n}")
        require(np.isfinite(Y).all(), f"not finite: {Y}")
        check_constraint(recipe, estimator, Y)
        again = recipe.make().fit(X, recipe.y(), **recipe.fit_params())
        require(found(again).tobytes() == Y.tobytes(), "another fit is another embedding")
        if is_moderate(unseen) and (recipe.kind != "rows" or all_finite(unseen)):
            check_transform(estimator, unseen)
        else:
            refuses(lambda: answer(estimator, unseen))
            return "error"
        if hasattr(again, "extend"):
            return check_extend(again, further)
    return "embedding"


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
