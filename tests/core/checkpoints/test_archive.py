"""The file of a checkpoint: whole or refused, whatever happens to it or to its writer."""

import errno
import io
import os
import zipfile

import numpy as np
import pytest

from skmde.core.checkpoints import archive

HEADER = {"number": 0.1, "name": "a", "nothing": None, "nan": float("nan")}
ARRAYS = {
    "0/X": np.random.default_rng(0).standard_normal((10, 2)).astype(np.float32),
    "0/empty": np.empty((0, 3)),
    "1/numbers": np.arange(5),
}


def test_what_is_read_is_what_was_written(tmp_path):
    path = tmp_path / "a"
    for header in ({}, HEADER):  # the second replaces the first
        archive.write(path, header, ARRAYS)
    header, arrays = archive.read(path)
    assert repr(header) == repr(HEADER)
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
    assert os.listdir(tmp_path) == ["a"]


def test_an_incomplete_file_is_refused_wherever_it_ends(tmp_path):
    path = tmp_path / "a"
    archive.write(path, HEADER, ARRAYS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not a checkpoint, or it is incomplete"):
            archive.read(path)


def test_a_changed_byte_is_refused_or_changes_nothing(tmp_path):
    path = tmp_path / "a"
    archive.write(path, HEADER, ARRAYS)
    whole, refused = path.read_bytes(), 0
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            header, arrays = archive.read(path)
        except ValueError as error:
            refused += 1
            assert str(path) in str(error)
            continue
        assert repr(header) == repr(HEADER)
        values = [arrays[name].tobytes() for name in arrays]
        assert values == [array.tobytes() for array in ARRAYS.values()]
    assert refused > len(whole) / 10


def test_other_files_are_refused_and_stay_as_they_are(tmp_path):
    path = tmp_path / "a"
    np.savez(tmp_path / "b.npz", X=np.zeros(3))
    with zipfile.ZipFile(tmp_path / "c", "w") as file:
        file.writestr("header.json", "no JSON")
    for content, message in (
        (b"", "not a checkpoint"),
        (b"text of the user", "not a checkpoint"),
        ((tmp_path / "b.npz").read_bytes(), "an archive, but not a checkpoint"),
        ((tmp_path / "c").read_bytes(), "a damaged checkpoint"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            archive.read(path)
        assert path.read_bytes() == content


def test_objects_are_not_unpickled(tmp_path):
    path, file = tmp_path / "a", io.BytesIO()
    np.lib.format.write_array(file, np.array([{}], dtype=object))
    with zipfile.ZipFile(path, "w") as found:
        found.writestr("header.json", '{"arrays": ["0/X"], "header": {}}')
        found.writestr("0/X.npy", file.getvalue())
    with pytest.raises(ValueError, match="damaged"):
        archive.read(path)


@pytest.mark.parametrize("fails", ["store", "fsync"])
def test_a_full_disk_leaves_the_former_file(tmp_path, monkeypatch, fails):
    path = tmp_path / "a"
    archive.write(path, HEADER, ARRAYS)

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*((archive, "store") if fails == "store" else (os, "fsync")), full)
    message = r"it needs 64,\d{3} bytes, [\d,]+ are free; the former one"
    with pytest.raises(OSError, match=message) as raised:
        archive.write(path, {}, {"0/X": np.zeros(8000)})
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.filename == str(path)
    monkeypatch.undo()
    assert repr(archive.read(path)[0]) == repr(HEADER)
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_device_that_is_full_raises_its_error():
    with pytest.raises(OSError) as raised, open("/dev/full", "wb") as file:
        archive.store(file, b"{}", {"0/X": np.zeros(100_000)})
    assert raised.value.errno == errno.ENOSPC


def test_an_interrupted_write_leaves_the_former_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    archive.write(path, HEADER, ARRAYS)
    (tmp_path / "a.part").write_bytes(b"of a process that was killed")

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        archive.write(path, {}, {})
    assert repr(archive.read(path)[0]) == repr(HEADER)
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_in_the_way_of_the_new_file_is_not_followed(tmp_path):
    (tmp_path / "other").write_bytes(b"of another user")
    (tmp_path / "a.part").symlink_to(tmp_path / "other")
    archive.write(tmp_path / "a", HEADER, ARRAYS)
    assert (tmp_path / "other").read_bytes() == b"of another user"
