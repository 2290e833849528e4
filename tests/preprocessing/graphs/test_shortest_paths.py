"""Lengths of shortest paths: right, complete or fairly sampled, and the same for all jobs."""

import sys

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import floyd_warshall
from scipy.stats import chisquare
from slowly import slow

from skmde._utils import random as _random
from skmde.preprocessing.graphs import reachable_pairs, shortest_paths as module
from skmde.preprocessing.graphs.shortest_paths import shortest_paths
from skmde.preprocessing.pairs.sampling import all_edges

UNWEIGHTED, WEIGHTED = [2.0], [0.0, 0.5, 1.0, 3.25]


def random_graph(n, n_edges, lengths, seed):
    """Upper triangle of a random graph, zeros stored; and the matrix of its path lengths."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n * (n - 1) // 2)[:n_edges]
    edges = all_edges(n)[pairs]
    values = rng.choice(lengths, len(edges))
    # Floyd and Warshall's algorithm on a table of all lengths shares nothing with ours
    table = np.full((n, n), np.inf)
    np.fill_diagonal(table, 0)
    table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = values
    for k in range(n):
        table = np.minimum(table, table[:, [k]] + table[[k]])
    return sp.coo_array((values, (edges[:, 0], edges[:, 1])), shape=(n, n)), table


def expected_paths(table, max_length=np.inf):
    n = len(table)
    edges = all_edges(n)
    lengths = table[edges[:, 0], edges[:, 1]]
    kept = lengths <= max_length if np.isfinite(max_length) else np.isfinite(lengths)
    return edges[kept], lengths[kept], int(np.isinf(lengths).sum())


def check_paths(paths, table, max_length=np.inf):
    n = len(table)
    edges, lengths, n_unreachable = expected_paths(table, max_length)
    if len(lengths) == n * (n - 1) // 2:
        assert paths.edges is None
    else:
        assert paths.edges.dtype == np.int32
        np.testing.assert_array_equal(paths.edges, edges)
    np.testing.assert_array_equal(paths.distances, lengths)
    assert paths.n_unreachable == n_unreachable and isinstance(paths.n_unreachable, int)


def check_sample(paths, table, n_pairs, max_length=np.inf):
    """Distinct pairs in order, as many as asked, with their own lengths."""
    n = len(table)
    edges, _, n_unreachable = expected_paths(table, max_length)
    assert len(paths.edges) == len(paths.distances) == n_pairs < len(edges)
    codes = paths.edges[:, 0].astype(np.int64) * n + paths.edges[:, 1]
    assert (np.diff(codes) > 0).all()
    assert np.isin(codes, edges[:, 0].astype(np.int64) * n + edges[:, 1]).all()
    np.testing.assert_array_equal(paths.distances, table[paths.edges[:, 0], paths.edges[:, 1]])
    assert paths.n_unreachable == n_unreachable


@given(
    st.integers(2, 90),
    st.floats(0, 4),
    st.sampled_from([UNWEIGHTED, WEIGHTED, [0.0]]),
    st.sampled_from([None, 0.5, 2, 4.5, 100]),
    st.integers(0, 2**32 - 1),
)
def test_all_pairs(n, degree, lengths, max_length, seed):
    graph, table = random_graph(n, 1 + int(n * degree / 2), lengths, seed)
    paths = shortest_paths(graph, max_length=max_length)
    check_paths(paths, table, np.inf if max_length is None else max_length)


@given(
    st.integers(3, 90),
    st.sampled_from([UNWEIGHTED, WEIGHTED]),
    st.sampled_from([None, 2, 4.5]),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_sampled_pairs(n, lengths, max_length, share, seed):
    graph, table = random_graph(n, n, lengths, seed)
    limit = np.inf if max_length is None else max_length
    n_all = len(expected_paths(table, limit)[0])
    if n_all < 2:
        return
    n_pairs = 1 + int(share * (n_all - 2))
    paths = shortest_paths(graph, max_length=max_length, max_pairs=n_pairs, random_state=seed)
    check_sample(paths, table, n_pairs, limit)


@pytest.mark.parametrize("max_pairs", [10_000, 1e12, np.inf])
@pytest.mark.parametrize("max_length", [None, 2.0])
@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_fewer_pairs_than_max_pairs_are_all_kept(lengths, max_length, max_pairs):
    graph, table = random_graph(60, 50, lengths, 0)
    paths = shortest_paths(graph, max_length=max_length, max_pairs=max_pairs)
    check_paths(paths, table, max_length or np.inf)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: np.stack([np.arange(n - 1), np.arange(1, n)]),  # a chain: many levels
        lambda n: np.stack([np.zeros(n - 1, int), np.arange(1, n)]),  # a star: few, wide ones
        lambda n: np.stack([np.arange(1, n) // 2, np.arange(1, n)]),  # a tree
        lambda n: np.stack([np.arange(0, n - 1, 2), np.arange(1, n, 2)]),  # pairs
    ],
)
def test_breadth_first_search_of_extreme_graphs(make, seed):
    n = 400
    nodes = np.random.default_rng(seed).permutation(n)
    ends = nodes[make(n)]
    graph = sp.coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    table = floyd_warshall(graph.tocsr(), directed=False)
    for max_length in (None, 1, 3):
        check_paths(shortest_paths(graph, max_length=max_length), table, max_length or np.inf)
    n_pairs = len(expected_paths(table)[0]) // 3
    check_sample(shortest_paths(graph, max_pairs=n_pairs, random_state=seed), table, n_pairs)


def test_dense_graph_pulls():
    """Frontiers that hold most of the nodes, beside a component that is never reached."""
    graph, table = random_graph(300, 6000, UNWEIGHTED, 3)
    lonely, lonely_table = random_graph(100, 1000, UNWEIGHTED, 4)
    both = np.full((400, 400), np.inf)
    both[:300, :300], both[300:, 300:] = table, lonely_table
    check_paths(shortest_paths(sp.block_diag([graph, lonely])), both)


@pytest.mark.parametrize("max_length", [None, 4.0])
@pytest.mark.parametrize("max_pairs", [None, 500])
@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_number_of_jobs_changes_nothing(lengths, max_pairs, max_length):
    graph, _ = random_graph(300, 400, lengths, 5)

    def run(n_jobs):
        return shortest_paths(
            graph, max_length=max_length, max_pairs=max_pairs, random_state=7, n_jobs=n_jobs
        )

    alone = run(1)
    with joblib.parallel_config(backend="threading"):
        for n_jobs in (2, 4):
            together = run(n_jobs)
            np.testing.assert_array_equal(alone.edges, together.edges)
            np.testing.assert_array_equal(alone.distances, together.distances)


def test_joblib_configuration_is_used(monkeypatch):
    seen = []

    def spy(*args):
        seen.append(joblib.parallel.get_active_backend())
        return select(*args)

    select = module._select
    monkeypatch.setattr(module, "_select", spy)
    graph, table = random_graph(200, 400, WEIGHTED, 0)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        check_paths(shortest_paths(graph), table)
    assert {backend.nesting_level for backend, _ in seen} == {1}  # inside a worker


def test_processes_do_as_threads_do():
    graph, table = random_graph(200, 400, WEIGHTED, 0)
    check_paths(shortest_paths(graph, n_jobs=2), table)


def test_small_chunks_change_nothing(monkeypatch):
    graph, table = random_graph(100, 200, WEIGHTED, 8)
    expected = shortest_paths(graph, max_pairs=300, max_length=5, random_state=0)
    monkeypatch.setattr(module, "_TABLE_BYTES", 1)
    check_paths(shortest_paths(graph), table)
    found = shortest_paths(graph, max_pairs=300, max_length=5, random_state=0)
    np.testing.assert_array_equal(found.edges, expected.edges)


@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_bound_changes_nothing(monkeypatch, lengths, n_jobs):
    """Pairs dropped as soon as there are too many, or all at once in the end."""
    graph, table = random_graph(400, 1200, lengths, 9)
    arguments = {"max_pairs": 1000, "max_length": 9, "random_state": 0}
    expected = shortest_paths(graph, **arguments)
    check_sample(expected, table, 1000, 9)
    held = []
    add = reachable_pairs.KeptPairs.add

    def spy(self, *args):
        add(self, *args)
        held.append(self._size)

    monkeypatch.setattr(reachable_pairs, "_SLACK", 0)
    monkeypatch.setattr(reachable_pairs.KeptPairs, "add", spy)
    with joblib.parallel_config(backend="threading"):
        found = shortest_paths(graph, n_jobs=n_jobs, **arguments)
    assert max(held) <= 1500
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("n_pairs", [*slow(12), 70])
@pytest.mark.parametrize("max_length", [None, 100])
def test_sample_is_uniform(max_length, n_pairs):
    """Of 105 pairs in components of 14, 5 and 4 nodes, each is chosen equally often."""
    parts = [sp.coo_array(np.diag(np.ones(size - 1), 1)) for size in (14, 5, 4)]
    shuffle = np.random.default_rng(0).permutation(23)
    graph = sp.block_diag(parts, format="csr")[shuffle][:, shuffle]
    n_all = 91 + 10 + 6
    counts = np.zeros((23, 23))
    together = np.zeros(3)
    n_runs = 1500
    rng = np.random.default_rng(1)
    for _ in range(n_runs):
        paths = shortest_paths(
            graph, max_pairs=n_pairs, max_length=max_length, random_state=rng, n_jobs=1
        )
        counts[paths.edges[:, 0], paths.edges[:, 1]] += 1
        labels = np.repeat([0, 1, 2], [14, 5, 4])[shuffle][paths.edges[:, 0]]
        together += np.bincount(labels, minlength=3)
    counts = counts[counts > 0]
    assert len(counts) == n_all
    # draws without replacement vary less than independent ones
    statistic = ((counts - n_runs * n_pairs / n_all) ** 2).sum() / (n_runs * n_pairs / n_all)
    statistic /= 1 - n_pairs / n_all
    assert 0.6 * n_all < statistic < 1.4 * n_all
    assert chisquare(together, together.sum() * np.array([91, 10, 6]) / n_all).pvalue > 1e-3


@pytest.mark.parametrize("max_length", [*slow(None), 100])
def test_pairs_are_chosen_independently(max_length):
    """Two pairs are in a sample together as often as chance has it."""
    graph = sp.coo_array(np.diag(np.ones(5), 1))  # 15 pairs
    n_runs, n_pairs = 3000, 5
    chosen = np.zeros((n_runs, 15))
    lookup = np.zeros((6, 6), int)
    lookup[tuple(all_edges(6).T)] = np.arange(15)
    for seed in range(n_runs):
        edges = shortest_paths(
            graph, max_pairs=n_pairs, max_length=max_length, random_state=seed, n_jobs=1
        ).edges
        chosen[seed, lookup[edges[:, 0], edges[:, 1]]] = 1
    together = (chosen.T @ chosen)[np.triu_indices(15, 1)]
    share = n_pairs * (n_pairs - 1) / (15 * 14)
    deviations = (together - n_runs * share) / np.sqrt(n_runs * share * (1 - share))
    assert np.abs(deviations).max() < 4.5
    assert 0.6 < deviations.std() < 1.4


@pytest.mark.parametrize("total", [1, 2, 7, 1000, 10**15])
def test_sample_of_integers(total):
    rng = np.random.default_rng(0)
    for count in {1, total // 4, total // 2, total // 2 + 1, total} if total < 2000 else {50_000}:
        if count:
            found = _random.distinct_integers(total, count, rng)
            assert len(found) == count and found[0] >= 0 and found[-1] < total
            assert (np.diff(found) > 0).all()


def test_sample_of_integers_in_stretches(monkeypatch):
    monkeypatch.setattr(_random, "_DRAWS", 8)
    rng = np.random.default_rng(0)
    counts = np.zeros(60)
    for _ in range(2000):
        found = _random.distinct_integers(60, 15, rng)
        assert (np.diff(found) > 0).all() and len(found) == 15
        counts[found] += 1
    statistic = ((counts - 500) ** 2).sum() / (500 * 0.75)
    assert 30 < statistic < 90


def test_sample_of_integers_is_drawn_anew_if_too_few_differ():
    class Unlucky:
        """Draws the same integer all the time, once."""

        def __init__(self):
            self._rng = np.random.default_rng(0)
            self.multinomial, self.choice = self._rng.multinomial, self._rng.choice
            self.n_calls = 0

        def integers(self, low, high, size):
            self.n_calls += 1
            drawn = self._rng.integers(low, high, size=size)
            return np.full_like(drawn, low) if self.n_calls == 1 else drawn

    rng = Unlucky()
    found = _random.distinct_integers(60, 15, rng)
    assert rng.n_calls == 2 and len(np.unique(found)) == 15


@pytest.mark.parametrize("max_length", [None, 4.5])
@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_seed_decides(lengths, max_length):
    graph, _ = random_graph(100, 150, lengths, 0)
    a, b, c = (
        shortest_paths(graph, max_pairs=200, max_length=max_length, random_state=seed).edges
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_global_random_state_is_untouched(lengths):
    graph, _ = random_graph(50, 80, lengths, 0)
    before = np.random.get_state()[1].copy()
    shortest_paths(graph, max_pairs=20, random_state=None)
    shortest_paths(graph, max_pairs=20, max_length=3, random_state=None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_read_only_input(lengths):
    graph, table = random_graph(40, 60, lengths, 0)
    graph = graph.tocsr()
    parts = [graph.data, graph.indices, graph.indptr]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    check_paths(shortest_paths(graph), table)
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("max_length", [None, 3])
@pytest.mark.parametrize("max_pairs", [None, 30])
@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_dtype(lengths, max_pairs, max_length):
    graph, _ = random_graph(40, 60, lengths, 0)
    arguments = {"max_pairs": max_pairs, "max_length": max_length, "random_state": 0}
    double = shortest_paths(graph, **arguments).distances
    single = shortest_paths(graph, dtype=np.float32, **arguments).distances
    assert double.dtype == np.float64 and single.dtype == np.float32
    np.testing.assert_array_equal(double.astype(np.float32), single)


@pytest.mark.parametrize("length", [0.1, 1 / 3, 1e-20, 3e20])
def test_max_length_is_inclusive(length):
    n = 60
    chain = sp.coo_array(np.diag(np.ones(n - 1), 1)) * length
    for steps in (1, 3, 7, 49):
        paths = shortest_paths(chain, max_length=steps * length)
        assert paths.distances.max() == steps * length
        paths = shortest_paths(chain, max_length=np.nextafter((steps + 1) * length, 0))
        assert paths.distances.max() == steps * length
    weighted = sp.coo_array(np.diag([1.0, 2.0, 3.0], 1))
    assert shortest_paths(weighted, max_length=5).distances.tolist() == [1, 3, 2, 5, 3]


def test_limit_below_the_shortest_edge_leaves_no_pair():
    paths = shortest_paths(sp.coo_array(np.diag(np.ones(3), 1)), max_length=0.5)
    assert paths.edges.shape == (0, 2) and paths.distances.shape == (0,)
    assert paths.n_unreachable == 0


def test_complete_graph_within_a_limit_needs_no_edges():
    for lengths in (UNWEIGHTED, [1.0, 1.5]):
        graph, table = random_graph(10, 45, lengths, 0)
        paths = shortest_paths(graph, max_length=10)
        assert paths.edges is None
        check_paths(paths, table)


def test_two_nodes():
    paths = shortest_paths([[0, 3], [0, 0]])
    assert paths.edges is None and paths.distances.tolist() == [3] and paths.n_unreachable == 0


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_graph_without_edges_is_an_error(n, form):
    with pytest.raises(ValueError, match=f"The graph has {n} nodes and no edge"):
        shortest_paths(form(np.eye(n)))


@pytest.mark.parametrize("max_length", [0, -1.5, np.nan, "1", -np.inf])
def test_max_length_that_is_not_positive_is_an_error(max_length):
    with pytest.raises(ValueError, match=r"max_length must be a positive number, got .*Use None"):
        shortest_paths(np.ones((3, 3)), max_length=max_length)


@pytest.mark.parametrize("max_pairs", [0, -3, 2.5, np.nan, "1"])
def test_max_pairs_that_is_no_positive_integer_is_an_error(max_pairs):
    with pytest.raises(ValueError, match=r"max_pairs must be a positive integer, got .*Use None"):
        shortest_paths(np.ones((3, 3)), max_pairs=max_pairs)


@pytest.mark.parametrize("dtype", [int, np.float16, complex])
def test_dtype_that_is_not_float_is_an_error(dtype):
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        shortest_paths(np.ones((3, 3)), dtype=dtype)


@pytest.mark.parametrize(("dtype", "length"), [(np.float32, 1e38), (np.float64, 1e308)])
@pytest.mark.parametrize("other", [1.0, 0.5])
def test_lengths_that_may_overflow_are_an_error(dtype, length, other):
    graph = sp.coo_array(np.diag([length, length * other, length, length], 1))
    with pytest.raises(ValueError, match=r"may overflow float\d\d\. Divide all lengths by 1e\+3"):
        shortest_paths(graph, dtype=dtype)


@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_without_jobs_is_an_error(lengths):
    graph, _ = random_graph(20, 30, lengths, 0)
    with pytest.raises(ValueError, match="n_jobs"):
        shortest_paths(graph, n_jobs=0)


@pytest.mark.parametrize("max_pairs", [None, 3000])
@pytest.mark.parametrize("lengths", [UNWEIGHTED, WEIGHTED])
def test_progress(capsys, monkeypatch, lengths, max_pairs):
    graph, _ = random_graph(200, 600, lengths, 0)
    shortest_paths(graph, max_pairs=max_pairs)
    assert capsys.readouterr() == ("", "")
    pytest.importorskip("tqdm")
    with joblib.parallel_config(backend="threading"):
        shortest_paths(graph, max_pairs=max_pairs, verbose=1, n_jobs=2)
    out, err = capsys.readouterr()
    assert out == "" and "shortest paths: 100%" in err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    shortest_paths(graph, max_pairs=max_pairs, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    first, *_, last = [
        [int(word) for word in line.split() if word.isdigit()] for line in err.splitlines()
    ]
    assert last[0] == last[1] and 0 < first[0] < last[0]


@pytest.mark.parametrize("weight", [None, "weight"])
def test_networkx_agrees(weight):
    networkx = pytest.importorskip("networkx")
    graph = networkx.gnm_random_graph(40, 60, seed=1)
    if weight:
        for k, (_, _, attributes) in enumerate(graph.edges(data=True)):
            attributes["weight"] = k % 4 + 0.5
    graph = networkx.relabel_nodes(graph, {k: f"node {k}" for k in graph})
    lengths = dict(networkx.all_pairs_dijkstra_path_length(graph, weight=weight))
    names = list(graph)
    table = np.array([[lengths[a].get(b, np.inf) for b in names] for a in names])
    check_paths(shortest_paths(graph), table)
