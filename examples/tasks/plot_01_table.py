"""
Visualise a table with mixed columns
====================================

A table of customers, cars or patients has numbers in different units, categories, and gaps. This
page makes a map of such a table: each row is a point, and rows that are alike are near each other.
Use it to see which kinds of rows there are, which columns tell them apart, and which rows are odd.

The work is in the first step. A map keeps the neighbours of each row, so you decide which
differences count, and how much. Here scikit-learn's ``ColumnTransformer`` does this, and
:class:`~skmde.PreserveNeighbors` makes the map.
"""

# %%
# The table
# ---------
#
# The table has 900 used cars. It is made by code, so that the page needs no download: four kinds
# of cars, which the table does not name, and gaps in several columns. Replace ``cars`` with your
# own data frame.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
KINDS = {
    # price, power, weight; fuels; gearbox: share of automatic ones; bodies
    "small": (9_000, 70, 1_050, ["petrol"], 0.1, ["hatchback"]),
    "family": (24_000, 140, 1_550, ["diesel", "petrol"], 0.5, ["estate", "saloon"]),
    "electric": (38_000, 190, 1_900, ["electric"], 1.0, ["saloon", "hatchback", "SUV"]),
    "van": (19_000, 110, 1_850, ["diesel"], 0.2, ["van"]),
}


def used_cars(n_each=225):
    """A table of used cars, and the kind of each."""
    tables = []
    for kind, (price, power, weight, fuels, automatic, bodies) in KINDS.items():
        km = rng.gamma(2.0, 35_000, n_each)
        new = price * rng.lognormal(0.0, 0.2, n_each)
        columns = {
            "price": new * np.exp(-km / 120_000),  # a car that was driven far costs less
            "km": km,
            "power": power * rng.lognormal(0.0, 0.15, n_each),
            "weight": weight * rng.lognormal(0.0, 0.08, n_each),
            "fuel": rng.choice(fuels, n_each),
            "gearbox": np.where(rng.random(n_each) < automatic, "automatic", "manual"),
            "body": rng.choice(bodies, n_each),
            "colour": rng.choice(["black", "white", "grey", "blue", "red"], n_each),
        }
        tables.append(pd.DataFrame(columns).assign(kind=kind))
    table = pd.concat(tables, ignore_index=True)
    kind = table.pop("kind").to_numpy()
    for column, share in {"km": 0.1, "power": 0.15, "gearbox": 0.1, "weight": 0.05}.items():
        table.loc[rng.random(len(table)) < share, column] = None
    return table, kind


cars, kind = used_cars()
print(cars.head().to_string(float_format="%.0f"))
print("gaps:", cars.isna().sum().to_dict())

# %%
# From columns to distances
# -------------------------
#
# Each column needs three decisions:
#
# - **Scale.** Kilometres are in the tens of thousands and would outweigh everything else. After
#   ``StandardScaler`` each number counts the same. Prices and distances driven are skewed: twice
#   as much is the difference that matters, so their logarithms are taken first.
# - **Categories.** ``OneHotEncoder`` makes a column of zeros and ones for each category. Two rows
#   of different categories are then at the distance :math:`\sqrt 2`, as far as two numbers that
#   differ by 1.4 standard deviations. ``transformer_weights`` of ``ColumnTransformer`` makes this
#   more or less. The colour is left out: cars are not alike because both are red.
# - **Gaps.** A missing number becomes the median of its column. A missing category becomes a row
#   of zeros: it is equally far from all categories, and nearer to each of them than they are to
#   each other. Without the list ``levels``, the encoder makes "missing" a category of its own,
#   and cars with gaps form groups.

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skmde import PreserveNeighbors

skewed, plain = ["price", "km"], ["power", "weight"]
categories = ["fuel", "gearbox", "body"]
levels = [cars[column].dropna().unique() for column in categories]  # None is none of them

