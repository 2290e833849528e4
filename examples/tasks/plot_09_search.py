"""
Search penalties
================

Penalties, their exponents, the weight of the repulsion and the number of neighbours are
parameters as any others, so :class:`~sklearn.model_selection.GridSearchCV` searches them. The
estimators have a ``score`` that needs no labels. This page shows a search, and what the score
says and does not say. The larger search of :ref:`sphx_glr_gallery_plot_grid_search.py` adds a
pipeline and random draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skmde import Log1p, PreserveNeighbors
from skmde.metrics import triplet_accuracy
from skmde.plotting import EmbeddingDisplay

# %%
# The search
# ----------
# A parameter can be a whole function (``"attractive_penalty": [Log1p(1.5), Log1p(2.0)]``) or a
# parameter of it (``"attractive_penalty__exponent"``, which needs a penalty in the estimator).
# No y is passed.

n_samples = 400
X, digits = load_digits(return_X_y=True)
X, unseen = X[:n_samples], X[n_samples : n_samples + 200]
digits = digits[:n_samples]
grid = {"attractive_penalty__exponent": [1.5, 2.0], "repulsive_weight": [0.1, 1.0]}
estimator = PreserveNeighbors(attractive_penalty=Log1p(), random_state=0)
search = GridSearchCV(estimator, grid, cv=3).fit(X)

found = search.cv_results_
for params, mean, deviation in zip(
    found["params"], found["mean_test_score"], found["std_test_score"], strict=True
):
    print(f"{mean:.3f} +- {deviation:.3f}  {params}")

# %%
# What the score says
# -------------------
# For :class:`~skmde.PreserveNeighbors` it is the share of the 15 training rows nearest to an unseen
# row that are also nearest to its place in the map. An unrelated map would have 15 / n. It does not
# depend on ``n_neighbors`` or on the units of the penalties, so it compares these. For
# :class:`~skmde.PreserveDistances` it is minus the normalised stress of unseen rows.
#
# Differences that are smaller than the deviation between the folds mean nothing.
#
# The picture has the best and the worst map of the grid. (``search.best_estimator_`` is the best
# one, fitted to all rows.)

maps = {}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
order = np.argsort(found["rank_test_score"])
for ax, title, index in zip(axes, ("best", "worst"), (order[0], order[-1]), strict=True):
    params, score = found["params"][index], found["mean_test_score"][index]
    maps[title] = clone(estimator).set_params(**params).fit(X)
    text = ", ".join(f"{name.split('__')[-1]}={value:g}" for name, value in params.items())
    ax.set_title(f"{title}, score {score:.3f}\n{text}", fontsize=10)
    EmbeddingDisplay.from_estimator(maps[title], digits, labels="map", ax=ax)

# %%
# What the score does not say
# ---------------------------
# **Training rows score higher.** The fit has moved them to their neighbours. Compare scores of
# unseen rows, as ``cv`` does.

best = maps["best"]
own, new = best.score(X), best.score(unseen)
print(f"training rows {own:.3f}, unseen rows {new:.3f}")

# %%
# **It is local.** It says nothing about the arrangement of the groups. The share of triplets of
# rows whose order of distances the map keeps does; chance is 0.5. The map of the higher score
# need not have the higher share.

for title, fitted in maps.items():
    triplets = triplet_accuracy(X, fitted.embedding_, random_state=0)
    print(f"{title}: score of unseen rows {fitted.score(unseen):.3f}, triplets {triplets:.3f}")

# %%
# **The distortion is no score.** ``distortion_`` is the value of the objective, and the
# objectives of two penalties, or of two weights of the repulsion, are different functions. Its
# values can only be compared between fits of one problem, such as several starts. Here the map of
# the lower distortion has the lower score.

for title, fitted in maps.items():
    print(f"{title}: distortion {fitted.distortion_:.3f}")

# %%
# **It prefers what it measures.** If the map is for a classifier, score the classifier:
# a pipeline whose last step has a ``score`` of its own does that. If it is for
# eyes, look at the best three or four, and at :doc:`/judging`. Any other measure can be passed as
# ``scoring``, a function of estimator and rows.

from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

pipeline = make_pipeline(PreserveNeighbors(random_state=0), KNeighborsClassifier())
by_accuracy = GridSearchCV(pipeline, {"preserveneighbors__n_components": [2, 3]}, cv=2)
print(f"accuracy of the classifier: {by_accuracy.fit(X, digits).best_score_:.3f}")


def order_kept(fitted, rows, y=None):
    """The share of triplets of unseen rows whose order of distances the map keeps."""
    return triplet_accuracy(rows, fitted.transform(rows), random_state=0)


by_triplets = GridSearchCV(
    PreserveNeighbors(random_state=0), {"n_neighbors": [5, 15]}, scoring=order_kept, cv=2
)
print(f"triplets of unseen rows: {by_triplets.fit(X).best_score_:.3f}")

# %%
#
# What can go wrong
# -----------------
# - *Different metrics or different scalings of X* are compared with their own neighbours each. A
#   higher score then does not mean a better map.
# - *Different numbers of training rows*: the score falls as rows are added. Compare on the same
#   rows.
# - *Rows in order.* ``cv=3`` does not shuffle. If X is sorted by class, pass
#   ``KFold(3, shuffle=True, random_state=0)``.
# - *No random_state.* Where the fit draws random pairs, part of the difference between two
#   candidates is chance. Give an integer.
# - *n_jobs.* Each fit uses all cores. ``GridSearchCV(..., n_jobs=2)`` with
#   ``PreserveNeighbors(n_jobs=1)`` runs two fits with one thread each.
# - *One checkpoint for all candidates* is refused: leave ``checkpoint`` at None in a search.

plt.show()
