"""
Fix some points
===============

Often the places of some items are known: instruments on a floor plan, landmarks on a map, corners
to which you give a meaning yourself. :class:`~skmde.AnchoredMDE` keeps these *anchors* where they
are and places all other items. This page has three cases: a floor plan, places that are not quite
certain, and anchors that are names.
"""

# %%
# A floor plan
# ------------
#
# Sixty sensors are in a building of 40 by 20 metres. Somebody has measured the places of six of
# them. Each sensor hears those within 11 metres, and estimates their distance from the strength of
# the signal, with an error of 15 percent. Where are the others?

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist, squareform

rng = np.random.default_rng(0)
n = 60
where = rng.uniform([0, 0], [40, 20], size=(n, 2))
where[:6] = [[1, 1], [39, 1], [39, 19], [1, 19], [20, 5], [20, 16]]  # the six that are known
true = pdist(where)
heard = np.where(true < 11, true * rng.lognormal(0.0, 0.15, len(true)), np.inf)
distances = squareform(heard)
print(f"{n} sensors, {np.isfinite(heard).sum()} of {len(heard)} distances")

# %%
# ``y`` holds the known places; rows of NaN are free. A ``loss`` says that distances are kept;
# infinite ones are unknown.

from skmde import Anchored, AnchoredMDE, PreserveDistances

known = np.full((n, 2), np.nan)
known[:6] = where[:6]
plan = AnchoredMDE(loss="huber", metric="precomputed", random_state=0).fit(distances, known)
free = PreserveDistances(loss="huber", metric="precomputed", random_state=0).fit(distances)


def error(places):
    """Mean distance from the true place, in metres."""
    return np.linalg.norm(places - where, axis=1)[6:].mean()


def laid_over(places):
    """Places, turned and shifted so that the six known ones fit best."""
    middle, target = places[:6].mean(axis=0), where[:6].mean(axis=0)
    turn, _ = orthogonal_procrustes(places[:6] - middle, where[:6] - target)
    return (places - middle) @ turn + target


print(f"anchored: off by {error(plan.embedding_):.2f} m")
print(f"free, then laid over the six: off by {error(laid_over(free.embedding_)):.2f} m")
print("anchors are exactly where they were:", np.array_equal(plan.embedding_[:6], where[:6]))

# %%
# A wrong place
# -------------
#
# Suppose that the fifth place was noted wrongly: 12 metres too far to the east. Fixed anchors are
# never moved, so their surroundings are bent. ``forces_`` shows it: the pairs pull hardest at the
# anchor that does not fit. Make it a free item, and fit again.

noted = known.copy()
noted[4] += [12, 0]
wrong = AnchoredMDE(loss="huber", metric="precomputed", random_state=0).fit(distances, noted)
pull = np.linalg.norm(wrong.forces_, axis=1)
print("pull at each anchor, relative to the largest:", (pull / pull.max()).round(2))

noted[wrong.anchors_[pull.argmax()]] = np.nan
mended = AnchoredMDE(loss="huber", metric="precomputed", random_state=0).fit(distances, noted)
print(f"wrong: off by {error(wrong.embedding_):.2f} m, mended: {error(mended.embedding_):.2f} m")

# %%
# Places that are uncertain
# -------------------------
#
# With ``anchor_weight`` anchors are *soft*: each is attracted to its given place, and may leave
# it. Use this for places that were guessed. Here all six are off, by about two metres in each
# direction. The smaller the weight, the more the distances count; a pair with a distance has the
# weight 1.

guess = known.copy()
guess[:6] += rng.normal(scale=2.0, size=(6, 2))
fixed = AnchoredMDE(loss="huber", metric="precomputed", random_state=0).fit(distances, guess)
soft = AnchoredMDE(loss="huber", metric="precomputed", anchor_weight=0.1, random_state=0)
soft.fit(distances, guess)
print(f"guessed and fixed: off by {error(fixed.embedding_):.2f} m")
print(f"guessed and soft: off by {error(soft.embedding_):.2f} m")

figure, axes = plt.subplots(
    3, 1, figsize=(6.4, 9.6), layout="constrained", sharex=True, sharey=True
)
titles = ["six places known", "one of them wrong", "all guessed, soft"]
for ax, fitted, title in zip(axes, (plan, wrong, soft), titles, strict=True):
    X = fitted.embedding_
    ax.plot(*np.stack([where, X]).transpose(2, 0, 1), color="lightgrey", zorder=1)
    ax.scatter(*X[6:].T, s=12, color="#0072B2", zorder=2)
    ax.scatter(*X[:6].T, s=30, color="#D55E00", marker="s", zorder=3)
    ax.add_patch(plt.Rectangle((0, 0), 40, 20, fill=False))
    ax.set(title=f"{title}: off by {error(X):.1f} m", aspect="equal")
    ax.axis("off")  # the walls are the frame