columns = make_column_transformer(
    (make_pipeline(SimpleImputer(strategy="median"), FunctionTransformer(np.log)), skewed),
    (SimpleImputer(strategy="median"), plain),
)
numbers = make_pipeline(columns, StandardScaler())
table_to_vectors = make_column_transformer(
    (numbers, skewed + plain),
    (OneHotEncoder(categories=levels, handle_unknown="ignore"), categories),
)
cars_map = make_pipeline(table_to_vectors, PreserveNeighbors(random_state=0))
embedding = cars_map.fit_transform(cars)
print("map:", embedding.shape, "from", table_to_vectors.transform(cars).shape[1], "columns")

# %%
# The map
# -------
#
# Colour the map by one column after the other. A column whose colours lie apart tells the groups
# apart. A number that changes gradually across a group explains the direction of the change.
# Columns of whole numbers, such as ages and years, are taken for classes:
# ``color_as="number"`` gives them a colour bar. Convert a date to a number first:
# ``(date - date.min()).dt.days``.

from skmde.plotting import EmbeddingDisplay

figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained", sharex=True, sharey=True)
for ax, column in zip(axes.flat, ["fuel", "body", "price", "gearbox"], strict=True):
    values = np.log10(cars[column]) if column == "price" else cars[column]
    name = "price, logarithm" if column == "price" else column
    EmbeddingDisplay.from_embedding(embedding, values, color_name=name, ax=ax)

# %%
# How to read it
# --------------
#
# The four islands differ in fuel and body, and their parts in gearbox and body. Inside a part the
# price changes gradually. The light grey points of the last panel have no gearbox in the table.
# They are in the islands of cars like them, near both manual and automatic ones.
#
# Nobody told the map the kind of car. As these data are made, we can compare: most neighbours of a
# car in the map are of its kind.

from skmde.metrics import knn_accuracy, neighborhood_recall

vectors = table_to_vectors.transform(cars)
print(f"neighbours of the same kind: {knn_accuracy(embedding, kind):.2f}")
print(f"share of 15 neighbours kept: {neighborhood_recall(vectors, embedding, 15):.2f}")

# %%
# New rows go through the same pipeline. A category that the table did not have counts as missing.
# For a data frame that keeps the index of the table, give ``OneHotEncoder`` the parameter
# ``sparse_output=False``, and call ``cars_map.set_output(transform="pandas")``.

new_car = cars.iloc[[0]].assign(price=9_500, fuel="hydrogen")
print("place of a new car:", cars_map.transform(new_car).round(1))

# %%
# What the scale does
# -------------------
#
# Here are the four numbers without scaling and without categories. Kilometres are the largest
# numbers, so the map is a strip that follows them. Prices come next, and spread the cars across
# it.

raw = cars[skewed + plain].fillna(cars[skewed + plain].median())
unscaled = PreserveNeighbors(random_state=0).fit_transform(raw)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True, sharey=True)
EmbeddingDisplay.from_embedding(unscaled, cars["km"], color_name="km", ax=axes[0])
EmbeddingDisplay.from_embedding(unscaled, cars["fuel"], color_name="fuel", ax=axes[1])
axes[0].set_title("not scaled, by kilometres")
axes[1].set_title("not scaled, by fuel")
print(f"not scaled, neighbours of the same kind: {knn_accuracy(unscaled, kind):.2f}")

# %%
# What can go wrong
# -----------------
#
# - **A category with hundreds of values**, such as a postal code, makes every pair of rows equally
#   different. Group its values, replace them with numbers (a place, a mean), or leave it out.
# - **Gaps that lie on top of each other.** Rows of which most values are imputed are alike,
#   whatever they are. Colour the map by ``table.isna().sum(axis=1)``: a group of rows with many
#   gaps is no group of cars. With numbers alone, ``PreserveNeighbors(metric="nan_euclidean")``
#   takes the gaps as they are.
# - **Identifiers and dates.** A row number is a number, too. Leave it out, or the map shows it.
#   Dates are refused. If time matters, convert them to numbers, such as days since the first.
# - **Columns that say the same twice**, such as kilometres and miles, count twice.
#
# :doc:`/neighborhoods` says how to weigh pairs, and :doc:`/judging` how good a map is.
plt.show()
