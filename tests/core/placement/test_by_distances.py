"""Placing unseen items by their distances to items of a fixed embedding."""

import warnings

import numpy as np
import pytest
import torch
from labels import label
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from skmde.core.placement.by_distances import place_by_distances
from skmde.exceptions import ConvergenceWarning
from skmde.functions.registry import resolve_loss
from skmde.losses import LOSSES, HuberLoss, PowerLoss


def kinked(delta, d):
    return (d - delta).abs()


def smooth(delta, d):
    return (d - delta) ** 2 / (1 + delta)


EVERY_LOSS = [*(LOSSES[name]() for name in LOSSES), PowerLoss(1.5), resolve_loss("sammon")]
EVERY_LOSS += [kinked, smooth]


@pytest.fixture(autouse=True)
def no_warnings():
    """A kink is no failure, and nothing overflows aloud."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def scene(m, q=20, n=15, noise=0.0, seed=0):
    """Anchors, points, and distances between them that are wrong by about 100 noise percent."""
    rng = np.random.default_rng(seed)
    anchors, coordinates = rng.normal(size=(n, m)), rng.normal(size=(q, m))
    return (
        anchors,
        coordinates,
        cdist(coordinates, anchors) * np.exp(noise * rng.normal(size=(q, n))),
    )


def average_loss(x, anchors, deviations, loss):
    """The definition, for one item."""
    d = torch.from_numpy(np.linalg.norm(x - anchors, axis=1))
    return resolve_loss(loss).value(torch.from_numpy(deviations), d).mean().item()


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_places_are_recovered_from_their_distances(loss, m):
    anchors, coordinates, deviations = scene(m)
    X = place_by_distances(anchors, deviations, loss)
    assert X.dtype == np.float64
    np.testing.assert_allclose(X, coordinates, atol=1e-9)


@pytest.mark.parametrize("m", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_minima_are_as_good_as_those_from_many_starts(loss, m):
    anchors, coordinates, deviations = scene(m, q=20, n=6, noise=0.3, seed=1)
    X = place_by_distances(anchors, deviations, loss)
    worse = 0
    for x, place, delta in zip(X, coordinates, deviations, strict=True):
        value = average_loss(x, anchors, delta, loss)
        options = {"xatol": 1e-5, "fatol": 1e-8, "maxiter": 150}
        others = [
            minimize(average_loss, start, (anchors, delta, loss), "Nelder-Mead", options=options)
            for start in (place, *anchors[:2])
        ]
        worse += value > min(other.fun for other in others) * (1 + 1e-3)
    assert worse <= 1


@pytest.mark.parametrize("loss", ["absolute", "fractional", "logistic", kinked], ids=label)
def test_where_kinks_meet_no_direction_leads_down(loss):
    anchors, _, deviations = scene(2, q=10, n=9, noise=0.3)
    X = place_by_distances(anchors, deviations, loss)
    rng = np.random.default_rng(0)
    on_kinks = 0
    for x, delta in zip(X, deviations, strict=True):
        value = average_loss(x, anchors, delta, loss)
        for scale in (1e-2, 1e-4):
            for y in x + scale * rng.normal(size=(40, 2)):
                assert average_loss(y, anchors, delta, loss) > value - 1e-7
        residual = np.abs(np.linalg.norm(x - anchors, axis=1) - delta)
        on_kinks += (residual < 1e-7).sum() >= 1
    assert on_kinks >= 5


@pytest.mark.parametrize(
    "loss", ["squared", "absolute", "soft_fractional", "logistic", kinked, smooth]
)
def test_a_row_does_not_depend_on_batch_order_chunks_or_threads(loss):
    anchors, _, deviations = scene(3, q=60, n=70, noise=0.2)
    weights = np.random.default_rng(3).choice([0.0, 0.3, 1.0], size=deviations.shape)
    together = place_by_distances(anchors, deviations, loss, weights)
    for r in range(0, 60, 7):
        alone = place_by_distances(anchors, deviations[r : r + 1], loss, weights[r : r + 1])
        np.testing.assert_array_equal(alone[0], together[r])
    order = np.random.default_rng(2).permutation(60)
    options = {"chunk_size": 17, "n_threads": 2}
    permuted = place_by_distances(anchors, deviations[order], loss, weights[order], **options)
    np.testing.assert_array_equal(permuted, together[order])
    threads = torch.get_num_threads()
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            again = place_by_distances(anchors, deviations, loss, weights)
            np.testing.assert_array_equal(again, together)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_missing_pairs_do_not_count(loss):
    anchors, _, deviations = scene(2, q=6, noise=0.2)
    few = place_by_distances(anchors[:7], deviations[:, :7], loss)
    missing, weights = deviations.copy(), np.ones(deviations.shape)
    missing[:, 7:11], missing[:, 11:13] = np.nan, np.inf
    weights[:, 13:] = 0.0
    full = place_by_distances(anchors, missing, loss, weights)
    values = [
        [
            average_loss(x, anchors[:7], delta[:7], loss)
            for x, delta in zip(X, deviations, strict=True)
        ]
        for X in (few, full)
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-4)


def test_an_item_without_pairs_is_at_the_centre_of_the_anchors():
    anchors, _, deviations = scene(2, q=5)
    weights = np.ones(deviations.shape)
    deviations[1], weights[3] = np.nan, 0.0
    X = place_by_distances(anchors, deviations, "squared", weights)
    np.testing.assert_allclose(X[[1, 3]], np.tile(anchors.mean(axis=0), (2, 1)), atol=1e-15)
    rest = place_by_distances(anchors, deviations[[0, 2, 4]], "squared", weights[[0, 2, 4]])
    np.testing.assert_array_equal(X[[0, 2, 4]], rest)
    assert place_by_distances(anchors, deviations[:0], "squared").shape == (0, 2)


def test_weights_count_as_often_as_they_say():
    anchors, _, deviations = scene(2, noise=0.3)
    weights = np.random.default_rng(0).choice([1.0, 2.0, 3.0], size=len(anchors))
    X = place_by_distances(anchors, deviations, "squared", np.tile(weights, (20, 1)))
    times = weights.astype(int)
    repeated = place_by_distances(
        np.repeat(anchors, times, axis=0), np.repeat(deviations, times, axis=1), "squared"
    )
    np.testing.assert_allclose(X, repeated, atol=1e-8)
    for factor in (1e-200, 1e200):
        scaled = place_by_distances(
            anchors, deviations, "squared", np.full(deviations.shape, factor)
        )
        np.testing.assert_array_equal(scaled, place_by_distances(anchors, deviations, "squared"))


@pytest.mark.parametrize("loss", [*LOSSES, PowerLoss(1.5), "sammon"], ids=label)
@pytest.mark.parametrize("exponent", [-66, 66])
def test_lengths_may_be_of_any_size(loss, exponent):
    anchors, coordinates, deviations = scene(2)
    scale = 2.0**exponent  # about 1e-20 and 1e20
    X = place_by_distances(anchors * scale, deviations * scale, loss)
    np.testing.assert_allclose(X / scale, coordinates, atol=1e-9)
    noisy = scene(2, noise=0.3)[2]
    if loss not in ("huber", "logistic"):  # which have a length of their own
        X = place_by_distances(anchors * scale, noisy * scale, loss)
        np.testing.assert_array_equal(X / scale, place_by_distances(anchors, noisy, loss))


def test_a_loss_with_a_length_of_its_own_keeps_it():
    anchors, _, deviations = scene(2, noise=0.3)
    X = place_by_distances(anchors, deviations, HuberLoss(0.1))
    Y = place_by_distances(1024 * anchors, 1024 * deviations, HuberLoss(102.4)) / 1024
    np.testing.assert_allclose(Y, X, atol=1e-7)
    far = place_by_distances(1024 * anchors, 1024 * deviations, HuberLoss(0.1)) / 1024
    assert np.abs(far - X).max() > 1e-3
    # far beyond its threshold it is the absolute loss
    robust = place_by_distances(anchors, deviations, "absolute")
    values = [
        [average_loss(x, anchors, t, "absolute") for x, t in zip(Y, deviations, strict=True)]
        for Y in (far, robust)
    ]
    np.testing.assert_allclose(values[0], values[1], atol=2e-4)


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_distances_of_0_and_of_very_different_sizes_stay_finite(loss, m):
    anchors, _, deviations = scene(m, q=7, n=8, noise=0.2)
    deviations[0, 3] = 0.0
    deviations[1, :4] = 0.0
    deviations[2] = 0.0
    deviations[3, 2] = 1e-300
    deviations[4, 1] = 1e15
    deviations[5, 5] = 1e300
    deviations[6] = cdist(anchors[4:5], anchors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        X = place_by_distances(anchors, deviations, loss)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X[6], anchors[4], atol=1e-7)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_one_anchor_and_anchors_in_one_place(loss, m):
    anchor = np.full((1, m), 3.0)
    X = place_by_distances(anchor, [[0.0], [2.0]], loss)
    np.testing.assert_allclose(np.linalg.norm(X - anchor, axis=1), [0.0, 2.0], atol=1e-6)
    X = place_by_distances(np.repeat(anchor, 3, axis=0), [[2.0, 2.0, 2.0]], loss)
    np.testing.assert_allclose(np.linalg.norm(X - anchor, axis=1), 2.0, atol=1e-6)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_off_a_line_of_anchors_either_side_fits(loss):
    line = np.linspace(0.0, 3.0, 6)[:, None] * [1.0, 2.0] + [0.5, 0.0]
    coordinates = np.array([[0.0, 1.0], [3.0, -1.0], [line[2, 0], line[2, 1]]])
    deviations = cdist(coordinates, line)
    X = place_by_distances(line, deviations, loss)
    np.testing.assert_allclose(cdist(X, line), deviations, atol=1e-6)


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_a_few_wrong_distances_do_no_harm_to_a_robust_loss(loss):
    anchors, coordinates, deviations = scene(2, n=100)
    deviations[:, ::10] *= 5.0
    X = place_by_distances(anchors, deviations, HuberLoss(1e-3) if loss == "huber" else loss)
    np.testing.assert_allclose(X, coordinates, atol=1e-6 if loss == "absolute" else 1e-2)


def test_the_embedding_may_be_anywhere_and_inputs_are_left_alone():
    anchors, coordinates, deviations = scene(2)
    given = (anchors + 1e5).astype(np.float32), deviations.astype(np.float32), np.ones((20, 15))
    given[1].flags.writeable = given[0].flags.writeable = given[2].flags.writeable = False
    before = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    X = place_by_distances(given[0], given[1], "absolute", given[2])
    np.testing.assert_allclose(X - 1e5, coordinates, atol=0.1)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.random.get_rng_state(), before[1])
    lists = place_by_distances([[0.0], [1.0]], [[0.25, 0.75]], "squared")
    np.testing.assert_allclose(lists, [[0.25]])


def test_a_loss_that_is_infinite_everywhere_gives_a_finite_place_and_a_warning():
    anchors, _, deviations = scene(2)
    with pytest.warns(
        ConvergenceWarning, match=r"20 of 20 new items .* infinite at all points tried"
    ):
        X = place_by_distances(anchors, deviations, lambda delta, d: d * torch.nan)
    assert np.isfinite(X).all()


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_where_steps_run_out_there_is_a_warning(loss):
    anchors, _, deviations = scene(2, noise=0.3)
    with pytest.warns(ConvergenceWarning, match=r"of 20 new items .* 1 Newton steps"):
        place_by_distances(anchors, deviations, loss, max_iter=1)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"anchor_embedding": [[0.0, np.nan], [1.0, 1.0]]}, r"must be finite; got nan"),
        ({"anchor_embedding": [0.0, 1.0]}, r"must have shape \(n_anchors, m\).* got shape \(2,\)"),
        ({"anchor_embedding": np.zeros((0, 2))}, r"both at least 1; got shape \(0, 2\)"),
        ({"deviations": [[1.0, 2.0, 3.0]]}, r"each of the 2 anchored items; got shape \(1, 3\)"),
        ({"deviations": [1.0, 2.0]}, r"got shape \(2,\)"),
        ({"deviations": [[1.0, -2.0]]}, r"at least 0; got -2.0"),
        ({"deviations": [[1.0, -np.inf]]}, r"at least 0; got -inf"),
        ({"weights": [[1.0]]}, r"shape of deviations, \(1, 2\); got shape \(1, 1\)"),
        ({"weights": [[1.0, -1.0]]}, r"finite and at least 0; got -1.0"),
        ({"weights": [[1.0, np.nan]]}, r"finite and at least 0; got nan"),
        ({"weights": [[1.0, np.inf]]}, r"finite and at least 0; got inf"),
        ({"loss": "absolut"}, r"unknown loss 'absolut'"),
    ],
)
def test_input_that_makes_no_sense_is_refused(change, message):
    given = {"anchor_embedding": np.eye(2), "deviations": [[1.0, 2.0]], "loss": "squared"}
    with pytest.raises(ValueError, match=message):
        place_by_distances(**{**given, **change})


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=label)
def test_items_without_a_pair_are_at_the_centre(loss, m):
    anchors = np.random.default_rng(0).normal(size=(5, m))
    for q in (0, 3):
        X = place_by_distances(anchors, np.full((q, 5), np.nan), loss)
        np.testing.assert_allclose(X, np.tile(anchors.mean(axis=0), (q, 1)))
