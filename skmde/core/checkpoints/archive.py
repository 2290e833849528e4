"""The file of a checkpoint: one JSON text and any number of arrays, in a zip archive.

The archive is one of ``numpy.savez``, whose first entry is the text. Nothing in it is run when it
is read, and a checksum guards each entry. A file is written beside the one that it replaces, and
renamed when it is on the disk: so there is a whole file at any time, the old one or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

_HEADER = "header.json"
_ADVICE = "Give another path, or delete the file to start anew."
_DAMAGES = (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file.

    Raises
    ------
    ValueError
        If the file is none that `write` wrote, or is damaged.
    """
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} is not a checkpoint, or it is incomplete. {_ADVICE}")
        try:
            parts = _entries(file)
            text = json.JSONDecoder().decode(parts.pop(_HEADER).decode())
            arrays = {
                name: np.lib.format.read_array(io.BytesIO(parts[f"{name}.npy"]))
                for name in text["arrays"]
            }
        except (KeyError, TypeError):
            raise ValueError(f"{path} is an archive, but not a checkpoint. {_ADVICE}") from None
        except _DAMAGES as error:
            raise ValueError(damaged(path, error)) from error
    return text["header"], arrays


def _entries(file: IO[bytes]) -> dict[str, bytes]:
    """The entries of an archive, whose checksums are right."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def damaged(path: Path, error: Exception) -> str:
    """What to say of a file that cannot be read."""
    return f"{path} is a damaged checkpoint: {error}. {_ADVICE}"


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file by another one, at once.

    Raises
    ------
    OSError
        If the disk is full, or the folder cannot be written to. The former file is as it was.
    """
    text = json.dumps({"arrays": list(arrays), "header": header}).encode()
    beside = path.with_name(path.name + ".part")
    try:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()  # of a process that was killed
        with open(beside, "xb") as file:
            store(file, text, arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        _sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            needed = len(text) + sum(array.nbytes for array in arrays.values())
            raise type(error)(error.errno, _why_not(error, path, needed), str(path)) from error
        raise


def store(file: IO[bytes], text: bytes, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the archive to an open file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_HEADER, text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _why_not(error: OSError, path: Path, needed: int) -> str:
    former = "there is none yet" if not path.exists() else "the former one is as it was"
    if error.errno in _NO_ROOM:
        free = ""
        with contextlib.suppress(OSError):
            free = f", {shutil.disk_usage(path.parent).free:,} are free"
        return (
            f"no room for the checkpoint: it needs {needed:,} bytes{free}; {former}. Make room and "
            "fit again to resume, or give a path on another disk"
        )
    return f"the checkpoint could not be written ({error.strerror}); {former}"


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, too, where the system can do that."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(handle)
