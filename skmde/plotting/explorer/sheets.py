"""Images of items, side by side on a few sheets that a browser decodes one at a time."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

SIDE_OF_SHEET = 2048  # pixels; phones decode no image of a hundred million
LARGEST_SIDE = 96  # pixels of an item's image; larger ones are made smaller
# Shades of grey. With 256 of them MNIST's file is a third larger, and looks the same.
SHADES = 32


def make_sheets(images: Any, n: int) -> tuple[dict[str, Any], list[str]]:
    """Lay out one image for each item.

    Parameters
    ----------
    images : array-like of shape (n, height, width), or (n, height, width, 1, 3 or 4)
        Grey, RGB or RGBA values: uint8, booleans, or other numbers, whose range becomes black to
        white.
    n : int
        Number of items.

    Returns
    -------
    about : dict
        Sizes, and the type of the files.
    sheets : list of str
        The files, in base64.
    """
    image_module, webp = _pillow()
    array = _checked(images, n)
    scaled = _to_bytes(array)
    height, width = array.shape[1:3]
    shrink = min(1.0, LARGEST_SIDE / max(height, width))
    size = max(1, round(width * shrink)), max(1, round(height * shrink))
    columns, rows = max(1, SIDE_OF_SHEET // size[0]), max(1, SIDE_OF_SHEET // size[1])
    columns = min(columns, math.ceil(math.sqrt(n)))
    per_sheet = columns * rows
    is_grey = array.ndim == 3

    def encode(start: int) -> str:
        block = scaled(array[start : start + per_sheet])
        if shrink < 1:
            block = np.stack([np.asarray(image_module.fromarray(x).resize(size)) for x in block])
        if is_grey:
            block = np.round(block / 255 * (SHADES - 1)) * (255 / (SHADES - 1))
        sheet = image_module.fromarray(_tiled(block.astype(np.uint8), columns))
        file = io.BytesIO()
        if not webp:
            sheet.save(file, format="PNG", optimize=True)
        elif is_grey:
            sheet.save(file, format="WEBP", lossless=True)
        else:
            sheet.save(file, format="WEBP", quality=80)
        return base64.b64encode(file.getvalue()).decode("ascii")

    # Pillow compresses without the interpreter's lock
    with ThreadPoolExecutor(max_workers=4) as pool:
        sheets = list(pool.map(encode, range(0, n, per_sheet)))
    about = {
        "width": size[0],
        "height": size[1],
        "columns": columns,
        "per_sheet": per_sheet,
        "type": "image/webp" if webp else "image/png",
    }
    return about, sheets


def _pillow() -> tuple[Any, bool]:
    try:
        from PIL import Image, features
    except ImportError as error:
        raise ImportError(
            "images are packed with Pillow, which is not installed. Install it with "
            "pip install 'skmde[plot]', or leave images out."
        ) from error
    return Image, bool(features.check("webp"))


def _checked(images: Any, n: int) -> np.ndarray:
    wanted = "(n, height, width), or (n, height, width, 3) for colours"
    if isinstance(images, list | tuple):
        shapes = sorted({np.shape(image) for image in images})
        if len(shapes) > 1:
            raise ValueError(
                f"images have different shapes, among them {shapes[0]} and {shapes[1]}. "
                "Bring them to one size first."
            )
    array = np.asarray(images)
    if array.dtype.kind not in "buif":
        raise ValueError(f"images has entries of type {array.dtype}; expected numbers, {wanted}.")
    if array.ndim == 2:
        side = math.isqrt(array.shape[1])
        shape = f"({side}, {side})" if side * side == array.shape[1] else "(height, width)"
        raise ValueError(
            f"images has shape {array.shape}; expected {wanted}. If each row is an image of shape "
            f"{shape}, give images.reshape(len(images), *{shape})."
        )
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[..., 0]
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[3] not in (3, 4)):
        raise ValueError(f"images has shape {array.shape}; expected {wanted}.")
    if len(array) != n:
        raise ValueError(
            f"images has {len(array)} entries, but the embedding has {n} rows. "
            "Give one image for each item."
        )
    if 0 in array.shape:
        raise ValueError(f"images has shape {array.shape}: the images have no pixels.")
    return array


def _to_bytes(array: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what maps a part of the images to uint8, with one scale for all of them."""
    if array.dtype == np.uint8:
        return lambda part: part
    if array.dtype == bool:
        return lambda part: part.astype(np.uint8) * 255
    if array.dtype.kind == "f":
        finite = np.isfinite(array)
        low = float(array.min(where=finite, initial=np.inf))
        high = float(array.max(where=finite, initial=-np.inf))
    else:
        low, high = float(array.min()), float(array.max())
    if not low < high:
        return lambda part: np.zeros(part.shape, dtype=np.uint8)

    def scale(part: np.ndarray) -> np.ndarray:
        # pixels without a number are black
        share = (np.asarray(part, dtype=np.float64) - low) / (high - low)
        return np.round(255 * np.clip(np.nan_to_num(share, nan=0.0), 0, 1)).astype(np.uint8)

    return scale


def _tiled(block: np.ndarray, columns: int) -> np.ndarray:
    rows = math.ceil(len(block) / columns)
    shape = block.shape[1:]
    full = np.zeros((rows * columns, *shape), dtype=np.uint8)
    full[: len(block)] = block
    grid = full.reshape(rows, columns, *shape).swapaxes(1, 2)
    return grid.reshape(rows * shape[0], columns * shape[1], *shape[2:])
