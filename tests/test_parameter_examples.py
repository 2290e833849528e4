"""The scripts of examples/parameters: what they share, and the picture that fits nothing."""

import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA

from skmde import ConvergenceWarning
from skmde._utils.warn import warn

PARAMETERS = Path(__file__).parents[1] / "examples" / "parameters"


@pytest.fixture
def figures(monkeypatch):
    """Matplotlib without a screen, and with no open figures before and after."""
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    monkeypatch.setattr("torch.set_num_threads", lambda n: None)
    monkeypatch.syspath_prepend(str(PARAMETERS))
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def shared(figures):
    return runpy.run_path(str(PARAMETERS / "small_multiples.py"))


class Stopped(TransformerMixin, BaseEstimator):
    """Keeps two columns, and says that it did not converge."""

    def fit(self, X, y=None):
        warn("max_iter", ConvergenceWarning)
        return self

    def transform(self, X):
        return X[:, :2]


def test_knot_is_closed_and_has_its_noise_alone(shared):
    smooth = shared["knot"](400, noise=0.0)
    steps = np.linalg.norm(smooth.X - np.roll(smooth.X, 1, axis=0), axis=1)
    assert steps.max() < 5 * steps.min()
    noisy = shared["knot"](400, noise=0.05)
    assert np.std(noisy.X - smooth.X) == pytest.approx(0.05, rel=0.1)


def test_figures_of_a_perfect_map_are_1(shared):
    data = shared["knot"](60)
    embedding, text = shared["measured"](PCA(3), data.X)
    assert embedding.shape == (60, 3)
    assert re.fullmatch(r"recall 1\.00, trust 1\.000\n\d+\.\d s", text)


def test_figures_say_that_a_fit_was_stopped(shared):
    _, text = shared["measured"](Stopped(), shared["knot"](60).X)
    assert text.endswith("at max_iter")


def test_panels_are_square_and_hold_all_points(shared, figures):
    data_sets = [shared["digits"](60), shared["knot"](60)]
    figure = shared["compare"](data_sets, {"PCA": PCA(2), "stopped": Stopped()})
    figure.canvas.draw()
    assert len(figure.axes) == 4
    for ax in figure.axes:
        width, height = ax.get_window_extent().size
        assert width == pytest.approx(height, rel=0.02)
        assert np.ptp(ax.get_xlim()) == pytest.approx(np.ptp(ax.get_ylim()))
        points = ax.collections[0].get_offsets()
        assert len(points)
        for limits, values in zip((ax.get_xlim(), ax.get_ylim()), points.T, strict=True):
            assert limits[0] < values.min() and values.max() < limits[1]


def test_every_distortion_function_is_drawn(figures):
    runpy.run_path(str(PARAMETERS / "plot_distortion_functions.py"))
    assert len(figures.get_fignums()) == 3
    drawn = [ax for n in figures.get_fignums() for ax in figures.figure(n).axes if ax.lines]
    assert len(drawn) == 12 + 8 + 10
    for ax in drawn:
        d, cost = ax.lines[1].get_data(orig=False)  # after the line at 0
        force = ax.lines[2].get_ydata(orig=False)
        smooth = (d > 0.1) & (np.abs(force) < 20)  # not beside a pole
        rise = np.sum((force[1:] + force[:-1]) / 2 * np.diff(d), where=smooth[1:] & smooth[:-1])
        change = cost[smooth][-1] - cost[smooth][0]
        assert rise == pytest.approx(change, rel=0.02, abs=0.02), ax.get_title()
