"""One writer at a time; a writer that is gone holds nothing."""

import errno
import os

import pytest

from skmde.core.checkpoints import lock
from skmde.core.checkpoints.lock import locked


def test_a_second_holder_is_refused_until_the_first_one_ends(tmp_path):
    path = tmp_path / "a"
    with locked(path):
        with pytest.raises(
            BlockingIOError, match="another fit is writing this checkpoint"
        ) as raised:
            with locked(path):
                pass
        assert raised.value.filename == str(path)
        with locked(tmp_path / "b"):
            pass
    with locked(path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_file_that_was_left_does_not_block(tmp_path):
    (tmp_path / "a.lock").touch()
    with locked(tmp_path / "a"):
        pass


def test_a_lock_file_that_was_deleted_meanwhile_is_made_again(tmp_path, monkeypatch):
    path, lock_it, calls = tmp_path / "a", lock._lock, []

    def late(handle):
        if not calls:  # the former holder ends between the opening and the locking
            (tmp_path / "a.lock").unlink()
        calls.append(handle)
        lock_it(handle)

    monkeypatch.setattr(lock, "_lock", late)
    with locked(path):
        assert len(calls) == 2
        with pytest.raises(BlockingIOError):
            with locked(path):
                pass


def test_errors_of_the_folder_name_the_path(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="the folder of the checkpoint does not exist"):
        with locked(tmp_path / "none" / "a"):
            pass

    def refuse(*args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(lock.os, "open", refuse)
    with pytest.raises(
        PermissionError, match=r"cannot be written to \(Permission denied"
    ) as raised:
        with locked(tmp_path / "a"):
            pass
    assert raised.value.filename == str(tmp_path / "a")


may_write_anywhere = not hasattr(os, "geteuid") or os.geteuid() == 0


@pytest.mark.skipif(may_write_anywhere, reason="root may write to each folder")
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written to"):
        with locked(tmp_path / "a"):
            pass


def test_a_file_system_without_locks_gives_a_warning(tmp_path, monkeypatch):
    def unsupported(handle):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(lock, "_lock", unsupported)
    with pytest.warns(UserWarning, match="has no locks"):
        with locked(tmp_path / "a"):
            pass