# %%
# Orange squares are the anchors. A grey line leads from each sensor to where it really is.
#
# The constraint
# --------------
#
# :class:`~skmde.Anchored` is the same as a constraint, for estimators that have more options. Here
# each distance gets a weight: errors of 15 percent are larger for long distances.

pair_weights = np.zeros((n, n))
pair_weights[np.isfinite(distances)] = 1 / (1 + distances[np.isfinite(distances)]) ** 2
anchored = PreserveDistances(
    loss="huber",
    metric="precomputed",
    constraint=Anchored(np.arange(6), where[:6]),
    random_state=0,
).fit(distances, pair_weights=pair_weights)
print(f"weighted, with a constraint: off by {error(anchored.embedding_):.2f} m")

# %%
# Names as anchors
# ----------------
#
# Anchors need not be measured. Give each corner of the picture a name, and let every text be
# attracted to the names that it is like: the place of a text then has a meaning that you chose.
# The texts are docstrings of Python's standard library and NumPy. A name is a short text itself,
# so that similarity to it is that of two texts.

import importlib
import inspect

from sklearn.feature_extraction.text import TfidfVectorizer

NAMES = {
    "linear algebra": "matrix matrices linear algebra eigenvalues singular values solve inverse",
    "random numbers": "random samples drawn from a probability distribution generator",
    "files": "file directory path copy archive permissions folder",
    "internet": "http url server request response headers connection",
}
CORNERS = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
MODULES = ["numpy.linalg", "numpy.random", "shutil", "os", "http.client", "urllib.request"]

texts, functions, modules = list(NAMES.values()), list(NAMES), ["name"] * 4
for module in MODULES:
    for function, value in inspect.getmembers(importlib.import_module(module), callable):
        text = inspect.getdoc(value) or ""
        if not function.startswith("_") and len(text.split()) > 15 and text not in texts:
            texts.append(text)
            functions.append(function)
            modules.append(module)

tfidf = TfidfVectorizer(stop_words="english", sublinear_tf=True, max_df=0.3)
words = tfidf.fit_transform(texts)
similar = (words @ words.T).toarray()
np.fill_diagonal(similar, 0)
order = np.argsort(-similar, axis=1)
keep = np.zeros_like(similar, bool)
np.put_along_axis(keep, order[:, :8], True, axis=1)  # the eight most similar texts
keep[:, :4] = keep[:4] = False
graph = np.where(keep | keep.T, similar, 0)
graph[:, :4] = 3 * similar[:, :4]  # a text is attracted to names more than to other texts
graph[:4] = graph[:, :4].T
graph[:4, :4] = 0

by_names = AnchoredMDE(metric="affinity", random_state=0)
by_names.fit(sp.csr_array(graph), anchors=np.arange(4), anchor_values=CORNERS)
print(f"{len(texts) - 4} texts among 4 names")

from skmde.plotting import EmbeddingDisplay

figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
kinds = np.array(modules[4:])
EmbeddingDisplay.from_embedding(by_names.embedding_[4:], kinds, color_name="module", ax=ax)
for name, corner in zip(NAMES, CORNERS, strict=True):
    above = (0, 14 * corner[1])
    ax.annotate(
        name, corner, above, textcoords="offset points", ha="center", va="center", fontsize=11
    )
ax.scatter(*CORNERS.T, s=40, color="black", marker="s")
_ = ax.set(xlim=(-1.4, 1.4), ylim=(-1.2, 1.2))

# %%
# Under the quadratic penalty, the default, each text is at the weighted mean of what it is joined
# to: the names and the texts that are most like it. A text near a corner is about that name; one
# in the middle is about several, or about none. Between names the share of each counts, and not
# the direction in which other texts lie.
#
# What can go wrong
# -----------------
#
# - **Units.** With a loss, anchors are in the units of the distances. Under a penalty such as
#   "log1p" they are in its lengths: if anchors are dozens of them apart, ``fit`` warns that their
#   pull fades.
# - **Anchors on a line.** In the plane, items can then be mirrored at it. Give at least three
#   places that are not on one line.
# - **Items that no pair joins to an anchor.** Nothing says where they are. ``n_loose_`` counts
#   those that no chain of pairs joins to one, and ``fit`` warns.
# - **Items outside the anchors.** Without a loss and without repulsion, every item is between the
#   anchors. Distances place items anywhere.
#
# :doc:`/anchored` has penalties, forces and repulsion. For classes as anchors, see
# :class:`~skmde.AnchoredClassifier`.
plt.show()
