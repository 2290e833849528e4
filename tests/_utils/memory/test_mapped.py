"""Converted copies of mapped data are mapped too, and belong to nobody else."""

import errno
import pickle

import joblib
import numpy as np
import pytest

from skmde import PreserveNeighbors
from skmde._linalg.scaling import Scaling, unit_rows
from skmde._utils.memory import mapped
from skmde._utils.memory.mapped import empty_like_data, is_on_disk


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """Far from the origin, so that the rows have to be shifted."""
    monkeypatch.setattr(mapped, "_LARGE_BYTES", 0)
    X = np.random.default_rng(0).standard_normal((200, 5)) + 1e4
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_what_is_on_disk(on_disk):
    assert is_on_disk(on_disk)
    assert is_on_disk(np.asarray(on_disk)[3:, ::2])
    assert not is_on_disk(np.array(on_disk))
    assert not is_on_disk([1.0])


def test_converted_rows_are_on_disk_and_equal_those_in_memory(on_disk):
    scaling = Scaling.fit(on_disk, shift=True, scale=True)
    assert scaling.center is not None
    for dtype in (np.float32, np.float64):
        Z = scaling.apply(on_disk, dtype)
        assert is_on_disk(Z)
        np.testing.assert_array_equal(Z, scaling.apply(np.array(on_disk), dtype))
        U, _ = unit_rows(on_disk, dtype, center=True)
        assert is_on_disk(U)
        np.testing.assert_array_equal(U, unit_rows(np.array(on_disk), dtype, center=True)[0])


def test_small_copies_are_in_memory(on_disk, monkeypatch):
    monkeypatch.setattr(mapped, "_LARGE_BYTES", 1 << 20)
    assert not is_on_disk(empty_like_data(on_disk, on_disk.shape, np.float32))


def test_a_copy_can_be_written_pickled_and_sent_to_processes(on_disk):
    Z = empty_like_data(on_disk, on_disk.shape, np.float32)
    Z[:] = on_disk
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(Z)), Z)
    sums = joblib.Parallel(n_jobs=2, max_nbytes=0)(joblib.delayed(np.sum)(Z) for _ in range(2))
    assert sums == [Z.sum()] * 2


def test_a_fit_is_that_in_memory(on_disk):
    fitted = PreserveNeighbors(random_state=0, max_iter=20, n_neighbors=5)
    Y = fitted.fit_transform(on_disk)
    here = PreserveNeighbors(random_state=0, max_iter=20, n_neighbors=5)
    np.testing.assert_array_equal(Y, here.fit_transform(np.array(on_disk)))
    unseen = np.array(on_disk[:3]) + 0.1
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(unseen), here.transform(unseen))


def test_a_full_disk_is_told_before_anything_is_written(on_disk, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(mapped.os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match=r"needs 4,000 bytes in .*: No space left.*TMPDIR"):
        empty_like_data(on_disk, on_disk.shape, np.float32)


def test_without_fallocate_the_file_is_written(on_disk, monkeypatch):
    monkeypatch.delattr(mapped.os, "posix_fallocate", raising=False)
    Z = empty_like_data(on_disk, on_disk.shape, np.float32)
    Z[:] = on_disk
    assert is_on_disk(Z)
    np.testing.assert_array_equal(Z, np.array(on_disk, np.float32))
