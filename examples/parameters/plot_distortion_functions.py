r"""
Distortion functions and their forces
=====================================

Every distortion function of skmde over the embedding distance d of a pair. The solid line is the
cost f(d). The dashed line is its derivative f'(d), which is the force between the two items: above
zero it pulls them together, below zero it pushes them apart. :doc:`/distortion_functions` lists the
parameters.
"""

import matplotlib.pyplot as plt
import torch

import skmde

COST, FORCE = "#0b5394", "#d1760a"


def draw(functions, text, longest, limits):
    """A panel for each function. `functions` maps names to (formula, costs and forces of d)."""
    d = torch.linspace(1e-3, longest, 900, dtype=torch.float64)
    n_rows = -(-len(functions) // 4)
    height = 2.15 * n_rows + 0.45
    figure, axes = plt.subplots(n_rows, 4, figsize=(9, height), squeeze=False)
    figure.subplots_adjust(
        left=0.05, right=0.99, top=1 - 0.85 / height, bottom=0.3 / height, hspace=0.55, wspace=0.25
    )
    for ax in axes.ravel()[len(functions) :]:
        ax.set_axis_off()
    for ax, (name, (formula, evaluate)) in zip(axes.ravel(), functions.items(), strict=False):
        cost, force = evaluate(d)
        ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
        lines = ax.plot(d, cost, d, force)
        lines[0].set(color=COST, linewidth=2, label="cost f(d)")
        lines[1].set(color=FORCE, linewidth=1.6, linestyle="--", label="force f'(d)")
        ax.set_title(f"{name}\n{formula}", fontsize=9)
        ax.set(xlim=(0, longest), ylim=limits)
        ax.tick_params(labelsize=7.5)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=lines, loc="upper right", ncols=2, fontsize=9, frameon=False)
    figure.text(0.05, 1 - 0.2 / height, text, fontsize=11, va="center")
    return figure


def penalty(formula, function, weight):
    """A penalty, times the weight of a pair."""

    def evaluate(d):
        w = torch.full_like(d, weight)
        return function.weighted_value(d, w), function.weighted_slope(d, w) * d

    return formula, evaluate


def loss(formula, function, deviation):
    """A loss, for an original distance."""

    def evaluate(d):
        delta = torch.full_like(d, deviation)
        return function.value(delta, d), function.slope(delta, d) * d

    return formula, evaluate


# %%
# Attraction
# ----------
#
# A penalty with weight 1. What the force does near 0 and far away decides what the map looks like.
# A force that does not vanish at 0 (``Linear``, ``Logistic``, ``Log1p(0.5)``) draws pairs onto each
# other. A force that fades (``Log1p``, ``Sigmoid``) lets far pairs go. A force that grows
# (``Quadratic``, ``Cubic``) avoids long pairs at any price.

attraction = {
    "Linear()": ("$d$", skmde.Linear()),
    "Quadratic()": ("$d^2$", skmde.Quadratic()),
    "Cubic()": ("$d^3$", skmde.Cubic()),
    "Power(1.5)": ("$d^{1.5}$", skmde.Power(1.5)),
    "Huber(1.0)": ("$d^2$, linear beyond 1", skmde.Huber(1.0)),
    "Logistic()": (r"$\log(1 + e^{3d})$", skmde.Logistic()),
    "Log1p(0.5)": (r"$\log(1 + d^{0.5})$", skmde.Log1p(0.5)),
    "Log1p(1.5)": (r"$\log(1 + d^{1.5})$", skmde.Log1p(1.5)),
    "Log1p(2.0)": (r"$\log(1 + d^2)$", skmde.Log1p(2.0)),
    "Sigmoid()": (r"$1/(1 + e^{1-d})$", skmde.Sigmoid()),
    "Hinge()": (r"$\max(0, d - 0.5)$", skmde.Hinge()),
    "Barrier(0.5)": (r"$d - \log(d - 0.5)$", skmde.Barrier(0.5)),
}
draw(
    {name: penalty(*pair, 1.0) for name, pair in attraction.items()},
    "Attraction: penalties with weight 1",
    longest=3,
    limits=(-2, 5),
)
plt.show()

# %%
# Repulsion
# ---------
#
# A penalty with weight -1. All but ``Cauchy`` and ``Hinge`` are barriers: the cost of coincident
# items is infinite. The force of ``Cauchy`` vanishes at 0 and is largest near 0.6. Any attractive
# penalty can have a negative weight, too; of those that grow without bound, a constraint must keep
# the items from running away.

repulsion = {
    "Cauchy()": ("$1/(1 + d^2)$", skmde.Cauchy()),
    "Cauchy(3.0)": ("$1/(1 + (d/3)^2)$", skmde.Cauchy(3.0)),
    "Log()": (r"$-\log(1 - e^{-d})$", skmde.Log()),
    "LogRatio()": (r"$-\log(d^2/(1 + d^2))$", skmde.LogRatio()),
    "InversePower()": ("$1/d$", skmde.InversePower()),
    "InversePower(2.0)": ("$1/d^2$", skmde.InversePower(2.0)),
    "Hinge()": (r"$\max(0, 1.5 - d)$", skmde.Hinge()),
    "Quadratic()": ("$-d^2$", skmde.Quadratic()),
}
draw(
    {name: penalty(*pair, -1.0) for name, pair in repulsion.items()},
    "Repulsion: penalties with weight -1",
    longest=3,
    limits=(-4, 4),
)
plt.show()

# %%
# Losses
# ------
#
# The cost of an embedding distance d for an original distance of 2. All are 0 at 2. ``Absolute``,
# ``Logistic`` and ``Fractional`` have a kink there. ``Fractional`` and ``SoftFractional`` compare
# by ratio: half as long costs as much as twice as long.

losses = {
    "SquaredLoss()": (r"$(\delta - d)^2$", skmde.SquaredLoss()),
    '"sammon"': (r"$(\delta - d)^2/\delta$", skmde.WeightedSquaredLoss("sammon")),
    '"kamada_kawai"': (r"$(\delta - d)^2/\delta^2$", skmde.WeightedSquaredLoss()),
    "CubicLoss()": (r"$|\delta - d|^3$", skmde.CubicLoss()),
    "PowerLoss(1.5)": (r"$|\delta - d|^{1.5}$", skmde.PowerLoss(1.5)),
    "HuberLoss()": (r"squared, linear beyond 1", skmde.HuberLoss()),
    "AbsoluteLoss()": (r"$|\delta - d|$", skmde.AbsoluteLoss()),
    "LogisticLoss()": (r"$\log((1 + e^{|\delta - d|})/2)$", skmde.LogisticLoss()),
    "FractionalLoss()": (r"$\max(\delta/d, d/\delta) - 1$", skmde.FractionalLoss()),
    "SoftFractionalLoss()": ("smooth near the target", skmde.SoftFractionalLoss()),
}
draw(
    {name: loss(*pair, 2.0) for name, pair in losses.items()},
    "Losses: original distance 2",
    longest=5,
    limits=(-3, 5),
)
plt.show()
