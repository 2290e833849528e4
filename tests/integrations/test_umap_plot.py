"""umap-learn's plots of an estimator in place of a fitted UMAP."""

import numpy as np
import pytest
import umap.plot
from matplotlib.colors import to_hex

from skmde import PreserveNeighbors


def fitted(X, **params):
    mapper = PreserveNeighbors(n_neighbors=10, random_state=0, **params).fit(X)
    mapper.min_dist = None  # umap.plot writes it below every plot, see doc/migrating.md
    return mapper


@pytest.fixture(scope="module")
def mapper(digits):
    return fitted(digits[0])


def test_points_are_drawn_where_the_estimator_put_them(mapper, digits):
    ax = umap.plot.points(mapper, labels=digits[1])
    (drawn,) = ax.collections
    np.testing.assert_allclose(drawn.get_offsets(), mapper.embedding_)
    assert len({to_hex(colour) for colour in drawn.get_facecolors()}) == 10
    assert "n_neighbors=10" in ax.texts[0].get_text()


def test_points_of_unseen_rows_and_another_metric(digits):
    X, _ = digits
    mapper = fitted(X[:500], metric="cosine")
    coordinates = mapper.transform(X[500:])
    ax = umap.plot.points(mapper, points=coordinates, values=X[500:].sum(axis=1), theme="fire")
    np.testing.assert_allclose(ax.collections[0].get_offsets(), coordinates)
    assert "metric=cosine" in ax.texts[0].get_text()


def test_more_points_than_pixels_are_shaded(mapper):
    ax = umap.plot.points(mapper, width=60, height=60)
    assert len(ax.images) == 1


def test_neighbours_are_drawn_as_edges(mapper):
    ax = umap.plot.connectivity(mapper, show_points=True)
    assert len(ax.images) == 1


def test_distances_to_neighbours(mapper):
    assert umap.plot.nearest_neighbour_distribution(mapper) is not None
