"""Copies of data on the disk: they stay on the disk too.

Rows of a :class:`numpy.memmap` may be more than memory holds. Where they have to be converted, the
converted rows go to a temporary file, which is mapped into memory like the data. The system drops
its pages when memory runs short. The file goes with the array.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["empty_like_data", "is_on_disk"]

_LARGE_BYTES = 1 << 26  # smaller copies are in memory


def is_on_disk(array: Any) -> bool:
    """Whether the numbers of an array, or of what it is a view of, are those of a mapped file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return isinstance(array, mmap.mmap)


def empty_like_data(X: np.ndarray, shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
    """An array to fill with converted data: on the disk if they are, and if it is large.

    Parameters
    ----------
    X : ndarray
        The data.
    shape : tuple of int
    dtype : numpy dtype

    Returns
    -------
    out : ndarray of shape `shape`

    Raises
    ------
    OSError
        If the folder of temporary files has too little room.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size <= _LARGE_BYTES or not is_on_disk(X):
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="skmde-") as file:
        try:
            _reserve(file, size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"X is a memory-mapped file of {X.dtype}, which is converted to {dtype}. The "
                f"result needs {size:,} bytes in {tempfile.gettempdir()}, where there is no room "
                f"for them: {error.strerror}. Store X as a file of float32 numbers, or set the "
                "environment variable TMPDIR to a folder with more room",
            ) from error
        numbers = mmap.mmap(file.fileno(), size)
    return np.ndarray(shape, dtype, buffer=numbers)


def _reserve(file: Any, size: int) -> None:
    """Give a file its size; a page without room on the disk would end the process later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    piece = bytes(1 << 24)
    for start in range(0, size, len(piece)):
        file.write(piece[: size - start])
    file.flush()
