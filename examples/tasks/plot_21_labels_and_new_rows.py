"""
Labels at fit, and new rows without
===================================

Some rows have labels when the map is made; later rows come without. `fit` can use the labels it
gets, so that rows of one class attract each other, and ``transform`` places the later rows, by their
neighbours alone. A classifier on the map then labels them. This page does so with a training and a
test set, and measures what the map adds, beside classifiers on the data themselves.

In short: with few labels the map helps, because it has seen the rows without labels, too. With labels
for all rows, a classifier on the data is better. What the map shows of its own labels proves nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skmde import AnchoredClassifier, PreserveNeighbors
from skmde.metrics import knn_accuracy
from skmde.plotting import EmbeddingDisplay

# %%
# Training and test rows
# ----------------------
# The rows are digits with noise. Three in ten training rows have a label; -1 means unknown. The
# test rows and their labels are seen by no fit.

n_train, n_test = 500, 250
X, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X + rng.normal(scale=5, size=X.shape)


def split(seed):
    """Training rows, test rows, and their digits."""
    sizes = {"train_size": n_train, "test_size": n_test}
    return train_test_split(X, digits, stratify=digits, random_state=seed, **sizes)


def some_labels(true, share, seed):
    """The labels of a share of the rows, -1 for the others."""
    return np.where(np.random.default_rng(seed).random(len(true)) < share, true, -1)


train, test, true, true_of_test = split(0)
y = some_labels(true, 0.3, 0)
known = y != -1
print(f"{len(train)} training rows, {known.sum()} with a label; {len(test)} test rows")

# %%
# Fit with labels, place without
# ------------------------------
# ``target_weight`` is the weight of pairs of one known class. ``transform`` does not ask for labels.
# It places a row by its nearest training rows in the data, each of which lies where its own label, if
# it has one, and its neighbours have drawn it.

with_labels = PreserveNeighbors(target_weight=3.0, random_state=0).fit(train, y)
without = PreserveNeighbors(random_state=0).fit(train)
placed = with_labels.transform(test)

# %%
# A classifier on the map is trained on the labelled rows, and asked about the test rows. Three
# classifiers on the data get the same labelled rows. :class:`~skmde.AnchoredClassifier` makes no map:
# it spreads the labels along the neighbours of all training rows.

on_data = {
    "data, neighbours": KNeighborsClassifier(5),
    "data, logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    "data, SVC": SVC(),
}


def accuracies(train, test, true, true_of_test, y, maps):
    """Share of test rows that get the right label, in several ways."""
    known = y != -1
    share = {}
    for name, fitted in maps.items():
        on_map = KNeighborsClassifier(5).fit(fitted.embedding_[known], true[known])
        share[name] = on_map.score(fitted.transform(test), true_of_test)
    for name, classifier in on_data.items():
        share[name] = classifier.fit(train[known], true[known]).score(test, true_of_test)
    spread = AnchoredClassifier(10).fit(train, y)
    share["AnchoredClassifier"] = spread.score(test, true_of_test)
    return share


maps = {"map": without, "map with labels": with_labels}
for name, share in accuracies(train, test, true, true_of_test, y, maps).items():
    print(f"{name:20} {share:.2f} of the test rows")

# %%
# If all training rows have labels, a pipeline does the same. It hands y to both steps.

pipeline = make_pipeline(
    PreserveNeighbors(target_weight=3.0, random_state=0), KNeighborsClassifier(5)
)
print(f"pipeline, all labels: {pipeline.fit(train, true).score(test, true_of_test):.2f}")

# %%
# The picture
# -----------
# Left: the training rows; those without a label are grey. Right: the test rows, coloured by their
# true digits, which nobody told the map. They are less clearly apart than the labels suggest.

figure, axes = plt.subplots(1, 2, figsize=(10.8, 5), sharex=True, sharey=True, layout="constrained")
names = [str(digit) if digit != -1 else None for digit in y]
EmbeddingDisplay.from_embedding(with_labels.embedding_, names, labels="map", ax=axes[0])
axes[0].set_title("training rows, the labels that fit saw")
names = [str(digit) for digit in true_of_test]
EmbeddingDisplay.from_embedding(placed, names, labels="map", ax=axes[1])
_ = axes[1].set_title("test rows placed by transform, true digits")

# %%
# How many labels
# ---------------
# One split says little: the standard deviation of a share of 250 rows is 0.03. Here are the means of
# three splits, for labels of a tenth, three tenths and all of the training rows.

shares_known, n_splits = (0.1, 0.3, 1.0), 3
results = {share: [] for share in shares_known}
for seed in range(n_splits):
    train, test, true, true_of_test = split(seed)
    plain = PreserveNeighbors(random_state=0).fit(train)
    for share in shares_known:
        y = some_labels(true, share, seed)
        informed = PreserveNeighbors(target_weight=3.0, random_state=0).fit(train, y)
        maps = {"map": plain, "map with labels": informed}
        results[share].append(accuracies(train, test, true, true_of_test, y, maps))
means = {
    share: {name: np.mean([run[name] for run in runs]) for name in runs[0]}
    for share, runs in results.items()
}
for name in means[1.0]:
    print(f"{name:20}", *(f"{share:4.0%}: {means[share][name]:.2f} " for share in shares_known))

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, _), marker in zip(means[1.0].items(), "os^vDx", strict=True):
    style = "-" if name.startswith("map") else "--"
    ax.plot([means[share][name] for share in shares_known], style, marker=marker, label=name)
ax.set(xticks=range(len(shares_known)), xticklabels=[f"{share:.0%}" for share in shares_known])
ax.set(xlabel="training rows with a label", ylabel="accuracy on test rows")
_ = ax.legend(frameon=False, fontsize="small")

# %%
# - *One label in ten rows.* The map is better than classifiers of the labelled rows alone, because all
#   training rows have shaped it. The labels at fit matter less: the map without them is nearly as good.
# - *Three in ten.* :class:`~skmde.AnchoredClassifier`, which sees all training rows, too, is as good as
#   the map.
# - *All labels.* ``SVC`` on the data is best. Two dimensions have lost what it uses.
#
# So take the map to look at, and to label with few labels. Where accuracy counts and labels do not
# lack, classify the data.
#
# What not to conclude
# --------------------
# The labelled rows themselves are no test. The more weight labels have, the more of them have their
# own class around them, and test rows hardly change:

illusion = {}
for weight in (0.0, 3.0, 10.0):
    train, test, true, true_of_test = split(0)
    y = some_labels(true, 0.3, 0)
    known = y != -1
    fitted = PreserveNeighbors(target_weight=weight, random_state=0).fit(train, y)
    on_map = KNeighborsClassifier(5).fit(fitted.embedding_[known], true[known])
    illusion[weight] = (
        knn_accuracy(fitted.embedding_[known], true[known], n_neighbors=5),
        on_map.score(fitted.transform(test), true_of_test),
    )
    print(
        "target_weight {:g}: labelled rows {:.2f}, test rows {:.2f}".format(
            weight, *illusion[weight]
        )
    )

# %%
# - *Wide gaps between classes are no finding*, and neither is a class in two groups that labels have
#   drawn into one. Look at the map without labels first.
# - *Test rows in the fit.* A map of all rows with the labels of the training rows is another question:
#   there the test rows shape the map. Fit to the training rows alone if later rows will be placed.
# - *A class that had no label.* ``transform`` puts its rows among the known classes. ``is_supported``
#   finds such rows by the data: :doc:`plot_04_new_data`.
# - *Parameters chosen by the test rows.* Choose ``target_weight`` by cross-validation within the
#   training rows, as in :doc:`plot_09_search`.
#
# :doc:`plot_08_few_labels` has more on labels of a single table, and on labels without meaning.

plt.show()
