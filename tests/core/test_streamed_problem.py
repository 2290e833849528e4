"""Problems whose pairs come from files, functions and iterables."""

import itertools

import numpy as np
import pytest
import torch
from core_problems import random_graph

from skmde import MDE, Anchored, Sphere, StreamedMDE
from skmde.core.solvers.result import Status

N, M, B = 60, 2, 100


def graph():
    return random_graph(np.random.default_rng(0), N, 900)


@pytest.fixture
def files(tmp_path):
    """Pairs and original distances of points in the plane, in memory-mapped files."""
    points = np.random.default_rng(1).standard_normal((N, M))
    pairs = np.stack(np.triu_indices(N, 1), axis=1).astype(np.int32)
    delta = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    for name, array in (("pairs", pairs), ("delta", delta)):
        np.save(tmp_path / f"{name}.npy", array)
    return [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("pairs", "delta")]


def test_pairs_in_files_are_solved_as_those_in_memory(files):
    pairs, delta = files
    problem = StreamedMDE(N, M, pairs, "squared", deviations=delta)
    X = problem.embed(random_state=0)
    start = MDE(N, M, pairs, "squared", deviations=delta)
    unit = start.average_distortion(torch.zeros(N, M))
    assert start.average_distortion(X) < 1e-2 * unit
    assert X.dtype == torch.float64
    assert problem.result.status is Status.ROUNDS
    assert problem.result.n_iter == 100
    assert problem.average_distortion() == pytest.approx(start.average_distortion(X))
    history = problem.result.history.value
    assert history[-1] == problem.value
    # the mean over the last pass, which all batches but the last one share equally
    rounds = len(list(batches_of_a_pass(problem)))
    assert problem.value == pytest.approx(np.mean(history[-1 - rounds : -1]), rel=0.1)


def batches_of_a_pass(problem):
    return problem._raw_batches(None, None, True, np.random.default_rng(0))[0].one_pass()


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_of_distances_do_not_matter(files, scale):
    pairs, delta = files
    first, second = (
        StreamedMDE(N, M, pairs, "squared", deviations=c * delta).embed(n_rounds=20, random_state=0)
        / c
        for c in (1.0, scale)
    )
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


def batches(count=None):
    """Batches of a graph, with weights."""
    edges = np.random.default_rng(0).permutation(graph())
    cuts = [edges[k : k + B] for k in range(0, len(edges), B)]
    return [(cut, np.ones(len(cut), np.float32)) for cut in cuts][:count]


def sampler(k, generator):
    edges = graph()
    return edges[generator.integers(len(edges), size=B)]


class Loader:
    """As a DataLoader: tensors in lists, iterated anew each time."""

    def __iter__(self):
        return iter([[torch.from_numpy(pairs), torch.from_numpy(w)] for pairs, w in batches()])


@pytest.mark.parametrize(
    "pairs",
    [graph(), sampler, batches(), Loader(), itertools.cycle(batches())],
    ids=["array", "callable", "list", "loader", "iterator"],
)
def test_every_source_of_pairs_is_solved(pairs):
    whole = MDE(N, M, graph(), "quadratic", "standardized")
    whole.embed(random_state=0, max_iter=1000)
    problem = StreamedMDE(N, M, pairs, "quadratic", "standardized")
    X = problem.embed(n_rounds=200, random_state=0)
    assert whole.average_distortion(X) < 1.05 * whole.value
    assert problem.value == pytest.approx(whole.value, rel=0.3)  # an iterator: of all rounds
    assert len(problem.result.history.value) == 201


@pytest.mark.parametrize("shuffle", [False, True])
def test_same_seed_gives_the_same_bits(shuffle):
    found = [
        StreamedMDE(N, M, graph(), ("log1p", "log"), n_jobs=n_jobs).embed(
            random_state=5, shuffle=shuffle, n_rounds=10
        )
        for n_jobs in (1, 2)
    ]
    assert torch.equal(*found)
    drawn = [
        StreamedMDE(N, M, sampler, "quadratic", "standardized").embed(random_state=5, n_rounds=5)
        for _ in range(2)
    ]
    assert torch.equal(*drawn)


def test_an_iterator_is_read_once_to_its_end():
    problem = StreamedMDE(N, M, iter(batches()), "quadratic", "standardized")
    problem.embed(random_state=0)
    assert problem.result.n_iter == len(batches())
    assert problem.value == pytest.approx(
        np.average(problem.result.history.value[:-1], weights=[len(p) for p, _ in batches()])
    )
    with pytest.raises(ValueError, match="iterator without any batch; perhaps it was used before"):
        problem.embed(random_state=0)


def test_a_list_is_read_again_after_each_pass():
    problem = StreamedMDE(N, M, batches(3), "quadratic", "standardized")
    problem.embed(random_state=0, n_rounds=7)
    assert problem.result.n_iter == 7
    assert problem.average_distortion() == pytest.approx(
        MDE(N, M, np.concatenate([p for p, _ in batches(3)]), "quadratic").average_distortion(
            problem.X
        )
    )


