"""yellowbrick's Manifold visualizer around an estimator.

Classes are coloured. Colours by numbers (``target_type="continuous"``) are not tested: whatever the
estimator, yellowbrick 1.5 asks for ``matplotlib.cm.get_cmap``, which matplotlib 3.9 removed.
"""

import numpy as np
import pytest
from yellowbrick.features import Manifold

from skmde import PreserveDistances, PreserveNeighbors, QuadraticMDE


@pytest.mark.parametrize("Estimator", [PreserveNeighbors, PreserveDistances, QuadraticMDE])
def test_points_are_drawn_where_the_estimator_puts_them(Estimator, digits, tmp_path):
    X, y = digits
    visualizer = Manifold(manifold=Estimator(random_state=0), classes=[str(k) for k in range(10)])
    Y = visualizer.fit_transform(X, y)
    np.testing.assert_array_equal(Y, Estimator(random_state=0).fit_transform(X))
    drawn = np.concatenate([np.asarray(part.get_offsets()) for part in visualizer.ax.collections])
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(Y, axis=0), rtol=1e-6)
    visualizer.show(outpath=str(tmp_path / "digits.png"))
    assert (tmp_path / "digits.png").stat().st_size > 10_000


def test_fit_then_transform_unseen_rows(digits):
    X, y = digits
    visualizer = Manifold(manifold=PreserveNeighbors(random_state=0))
    visualizer.fit(X[:500], y[:500])
    coordinates = visualizer.transform(X[500:], y[500:])
    expected = PreserveNeighbors(random_state=0).fit(X[:500]).transform(X[500:])
    np.testing.assert_array_equal(coordinates, expected)


def test_three_dimensions_and_no_target(digits):
    visualizer = Manifold(manifold=PreserveNeighbors(n_components=3, random_state=0), projection=3)
    Y = visualizer.fit_transform(digits[0])
    assert Y.shape == (600, 3)
    (drawn,) = visualizer.ax.collections
    np.testing.assert_allclose(drawn._offsets3d[2], Y[:, 2])


def test_parameters_are_reached_through_the_visualizer():
    visualizer = Manifold(manifold=PreserveNeighbors(random_state=0))
    visualizer.manifold.set_params(n_neighbors=7)
    assert visualizer.manifold.get_params()["n_neighbors"] == 7
