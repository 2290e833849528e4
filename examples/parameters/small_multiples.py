"""
Small multiples: the helper of these examples
=============================================

Two data sets, a measurement and a drawing, which the other examples of this folder import. Seconds
are processor time on one core, so that other programs do not count.
"""

# sphinx_gallery_thumbnail_path = 'gallery/parameters/images/sphx_glr_plot_exponent_001.png'

import time
import warnings
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from skmde import ConvergenceWarning
from skmde.metrics import neighborhood_recall, trustworthiness
from skmde.plotting import EmbeddingDisplay

torch.set_num_threads(1)  # seconds are those of one core


class Data(NamedTuple):
    """Rows, and what colours them: classes, or the position along a curve."""

    name: str
    X: np.ndarray
    color_by: np.ndarray


def digits(n_samples=600):
    """Handwritten digits of 8 x 8 pixels. Colours are the digits."""
    X, y = load_digits(return_X_y=True)
    return Data("digits", X[:n_samples], y[:n_samples])


def knot(n_samples=400, noise=0.05, seed=0):
    """A trefoil knot in space, with some noise. Colours run along the curve, dark to light."""
    t = np.linspace(0, 2 * np.pi, n_samples, endpoint=False)
    X = np.stack(
        [np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1
    )
    X += np.random.default_rng(seed).normal(scale=noise, size=X.shape)
    return Data("knot", X, t / (2 * np.pi))


def measured(estimator, X):
    """The embedding, and how well it keeps 15 neighbours, and its seconds."""
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        embedding = estimator.fit_transform(X)
        seconds = time.process_time() - start
    recall = neighborhood_recall(X, embedding, n_neighbors=15)
    trust = trustworthiness(X, embedding, n_neighbors=15)
    ended = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    note = ", at max_iter" if ended else ""
    return embedding, f"recall {recall:.2f}, trust {trust:.3f}\n{seconds:.1f} s{note}"


def draw_panel(ax, data, name, embedding, figures):
    """One map, with its name above and its figures below."""
    options = {"labels": "none", "marker_size": 7, "view": "all"}
    EmbeddingDisplay.from_embedding(embedding, data.color_by, ax=ax, **options)
    for points in ax.collections:
        points.set_linewidth(0)  # few points get white edges, which panels of this size blur
    low, high = embedding.min(axis=0), embedding.max(axis=0)
    half = 0.54 * (high - low).max()  # square panels, for equal lengths along both axes
    for set_limits, middle in zip((ax.set_xlim, ax.set_ylim), (low + high) / 2, strict=True):
        set_limits(middle - half, middle + half)
    ax.set_title(name, fontsize=9.5, family="monospace")
    ax.set_xlabel(figures, fontsize=9)


def draw(rows, left=0.1):
    """A row of panels for each data set; a panel is (data, name, embedding, figures).

    Panels have a fixed place, `left` inches from the edge, which is faster than a layout engine.
    """
    n_columns, side, gap, text = max(map(len, rows)), 1.95, 0.15, 0.8
    width = left + n_columns * (side + gap)
    height = len(rows) * (side + text)
    figure, axes = plt.subplots(len(rows), n_columns, figsize=(width, height), squeeze=False)
    figure.subplots_adjust(
        left=left / width,
        right=1 - gap / width,
        top=1 - 0.3 / height,
        bottom=(text - 0.3) / height,
        wspace=gap / side,
        hspace=text / side,
    )
    for line, panels in zip(axes, rows, strict=True):
        for ax, panel in zip(line, panels, strict=True):
            draw_panel(ax, *panel)
    return figure


def compare(data_sets, estimators):
    """Fit every estimator to every data set, and draw a row of panels for each data set.

    Parameters
    ----------
    data_sets : list of Data
    estimators : dict of {str: estimator}
        The keys are written above the panels.
    """
    warm_up(estimators.values(), data_sets[0].X[:100])
    rows = []
    for data in data_sets:
        panels = []
        for name, estimator in estimators.items():
            embedding, figures = measured(clone(estimator), data.X)
            print(f"{data.name:8}", name.replace("\n", " ").ljust(32), figures.replace("\n", ", "))
            panels.append((data, name, embedding, figures))
        rows.append(panels)
    return draw(rows)


def warm_up(estimators, X):
    """Load compiled code, which the seconds leave out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator in estimators:
            clone(estimator).fit(X)
