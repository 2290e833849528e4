"""
Few labels
==========

Labels are expensive, and data without labels are not. This page shows two uses of a few labels:

- :class:`~skmde.AnchoredClassifier` gives every row a label, with a probability;
- :class:`~skmde.PreserveNeighbors` with ``target_weight`` draws a map of all rows in which rows of
  one known class attract each other.

Both take one array of labels, in which -1 means that the label is unknown, as scikit-learn's
semi-supervised classifiers do. Labels may be names; None and NaN then mean unknown, too. :doc:`/anchored` and :doc:`/user_guide` have the background.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from skmde import AnchoredClassifier, PreserveNeighbors
from skmde.metrics import knn_accuracy
from skmde.plotting import EmbeddingDisplay

# %%
# The data are handwritten digits with noise. Three digits in ten have a label.

n_samples = 600
X, digits = load_digits(return_X_y=True)
X, digits = X[:n_samples], digits[:n_samples]
rng = np.random.default_rng(0)
X = X + rng.normal(scale=6, size=X.shape)
unknown = rng.random(len(X)) > 0.3
y = np.where(unknown, -1, digits)
print(f"{len(X)} rows, {np.sum(~unknown)} labels")

# %%
# Labels for all rows
# -------------------
# ``transduction_`` holds a label for each row of the data, and ``label_distributions_`` the
# probability of each class. ``predict`` and ``predict_proba`` do the same for new rows. Compare
# with a classifier that sees the labelled rows alone.

classifier = AnchoredClassifier(n_neighbors=10).fit(X, y)
probability = classifier.label_distributions_.max(axis=1)
correct = classifier.transduction_ == digits
alone = KNeighborsClassifier(10).fit(X[~unknown], digits[~unknown])
print(f"correct, unlabelled rows: {correct[unknown].mean():.3f}")
supervised = alone.score(X[unknown], digits[unknown])
print(f"neighbours among the labelled rows alone: {supervised:.3f}")

# %%
# The probability says which labels to check first. Most errors are in the half of the rows with the
# lower probabilities.

median = np.median(probability[unknown])
for name, half in (("lower", probability <= median), ("upper", probability > median)):
    print(f"{name} half of the probabilities: {correct[unknown & half].mean():.3f} correct")

# %%
# A map that uses the labels
# --------------------------
# ``target_weight`` is the weight of pairs of one known class. With 0, the default, `fit` ignores
# y. The figures below are for *unlabelled* rows: each gets the class of its nearest labelled rows
# in the map. The true labels of these rows were not given to the fit, so it is a fair test. The
# gain is small: labels move the labelled rows, and the other rows follow if they are neighbours
# of these.


def accuracy_of_unlabelled(embedding):
    """How often labelled neighbours in the map have the class of an unlabelled row."""
    labelled = KNeighborsClassifier(10).fit(embedding[~unknown], digits[~unknown])
    return labelled.score(embedding[unknown], digits[unknown])


maps, accuracy = {}, {}
for weight in (0.0, 1.0):
    maps[weight] = PreserveNeighbors(target_weight=weight, random_state=0).fit_transform(X, y)
    accuracy[weight] = accuracy_of_unlabelled(maps[weight])
    print(f"target_weight={weight:g}: {accuracy[weight]:.3f} of the unlabelled rows")

# %%
# From left to right: the map without labels, the map with labels, and the map with labels coloured
# by the classifier's probability. Rows without a known label are grey in the second one.

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), layout="constrained")
EmbeddingDisplay.from_embedding(maps[0.0], digits, labels="map", ax=axes[0])
axes[0].set_title("labels not used; true classes")
known = [None if hidden else digit for hidden, digit in zip(unknown, digits, strict=True)]
EmbeddingDisplay.from_embedding(maps[1.0], known, labels="map", ax=axes[1])
axes[1].set_title("target_weight=1; known labels")
EmbeddingDisplay.from_embedding(
    maps[1.0], probability, color_as="number", color_name="probability", ax=axes[2]
)
_ = axes[2].set_title("probability of the label")

# %%
# How to read it
# --------------
# A large ``target_weight`` draws the labels, and no longer the data. Here are labels without any
# meaning: the true ones, shuffled. At a large weight the map separates them, and the share of
# rows whose neighbours have the same label is near 1. So never judge such a map by the labels
# that it was given. Keep some labels back.

shuffled = rng.permutation(digits)
nonsense = {}
for weight in (0.0, 10.0):
    embedding = PreserveNeighbors(target_weight=weight, random_state=0).fit_transform(X, shuffled)
    nonsense[weight] = knn_accuracy(embedding, shuffled)
    print(f"target_weight={weight:g}, shuffled labels: {nonsense[weight]:.2f}")

# %%
# What can go wrong
# -----------------
# - *The separation of classes is not a finding.* Under ``target_weight`` classes separate because
#   they were told to. Report figures of rows whose labels the fit did not see.
# - *A class of -1.* With -1 as a real class, mark unknown labels by None or NaN in the y of
#   :class:`~skmde.AnchoredClassifier`.
# - *Many rows without a neighbour that has a label.* The classifier then has nothing to go by,
#   and the probabilities are low. Raise ``n_neighbors``, or label a row in each group of the map.
# - *Columns in different units.* Neighbours are those of the metric, so scale the columns first.
# - *A label that may be wrong.* Labels are anchors and do not change. See
#   :doc:`/judging` for a way to find wrong ones.

plt.show()
