import itertools

import numpy as np
import pytest

from skmde.core.batches.arrays import ArrayBatches

P = 1000


def batches_of(pairs, weights=None, *, shuffle=True, batch_size=128, seed=0):
    generator = np.random.default_rng(seed)
    return ArrayBatches(
        pairs, weights, None, batch_size=batch_size, shuffle=shuffle, generator=generator
    )


@pytest.fixture
def file(tmp_path):
    pairs = np.arange(2 * P, dtype=np.int32).reshape(P, 2)
    pairs.tofile(tmp_path / "pairs.bin")
    return np.memmap(tmp_path / "pairs.bin", np.int32, "r", shape=(P, 2))


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_of_a_pass_are_all_pairs_with_their_weights(file, shuffle):
    batches = batches_of(file, np.arange(P, dtype=float), shuffle=shuffle)
    taken = list(itertools.islice(batches, batches.rounds_per_pass))
    pairs = np.concatenate([batch.pairs for batch in taken])
    weights = np.concatenate([batch.weights for batch in taken])
    assert sorted(weights) == list(range(P))
    assert np.array_equal(pairs, file[weights.astype(int)])
    assert np.array_equal(weights, np.arange(P)) == (not shuffle)
    assert max(len(batch.pairs) for batch in taken) <= 128


def test_a_shuffled_batch_has_pairs_from_all_over_the_file(file):
    batch = next(iter(batches_of(file, np.arange(P, dtype=float))))
    assert batch.weights.min() < P / 10 and batch.weights.max() > 0.9 * P
    assert np.histogram(batch.weights, 4, (0, P))[0].min() > 128 / 16


def test_pages_of_a_file_are_given_back(tmp_path):
    count = 1 << 21
    np.zeros((count, 2), np.int32).tofile(tmp_path / "pairs.bin")
    pairs = np.memmap(tmp_path / "pairs.bin", np.int32, "r", shape=(count, 2))

    def mapped():
        with open("/proc/self/smaps") as lines:
            at = itertools.dropwhile(lambda line: "pairs.bin" not in line, lines)
            return next(int(line.split()[1]) for line in at if line.startswith("Rss"))

    try:
        mapped()
    except OSError:
        pytest.skip("the system does not tell what is mapped")
    for _ in itertools.islice(batches_of(pairs, batch_size=count // 8), 8):
        assert mapped() < 1000  # kB, of 16 MB


def test_a_file_that_may_be_written_keeps_its_changes(tmp_path):
    np.zeros((P, 2), np.int32).tofile(tmp_path / "pairs.bin")
    pairs = np.memmap(tmp_path / "pairs.bin", np.int32, "c", shape=(P, 2))
    pairs[:] = 7
    for batch in itertools.islice(batches_of(pairs), 16):
        assert (batch.pairs == 7).all()


@pytest.mark.parametrize(
    ("pairs", "weights", "message"),
    [
        (np.zeros((3, 3), int), None, r"shape \(p, 2\).*got shape \(3, 3\)"),
        (np.zeros((0, 2), int), None, "at least one row"),
        (np.zeros((3, 2)), None, "integers .*float64"),
        (np.zeros((3, 2), int), np.ones(4), r"weights must have shape \(3,\).*\(4,\)"),
    ],
)
def test_wrong_arrays_are_named(pairs, weights, message):
    with pytest.raises(ValueError, match=message):
        batches_of(pairs, weights)
