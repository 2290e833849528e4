"""Graphs with 32-bit indices, which all supported versions of scipy take."""

import numpy as np
import pytest
import scipy.sparse as sp

from skmde._linalg.csgraph import with_short_indices


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_graph_is_the_same_with_short_indices(dtype):
    rng = np.random.default_rng(0)
    graph = sp.csr_array(np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0.0))
    given = sp.csr_array(
        (graph.data, graph.indices.astype(dtype), graph.indptr.astype(dtype)), shape=(6, 6)
    )
    short = with_short_indices(given)
    assert short.indices.dtype == short.indptr.dtype == np.int32
    assert abs(short - graph).nnz == 0
    assert np.shares_memory(short.data, given.data)
