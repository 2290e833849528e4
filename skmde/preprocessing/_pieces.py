"""Running independent pieces of work on plain threads.

A search over many rows is cut into pieces of rows. Each row is computed alone, so neither the
cut nor the number of threads changes a bit of the result. A pool lives only for one call:
nothing survives a fork, and two threads may search at once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["run_pieces", "thread_count"]


def thread_count(n_jobs: int | None) -> int:
    """Threads to use: torch's number by default, else what joblib makes of `n_jobs`."""
    if n_jobs is None:
        import torch

        return torch.get_num_threads()
    import joblib

    return joblib.effective_n_jobs(n_jobs)


def run_pieces(
    function: Callable[[int, int], object], n_rows: int, piece: int, n_jobs: int | None
) -> None:
    """Call ``function(start, stop)`` for consecutive pieces of ``range(n_rows)``.

    Parameters
    ----------
    function : callable
        Works on rows ``start`` to ``stop`` and writes its results into arrays of its own.
    n_rows : int
        Number of rows in all.
    piece : int
        Rows in one piece.
    n_jobs : int or None
        See :func:`thread_count`.
    """
    bounds = [(start, min(start + piece, n_rows)) for start in range(0, n_rows, piece)]
    workers = min(len(bounds), thread_count(n_jobs)) if len(bounds) > 1 else 1
    if workers <= 1:
        for start, stop in bounds:
            function(start, stop)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        for future in [pool.submit(function, start, stop) for start, stop in bounds]:
            future.result()
    finally:
        # After an error or Ctrl-C the pieces that have not begun are not wanted.
        pool.shutdown(cancel_futures=True)