def test_an_iterator_that_ends_early_is_an_error():
    problem = StreamedMDE(N, M, iter(batches(3)), "quadratic", "standardized")
    with pytest.raises(ValueError, match="ended after 3 batches, but n_rounds is 4"):
        problem.embed(n_rounds=4)


def test_errors_of_a_sampler_reach_the_user_with_the_round():
    class BrokenError(Exception):
        pass

    def failing(k, generator):
        if k == 2:
            raise BrokenError("the disk is gone")
        return sampler(k, generator)

    with pytest.raises(BrokenError, match="the disk is gone") as caught:
        StreamedMDE(N, M, failing, "quadratic", "standardized").embed()
    assert "round 2" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((4, 3), int), r"round 1: .*shape \(p, 2\).*\(4, 3\)"),
        (np.zeros((0, 2), int), "round 1: .*at least one row"),
        (np.array([[0, N]]), f"round 1: edges name item {N}"),
        (np.array([[-1, 2]]), "round 1: edges name item -1"),
        (np.array([[3, 3]]), "round 1: edge 0 pairs item 3 with itself"),
        (np.array([[0.5, 1]]), "round 1: edges must hold integers"),
        ((np.array([[0, 1]]), np.ones(2)), r"round 1: weights must have shape \(1,\)"),
        ((np.array([[0, 1]]), np.array([np.nan])), "round 1: weights holds 1 values that are NaN"),
        ((np.array([[0, 1]]), None, np.ones(1)), "round 1: .*is a penalty"),
        ((np.array([[0, 1]]),) * 4, "tuple of 4"),
        (None, "round 1: "),
    ],
)
def test_wrong_batches_are_named_by_their_round(wrong, message):
    given = [graph()[:B], wrong]
    problem = StreamedMDE(N, M, given, "quadratic", "standardized")
    with pytest.raises((ValueError, TypeError), match=message):
        problem.embed(n_rounds=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 0}, "n_items must be a positive integer"),
        ({"pairs": 3}, "pairs must be an array, a callable or an iterable; got int"),
        ({"pairs": sampler, "weights": np.ones(3)}, "weights and deviations are arrays beside an"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    given = {"n_items": N, "n_components": M, "pairs": graph(), "distortion": "quadratic"}
    with pytest.raises((ValueError, TypeError), match=message):
        StreamedMDE(**given | arguments)


def test_wrong_settings_are_named():
    problem = StreamedMDE(N, M, graph(), "quadratic", "standardized")
    with pytest.raises(ValueError, match="n_rounds must be a positive integer; got 0"):
        problem.embed(n_rounds=0)
    with pytest.raises(ValueError, match="starting point X must have shape"):
        problem.embed(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="batch_size=5 is for pairs from an array"):
        StreamedMDE(N, M, sampler, "quadratic").embed(batch_size=5)
    with pytest.raises(ValueError, match="no batch"):
        StreamedMDE(N, M, [], "quadratic").embed()
    sphere = Sphere(1.0, great_circle=True)
    with pytest.raises(ValueError, match=r"round 0: .*deviations are missing"):
        StreamedMDE(N, 3, graph(), "quadratic", sphere).embed()


def test_what_needs_all_pairs_says_so():
    problem = StreamedMDE(N, M, sampler, "quadratic", "standardized")
    assert not hasattr(problem, "distances")
    with pytest.raises(AttributeError, match="no 'distortions', since its pairs are never in"):
        problem.distortions()
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        problem.frobnicate()
    with pytest.raises(ValueError, match="call embed"):
        problem.average_distortion()
    problem.embed(n_rounds=2)
    with pytest.raises(ValueError, match="gives them only once"):
        problem.average_distortion()


def test_anchors_and_given_starts_are_used():
    points = np.random.default_rng(1).standard_normal((N, M))
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    delta = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    anchors = Anchored(np.arange(10), points[:10])
    problem = StreamedMDE(N, M, pairs, "squared", anchors, deviations=delta)
    start = points + 0.1 * np.random.default_rng(0).standard_normal((N, M))
    X = problem.embed(start, random_state=0).numpy()
    assert np.array_equal(X[:10], points[:10])
    assert np.abs(X - points).max() < 0.02


def test_memory_does_not_depend_on_the_number_of_pairs(tmp_path):
    tracemalloc = pytest.importorskip("tracemalloc")
    peaks = []
    for count in (1 << 18, 1 << 21):
        pairs = np.zeros((count, 2), np.int32)
        pairs[:, 1] = 1 + np.arange(count) % (N - 1)
        pairs.tofile(tmp_path / "pairs.bin")
        del pairs
        mapped = np.memmap(tmp_path / "pairs.bin", np.int32, "r", shape=(count, 2))
        problem = StreamedMDE(N, M, mapped, "quadratic", "standardized")
        tracemalloc.start()
        problem.embed(batch_size=1 << 16, n_rounds=3, random_state=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
