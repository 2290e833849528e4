"""Which pairs repel, how strongly, and under which penalties, if parameters are left open."""

import numpy as np
import pytest

from skmde import penalties
from skmde.estimators.pairs.repulsion_rule import repulsion_rule

K = 15  # neighbours


def rule(
    repulsion="auto",
    attractive="auto",
    repulsive="auto",
    weight=None,
    fraction=None,
    n_components=2,
    fixes_unit=False,
):
    return repulsion_rule(
        repulsion,
        attractive,
        repulsive,
        weight,
        fraction,
        n_components=n_components,
        fixes_unit=fixes_unit,
    )


@pytest.mark.parametrize(
    ("arguments", "kind", "attractive", "repulsive"),
    [
        ({}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"n_components": 1}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"n_components": 3}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"n_components": 4}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"fixes_unit": True}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"fraction": 2.0}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"repulsive": None}, "none", penalties.Log1p(), None),
        ({"repulsive": None, "repulsion": "all"}, "none", penalties.Log1p(), None),
        ({"repulsive": "log"}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"repulsive": "cauchy"}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"attractive": "cubic"}, "all", penalties.Cubic(), penalties.Cauchy()),
        ({"repulsion": "all", "repulsive": "log"}, "all", penalties.Log1p(2.0), penalties.Log()),
        ({"repulsion": "all", "n_components": 4}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"repulsion": "normalized"}, "normalized", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"repulsion": "sampled"}, "sampled", penalties.Log1p(), penalties.Log()),
    ],
)
def test_choices(arguments, kind, attractive, repulsive):
    got = rule(**arguments).for_data(9.0, 2, 900, K)
    assert got.kind == kind
    assert got.sums_all == (kind in ("all", "normalized"))
    for penalty, want in zip(got.penalties, (attractive, repulsive), strict=True):
        assert type(penalty) is type(want)
        if want is not None:
            assert penalty.get_params() == want.get_params()


def test_fraction():
    assert rule("sampled").fraction == 1.0
    assert rule("sampled", fixes_unit=True).fraction == 0.5
    assert rule("sampled", fraction=3.0).fraction == 3.0


@pytest.mark.parametrize("kind", ["all", "normalized"])
def test_a_fraction_of_all_pairs_is_refused(kind):
    with pytest.raises(ValueError, match=f"repulsive_fraction=2.0 .*repulsion='{kind}'"):
        rule(kind, fraction=2.0)


def test_normalized_needs_a_penalty_below_zero():
    with pytest.raises(ValueError, match=r"must be below 0.*Linear\(\)"):
        rule("normalized", repulsive="linear")
    # The logarithm of an exponential falls faster than any attraction grows: there is no minimum.
    with pytest.raises(ValueError, match=r"also at distance 1000; got Log\(\)"):
        rule("normalized", repulsive="log")
    rule("normalized", repulsive="log_ratio")


def test_unknown_penalties():
    with pytest.raises(ValueError, match="unknown penalty 'nothing'"):
        rule(repulsive="nothing")
    with pytest.raises(ValueError, match="unknown penalty 'nothing'"):
        rule(attractive="nothing")


def test_few_samples_of_flat_data_repel_each_other_more_strongly():
    weights = [rule().for_data(2.0, 2, n, K).weight for n in (20, 300, 1000, 3000, 20_000)]
    assert weights == pytest.approx([1.0, 1.0, 0.45, 0.15, 0.05])
    assert rule().for_data(5.0, 2, 20_000, K).weight == 1.0  # not flat


def test_many_neighbors_of_flat_data_repel_each_other_more_strongly():
    weights = [rule().for_data(2.0, 2, 3000, k).weight for k in (5, 10, 25, 50, 150)]
    assert weights == pytest.approx([0.05, 0.1, 0.25, 0.5, 1.0])


def test_flat_data_get_an_attraction_that_does_not_fade_and_a_small_weight():
    for m in (1, 2):
        open_rule = rule(n_components=m)
        flat, other = (open_rule.for_data(m + excess, m, 900, K) for excess in (0.49, 0.5))
        assert isinstance(flat.attractive, penalties.Huber)
        assert flat.attractive.get_params() == penalties.Huber(1.0).get_params()
        assert flat.weight == 0.5
        assert isinstance(other.attractive, penalties.Log1p)
        assert other.weight == 1.0
        assert (flat.is_flat, other.is_flat) == (True, False)
    assert rule().for_data(np.nan, 2, 900, K).weight == 1.0


def test_what_is_given_does_not_depend_on_the_data():
    for dimension in (1.0, 9.0, np.nan):
        assert rule(weight=0.3).for_data(dimension, 2, 900, K).weight == 0.3
        assert rule(weight=0.0).for_data(dimension, 2, 900, K).weight == 0.0
        cubic = rule(attractive="cubic").for_data(dimension, 2, 900, K).attractive
        assert isinstance(cubic, penalties.Cubic)
        for kind in ("normalized", "sampled"):
            other = rule(kind).for_data(dimension, 2, 900, K)
            assert other.weight == 1.0
            assert isinstance(other.attractive, penalties.Log1p)
            assert not other.is_flat


def test_nearly_flat_data_are_those_with_a_little_noise():
    kinds = ("all", "normalized", "sampled")
    found = [rule(kind).for_data(2.99, 2, 900, K) for kind in kinds]
    assert [each.is_nearly_flat for each in found] == [True, True, False]
    for dimension in (3.0, np.nan):
        assert not rule().for_data(dimension, 2, 900, K).is_nearly_flat
