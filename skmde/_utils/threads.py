"""The threads that share the work of compiled loops.

Work is cut into a fixed number of pieces by its caller, and the pieces' results are put
together in order, so neither the number of threads nor their timing can change a bit of the
outcome. Kernels release the GIL; plain threads are enough. There is no threading layer that
two callers could clash in, and a forked child starts a pool of its own.

The number of threads is torch's (``torch.get_num_threads()``), which joblib limits inside its
workers; nothing here changes any global setting, except in a child forked after a computation.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_computed = False


def _forget_threads() -> None:
    # a forked child has none of its parent's threads, and may have inherited a held lock
    global _pool, _lock
    _pool = None
    _lock = threading.Lock()
    if _computed:
        # OpenMP would wait for ever for the threads that torch used in the parent: as torch's own
        # data loaders do, let torch compute on one thread in the child
        torch.set_num_threads(1)


os.register_at_fork(after_in_child=_forget_threads)


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            workers = max(1, (os.cpu_count() or 1) - 1)
            _pool = ThreadPoolExecutor(workers, thread_name_prefix="skmde")
        return _pool


def count_threads(n_jobs: int | None = None) -> int:
    """Number of threads for compiled kernels: torch's, or fewer if `n_jobs` says so.

    Parameters
    ----------
    n_jobs : int or None
        None means torch's number. A positive integer is an upper limit. Negative integers
        count from the number of processors, as in joblib: -1 is all of them, -2 all but one.

    Raises
    ------
    ValueError
        If `n_jobs` is 0.
    """
    global _computed
    _computed = True
    if n_jobs is None:
        return max(1, torch.get_num_threads())
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, which has no meaning; use None, a positive integer or -1.")
    cores = os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def even_pieces(start: int, stop: int, count: int) -> list[tuple[int, int]]:
    """Cut ``start:stop`` into `count` consecutive pieces of about the same length."""
    bounds = np.linspace(start, stop, count + 1).astype(np.int64).tolist()
    return list(pairwise(bounds))


def run_pieces(function: Callable[..., Any], pieces: list[Any], n_threads: int) -> list[Any]:
    """Return ``[function(*piece) for piece in pieces]``, computed by several threads.

    The calling thread takes its share, so one thread costs no hand-over, and progress never
    depends on the pool being free.
    """
    if n_threads <= 1 or len(pieces) <= 1:
        return [function(*piece) for piece in pieces]
    results: list[Any] = [None] * len(pieces)
    numbers = iter(range(len(pieces)))  # next() on it is atomic under the GIL

    def work() -> None:
        for k in numbers:
            results[k] = function(*pieces[k])

    pool = _get_pool()
    helpers: list[Future[None]] = [
        pool.submit(work) for _ in range(min(n_threads, len(pieces)) - 1)
    ]
    try:
        work()
    except BaseException:
        for _ in numbers:  # after an error or Ctrl-C nobody begins another piece
            pass
        raise
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    return results


def run_rows(
    function: Callable[[int, int], object], n_rows: int, size: int, n_jobs: int | None
) -> None:
    """Call ``function(start, stop)`` for consecutive pieces of ``range(n_rows)``.

    Parameters
    ----------
    function : callable
        Works on rows ``start`` to ``stop`` and writes its results into arrays of its own.
    n_rows : int
        Number of rows in all.
    size : int
        Rows in one piece.
    n_jobs : int or None
        As for `count_threads`.
    """
    pieces = [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    run_pieces(function, pieces, count_threads(n_jobs))
