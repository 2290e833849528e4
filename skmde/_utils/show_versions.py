"""The versions of all packages that may influence skmde's results, for bug reports."""

import importlib.metadata
import platform
import sys

import skmde

_DISTRIBUTIONS = (
    "skmde",
    "scikit-learn",
    "torch",
    "numpy",
    "scipy",
    "numba",
    "pynndescent",
    "joblib",
    "threadpoolctl",
    "faiss-cpu",
    "matplotlib",
    "tqdm",
    "pandas",
    "polars",
)


def _version(distribution: str) -> str:
    if distribution == "skmde":
        return skmde.__version__  # works for a clone that is not installed, too
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def show_versions() -> None:
    """Print the versions of Python, of skmde and of its dependencies, and the devices.

    Paste the output into a bug report. Importing torch to list the devices takes a second.

    Examples
    --------
    >>> import skmde
    >>> skmde.show_versions()
    System
        python: ...
        ...
    """
    import torch

    rows = {"python": sys.version.replace("\n", " "), "machine": platform.platform()}
    print("System")
    for name, value in rows.items():
        print(f"{name:>16}: {value}")
    print("\nPackages")
    for name in _DISTRIBUTIONS:
        print(f"{name:>16}: {_version(name)}")
    print("\ntorch")
    cuda_devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    print(f"{'threads':>16}: {torch.get_num_threads()}")
    print(f"{'CUDA devices':>16}: {', '.join(cuda_devices) or 'none'}")
