"""Worker processes of joblib: rows for those of a cluster, and their end.

`by_workers` cuts the rows of `transform` for the workers of a Dask cluster, which may be on other
machines. On this machine, threads share the rows, and no process has to be sent the training data.

Worker processes end when their parent process ends.

If a process is killed, loky's workers wait for their next task until they time out, after minutes.
A worker that has called `end_with` checks every second whether its parent is still alive. Tested
by `test_a_signal_during_a_fit_leaves_no_process_behind` (tests/test_fault_injection.py).
"""

from __future__ import annotations

import os
import threading
import time

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from skmde._utils.rows import count_rows, rows_of

_NAME = "skmde: ends with the parent process"
_EVERY = 1.0  # seconds


def end_with(process):
    """Make this process end when its parent, with the given id, ends.

    It does nothing if this process is not a child of the given one.
    """
    if os.getppid() != process or any(thread.name == _NAME for thread in threading.enumerate()):
        return
    threading.Thread(target=_watch, args=(process,), name=_NAME, daemon=True).start()


def _watch(process):
    while os.getppid() == process:
        time.sleep(_EVERY)
    os._exit(1)  # sys.exit would end this thread only


def by_workers(place, X):
    """``place(X)``, by the workers of Dask if joblib's active backend is that of a cluster.

    Parameters
    ----------
    place : callable
        Takes rows and returns coordinates; what it returns for a row depends on that row alone.
        A method of an estimator, which can be pickled.
    X : ndarray, sparse matrix, or pair of ndarray
    """
    backend, n_jobs = get_active_backend()
    count = 1
    if type(backend).__name__ == "DaskDistributedBackend" and not backend.nesting_level:
        count = min(backend.effective_n_jobs(n_jobs), count_rows(X))
    if count < 2:
        return place(X)
    parts = np.array_split(np.arange(count_rows(X)), count)
    return np.concatenate(Parallel()(delayed(place)(rows_of(X, part)) for part in parts))
