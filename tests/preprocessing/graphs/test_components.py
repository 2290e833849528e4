"""Components of graphs, and embeddings of components side by side."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde.preprocessing.graphs.components import connected_components, pack_components


def boxes(X, labels, plane):
    groups = [X[labels == c][:, :plane] for c in range(labels.max() + 1)]
    return np.array([g.min(axis=0) for g in groups]), np.array([g.max(axis=0) for g in groups])


def overlapping(low, high):
    meets = (low[:, None] < high[None]) & (low[None] < high[:, None])
    meets = meets.all(axis=2)
    np.fill_diagonal(meets, False)
    return meets.any()


def test_components_are_numbered_by_their_first_vertex():
    graph = sp.coo_array(([1.0, 1.0], ([3, 1], [0, 4])), shape=(6, 6))
    n_components, labels = connected_components(graph)
    assert n_components == 4
    assert labels.tolist() == [0, 1, 2, 0, 1, 3]
    assert labels.dtype == np.int32


def test_stored_zeros_connect():
    graph = sp.csr_array(([0.0], ([0], [1])), shape=(2, 2))
    assert connected_components(graph)[0] == 1


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("sizes", [[1, 1], [50, 30, 20, 1, 1], [1] * 40, [200, 3, 3, 3]])
def test_components_do_not_overlap(m, sizes):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.standard_normal((len(labels), m)) * rng.uniform(0.1, 100, len(sizes))[labels][:, None]
    packed = pack_components(X, labels)
    assert packed.shape == X.shape and np.isfinite(packed).all()
    low, high = boxes(packed, labels, min(m, 2))
    assert not overlapping(low - 0.4, high + 0.4)
    np.testing.assert_allclose(packed.mean(axis=0), 0, atol=1e-9)


def test_layout_of_a_component_keeps_its_shape():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [40, 10])
    X = rng.standard_normal((50, 3))
    packed = pack_components(X, labels)
    for c in (0, 1):
        before = X[labels == c] - X[labels == c].mean(axis=0)
        after = packed[labels == c] - packed[labels == c].mean(axis=0)
        factor = after[0, 0] / before[0, 0]
        assert factor > 0
        np.testing.assert_allclose(after, factor * before, rtol=1e-9, atol=1e-12)


def test_room_is_in_proportion_to_size():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [400, 100])
    packed = pack_components(rng.standard_normal((500, 2)), labels)
    spread = [np.sqrt(packed[labels == c].var(axis=0).sum()) for c in (0, 1)]
    np.testing.assert_allclose(spread[0] / spread[1], 2.0, rtol=1e-6)


def test_packing_is_about_square():
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % 100
    packed = pack_components(rng.standard_normal((2000, 2)), labels)
    width, height = np.ptp(packed, axis=0)
    assert 0.5 < width / height < 2


def test_ten_thousand_single_vertices_are_distinct():
    packed = pack_components(np.zeros((10_000, 2)), np.arange(10_000))
    assert len(np.unique(packed, axis=0)) == 10_000


def test_coincident_vertices_of_a_component_stay_finite():
    packed = pack_components(np.zeros((6, 2)), np.array([0, 0, 0, 1, 1, 2]))
    assert np.isfinite(packed).all()
    assert len(np.unique(packed, axis=0)) == 3


def test_one_component_is_centered_only():
    X = np.random.default_rng(0).standard_normal((7, 2))
    np.testing.assert_allclose(pack_components(X, np.zeros(7, int)), X - X.mean(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_is_kept_and_input_left_alone(dtype):
    X = np.random.default_rng(0).standard_normal((9, 2)).astype(dtype)
    X.setflags(write=False)
    labels = np.arange(9) % 3
    packed = pack_components(X, labels)
    assert packed.dtype == dtype
    np.testing.assert_array_equal(pack_components(X, labels), packed)
