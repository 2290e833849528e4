"""Diagrams of distances, distortions, convergence and distortion functions."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba
from pictures import boxes, overlaps, pixels
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator

import skmde
from skmde.metrics import normalized_stress
from skmde.plotting import ConvergenceDisplay, DistortionDisplay, PenaltyDisplay, ShepardDisplay
from skmde.plotting.drawing.theme import DARK, LIGHT


def _normal(n, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


class Fitted(BaseEstimator):
    """A fitted estimator with the given attributes."""

    def fit(self, X, y=None):
        return self

    def having(self, **attributes):
        vars(self).update(embedding_=_normal(4), **attributes)
        return self


HISTORY = {
    "value": np.array([4.0, 2.0, 1.5, 1.25]),
    "residual_norm": np.array([1.0, 1e-1, 1e-2, 1e-3]),
    "seconds": np.array([0.0, 0.5, 0.75, 1.0]),
    "step_size": np.array([0.0, 1.0, 1.0, 1.0]),
}


def _all_diagrams(**options):
    edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    yield ShepardDisplay.from_embedding(_normal(20, 5), _normal(20), **options)
    yield ConvergenceDisplay.from_history(HISTORY, **options)
    yield PenaltyDisplay.from_functions(["log1p", "quadratic"], **options)
    yield DistortionDisplay.from_distortions([0.1, 0.2, 0.9, 1.3], edges, **options)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_diagrams_are_saved_in_both_themes(theme):
    for display in _all_diagrams(theme=theme.name):
        picture = pixels(display)
        np.testing.assert_allclose(picture[0, 0], to_rgba(theme.background)[:3], atol=0.01)
        for ax in np.ravel(display.ax_):
            assert ax.xaxis.label.get_color() == theme.text
            assert ax.get_facecolor() == to_rgba(theme.background)
        drawn = (np.abs(picture - picture[0, 0]) > 0.05).any(axis=2)
        assert drawn.mean() > 0.01


def test_diagrams_are_drawn_on_given_axes():
    for make in (
        lambda ax: ConvergenceDisplay.from_history(HISTORY, ax=ax),
        lambda ax: PenaltyDisplay.from_functions("log1p", ax=ax),
        lambda ax: DistortionDisplay.from_distortions([1.0, 2.0], [[0, 1], [1, 2]], ax=ax),
    ):
        figure, axes = plt.subplots(1, 3)
        assert make(axes[:2]).ax_.tolist() == axes[:2].tolist()
        divided = make(axes[2])
        assert divided.figure_ is figure and len(figure.axes) == 4
        assert axes[2] not in figure.axes
        with pytest.raises(ValueError, match="has 2 panels; pass one axes or 2"):
            make(plt.subplots(1, 3)[1])
        free = plt.figure().add_axes((0, 0, 1, 1))
        with pytest.raises(ValueError, match="ax must lie in a grid"):
            make(free)
    _, ax = plt.subplots()
    assert ShepardDisplay.from_distances([1.0, 2.0], [1.0, 2.0], ax=ax).ax_ is ax


def test_shepard_diagram_of_a_perfect_embedding_is_its_line():
    X = _normal(30)
    display = ShepardDisplay.from_embedding(X, 3.0 * X)
    np.testing.assert_allclose(display.distances, pdist(X))
    np.testing.assert_allclose(display.embedding_distances, 3 * pdist(X))
    assert display.scale == pytest.approx(3.0)
    assert display.stress_ == pytest.approx(0, abs=1e-7)
    x, y = display.line_.get_data()
    np.testing.assert_allclose(y, 3 * x)
    x, y = display.median_.get_data()
    np.testing.assert_allclose(y, 3 * x, rtol=0.1)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["perfect, scale 3", "10% to 90% of pairs", "median"]


def test_shepard_diagram_draws_few_pairs_as_points_and_many_as_an_image():
    few = ShepardDisplay.from_embedding(_normal(20, 4), _normal(20, 2, 1))
    assert len(few.pairs_.get_offsets()) == 190
    many = ShepardDisplay.from_embedding(_normal(120, 4), _normal(120, 2, 1))
    assert many.pairs_.get_array().shape[-1] == 4
    sampled = ShepardDisplay.from_embedding(_normal(120, 4), _normal(120, 2, 1), max_pairs=500)
    assert len(sampled.distances) == 500
    assert sampled.ax_.get_title(loc="left").startswith("500 pairs, normalised stress 0.")


def test_median_and_band_are_quantiles_of_the_pairs():
    rng = np.random.default_rng(0)
    delta = rng.uniform(1.0, 2.0, 20_000)
    display = ShepardDisplay.from_distances(delta, delta * rng.uniform(0.5, 1.5, 20_000))
    x, middle = display.median_.get_data()
    np.testing.assert_allclose(middle, x, rtol=0.04)
    corners = display.band_.get_paths()[0].vertices
    low = [corners[np.isclose(corners[:, 0], at), 1].min() for at in x]
    high = [corners[np.isclose(corners[:, 0], at), 1].max() for at in x]
    np.testing.assert_allclose(low / x, 0.6, atol=0.05)
    np.testing.assert_allclose(high / x, 1.4, atol=0.05)


def test_shepard_diagram_of_an_estimator_has_its_own_pairs():
    X, edges = _normal(4), np.array([[0, 1], [0, 2], [1, 3]])
    estimator = Fitted().having(edges_=edges, distances_=np.array([1.0, np.inf, 2.0]), scale_=0.5)
    display = ShepardDisplay.from_estimator(estimator)
    lengths = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    np.testing.assert_allclose(display.embedding_distances, lengths[[0, 2]])
    assert display.scale == 0.5
    assert display.stress_ == pytest.approx(normalized_stress([1.0, 2.0], lengths[[0, 2]]))
    assert "1 at infinite distance" in display.ax_.get_title(loc="left")
    with pytest.raises(ValueError, match="has no attribute distances_"):
        ShepardDisplay.from_estimator(Fitted().having())
    table = ShepardDisplay.from_estimator(
        Fitted().having(), squareform(pdist(X)), metric="precomputed"
    )
    np.testing.assert_allclose(table.distances, pdist(X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ShepardDisplay.from_distances([1.0], [1.0, 2.0]), "embedding_distances has 2"),
        (lambda: ShepardDisplay.from_distances([-1.0], [1.0]), "distances must be at least 0"),
        (lambda: ShepardDisplay.from_distances([np.nan], [1.0]), "distances has 1 numbers that"),
        (lambda: ShepardDisplay.from_distances([np.inf], [1.0]), "no pair at a finite distance"),
        (lambda: ShepardDisplay.from_distances([], []), "no pair at a finite distance"),
        (lambda: ShepardDisplay.from_embedding(_normal(3), _normal(4)), "X has 3 rows and"),
        (lambda: ShepardDisplay.from_embedding([[1.0]], [[1.0]]), "needs two items or more"),
        (
            lambda: ShepardDisplay.from_embedding(_normal(4), _normal(4), metric="precomputed"),
            "needs the distances of all pairs",
        ),
        (lambda: ConvergenceDisplay.from_history({"value": [1]}), "history has no 'residual_norm'"),
        (
            lambda: ConvergenceDisplay.from_history({"value": [1, 2], "residual_norm": [1]}),
            "must have 2, one for each iteration",
        ),
        (
            lambda: ConvergenceDisplay.from_history({"value": [], "residual_norm": []}),
            "history is empty",
        ),
        (lambda: ConvergenceDisplay.from_history(HISTORY, x="time"), 'x must be "iteration" or'),
        (lambda: PenaltyDisplay.from_functions([]), "functions is empty"),
        (lambda: PenaltyDisplay.from_functions(["log1q"]), "log1q"),
        (lambda: PenaltyDisplay.from_functions("log", weights=[1, 2]), "weights has 2 numbers"),
        (lambda: PenaltyDisplay.from_functions("log", distances=[1.0]), "two numbers or more"),
        (lambda: PenaltyDisplay.from_functions("log", distances=[1.0, 0.5]), "ascending"),
        (lambda: PenaltyDisplay.from_functions("squared", deviation=-1), "deviation must be at"),
        (lambda: DistortionDisplay.from_distortions([]), "distortions is empty"),
        (lambda: DistortionDisplay.from_distortions([np.nan]), "1 numbers that are NaN"),
        (lambda: DistortionDisplay.from_distortions([1.0, 2.0], [[0, 1]]), "edges has 1 pairs"),
        (lambda: DistortionDisplay.from_distortions([1.0], bins=0), "bins must be an integer"),
        (
            lambda: DistortionDisplay.from_distortions([1.0], [[0, 1]], names=["a"]),
            "names has 1 texts",
        ),
        (lambda: DistortionDisplay.from_estimator(Fitted().having()), "has no method distortions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_convergence_shows_the_history_of_the_solver():
    display = ConvergenceDisplay.from_estimator(Fitted().having(history_=HISTORY))
    above, below = (line.get_data() for line in display.lines_)
    np.testing.assert_array_equal(above, [np.arange(4), HISTORY["value"]])
    np.testing.assert_array_equal(below, [np.arange(4), HISTORY["residual_norm"]])
    assert [ax.get_yscale() for ax in display.ax_] == ["linear", "log"]
    assert [ax.get_ylabel() for ax in display.ax_] == ["average distortion", "residual norm"]
    assert [text.get_text() for text in display.ax_[0].texts] == ["1.25"]
    by_time = display.plot(x="seconds")
    np.testing.assert_array_equal(by_time.lines_[0].get_xdata(), HISTORY["seconds"])
    assert by_time.ax_[1].get_xlabel() == "seconds"


def test_convergence_without_a_history_or_without_a_residual():
    with pytest.raises(ValueError, match="has no attribute history_"):
        ConvergenceDisplay.from_estimator(Fitted().having())
    with pytest.raises(ValueError, match='x="seconds" needs seconds'):
        ConvergenceDisplay.from_history({"value": [1.0], "residual_norm": [1.0]}, x="seconds")
    display = ConvergenceDisplay.from_history({"value": [0.0], "residual_norm": [0.0]})
    assert display.ax_[1].get_yscale() == "linear"
    pixels(display)


def test_convergence_has_gaps_where_numbers_overflowed():
    history = {"value": [np.inf, 3.0, 2.0], "residual_norm": [np.nan, 1.0, 0.5]}
    display = ConvergenceDisplay.from_history(history)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [np.nan, 3.0, 2.0])
    pixels(display)


def test_convergence_of_a_problem():
    problem = skmde.MDE(4, 2, [[0, 1], [1, 2], [2, 3]], "quadratic", constraint="standardized")
    problem.embed(random_state=0)
    display = ConvergenceDisplay.from_history(problem.result.history)
    assert display.value[-1] == pytest.approx(problem.value)


@pytest.mark.parametrize("name", ["log1p", "quadratic", "cauchy", "huber", "log", "inverse_power"])
def test_penalties_and_slopes_are_those_of_the_function(name):
    distances = np.linspace(0.1, 2.0, 7)
    display = PenaltyDisplay.from_functions([name], distances=distances, weights=[-2.0])
    value, slope = (line.get_ydata() for line in display.lines_)
    function = skmde.functions.registry.resolve_penalty(name)
    d = torch.tensor(distances)
    np.testing.assert_allclose(value, -2 * function.value(d), rtol=1e-12)
    np.testing.assert_allclose(slope, -2 * function.slope(d), rtol=1e-12)


def test_a_loss_is_drawn_for_an_original_distance():
    display = PenaltyDisplay.from_functions("squared", deviation=2.0)
    (value, slope), d = (line.get_ydata() for line in display.lines_), display.distances
    np.testing.assert_allclose(value, (d - 2) ** 2)
    np.testing.assert_allclose(slope[1:], 2 * (d - 2)[1:] / d[1:], rtol=1e-6)
    assert d[-1] == 6.0
    assert PenaltyDisplay.from_functions(skmde.AbsoluteLoss()).deviation == 1.0
    assert PenaltyDisplay.from_functions("log1p").deviation is None


def test_functions_are_told_apart_by_colours_dashes_and_names():
    functions = {"a": "log1p", "_b$": "quadratic", "c": skmde.Huber(0.3), "d": lambda d: d**2}
    display = PenaltyDisplay.from_functions(functions)
    assert [text.get_text() for text in display.legend_.get_texts()] == ["a", "_b$", "c", "d"]
    curves = display.lines_[:4]
    assert len({line.get_color() for line in curves}) == 4
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in curves}) == 4
    pixels(display)
    named = PenaltyDisplay.from_functions([np.exp, skmde.Huber(0.3), torch.exp][1:])
    assert named.names == ["Huber(threshold=0.3)", "exp"]


def test_a_barrier_does_not_hide_the_other_functions():
    display = PenaltyDisplay.from_functions(["log", "inverse_power", "log1p"], weights=[-1, -1, 1])
    low, high = display.ax_[0].get_ylim()
    assert -10 < low < 0 < high < 20
    low, high = display.ax_[1].get_ylim()
    assert -500 < low < 0 < high


def test_histogram_counts_all_pairs_and_marks_their_average():
    rng = np.random.default_rng(0)
    values = rng.normal(size=500)
    display = DistortionDisplay.from_distortions(values, bins=20)
    (ax,) = display.ax_
    heights = [patch.get_height() for patch in ax.patches]
    assert len(heights) == 20 and sum(heights) == 500
    (line,) = ax.lines
    assert line.get_xdata()[0] == pytest.approx(values.mean())
    assert display.item_distortions_ is None and display.labels_ == []
    far = DistortionDisplay.from_distortions([*values, 1e9])
    assert "1 outside, up to 1e+09" in far.ax_[0].get_title(loc="left")
    assert far.ax_[0].get_xlim()[1] < 10


def test_pairs_that_repel_are_drawn_apart():
    values, weights = np.array([1.0, 2.0, -1.0, -2.0, -1.5]), np.array([1, 1, -1, -1, -1.0])
    display = DistortionDisplay.from_distortions(values, weights=weights, bins=4)
    (ax,) = display.ax_
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["attract", "repel", "average -0.3"]
    colors = {patch.get_facecolor()[:3] for patch in ax.patches if patch.get_height()}
    assert colors == {to_rgba(LIGHT.point)[:3], to_rgba(LIGHT.accent)[:3]}


def test_items_are_ranked_by_the_average_of_their_pairs():
    rng = np.random.default_rng(0)
    edges, values = rng.integers(0, 40, (300, 2)), rng.random(300)
    names = [f"item {i}" for i in range(41)]
    display = DistortionDisplay.from_distortions(
        values, edges, n_items=41, names=names, n_worst=3, highlight=[5, 40]
    )
    expected = [values[(edges == i).any(axis=1)].mean() for i in range(40)]
    loops = edges[:, 0] == edges[:, 1]
    without = ~np.isin(np.arange(40), edges[loops])
    np.testing.assert_allclose(display.item_distortions_[:40][without], np.array(expected)[without])
    assert np.isnan(display.item_distortions_[40])
    order = np.argsort(-display.item_distortions_[:40], kind="stable")
    np.testing.assert_array_equal(display.worst_, order[:3])
    assert [label.get_text() for label in display.labels_] == [names[i] for i in order[:3]]
    display.figure_.draw_without_rendering()
    found = boxes(display.labels_)
    assert not any(overlaps(one, found[j]) for i, one in enumerate(found) for j in range(i))
    curve = display.ax_[1].lines[0].get_data()
    np.testing.assert_allclose(curve, [np.arange(1, 41), display.item_distortions_[order]])


def test_constant_distortions_and_one_pair():
    for values, edges in (([0.0] * 3, [[0, 1], [1, 2], [0, 2]]), ([2.0], [[0, 1]])):
        display = DistortionDisplay.from_distortions(values, edges)
        assert sum(patch.get_height() for patch in display.ax_[0].patches) == len(values)
        pixels(display)


# Pictures of few and of many numbers


def test_few_items_have_whole_ranks_in_the_colour_of_the_theme():
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    display = DistortionDisplay.from_distortions(np.arange(4.0), edges, theme="dark")
    axis = display.ax_[1].xaxis
    display.figure_.draw_without_rendering()
    # matplotlib 3.8 has more ticks than those in the picture
    low, high = axis.get_view_interval()
    labels = [tick.label1 for tick in axis.get_minor_ticks() if low <= tick.get_loc() <= high]
    assert {text.get_text() for text in labels} == {"", *"2345"}
    major = axis.get_major_ticks()[0].label1.get_color()
    assert {text.get_color() for text in labels} == {major}


@pytest.mark.parametrize("skewed", [False, True])
def test_no_bar_reaches_the_legend(skewed):
    random = np.random.default_rng(0)
    values = random.lognormal(0, 3 if skewed else 0.1, 2000)
    weights = np.where(np.arange(2000) % 2, 1.0, -1.0)
    display = DistortionDisplay.from_distortions(values, weights=weights)
    ax = display.ax_[0]
    assert ax.get_yscale() == ("log" if skewed else "linear")
    display.figure_.draw_without_rendering()
    lowest = ax.get_legend().get_window_extent().y0
    drawn = [*ax.patches, *ax.lines]
    assert max(artist.get_window_extent().y1 for artist in drawn) < lowest


def test_a_median_that_cannot_be_seen_is_not_in_the_legend():
    display = ShepardDisplay.from_distances([1.0, 2.0, 3.0], [1.0, 2.0, 2.5])
    (text,) = display.ax_.get_legend().get_texts()
    assert text.get_text().startswith("perfect")


@pytest.mark.parametrize("units", [(1e-170, 1.0), (1e170, 1e-100)])
def test_the_scale_of_distances_does_not_depend_on_their_units(units):
    delta, d = np.array([1.0, 2.0, 4.0]), np.array([2.0, 4.0, 9.0])
    expected = ShepardDisplay.from_distances(delta, d).scale
    found = ShepardDisplay.from_distances(delta * units[0], d * units[1])
    assert found.scale == pytest.approx(expected * (units[1] / units[0]))


def test_distances_of_an_estimator_are_those_of_its_metric():
    from sklearn.metrics import pairwise_distances

    from skmde import PreserveNeighbors, QuadraticMDE

    X = np.random.default_rng(0).normal(size=(30, 4))
    estimator = PreserveNeighbors(metric="cosine", max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    display = ShepardDisplay.from_estimator(estimator, X)
    D = pairwise_distances(X, metric="cosine")
    expected = np.sort(D[np.triu_indices(30, 1)])
    np.testing.assert_allclose(np.sort(display.distances), expected, atol=1e-6)
    weights = QuadraticMDE(weights="precomputed").fit(np.exp(-D) - np.eye(30))
    with pytest.raises(ValueError, match="fitted to a graph or to weights"):
        ShepardDisplay.from_estimator(weights, np.exp(-D))


def test_integers_of_numpy_are_integers():
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    numbers = {"bins": np.int64(5), "n_worst": np.int32(2)}
    display = DistortionDisplay.from_distortions(np.arange(3.0), edges, **numbers)
    assert len(display.worst_) == 2


def test_functions_that_are_infinite_somewhere_are_drawn_elsewhere():
    display = PenaltyDisplay.from_functions([lambda d: torch.log(d - 1.001), "log1p"])
    is_known = display.distances > 1.001
    assert 0 < is_known.mean() < 1
    np.testing.assert_array_equal(np.isfinite(display.values[0]), is_known)
    assert np.isfinite(display.values[1]).all()
    with pytest.raises(ValueError, match="nothing or its slope is not finite at any distance"):

        def nothing(d):
            return d * float("nan")

        PenaltyDisplay.from_functions([nothing])
    with pytest.raises(ValueError, match="max_pairs must be an integer of at least 1; got 0"):
        ShepardDisplay.from_embedding(_normal(5), _normal(5), max_pairs=0)
