"""Distortion functions of the user that are no functions of distances."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from skmde import AnchoredMDE, PreserveDistances, PreserveNeighbors

X = np.random.default_rng(0).normal(size=(60, 5))
Y = np.full((60, 2), np.nan)
Y[:6] = X[:6, :2]


def nan_penalty(d):
    return torch.sqrt(d - 1e6)


def nan_loss(delta, d):
    return torch.log(d - delta - 1e6)


ESTIMATORS = [
    PreserveDistances(loss=nan_loss),
    PreserveDistances(loss=nan_loss, constraint="standardized"),
    PreserveNeighbors(attractive_penalty=nan_penalty),
    PreserveNeighbors(attractive_penalty=nan_penalty, repulsion="sampled"),
    PreserveNeighbors(attractive_penalty=nan_penalty, constraint="standardized"),
    AnchoredMDE(attractive_penalty=nan_penalty),
    AnchoredMDE(attractive_penalty=nan_penalty, repulsive_penalty="log"),
    AnchoredMDE(attractive_penalty=nan_penalty, anchor_weight=1.0),
    AnchoredMDE(loss=nan_loss),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_function_that_is_nan_is_an_error(estimator):
    estimator.set_params(random_state=0)
    with pytest.raises(ValueError, match=r"distortion is NaN.*Check that the distortion function"):
        estimator.fit(X, Y)
    with pytest.raises(NotFittedError):
        estimator.transform(X)
