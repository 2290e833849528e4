"""A replacement for ``scvi.model.utils.mde``: one call from latent vectors to an embedding.

The original called PyMDE's ``preserve_neighbors`` and was removed in scvi-tools 1.2.2. Existing
code works with ``from skmde import mde``; the defaults are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skmde.constraints import Anchored
from skmde.estimators import PreserveNeighbors
from skmde.estimators.base.typing import Data

__all__ = ["mde"]

_DEFAULTS = {
    "n_components": 2,
    "constraint": "standardized",
    "repulsive_fraction": 0.7,
}
_N_NEIGHBORS = 15
_SEARCHES = {None: "auto", "exact": "exact", "approximate": "pynndescent"}


def mde(
    data: Data,
    device: int | str | torch.device | None = None,
    seed: int | None = None,
    *,
    accelerator: str = "auto",
    **kwargs: Any,
) -> np.ndarray:
    """Embed latent vectors for a plot; replaces the function of the same name in scvi-tools.

    It fits :class:`~skmde.PreserveNeighbors` with the defaults of scvi-tools: two standardized
    columns, 15 neighbours (all others, if there are fewer), and 0.7 repulsive pairs for each pair
    of neighbours. Use the estimator itself to place unseen rows later.

    Parameters
    ----------
    data : array-like, sparse matrix, tensor or data frame of shape (n_obs, n_features)
        Latent vectors, such as ``adata.obsm["X_scVI"]`` or principal components.
    device : int, str, torch.device or None, default=None
        Device of the solver: "cpu", "cuda", "gpu" (the same as "cuda"), or the index of a GPU. None
        and "auto" use a GPU if there is one.
    seed : int or None, default=None
        Seed of the random numbers. With an integer, the same data give the same embedding. None
        uses a fresh seed.
    accelerator : {"auto", "cpu", "gpu", "cuda"}, default="auto"
        Type of device, for code that passes it in this argument. "cpu" overrides `device`.
    **kwargs : dict
        Parameters of :class:`~skmde.PreserveNeighbors`, or of ``pymde.preserve_neighbors``:
        `embedding_dim` is translated to `n_components` and `knn_method` to `neighbors_algorithm`.
        PyMDE's constraints are accepted.

    Returns
    -------
    embedding : ndarray of shape (n_obs, n_components)
        The embedding, in the float dtype of `data`.

    Raises
    ------
    TypeError
        If an argument is unknown or given under two names, or if a penalty is an object of PyMDE.
        The message names the replacement.
    ValueError
        If a device is not available, or if the data or a parameter are invalid.

    See Also
    --------
    PreserveNeighbors : The estimator, with `transform` for unseen rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmde import mde
    >>> X, _ = load_digits(return_X_y=True)
    >>> mde(X[:300], device="cpu", seed=0).shape
    (300, 2)
    """
    options = dict(kwargs)
    if "knn_method" in options:
        options["knn_method"] = _search(options["knn_method"])
    for theirs, ours in (("embedding_dim", "n_components"), ("knn_method", "neighbors_algorithm")):
        _rename(options, theirs, ours)
    if seed is not None and "random_state" in options:
        raise TypeError("mde() got both 'seed' and 'random_state', which are the same; pass one.")
    for name in ("attractive_penalty", "repulsive_penalty"):
        _refuse_pymde_penalty(name, options.get(name))
    if "constraint" in options:
        options["constraint"] = _own_constraint(options["constraint"])
    n_neighbors = max(1, min(_N_NEIGHBORS, _n_rows(data) - 1))
    options = {**_DEFAULTS, "n_neighbors": n_neighbors, "random_state": seed, **options}
    estimator = PreserveNeighbors(device=_device_name(device, accelerator), **options)
    # fit_transform could return a data frame, depending on scikit-learn's configuration.
    return estimator.fit(data).embedding_


def _n_rows(data: Any) -> int:
    """Number of rows of an array, a table, a graph, or a pair of neighbour tables."""
    rows = data[0] if isinstance(data, tuple) else data
    return int(rows.shape[0]) if getattr(rows, "shape", ()) else len(rows)


def _rename(options: dict[str, Any], theirs: str, ours: str) -> None:
    if theirs not in options:
        return
    if ours in options:
        raise TypeError(
            f"mde() got both {theirs!r} and {ours!r}, which are the same; pass {ours!r} only."
        )
    options[ours] = options.pop(theirs)


def _search(method: Any) -> str:
    if method not in _SEARCHES:
        raise ValueError(
            f"knn_method must be 'exact', 'approximate' or None; got {method!r}. Use "
            "neighbors_algorithm for other algorithms."
        )
    return _SEARCHES[method]


def _is_of_pymde(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).split(".")[0] == "pymde"


def _refuse_pymde_penalty(name: str, value: Any) -> None:
    """Raise an error for a penalty of PyMDE, which is built from weights."""
    if _is_of_pymde(value) or _is_of_pymde(getattr(value, "func", None)):
        known = getattr(value, "func", value)
        theirs = getattr(known, "__name__", type(known).__name__)
        ours = {"InvPower": "InversePower"}.get(theirs, theirs)
        raise TypeError(
            f"{name} is PyMDE's {theirs}, which is built from weights; use {name}=skmde.{ours}(), "
            "with the same parameters but without weights."
        )


def _own_constraint(constraint: Any) -> Any:
    """The skmde equivalent of a PyMDE constraint; any other value unchanged."""
    if not _is_of_pymde(type(constraint)):
        return constraint
    kind = type(constraint).__name__.lstrip("_")
    if kind in ("Standardized", "Centered"):
        return kind.lower()
    if kind == "Anchored":
        return Anchored(constraint.anchors, constraint.values)
    raise TypeError(
        f"constraint is PyMDE's {kind}, which skmde does not have; derive a subclass of "
        "skmde.Constraint."
    )


def _device_name(device: Any, accelerator: str) -> Any:
    if accelerator not in ("auto", "cpu", "gpu", "cuda"):
        raise ValueError(
            f"accelerator must be 'auto', 'cpu', 'gpu' or 'cuda'; got {accelerator!r}."
        )
    if accelerator == "cpu":
        return "cpu"
    if isinstance(device, int | np.integer) or (isinstance(device, str) and device.isdigit()):
        return f"cuda:{int(device)}"
    if device in (None, "auto"):
        return "auto" if accelerator == "auto" else "cuda"
    return "cuda" if device == "gpu" else device
