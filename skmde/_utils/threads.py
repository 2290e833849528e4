"""The threads that run compiled loops in parallel.

The caller cuts the work into a fixed number of pieces, and their results are combined in order.
So neither the number of threads nor their timing changes a bit of the result. Kernels release the
GIL, so plain threads suffice. Callers share no threading layer in which they could conflict, and
a forked child starts a new pool. The bits of BLAS depend on its number of threads: see
:func:`one_blas_thread`.

The number of threads is torch's (``torch.get_num_threads()``), which joblib limits in its
workers. Nothing here changes a global setting, except :func:`one_blas_thread` while its block runs,
and a child forked after a computation.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_computed = False
_blas_lock = threading.RLock()


def _forget_threads() -> None:
    # a forked child has none of its parent's threads, and the lock that it inherits may be held
    global _pool, _lock, _blas_lock
    _pool = None
    _lock, _blas_lock = threading.Lock(), threading.RLock()
    if _computed:
        # OpenMP would wait forever for the threads that torch used in the parent. So torch uses
        # one thread in the child, as in torch's own data loaders.
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
    """Number of threads for compiled kernels.

    Parameters
    ----------
    n_jobs : int or None
        None means torch's number of threads. A positive integer is the number itself. Negative
        integers count from the number of processors, as in joblib: -1 is all of them, -2 all but
        one.

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


@lru_cache(maxsize=256)  # a solve asks for the same few in each iteration
def even_pieces(start: int, stop: int, count: int) -> tuple[tuple[int, int], ...]:
    """Cut ``start:stop`` into `count` consecutive pieces of about the same length."""
    bounds = np.linspace(start, stop, count + 1).astype(np.int64).tolist()
    return tuple(pairwise(bounds))


def run_pieces(function: Callable[..., Any], pieces: Sequence[Any], n_threads: int) -> list[Any]:
    """Return ``[function(*piece) for piece in pieces]``, computed by several threads.

    The calling thread also computes pieces. So one thread needs no pool, and the work proceeds
    even if all threads of the pool are busy.
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
        for _ in numbers:  # after an error or Ctrl-C, no thread starts another piece
            pass
        raise
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    return results


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # it takes milliseconds to find the libraries


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS and LAPACK compute with one thread.

    The last bits of their products and eigenvectors depend on the number of threads; and several
    threads make small problems slower. The limit holds for the whole process, so one thread has it
    at a time: if two overlapped, the first to end would lift that of the other. The block must not
    wait for another thread that asks for it.
    """
    with _blas_lock, _blas().limit(limits=1, user_api="blas"):
        yield


def run_rows(
    function: Callable[[int, int], object], n_rows: int, size: int, n_jobs: int | None
) -> None:
    """Call ``function(start, stop)`` for consecutive pieces of ``range(n_rows)``.

    Parameters
    ----------
    function : callable
        Processes the rows ``start:stop`` and stores its results itself.
    n_rows : int
        Total number of rows.
    size : int
        Number of rows in a piece.
    n_jobs : int or None
        As for `count_threads`.
    """
    pieces = [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    run_pieces(function, pieces, count_threads(n_jobs))
