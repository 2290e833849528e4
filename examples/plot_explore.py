"""
Handwritten digits to explore
=============================

Embeds scikit-learn's 1797 handwritten digits with :class:`skmde.PreserveNeighbors` and makes one
HTML file of them: point at a digit to see it, draw a lasso to select digits, search, filter. The
file works in any browser, without a network. Lines connect a digit and its nearest neighbour where
their labels differ: most of these digits are hard to read.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from skmde import PreserveNeighbors
from skmde.plotting import explore
from skmde.preprocessing import nearest_neighbors


def disagreements(X, labels):
    """Pairs of an item and its nearest neighbour whose labels differ."""
    neighbors, _, _ = nearest_neighbors(X, n_neighbors=1)
    pairs = np.column_stack([np.arange(len(X)), neighbors[:, 0]])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]


parser = argparse.ArgumentParser(description="Write a page to explore digits in.")
parser.add_argument("--output", type=Path, help="page to write")
args = parser.parse_args()

digits = load_digits()
mde = PreserveNeighbors(random_state=0).fit(digits.data)
pairs = disagreements(digits.data, digits.target)
page = explore(
    mde,
    labels=digits.target,
    images=digits.images,
    edges=pairs,
    color_by={"ink": digits.data.sum(axis=1)},
    title="Handwritten digits",
)
print(f"{len(digits.data)} digits, {len(pairs)} pairs of neighbours with different labels")
if args.output is not None:
    page.save(args.output)
    print(f"Page: {args.output}, {len(page.html) / 1e6:.1f} MB")

# %%
# In a notebook, and here, the page shows itself:

page

# sphinx_gallery_thumbnail_path = 'images/explore.png'
