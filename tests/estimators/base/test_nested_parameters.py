"""Parameters of penalties, losses and constraints: what `set_params` says if there are none."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skmde
from skmde import losses, penalties
from skmde.constraints import Anchored

ESTIMATORS = [
    skmde.PreserveNeighbors,
    skmde.PreserveDistances,
    skmde.QuadraticMDE,
    skmde.AnchoredMDE,
    skmde.AnchoredClassifier,
]
FUNCTIONS = {
    "attractive_penalty": penalties.PENALTIES,
    "repulsive_penalty": penalties.PENALTIES,
    "loss": losses.LOSSES,
    "constraint": {"anchored": Anchored},
}
# estimator, parameter, and every parameter of every function that it takes
NESTED = [
    (estimator, outer, function, inner)
    for estimator in ESTIMATORS
    for outer, functions in FUNCTIONS.items()
    if outer in estimator().get_params()
    for function in functions.values()
    for inner in inspect.signature(function).parameters
]


def ids(case):
    return "-".join(getattr(part, "__name__", part) for part in case)


@pytest.mark.parametrize("case", NESTED, ids=ids)
@pytest.mark.parametrize("given", ["default", "name", "class", "function", "none"])
def test_the_error_names_the_class_to_give(case, given):
    estimator, outer, function, inner = case
    names = [name for name, one in FUNCTIONS[outer].items() if one is function]
    values = {"name": names[0], "class": function, "function": np.square, "none": None}
    own = estimator() if given == "default" else estimator(**{outer: values[given]})
    before = own.get_params()
    with pytest.raises(ValueError) as caught:
        own.set_params(**{"verbose": 1, f"{outer}__{inner}": 2.0})
    message = str(caught.value)
    assert f"{outer}__{inner}" in message
    assert f"cannot be set, because {outer} of this {estimator.__name__} is" in message
    assert function.__name__ in message
    if given in ("name", "class"):
        assert f"{estimator.__name__}({outer}={function.__name__}(" in message
    assert own.get_params() == before


@pytest.mark.parametrize("case", NESTED, ids=ids)
def test_parameters_of_instances_are_set(case):
    estimator, outer, function, inner = case
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
    ]
    instance = function(**dict.fromkeys(needed, 1.0))
    own = estimator(**{outer: instance})
    assert own.set_params(**{f"{outer}__{inner}": 2.0}) is own
    assert getattr(getattr(own, outer), inner) == 2.0
    # An instance that is given in the same call counts.
    together = estimator().set_params(**{f"{outer}__{inner}": 2.0, outer: clone(instance)})
    assert getattr(getattr(together, outer), inner) == 2.0
    whole = clone(own).get_params()
    assert whole[f"{outer}__{inner}"] == 2.0


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_other_parameters_have_none_of_their_own(estimator):
    for name in estimator().get_params():
        with pytest.raises(ValueError, match=f"'{name}__other' cannot be set, .* set {name} as a"):
            estimator().set_params(**{f"{name}__other": 1})
    with pytest.raises(ValueError, match="Invalid parameter 'nothing' for estimator"):
        estimator().set_params(nothing__other=1)


def test_a_search_in_a_pipeline_says_what_to_give():
    X = np.random.default_rng(0).random((30, 3))
    pipeline = make_pipeline(skmde.PreserveNeighbors(n_neighbors=5, max_iter=3))
    name = "preserveneighbors__attractive_penalty__exponent"
    with pytest.raises(
        ValueError, match=r"as in PreserveNeighbors\(attractive_penalty=Log1p\(\)\)"
    ):
        GridSearchCV(pipeline, {name: [1.0, 2.0]}, cv=2).fit(X)
    pipeline.set_params(preserveneighbors__attractive_penalty=penalties.Log1p())
    search = GridSearchCV(pipeline, {name: [1.0, 2.0]}, cv=2).fit(X)
    assert search.best_params_[name] in (1.0, 2.0)
