"""Distortion functions as objects: parameters, names, callables, subclasses, and their errors."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from labels import label
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

from skmde.functions.adapters import CallableLoss, CallablePenalty, LossOfDistance
from skmde.functions.base import Loss, Penalty
from skmde.functions.kinds import D_FLOOR
from skmde.functions.registry import resolve_loss, resolve_penalty
from skmde.losses import (
    LOSSES,
    CubicLoss,
    HuberLoss,
    PowerLoss,
    SoftFractionalLoss,
    SquaredLoss,
    WeightedSquaredLoss,
)
from skmde.penalties import (
    PENALTIES,
    Barrier,
    Cauchy,
    Hinge,
    Huber,
    InversePower,
    Log,
    Log1p,
    Logistic,
    LogRatio,
    Power,
    Quadratic,
    Sigmoid,
)

FUNCTIONS = [cls() for name, cls in PENALTIES.items() if name != "barrier"]
FUNCTIONS += [cls() for cls in LOSSES.values()]
FUNCTIONS += [Barrier(0.5), Huber(2.0), Logistic(scale=1.0), Hinge(1.0, 0.2), PowerLoss(1.5)]
FUNCTIONS += [WeightedSquaredLoss("sammon"), CallablePenalty(torch.log1p), CallableLoss(torch.dist)]
EACH_FUNCTION = pytest.mark.parametrize("function", FUNCTIONS, ids=label)


def root(d):
    return d.sqrt()


class Shifted(torch.nn.Module):
    """A penalty with a trainable parameter, as a user may write it."""

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, d):
        return (d + self.shift) ** 2


class Offset(Penalty):
    """sqrt(d + offset): only the value is written down."""

    def __init__(self, offset=1.0):
        self.offset = offset

    def value(self, d):
        return (d + self.offset).sqrt()


class Constant(Penalty):
    """A value that does not depend on d at all."""

    def value(self, d):
        return torch.ones_like(d)


class Relative(Loss):
    """((d - delta) / (1 + delta))^2: only the value is written down."""

    def value(self, delta, d):
        return ((d - delta) / (1 + delta)) ** 2


class Halved(Log1p):
    """A subclass of a built-in function with other mathematics."""

    def value(self, d):
        return super().value(d) / 2


class Renamed(Huber):
    """A subclass that changes nothing."""


class Holder(BaseEstimator):
    """An estimator with a penalty as its parameter: the score is the penalty at 1."""

    def __init__(self, penalty=None):
        self.penalty = penalty

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        return resolve_penalty(self.penalty).value(torch.tensor(0.25)).item()


@EACH_FUNCTION
def test_clone_and_pickle_give_an_equal_object(function):
    for copy in (clone(function), pickle.loads(pickle.dumps(function))):
        assert copy is not function
        assert type(copy) is type(function)
        assert copy == function
        assert hash(copy) == hash(function)


@EACH_FUNCTION
def test_constructor_only_stores(function):
    # Rebuilt from its own parameters, it holds the very same objects.
    params = function.get_params(deep=False)
    rebuilt = type(function)(**params)
    assert all(getattr(rebuilt, name) is value for name, value in params.items())
    assert vars(rebuilt) == params


def test_repr_is_the_call_that_makes_it():
    assert repr(Log1p()) == "Log1p()"
    assert repr(Huber(threshold=2.0)) == "Huber(threshold=2.0)"
    assert repr(WeightedSquaredLoss("sammon")) == "WeightedSquaredLoss(kappa='sammon')"
    assert repr(Barrier(0.5)) == "Barrier(rho=0.5)"


def test_equality_is_by_exact_type_and_parameters():
    assert Huber(1) == Huber(1.0)
    assert hash(Huber(1)) == hash(Huber(1.0))
    assert Huber(1.0) != Huber(2.0)
    assert Power(1.0) != Log1p(1.0)
    assert Huber(0.5) != Renamed(0.5)
    assert Huber() != "huber"
    assert len({Log1p(), Log1p(), Log1p(2.0), Log(1.5)}) == 3


def test_set_params_changes_the_function():
    penalty = Power().set_params(exponent=3.0)
    assert penalty.value(torch.tensor(2.0)).item() == 8
    with pytest.raises(ValueError, match="Invalid parameter 'rate' for estimator Power"):
        penalty.set_params(rate=1.0)


def test_grid_search_reaches_the_parameters_of_a_penalty():
    X = np.zeros((6, 1))
    search = GridSearchCV(Holder(Power()), {"penalty__exponent": [0.5, 1.0, 2.0]}, cv=2).fit(X)
    assert search.best_params_ == {"penalty__exponent": 0.5}
    assert search.cv_results_["mean_test_score"].tolist() == [0.5, 0.25, 0.0625]


def test_grid_search_over_whole_penalties():
    X = np.zeros((6, 1))
    grid = {"penalty": [Power(), Power(0.5), "linear", root]}
    search = GridSearchCV(Holder(), grid, cv=2).fit(X)
    assert search.cv_results_["mean_test_score"].tolist() == [0.0625, 0.5, 0.25, 0.5]
    assert len(ParameterGrid(grid)) == 4


@pytest.mark.parametrize("name", sorted(set(PENALTIES) - {"barrier"}))
def test_penalty_names(name):
    assert resolve_penalty(name) == PENALTIES[name]()
    assert type(resolve_penalty(name)) is PENALTIES[name]


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_loss_names(name):
    assert resolve_loss(name) == LOSSES[name]()
    assert type(resolve_loss(name)) is LOSSES[name]


def test_names_of_the_classical_methods():
    assert resolve_loss("sammon") == WeightedSquaredLoss("sammon")
    assert resolve_loss("kamada_kawai") == WeightedSquaredLoss("kamada_kawai")


def test_instances_are_used_as_they_are():
    penalty, loss = Huber(3.0), HuberLoss(3.0)
    assert resolve_penalty(penalty) is penalty
    assert resolve_loss(loss) is loss


@pytest.mark.parametrize(
    ("resolve", "given", "error", "message"),
    [
        (resolve_penalty, "log2p", ValueError, r"unknown penalty 'log2p'.*Did you mean 'log1p'\?"),
        (resolve_penalty, "absolute", ValueError, "known names: barrier, cauchy, cubic, hinge"),
        (resolve_loss, "log1p", ValueError, "unknown loss 'log1p'; known names: absolute, cubic"),
        (resolve_loss, "log1p", ValueError, "'log1p' is a penalty, for pairs with weights"),
        (resolve_penalty, "sammon", ValueError, "'sammon' is a loss, for pairs with original"),
        (
            resolve_penalty,
            "barrier",
            ValueError,
            r"because rho has no default.*Barrier\(rho=\.\.\.\)",
        ),
        (resolve_penalty, Log1p, TypeError, r"class Log1p; pass an instance, e\.g\. Log1p\(\)"),
        (resolve_penalty, Barrier, TypeError, r"class Barrier.*e\.g\. Barrier\(rho=\.\.\.\)"),
        (resolve_penalty, Shifted, TypeError, r"class Shifted; pass an instance, e\.g\. Shifted\("),
        (resolve_loss, SquaredLoss, TypeError, r"loss is the class SquaredLoss; pass an instance"),
        (
            resolve_penalty,
            int,
            TypeError,
            "penalty is the class int; pass a name, an instance of P",
        ),
        (
            resolve_loss,
            np.ndarray,
            TypeError,
            "loss is the class ndarray; pass a name, an instance",
        ),
        (resolve_penalty, SquaredLoss(), TypeError, r"SquaredLoss\(\) is a loss; pass a penalty"),
        (resolve_loss, Log1p(), TypeError, r"Log1p\(\) is a penalty; pass a loss"),
        (resolve_penalty, None, TypeError, "must be a name, an instance of Penalty .*got None"),
        (resolve_loss, 3, TypeError, "must be a name, an instance of Loss .*got 3"),
        (resolve_penalty, Huber(-1), ValueError, "Huber: threshold must be a finite number above"),
    ],
)
def test_what_cannot_be_resolved_says_why(resolve, given, error, message):
    with pytest.raises(error, match=message):
        resolve(given)


BAD_PARAMETERS = [
    (Power(0), "Power: exponent must be a finite number above 0; got 0."),
    (Power("2"), "Power: exponent must be a finite number above 0; got '2'."),
    (Power(float("nan")), "Power: exponent must be a finite number above 0; got nan."),
    (Power(float("inf")), "Power: exponent must be a finite number above 0; got inf."),
    (Power(True), "Power: exponent must be a finite number above 0; got True."),
    (Log1p(-1.0), "Log1p: exponent must be a finite number above 0; got -1.0."),
    (Log(0.0), "Log: exponent must be a finite number above 0; got 0.0."),
    (InversePower(None), "InversePower: exponent must be a finite number above 0; got None."),
    (LogRatio(-2), "LogRatio: exponent must be a finite number above 0; got -2."),
    (Cauchy(0.0), "Cauchy: scale must be a finite number above 0; got 0.0."),
    (Huber(0.0), "Huber: threshold must be a finite number above 0; got 0.0."),
    (Logistic(-1.0), "Logistic: threshold must be a finite number, at least 0; got -1.0."),
    (Logistic(0.0, 0.0), "Logistic: scale must be a finite number above 0; got 0.0."),
    (Sigmoid(-1.0), "Sigmoid: threshold must be a finite number, at least 0; got -1.0."),
    (Sigmoid(1.0, -1.0), "Sigmoid: scale must be a finite number above 0; got -1.0."),
    (Hinge(0.0), "Hinge: threshold must be a finite number above 0; got 0.0."),
    (Hinge(1.0, -0.5), "Hinge: margin must be a finite number, at least 0; got -0.5."),
    (Barrier(-1.0), "Barrier: rho must be a finite number, at least 0; got -1.0."),
    (HuberLoss(0), "HuberLoss: threshold must be a finite number above 0; got 0."),
    (SoftFractionalLoss(0), "SoftFractionalLoss: gamma must be a finite number above 0; got 0."),
    (PowerLoss(0.5), "PowerLoss: exponent must be a finite number, at least 1; got 0.5."),
    (WeightedSquaredLoss("samon"), "WeightedSquaredLoss: kappa must be .*; got 'samon'."),
    (WeightedSquaredLoss(2), "WeightedSquaredLoss: kappa must be .*; got 2."),
    (CallablePenalty(3), "CallablePenalty: function must be a callable .*; got 3."),
    (CallableLoss(Shifted), "CallableLoss: function must be a callable .*; got <class"),
]


@pytest.mark.parametrize(("function", "message"), BAD_PARAMETERS, ids=lambda x: label(x)[:40])
def test_invalid_parameters_are_refused_when_used(function, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        function.validate()
    if function._kind is not None:
        with pytest.raises(ValueError, match=f"^{message}"):
            function.kernel_parameters()


@EACH_FUNCTION
def test_valid_parameters_are_accepted(function):
    assert function.validate() is None


@pytest.mark.parametrize("number", [np.float32(2), np.int64(2), 2])
def test_any_real_number_is_a_parameter(number):
    penalty = Power(number)
    assert penalty.kernel_parameters() == (3, 2.0, 0.0)
    assert all(type(x) is float for x in penalty.kernel_parameters()[1:])
    assert penalty.value(torch.tensor(3.0)).item() == 9


def test_only_the_built_in_classes_themselves_have_fast_kernels():
    assert Log1p().kernel_parameters() is not None
    assert Halved().kernel_parameters() is None
    assert Renamed().kernel_parameters() is None
    assert CubicLoss().kernel_parameters() is not None
    assert CallablePenalty(root).kernel_parameters() is None
    assert Offset().kernel_parameters() is None


def test_subclass_with_only_a_value_is_differentiated():
    d = torch.tensor([0.0, 1.0, 3.0, 1e20], dtype=torch.float64)
    penalty = resolve_penalty(Offset())
    torch.testing.assert_close(penalty.value(d), (d + 1) ** 0.5)
    want = 0.5 * (d + 1) ** -0.5 / d.clamp(min=D_FLOOR)
    torch.testing.assert_close(penalty.slope(d), want, rtol=1e-6, atol=0)
    torch.testing.assert_close(penalty.curvature(d), -0.25 * (d + 1) ** -1.5, rtol=1e-6, atol=0)
    assert clone(Offset(2.0)) == Offset(2.0)


def test_loss_subclass_with_only_a_value_is_differentiated_in_d():
    delta = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)
    d = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
    loss = resolve_loss(Relative())
    torch.testing.assert_close(loss.slope(delta, d), torch.tensor([2, 0, 1 / 3]).double())
    torch.testing.assert_close(loss.curvature(delta, d), torch.tensor([2, 0.5, 0.5]).double())


def test_a_value_that_does_not_depend_on_d_has_zero_derivatives():
    d = torch.tensor([0.0, 2.0])
    assert Constant().slope(d).tolist() == [0, 0]
    assert Constant().curvature(d).tolist() == [0, 0]
    linear = CallablePenalty(lambda d: 3 * d)
    assert linear.curvature(d).tolist() == [0, 0]
    assert linear.slope(torch.tensor([2.0])).tolist() == [1.5]


def test_subclass_without_a_value_says_what_is_missing():
    with pytest.raises(NotImplementedError, match=r"Penalty must define value\(d\)"):
        Penalty().value(torch.ones(1))
    with pytest.raises(NotImplementedError, match=r"Loss must define value\(delta, d\)"):
        Loss().slope(torch.ones(1), torch.ones(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_callables_agree_with_the_built_in_function(dtype):
    d = torch.tensor([1e-3, 0.5, 1.0, 20.0], dtype=dtype)
    custom, builtin = resolve_penalty(lambda d: torch.log1p(d**1.5)), Log1p()
    for name in ("value", "slope", "curvature"):
        got = getattr(custom, name)(d)
        assert got.dtype == dtype
        assert not got.requires_grad
        torch.testing.assert_close(got, getattr(builtin, name)(d), rtol=1e-5, atol=1e-6)


def test_callable_losses_agree_with_the_built_in_function():
    delta, d = torch.tensor([1.0, 2.0, 5.0]), torch.tensor([0.0, 1.5, 9.0])
    custom = resolve_loss(lambda delta, d: (delta - d) ** 2)
    for name in ("value", "slope", "curvature"):
        want = getattr(SquaredLoss(), name)(delta, d)
        torch.testing.assert_close(getattr(custom, name)(delta, d), want)


@pytest.mark.parametrize("function", [lambda d: -1 / d, torch.log, root, lambda d: d**20])
def test_callables_are_finite_at_the_ends(function):
    d = torch.tensor([0.0, 1e20])
    penalty = resolve_penalty(function)
    for name in ("value", "slope", "curvature"):
        assert getattr(penalty, name)(d).isfinite().all()


def test_modules_work_and_their_parameters_collect_no_gradients():
    module = Shifted()
    penalty = resolve_penalty(module)
    d = torch.tensor([0.5, 1.0])
    torch.testing.assert_close(penalty.slope(d), 2 * (d + 1) / d)
    torch.testing.assert_close(penalty.curvature(d), torch.full_like(d, 2))
    assert module.shift.grad is None
    assert clone(penalty).value(d).tolist() == penalty.value(d).tolist()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode], ids=lambda m: m.__name__)
@pytest.mark.parametrize("penalty", [Offset(), CallablePenalty(torch.log1p)], ids=label)
def test_autograd_works_inside_a_solver_that_tracks_nothing(penalty, mode):
    want = penalty.slope(torch.tensor([0.5, 2.0]))
    with mode():
        d = torch.tensor([0.5, 2.0])
        assert torch.equal(penalty.slope(d), want)
        assert penalty.curvature(d).isfinite().all()
        assert not torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda d: d.numpy(), TypeError, "returned ndarray; a distortion function f.d. must"),
        (lambda d: d.sum(), ValueError, r"shape \(\) for distances of shape \(3,\).*elementwise"),
        (lambda d: d[:, None], ValueError, r"shape \(3, 1\) for distances of shape \(3,\)"),
    ],
)
def test_callables_that_are_not_elementwise_are_explained(function, error, message):
    with pytest.raises(error, match=message):
        resolve_penalty(function).value(torch.ones(3))


@pytest.mark.parametrize(
    ("resolve", "function", "message"),
    [
        (resolve_loss, np.sin, r"<ufunc 'sin'> .* f\(delta, d\), which takes two torch tensors"),
        (resolve_loss, lambda d: d, r"f\(delta, d\), which .* \(.*takes 1 positional argument but"),
        (resolve_penalty, lambda delta, d: d, r"f\(d\), which takes a torch tensor of distances"),
        (resolve_penalty, "".join, r"built-in method join .*f\(d\), which takes a torch tensor"),
        (resolve_loss, len, r"function len> cannot be called .*returns a tensor of the same"),
    ],
)
@pytest.mark.parametrize("method", ["value", "slope", "curvature"])
def test_what_cannot_be_called_with_tensors_is_explained(resolve, function, message, method):
    distances = [torch.ones(3)] * (1 if resolve is resolve_penalty else 2)
    with pytest.raises(TypeError, match=message) as caught:
        getattr(resolve(function), method)(*distances)
    assert isinstance(caught.value.__cause__, (TypeError, ValueError))


@pytest.mark.parametrize("error", [TypeError("mine"), ValueError("mine"), KeyError("mine")])
def test_what_a_callable_raises_is_left_as_it_is(error):
    def function(d):
        raise error

    with pytest.raises(type(error)) as caught:
        resolve_penalty(function).value(torch.ones(3))
    assert caught.value is error


def test_callables_see_no_distance_below_the_floor():
    zero = torch.zeros(1, dtype=torch.float64)
    assert resolve_penalty(lambda d: -1 / d).value(zero).item() == -1 / D_FLOOR
    assert resolve_loss(lambda delta, d: delta - 1 / d).value(zero, zero).item() == -1 / D_FLOOR


def test_callable_losses_are_finite_at_the_ends():
    delta, d = torch.tensor([0.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 1e20, 0.0, 1e20])
    loss = resolve_loss(lambda delta, d: (delta / d - 1) ** 2 + (d - delta) ** 8)
    for name in ("value", "slope", "curvature"):
        assert getattr(loss, name)(delta, d).isfinite().all()


def test_loss_callables_name_their_signature():
    with pytest.raises(TypeError, match=r"f\(delta, d\) must return a torch tensor"):
        resolve_loss(lambda delta, d: 1.0).value(torch.ones(3), torch.ones(3))


def test_quadratic_value_is_not_the_input_itself():
    d = torch.tensor([2.0])
    resolve_penalty("linear").value(d).mul_(5)
    Quadratic().value(d).mul_(5)
    assert d.item() == 2


@pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss(0.5), Quadratic()], ids=repr)
def test_a_loss_of_another_distance_has_its_derivatives_by_the_chain_rule(loss):
    def arc(d):
        u = d / 4
        return 4 * torch.asin(u), (1 - u * u) ** -0.5, u / 4 * (1 - u * u) ** -1.5

    measured = LossOfDistance(loss, SimpleNamespace(own_distance=arc))
    d = torch.linspace(0.1, 3.9, 20, dtype=torch.float64).requires_grad_()
    delta = torch.linspace(3.0, 1.0, 20, dtype=torch.float64)
    value = measured.value(delta, d)
    (first,) = torch.autograd.grad(value.sum(), d, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), d)
    torch.testing.assert_close(measured.slope(delta, d.detach()), (first / d).detach())
    torch.testing.assert_close(measured.curvature(delta, d.detach()), second)
    zero = torch.zeros(1, dtype=torch.float64)
    plain = loss.slope(zero) if isinstance(loss, Quadratic) else loss.slope(zero + 1, zero)
    torch.testing.assert_close(measured.slope(zero + 1, zero), plain)
    assert clone(measured).loss == loss
