"""Types of the public signatures."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from skmde.functions.base import Loss, Penalty

# Rows, distances or graphs: numpy, scipy.sparse, pandas, polars, torch, networkx, lists.
Data = Any
PenaltyLike = str | Penalty | Callable[..., torch.Tensor]
LossLike = str | Loss | Callable[..., torch.Tensor]
Metric = str | Callable[..., float]
Parameters = dict[str, Any]
RandomState = int | np.random.RandomState | None
Device = str | torch.device | None
Callbacks = list[Callable[..., Any]]
Path = str | os.PathLike[str]
