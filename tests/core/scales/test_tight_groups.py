"""Tight groups: which items they hold, and the variables that they give the solver."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from skmde import MDE, Anchored
from skmde.core.objectives.all_pairs import AllPairs
from skmde.core.objectives.edges import EdgeList
from skmde.core.scales.precision import resolves, resolves_units
from skmde.core.scales.tight_groups import find_tight_groups
from skmde.losses import LOSSES, WeightedSquaredLoss

NONE = np.empty(0, dtype=int)
POINTS = np.random.default_rng(0).normal(size=(40, 5))


def edges_of(Y, loss="kamada_kawai", *, as_list=False, weights=None):
    i, j = np.triu_indices(len(Y), 1)
    deviations = np.linalg.norm(Y[i] - Y[j], axis=1)
    options = {"deviations": deviations, "weights": weights, "dtype": torch.float64}
    if as_list:
        return EdgeList.build(np.stack([j, i], axis=1), len(Y), loss, **options)
    return AllPairs.build(len(Y), loss, **options)


def groups_of(Y, fixed=NONE, **options):
    return find_tight_groups(edges_of(Y, **options), len(Y), fixed)


def with_copies(gaps, seed=1):
    """The points, and a copy of the first ones at each of the gaps."""
    rng = np.random.default_rng(seed)
    copies = [POINTS[k] + gap * rng.normal(size=5) for k, gap in enumerate(gaps)]
    return np.vstack([POINTS, *copies])


def held_together(groups, n):
    """Sets of items in one group, of all levels."""
    found = set()
    for level in groups.levels:
        for group in np.unique(level.groups.numpy()):
            found.add(frozenset(level.items[level.groups == group].tolist()))
    return found


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_ordinary_data_have_no_tight_group(loss):
    assert groups_of(POINTS, loss=loss) is None
    assert groups_of(np.vstack([POINTS, POINTS[:5]]), loss=loss) is None  # pairs at distance 0


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("pairs", [[[0, 1]], [[0, 1], [4, 7]]])
def test_few_pairs_among_many_items_are_not_tight(loss, pairs):
    weights = np.full(len(pairs), 3.0)
    edges = EdgeList.build(
        np.array(pairs), 300, loss, deviations=weights, weights=weights, dtype=torch.float64
    )
    assert find_tight_groups(edges, 300, NONE) is None


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("loss", ["kamada_kawai", "fractional", "soft_fractional", "sammon"])
def test_the_items_of_near_copies_are_found(loss, as_list):
    groups = groups_of(with_copies([1e-6, 1e-9]), loss=loss, as_list=as_list)
    assert held_together(groups, 42) == {frozenset({0, 40}), frozenset({1, 41})}
    assert len({len(level.items) for level in groups.levels}) == 1


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "logistic", "cubic"])
def test_losses_that_let_the_other_pairs_tear_a_pair_hold_nothing(loss):
    assert groups_of(with_copies([1e-3, 1e-6, 1e-9]), loss=loss) is None


def test_a_function_of_the_user_is_looked_at_pair_by_pair():
    Y = with_copies([1e-6])
    built_in = groups_of(Y)
    own = groups_of(Y, loss=lambda delta, d: ((d - delta) / delta) ** 2)
    kappa = groups_of(Y, loss=WeightedSquaredLoss(lambda delta: delta**-2.0))
    for other in (own, kappa):
        assert held_together(other, 41) == held_together(built_in, 41)
        assert other.shortest == pytest.approx(built_in.shortest, rel=1e-6)


def test_weights_make_a_pair_tight():
    i, j = np.triu_indices(40, 1)
    weights = np.where((i == 3) & (j == 7), 1e9, 1.0)
    groups = groups_of(POINTS, loss="squared", weights=weights)
    assert held_together(groups, 40) == {frozenset({3, 7})}


def test_groups_are_nested():
    rng = np.random.default_rng(2)
    offsets = [1e-9, 1e-9, 1e-4, 1e-4]
    Y = np.vstack([POINTS, *(POINTS[0] + offset * rng.normal(size=5) for offset in offsets)])
    groups = groups_of(Y)
    inner, outer = frozenset({0, 40, 41}), frozenset({0, 40, 41, 42, 43})
    assert {inner, outer} <= held_together(groups, 44)
    assert float(groups.levels[0].lengths.max()) < 1e-3 * float(groups.levels[-1].lengths.min())


def test_all_items_but_one_far_outlier_are_a_group():
    groups = groups_of(np.vstack([POINTS, 1e6 * np.ones((1, 5))]))
    assert frozenset(range(40)) in held_together(groups, 41)


@st.composite
def problems(draw):
    gaps = draw(st.lists(st.floats(-12, -3).map(lambda x: 10.0**x), min_size=1, max_size=20))
    fixed = draw(st.lists(st.integers(0, 40 + len(gaps) - 1), max_size=6, unique=True))
    return with_copies(gaps, seed=draw(st.integers(0, 99))), np.sort(np.array(fixed, dtype=int))


@settings(deadline=None, max_examples=60)
@given(problems())
def test_variables_are_a_symmetric_change_that_keeps_mean_and_fixed_items(problem):
    Y, fixed = problem
    groups = groups_of(Y, fixed)
    if groups is None:
        return
    rng = np.random.default_rng(0)
    A, B = (torch.from_numpy(rng.normal(size=(len(Y), 2))) for _ in range(2))
    A[fixed] = B[fixed] = 0.0  # differences of embeddings
    CA, CB = groups.outside(A), groups.outside(B)
    assert float((CA * B).sum()) == pytest.approx(float((A * CB).sum()), rel=1e-9, abs=1e-9)
    rounding = 1e-14 / groups.shortest
    torch.testing.assert_close(groups.outside(groups.inside(A)), A, rtol=0, atol=rounding)
    assert (CA[fixed] == 0).all()
    assert float((CA * A).sum()) > 0
    if not len(fixed):
        torch.testing.assert_close(CA.mean(dim=0), A.mean(dim=0), rtol=0, atol=1e-12)
    # A rigid shift of a whole group stays as it is: the offsets alone are scaled.
    together = groups.together(A)
    torch.testing.assert_close(groups.outside(together), together)


def test_offsets_from_a_fixed_item_are_scaled():
    groups = groups_of(with_copies([1e-6]), fixed=np.array([0]))
    X = torch.zeros(41, 2, dtype=torch.float64)
    X[40] = 1.0
    moved = groups.outside(X)
    assert 0 < float(moved[40, 0]) < 1e-4
    assert (moved[:40] == 0).all()


def test_groups_that_are_torn_apart_are_brought_together():
    groups = groups_of(with_copies([1e-6, 1e-6]))
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(42, 2)))
    X[41] = X[1] + 1e-7
    found = groups.contracted(X)
    assert float((found[0] - found[40]).norm()) < 1e-4
    torch.testing.assert_close(found[0] + found[40], X[0] + X[40])
    torch.testing.assert_close(found[[1, 41]], X[[1, 41]], rtol=0, atol=1e-15)
    assert torch.equal(found[2:40], X[2:40])


def test_both_lists_of_pairs_name_the_pairs_of_positions():
    for edges in (edges_of(POINTS), edges_of(POINTS, as_list=True)):
        i, j = np.triu_indices(40, 1)
        positions = np.array([0, 38, 39, 500, len(edges) - 2, len(edges) - 1])
        expected = np.stack([i, j], axis=1)[positions]
        np.testing.assert_array_equal(edges.pairs_at(positions), expected)


@pytest.mark.parametrize(("shortest", "enough"), [(1e-3, True), (2e-4, True), (5e-5, False)])
@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_float32_resolves_a_ten_thousandth_of_the_longest_distance(shortest, enough, unit):
    distances = unit * np.array([0.0, 1.0, shortest, 0.5])
    assert resolves(distances) is enough
    assert resolves(torch.from_numpy(distances)) is enough


def test_no_distance_needs_no_resolution():
    assert resolves(None) and resolves(np.zeros(3)) and resolves(np.empty(0))
    assert resolves_units(0.1) and not resolves_units(1e-3)


@pytest.mark.parametrize("loss", ["squared", "kamada_kawai"])
@pytest.mark.parametrize(("gap", "dtype"), [(0.5, torch.float32), (1e-5, torch.float64)])
def test_a_problem_in_float32_is_solved_in_float64_if_it_must(loss, gap, dtype):
    Y = with_copies([gap])
    i, j = np.triu_indices(41, 1)
    deviations = np.linalg.norm(Y[i] - Y[j], axis=1).astype(np.float32)
    problem = MDE(41, 2, None, loss, deviations=deviations)
    assert problem.embed(random_state=0).dtype == dtype


def test_an_anchored_problem_moves_to_another_device_with_its_groups():
    Y = with_copies([1e-6])
    i, j = np.triu_indices(41, 1)
    deviations = np.linalg.norm(Y[i] - Y[j], axis=1)
    constraint = Anchored([0, 3], np.zeros((2, 2)))
    problem = MDE(41, 2, None, "kamada_kawai", constraint, deviations=deviations)
    X = problem.embed(random_state=0)
    assert torch.equal(problem.to("cpu").embed(random_state=0), X)
    assert float((X[0] - X[40]).norm()) == pytest.approx(deviations[39], rel=0.05)
