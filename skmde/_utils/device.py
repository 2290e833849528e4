"""Which device to compute on."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator

import numpy as np
import torch

# dtypes of numpy that each version of torch knows, in the machine's order of bytes
_KNOWN = frozenset(map(np.dtype, ("?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8")))

# its name before torch 2.5
OutOfMemory = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)


def resolve_device(device: str | torch.device | None) -> torch.device:
    """Convert a ``device`` parameter to a torch device.

    Parameters
    ----------
    device : None, str or torch.device
        None means the CPU. "auto" means a CUDA GPU if there is one, else the CPU. Other strings
        are torch's device names, such as "cpu", "cuda", "cuda:1" or "mps".

    Raises
    ------
    ValueError
        If torch does not know the name or the device is not available.
    """
    if device is None:
        return torch.device("cpu")
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(_message(device)) from error
    there = {name.split(":")[0] for name in available_devices()}
    if wanted.type not in there:
        raise ValueError(_message(device))
    if wanted.type == "cuda":
        if (wanted.index or 0) >= torch.cuda.device_count():
            raise ValueError(_message(device))
        if wanted.index is None:
            wanted = torch.device("cuda", torch.cuda.current_device())
    return wanted


def solving_device(device: torch.device) -> torch.device:
    """The device for sums in float64: the CPU, if the given device has no float64."""
    return device if has_float64(device) else torch.device("cpu")


def is_cpu(where: torch.Tensor | torch.device) -> bool:
    """Whether a tensor is on the CPU, or a device is the CPU.

    No function outside this module reads a device's type.

    Parameters
    ----------
    where : torch.Tensor or torch.device
        The tensor or the device.

    Returns
    -------
    bool
        True for the CPU.
    """
    device = where.device if isinstance(where, torch.Tensor) else where
    return device.type == "cpu"


def empty(shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
    """A tensor without values, of the dtype and on the device of another one.

    On the CPU, numpy allocates it: in large pages, if it is large. torch's memory comes in small
    pages, and the system takes ten times as long to give them.
    """
    if not is_cpu(like):
        return torch.empty(shape, dtype=like.dtype, device=like.device)
    return torch.from_numpy(np.empty(shape, _numpy_dtype(like)))


def zeros(shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
    """The same, of zeros."""
    if not is_cpu(like):
        return torch.zeros(shape, dtype=like.dtype, device=like.device)
    return torch.from_numpy(np.zeros(shape, _numpy_dtype(like)))


def _numpy_dtype(tensor: torch.Tensor) -> np.dtype:
    return tensor[:0].detach().numpy().dtype


def read_numbers(*values: float | torch.Tensor) -> list[float]:
    """Numbers, and those of scalar tensors, which are copied from their device at once.

    Each copy makes the host wait until the device has done all that was asked of it.
    """
    there = [x for x in values if isinstance(x, torch.Tensor) and not is_cpu(x)]
    if not there:
        return [float(x) for x in values]
    copied = iter(torch.stack([x.detach().double() for x in there]).tolist())
    return [
        next(copied) if isinstance(x, torch.Tensor) and not is_cpu(x) else float(x) for x in values
    ]


def known_to_torch(array: np.ndarray) -> np.ndarray:
    """The array in the machine's order of bytes, and in float64 if torch may not know its dtype."""
    native = array.dtype.newbyteorder("=")
    return array.astype(native if native in _KNOWN else np.float64, copy=False)


def as_tensor(array: np.ndarray, device: torch.device | None = None) -> torch.Tensor:
    """The numbers of an array as a tensor on a device, the CPU by default.

    The tensor shares the array's memory if it can. torch wants to be able to write to it, which is
    not so for an array that is mapped into memory.
    """
    usable = np.require(known_to_torch(array), requirements=("C", "W"))
    return torch.from_numpy(usable).to(device)


def has_float64(device: torch.device) -> bool:
    """Whether a device can compute in float64."""
    return device.type != "mps"


def runs_triton(device: torch.device) -> bool:
    """Whether Triton is installed and compiles for a device."""
    return device.type == "cuda" and importlib.util.find_spec("triton") is not None


def runs_cuvs(device: torch.device) -> bool:
    """Whether cuVS is installed and works on a device."""
    return device.type == "cuda" and importlib.util.find_spec("cuvs") is not None


@contextlib.contextmanager
def cpu_by_default() -> Iterator[None]:
    """Make the CPU torch's default device, whatever ``torch.set_default_device`` has set.

    For computations that name the device of each tensor where it is not the CPU.
    """
    if is_cpu(torch.empty(0)):
        yield
        return
    with torch.device("cpu"):
        yield


def available_devices() -> list[str]:
    """Names of this machine's devices."""
    gpus = [f"cuda:{k}" for k in range(torch.cuda.device_count())]
    return ["cpu", *gpus, *(["mps"] if torch.backends.mps.is_available() else [])]


class DeviceMemoryError(MemoryError):
    """A device has no memory left."""


@contextlib.contextmanager
def memory_errors(text: Callable[[], str]) -> Iterator[None]:
    """Turn a device's lack of memory into a MemoryError that says what was needed.

    Of two that are nested, the outer one's text counts.

    Parameters
    ----------
    text : callable
        Returns what was needed, and what lowers the need, as a sentence.
    """
    try:
        yield
    except Exception as error:
        if not _lacks_memory(error):
            raise
        message = f"The GPU has no memory left. {text()} Or set device='cpu'."
        raise DeviceMemoryError(message) from error


def _lacks_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError):  # the host has none, or the message is known
        return isinstance(error, DeviceMemoryError)
    # CUDA's libraries, as that for matrices, allocate memory beside torch; and so does cuVS
    texts = "_ALLOC_FAILED", "out_of_memory"
    return isinstance(error, OutOfMemory) or any(text in str(error) for text in texts)


def _message(device: object) -> str:
    return (
        f"device {device!r} is not available; this machine has {', '.join(available_devices())}. "
        "Use one of these, 'auto' or None."
    )
