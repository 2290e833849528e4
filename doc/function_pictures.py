"""Pictures of the reference: distortion functions over the distance. `make doc` draws them."""

import math

import matplotlib.pyplot as plt
import torch

import skmde
from skmde.functions.registry import resolve_loss, resolve_penalty

ATTRACT, REPEL = "#0B6E99", "#C2500E"
PENALTIES = [
    *("Linear", "Quadratic", "Cubic", "Power", "Huber", "Logistic", "Log1p"),
    *("Sigmoid", "Log", "InversePower", "LogRatio", "Cauchy", "Hinge", "Barrier"),
]
LOSSES = [
    *("SquaredLoss", "WeightedSquaredLoss", "AbsoluteLoss", "HuberLoss", "LogisticLoss"),
    *("PowerLoss", "CubicLoss", "FractionalLoss", "SoftFractionalLoss"),
]
# Parameters at which a function differs from its neighbours in the table.
VALUES = {
    "Power": {"exponent": 1.5},
    "Log": {"exponent": 1.0},
    "Barrier": {"rho": 0.5},
    "PowerLoss": {"exponent": 1.5},
    "HuberLoss": {"threshold": 0.5},
}


def make(name):
    """The function of a name, and how it is written."""
    parameters = VALUES.get(name, {})
    inside = ", ".join(f"{key}={value:g}" for key, value in parameters.items())
    return getattr(skmde, name)(**parameters), f"{name}({inside})"


def draw_penalty(ax, name, title=True):
    """w p(d) for w = 1, an attracting pair, and w = -1, a repelling one."""
    function, text = make(name)
    function = resolve_penalty(function)
    d = torch.linspace(0, 3, 601, dtype=torch.float64)[1:]
    for weight, colour in ((1, ATTRACT), (-1, REPEL)):
        if name == "Barrier" and weight < 0:
            continue
        value = function.weighted_value(d, torch.full_like(d, float(weight)))
        value[~value.isfinite()] = math.nan
        ax.plot(d, value, color=colour, label=f"weight {weight}")
    _finish(ax, (-3, 5), text if title else None)


def draw_loss(ax, name, title=True):
    """The loss of a pair with original distance 1, and with original distance 2."""
    function, text = make(name)
    function = resolve_loss(function)
    d = torch.linspace(0, 3, 601, dtype=torch.float64)[1:]
    for delta, colour in ((1, ATTRACT), (2, REPEL)):
        value = function.value(torch.full_like(d, float(delta)), d)
        ax.plot(d, value, color=colour, label=f"original distance {delta}")
        ax.axvline(delta, color=colour, linewidth=0.6, linestyle=":")
    _finish(ax, (-0.1, 4), text if title else None)


def _finish(ax, limits, title):
    ax.axhline(0, color="#888888", linewidth=0.6)
    ax.set(xlim=(0, 3), ylim=limits)
    ax.spines[["top", "right"]].set_visible(False)
    if title is not None:
        ax.set_title(title, fontsize=10)


def draw_all(names, draw, n_columns):
    """A panel for each function, with one legend."""
    n_rows = math.ceil(len(names) / n_columns)
    figure = plt.figure(figsize=(2.1 * n_columns, 1.9 * n_rows + 0.5), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True).ravel()
    for ax in axes[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes, names, strict=False):
        draw(ax, name)
    figure.supxlabel("embedding distance d", fontsize=10)
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper right", ncols=2, frameon=False)


def draw_penalties():
    draw_all(PENALTIES, draw_penalty, n_columns=5)


def draw_losses():
    draw_all(LOSSES, draw_loss, n_columns=5)


def draw_function(name):
    """One function, for its own page."""
    figure = plt.figure(figsize=(5.2, 2.9), layout="constrained")
    ax = figure.subplots()
    if name in PENALTIES:
        draw_penalty(ax, name)
        ax.set_ylabel("distortion w p(d)")
    else:
        draw_loss(ax, name)
        ax.set_ylabel("loss")
    ax.set_xlabel("embedding distance d")
    ax.legend(frameon=False)
