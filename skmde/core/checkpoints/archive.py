"""The file of a checkpoint: one JSON text and any number of arrays, in a zip archive.

The archive is one of ``numpy.savez``, whose first entry is the text. Nothing in it is run when it
is read, and a checksum guards each entry. A file is written beside the one that it replaces, and
renamed when it is on the disk: so there is a whole file at any time, the old one or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

_HEADER = "header.json"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file.

    Raises
    ------
    ValueError
        If the file is none that `write` wrote, or is damaged.
    """
    advice = "Give another path, or delete the file to start anew."
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a checkpoint, or it is incomplete. {advice}")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if _HEADER not in names:
                raise ValueError(f"{path} is an archive, but not a checkpoint. {advice}")
            header = json.JSONDecoder().decode(archive.read(_HEADER).decode())
            arrays = {}
            for name in names:
                if name != _HEADER:
                    with archive.open(name) as entry:
                        array = np.lib.format.read_array(entry, allow_pickle=False)
                        entry.read()  # to the end, where the checksum is compared
                    arrays[name.removesuffix(".npy")] = array
    except (zipfile.BadZipFile, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is a damaged checkpoint: {error}. {advice}") from error
    return header, arrays


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file by another one, at once.

    Raises
    ------
    OSError
        If the disk is full, or the folder cannot be written to. The former file is as it was.
    """
    text = json.dumps(header).encode()
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
