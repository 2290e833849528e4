"""Which pairs repel, how strongly, and under which penalties, if parameters are left open."""

import numpy as np
import pytest

from skmde import penalties
from skmde.estimators.pairs.repulsion_rule import repulsion_rule


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
        ({"n_components": 3}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"fixes_unit": True}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"fraction": 2.0}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"repulsive": None}, "none", penalties.Log1p(), None),
        ({"repulsive": None, "repulsion": "all"}, "none", penalties.Log1p(), None),
        ({"repulsive": "log"}, "sampled", penalties.Log1p(), penalties.Log()),
        ({"repulsive": "cauchy"}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"attractive": "cubic"}, "all", penalties.Cubic(), penalties.Cauchy()),
        ({"repulsion": "all", "repulsive": "log"}, "all", penalties.Log1p(2.0), penalties.Log()),
        ({"repulsion": "all", "n_components": 3}, "all", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"repulsion": "normalized"}, "normalized", penalties.Log1p(2.0), penalties.Cauchy()),
        ({"repulsion": "sampled"}, "sampled", penalties.Log1p(), penalties.Log()),
    ],
)
def test_choices(arguments, kind, attractive, repulsive):
    got = rule(**arguments)
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


def test_weight_grows_with_the_dimension_of_the_data():
    weights = [rule().weight_for(d, 2, 2000) for d in np.linspace(1, 4, 31)]
    assert (np.diff(weights) >= 0).all()
    assert weights[0] == weights[10] == pytest.approx(0.005)  # dimension 1 and 2
    assert weights[-1] == 1.0
    assert rule().weight_for(2.3, 2, 2000) == pytest.approx(0.005**0.5)
    assert rule(n_components=1).weight_for(1.0, 1, 2000) == pytest.approx(0.005)
    assert rule().weight_for(np.nan, 2, 2000) == 1.0
    for kind in ("normalized", "sampled"):
        assert rule(kind).weight_for(1.0, 2, 2000) == 1.0
    assert rule(weight=0.3).weight_for(1.0, 2, 2000) == 0.3
    assert rule(weight=0.0).weight_for(9.0, 2, 2000) == 0.0


def test_few_samples_repel_each_other_more_strongly():
    weights = [rule().weight_for(2.0, 2, n) for n in (2, 5, 100, 500, 1000, 10_000)]
    assert weights == pytest.approx([1.0, 1.0, 0.05, 0.01, 0.005, 0.005])
    assert rule("all", n_components=10).weight_for(5.0, 10, 200) == pytest.approx(0.125)
