"""Pieces of work on threads."""

import threading
import time

import pytest

from skmde.preprocessing._pieces import run_pieces, thread_count


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9])
def test_pieces_cover_all_rows_once(n_jobs, n_rows):
    seen = []
    run_pieces(lambda start, stop: seen.extend(range(start, stop)), n_rows, 4, n_jobs)
    assert sorted(seen) == list(range(n_rows))


def test_no_more_threads_than_asked_for():
    names = set()

    def piece(start, stop):
        names.add(threading.current_thread().name)
        time.sleep(0.001)

    run_pieces(piece, 40, 1, 2)
    assert len(names) == 2
    names.clear()
    run_pieces(piece, 40, 1, 1)
    assert names == {threading.current_thread().name}


def test_an_error_ends_the_work():
    """As Ctrl-C does: what has not begun is not begun."""
    begun = []

    def piece(start, stop):
        begun.append(start)
        time.sleep(0.002)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pieces(piece, 500, 1, 2)
    assert len(begun) < 100
    assert not [t for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]


def test_thread_count_follows_joblib():
    assert thread_count(3) == 3
    assert thread_count(-1) >= 1
    with pytest.raises(ValueError):
        thread_count(0)
