"""
Custom penalty, loss and constraint
===================================

If none of the built-in functions does what you want, write it. For one experiment a function of
torch tensors is enough. A class has a name and parameters, so that ``clone``, pickles and grid
searches work. A constraint is a class with two methods. :doc:`/extending` has all details,
:doc:`/distortion_functions` the functions that are there, and :doc:`/constraints` the sets.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skmde import Constraint, Loss, Penalty, PreserveDistances, PreserveNeighbors
from skmde.constraints import check_constraint
from skmde.plotting import EmbeddingDisplay, PenaltyDisplay

n_samples = 300
X, digits = load_digits(return_X_y=True)
X, digits = X[:n_samples], digits[:n_samples]

# %%
# A penalty
# ---------
# Any function of a tensor of distances; autograd differentiates it. Use functions of torch, not of
# numpy.

estimator = PreserveNeighbors(attractive_penalty=lambda d: d**2 / (1 + d), random_state=0)
print(f"score with a function: {estimator.fit(X[:-100]).score(X[-100:]):.3f}")


# %%
# The same as a class, with a parameter. ``__init__`` stores its argument under its own name and
# does nothing else. ``validate`` checks it when it is used.


class Saturating(Penalty):
    """The penalty d^2 / (length + d): quadratic near 0, linear far off."""

    def __init__(self, length=1.0):
        self.length = length

    def validate(self):
        if not self.length > 0:
            raise ValueError(f"Saturating: length must be above 0; got {self.length!r}.")

    def value(self, d):
        return d * (d / (self.length + d))  # d**2 alone would overflow


search = GridSearchCV(
    PreserveNeighbors(attractive_penalty=Saturating(), random_state=0),
    {"attractive_penalty__length": [0.1, 1.0]},
    cv=2,
).fit(X)
for params, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{score:.3f}  {params}")

# %%
# :class:`~skmde.plotting.PenaltyDisplay` draws a penalty beside others, with the slope
# :math:`p'(d) / d` by which the solver multiplies the difference of two items. Look at it before
# you fit: a slope that is not finite, or of the wrong sign, shows at once.

display = PenaltyDisplay.from_functions(
    {"Saturating(0.1)": Saturating(0.1), "Saturating(1)": Saturating(1.0), "Huber": "huber"}
)

# %%
# A loss
# ------
# A loss has two arguments, the original distances and those in the embedding. This one charges
# three times as much for a pair that is too far apart as for one that is too near.


class Lopsided(Loss):
    """Squared error, times `factor` where the embedding distance is too long."""

    def __init__(self, factor=3.0):
        self.factor = factor

    def value(self, delta, d):
        return torch.where(d > delta, self.factor, 1.0) * (d - delta) ** 2


too_long = {}
for loss in ("squared", Lopsided(3.0)):
    fitted = PreserveDistances(loss=loss, random_state=0).fit(X)
    i, j = fitted.edges_.T
    lengths = np.linalg.norm(fitted.embedding_[i] - fitted.embedding_[j], axis=1)
    too_long[str(loss)] = np.mean(lengths > fitted.distances_)
    print(f"{loss}: {too_long[str(loss)]:.2f} of the pairs are too far apart")

# %%
# A constraint
# ------------
# A constraint knows two projections: ``project(Z)`` is the nearest point of the set, and
# ``project_tangent(X, Z)`` the part of Z along which X stays in the set. Here each item has a given
# distance from the origin. It draws a tree with its levels on rings.


class Rings(Constraint):
    """Item i at the distance ``radii[i]`` from the origin."""

    acts_on_rows = False  # rows have different radii, so there is none for an unseen row

    def __init__(self, radii):
        self.radii = radii

    def _column(self, Z):
        return torch.as_tensor(self.radii, dtype=Z.dtype, device=Z.device)[:, None]

    def validate(self, n_items, n_components):
        if len(self.radii) != n_items or min(self.radii) < 0:
            raise ValueError(f"Rings needs {n_items} radii of at least 0.")

    def project(self, Z):
        norms = torch.linalg.vector_norm(Z, dim=1, keepdim=True)
        pole = torch.zeros_like(Z)
        pole[:, 0] = 1  # the origin is equally far from all points of a ring: take this one
        return self._column(Z) * torch.where(norms > 0, Z / norms, pole)

    def project_tangent(self, X, Z):
        radii = self._column(X)
        normals = torch.where(radii > 0, X / radii, 0.0)
        along = Z - normals * (normals * Z).sum(dim=1, keepdim=True)
        return torch.where(radii > 0, along, 0.0)  # an item at the origin cannot move

    def restricted(self, items):
        """The constraint on some of the items, which samples of nonzero weight are."""
        return Rings([self.radii[item] for item in items])


# %%
# ``check_constraint`` tests the projections with random embeddings, and says what is wrong. Call
# it before the first fit.

check_constraint(Rings([0.0, 1.0, 1.0, 2.0, 2.0, 2.0]), n_items=6, n_components=2)

# %%
# Then the constraint works as any other. Path lengths in the tree are the distances to keep. A tree
# has many layouts that are equally good, so several starts (``n_init``) are worth their time. The
# layout on rings starts where the centred one has ended.

tree = nx.balanced_tree(3, 3)
levels = nx.single_source_shortest_path_length(tree, 0)
radii = [float(levels[node]) for node in tree]
settings = {"loss": "kamada_kawai", "metric": "graph", "random_state": 0}
centered = PreserveDistances(n_init=5, **settings).fit(tree)
layout = PreserveDistances(constraint=Rings(radii), init=centered.embedding_, **settings).fit(tree)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, title, fitted in ((axes[0], "centred", centered), (axes[1], "on rings", layout)):
    EmbeddingDisplay.from_embedding(
        fitted.embedding_,
        [levels[node] for node in tree],
        color_name="level",
        edges=np.array(tree.edges),
        show_edges="all",
        marker_size=40,
        ax=ax,
    )
    ax.set_title(f"{title}, stress {fitted.stress_:.2f}")
errors = np.abs(np.linalg.norm(layout.embedding_, axis=1) - radii)
print(f"largest distance from a ring: {errors.max():.1e}")

# %%
# What can go wrong
# -----------------
# - *Values that are not finite.* A penalty has to be finite for distances from 0 to about 1e20, in
#   float32: ``d**2`` alone overflows there.
# - *A penalty that decreases with the distance.* Penalties increase; a negative weight makes them
#   repel.
# - *Lambdas cannot be saved.* Give the function a name in a module, or write a class.
# - *Time.* A function of your own runs in torch, without a compiled loop. Closed forms of
#   ``slope`` and ``curvature`` save the time of autograd.
# - *A set with a given size.* Penalties have lengths of their own, and losses those of the
#   distances. A set that is much smaller presses all items together.
# - *A set with a boundary*, such as a half plane, needs ``has_boundary = True``, and projects
#   directions onto its tangent cone: see :doc:`/constraints`.
# - *A tangent projection with a wrong factor.* The solver then never stops for the right reason.
#   ``check_constraint`` finds it.

plt.show()
