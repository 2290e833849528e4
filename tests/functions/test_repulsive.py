"""Which penalties can repel."""

import warnings

import numpy as np
import pytest
import torch

from skmde import MDE, AnchoredMDE, Cauchy, InversePower, Log, Log1p, PreserveNeighbors
from skmde.functions.adapters import CallablePenalty
from skmde.functions.registry import resolve_penalty
from skmde.functions.repulsive import check_attractive, check_repulsive
from skmde.penalties import PENALTIES

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 4))
ANCHORS = {"anchors": [0, 1, 2], "anchor_values": RNG.standard_normal((3, 2))}


class Falling(Cauchy):
    """The negative of Cauchy."""

    def value(self, d):
        return -super().value(d)


def anchored(**params):
    return AnchoredMDE(attractive_penalty=Log1p(2.0), random_state=0, **params).fit(X, **ANCHORS)


def neighbors(**params):
    return PreserveNeighbors(random_state=0, **params).fit(X)


@pytest.mark.parametrize("kind", ["all", "normalized", "sampled"])
@pytest.mark.parametrize("penalty", [Falling(), lambda d: 1 / (1 + d), lambda d: torch.exp(-d)])
@pytest.mark.parametrize("fit", [anchored, neighbors])
def test_a_penalty_that_falls_is_refused_with_the_rule(fit, penalty, kind):
    with pytest.raises(ValueError, match=r"must increase with the distance.*falls from .* to "):
        fit(repulsive_penalty=penalty, repulsion=kind)


@pytest.mark.parametrize("kind", ["all", "normalized"])
@pytest.mark.parametrize("fit", [anchored, neighbors])
def test_own_penalties_cannot_repel_all_pairs(fit, kind):
    with pytest.raises(ValueError, match=r"must be a built-in one; got .*repulsion='sampled'"):
        fit(repulsive_penalty=lambda d: -1 / (1 + d), repulsion=kind)


@pytest.mark.parametrize("fit", [anchored, neighbors])
def test_a_logarithm_needs_a_penalty_below_zero(fit):
    for penalty in ("log1p", "quadratic", Log()):
        with pytest.raises(ValueError, match="must be below 0"):
            fit(repulsive_penalty=penalty, repulsion="normalized")


def test_a_problem_checks_its_repulsion():
    edges = np.array([[0, 1], [1, 2]])
    for kind, penalty, message in (
        ("all", lambda d: 1 / (1 + d), "must increase"),
        ("normalized", "cubic", "must be below 0"),
    ):
        with pytest.raises(ValueError, match=message):
            MDE(3, 2, edges, ("log1p", penalty), repulsion=kind)


@pytest.mark.parametrize("name", sorted(set(PENALTIES) - {"barrier"}))
def test_every_named_penalty_increases(name):
    check_repulsive(resolve_penalty(name), "all")


class Layer(torch.nn.Module):
    """-1 / d, by a layer that takes float32 only."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(self.layer.weight)

    def forward(self, d):
        return -1 / self.layer(d[:, None])[:, 0].clamp(min=1e-7)


def test_a_module_may_repel_steeply():
    params = {"repulsion": "sampled", "repulsive_weight": 20.0, "max_iter": 0}
    given, named = (
        neighbors(repulsive_penalty=penalty, **params).embedding_
        for penalty in (Layer(), "inverse_power")
    )
    np.testing.assert_array_equal(given, named)
    assert named.std() > 1.5  # the start was scaled


def test_what_increases_somewhere_is_accepted():
    for function in (lambda d: -1 / (1 + d), lambda d: torch.cos(d), lambda d: 0 * d):
        check_repulsive(CallablePenalty(function), "sampled")
    check_repulsive(InversePower(), "normalized")
    check_repulsive(Cauchy(1e30), "normalized")  # flat, as far as numbers tell


FALLING = {
    "linear": lambda d: -d,
    "fraction": lambda d: 1 / (1 + d),
    "exponential": lambda d: torch.exp(-d),
    "cauchy": Falling(),
}
ATTRACTS = {
    **{name: name for name in PENALTIES if name != "barrier"},
    "spring": lambda d: (d - 3).square(),
    "long spring": lambda d: (d - 1e4).abs(),
    "well": lambda d: -torch.exp(-d.square()),
    "bounded": lambda d: d.clamp(max=1.0),
    "molecule": lambda d: d.clamp(min=0.5) ** -12 - d.clamp(min=0.5) ** -6,
    "wave": lambda d: 1 - torch.cos(d.clamp(max=3.0)),
    "constant": lambda d: 0 * d,
    "overflow": lambda d: torch.exp(d),
    "own error": lambda d: d.reshape(2, 3),
}


@pytest.mark.parametrize("penalty", FALLING.values(), ids=FALLING)
@pytest.mark.parametrize("make", [PreserveNeighbors, AnchoredMDE])
def test_an_attraction_that_falls_is_refused_with_the_rule(make, penalty):
    given = ANCHORS if make is AnchoredMDE else {}
    for repulsive in ("log", None):
        estimator = make(attractive_penalty=penalty, repulsive_penalty=repulsive)
        with pytest.raises(
            ValueError, match=r"attractive penalty must increase .*falls from .* to "
        ):
            estimator.fit(X, **given)


@pytest.mark.parametrize("name", ATTRACTS)
def test_functions_that_attract_somewhere_are_taken(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_attractive(resolve_penalty(ATTRACTS[name]))


def test_an_attraction_that_falls_far_away_has_a_warning():
    with pytest.warns(UserWarning, match=r"falls from 0.368 at distance 1 to 0 at 1e\+06"):
        check_attractive(resolve_penalty(lambda d: d * torch.exp(-d)))
    with pytest.warns(UserWarning, match="pairs that are that far apart repel"):
        neighbors(attractive_penalty=lambda d: d / (1 + d.square()), max_iter=2)


def test_a_problem_in_which_all_pairs_repel_has_a_warning():
    edges, weights = np.array([[0, 1], [1, 2], [0, 2]]), -np.ones(3)

    def embed(*args, w=weights, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            MDE(3, 2, edges, *args, weights=w).embed(random_state=0, **options)
        return [
            str(one.message) for one in caught if "All weights are negative" in str(one.message)
        ]

    for penalties in ("log", "inverse_power", ("log1p", "log")):
        assert len(embed(penalties)) == 1
        assert not embed(penalties, "standardized")
        assert not embed(penalties, w=np.array([-1.0, -1.0, 1.0]))
    # they hold pairs at a distance, or it is not known what they do
    assert not embed("hinge") and not embed(lambda d: -1 / d)
    assert not embed("log", max_iter=0)
