"""Arrays and texts as the page reads them: base64, and JSON that is safe inside HTML."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

# In a <script> "<" could end it, and old browsers take the separators for ends of lines.
# Everything beyond ASCII is escaped by json, the separators with it.
_ESCAPES = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})


def pack(values: np.ndarray) -> dict[str, str]:
    """Return an array's type and its bytes, little-endian, in base64."""
    plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return {"type": values.dtype.name, "base64": base64.b64encode(plain.tobytes()).decode("ascii")}


def pack_codes(codes: np.ndarray, count: int) -> dict[str, str]:
    """Pack integers from 0 to ``count - 1`` in the smallest type that holds them."""
    return pack(codes.astype(np.min_scalar_type(max(count - 1, 0))))


def to_json(value: Any) -> str:
    """Return JSON in ASCII, without a character that means something in HTML."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
