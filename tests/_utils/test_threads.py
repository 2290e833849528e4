"""Threads and processes: they change no bit, share nothing, and survive a fork."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from core_problems import push_and_pull_weights, random_graph

from skmde import MDE, Anchored
from skmde._utils import threads
from skmde._utils.threads import count_threads, one_blas_thread, run_pieces, run_rows
from skmde.core.kernels import compiled_backend as backend


@pytest.fixture
def small_pieces(monkeypatch):
    """Cut even small problems into several pieces."""
    monkeypatch.setattr(backend, "_EDGES_PER_PIECE", 2000)
    monkeypatch.setattr(backend, "_SMALL", 1000)
    monkeypatch.setattr(backend, "_NUMBERS_PER_PIECE", 1000)


@pytest.fixture
def torch_threads():
    """Set torch's number of threads, and set it back afterwards."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def problem(m, constraint=None, n=3000, p=15_000, distortion=("log1p", "log"), **arguments):
    rng = np.random.default_rng(0)
    edges = random_graph(rng, n, p)
    weights = push_and_pull_weights(rng, len(edges))
    return MDE(n, m, edges, distortion, constraint, weights=weights, **arguments)


@pytest.mark.parametrize("m", [2, 10])
@pytest.mark.parametrize("constraint", ["centered", "standardized", "anchored"])
def test_embedding_has_the_same_bits_for_any_number_of_threads(
    constraint, m, small_pieces, torch_threads
):
    # Odd sizes, above 2^15 numbers: torch shares out its own operations too.
    n = 17_001 if m == 2 else 3301
    if constraint == "anchored":
        constraint = Anchored([0, 100], np.arange(2.0 * m).reshape(2, m))
    embeddings = []
    for n_threads in (1, 2, 4):
        torch_threads(n_threads)
        problem_now = problem(m, constraint, n=n)
        embeddings.append(problem_now.embed(random_state=0, max_iter=12))
    assert problem_now.result.n_iter == 12
    assert torch.equal(embeddings[1], embeddings[0])
    assert torch.equal(embeddings[2], embeddings[0])


def test_callables_have_the_same_bits_for_any_number_of_threads(small_pieces, torch_threads):
    embeddings = []
    for n_threads in (1, 2, 3, 4):
        torch_threads(n_threads)
        mixed = problem(2, n=900, p=120_000, distortion=(lambda d: torch.log1p(d**1.3), "log"))
        embeddings.append(mixed.embed(random_state=0, max_iter=3))
    for embedding in embeddings[1:]:
        assert torch.equal(embedding, embeddings[0])


def test_embedding_does_not_depend_on_n_jobs(small_pieces):
    embeddings = [
        problem(2, n_jobs=n_jobs).embed(random_state=0, max_iter=12) for n_jobs in (1, 2, 5, -1)
    ]
    for embedding in embeddings[1:]:
        assert torch.equal(embedding, embeddings[0])


def test_thread_settings_are_not_changed(torch_threads):
    torch_threads(3)
    problem(2, "standardized", n_jobs=1).embed(random_state=0, max_iter=3)
    assert torch.get_num_threads() == 3


def test_two_solves_at_once_give_what_they_give_one_after_the_other(small_pieces):
    def embed(seed):
        return problem(2, n_jobs=2).embed(random_state=seed, max_iter=20)

    alone = [embed(seed) for seed in range(4)]
    together = [None] * 4

    def work(seed):
        together[seed] = embed(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(alone, together, strict=True):
        assert torch.equal(a, b)


def test_one_problem_solved_by_two_threads_at_once(small_pieces):
    shared = problem(2, n_jobs=2)
    alone = shared.embed(random_state=0, max_iter=20)
    results = [None] * 2

    def work(k):
        results[k] = shared.embed(random_state=0, max_iter=20)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(result, alone) for result in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("way", ["os.fork", "multiprocessing", "joblib"])
def test_fit_fork_and_fit_in_the_child_finishes(way):
    script = """
        import multiprocessing, os, sys, threading, warnings
        import numpy as np, torch
        from skmde import MDE
        from skmde._utils.threads import run_pieces
        from skmde.core.kernels import compiled_backend as backend

        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads around
        backend._EDGES_PER_PIECE, backend._SMALL, backend._NUMBERS_PER_PIECE = 2000, 1000, 1000
        torch.set_num_threads(2)
        rng = np.random.default_rng(0)
        n = 20_000
        edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
        weights = np.where(rng.random(n - 1) < 0.5, 1, -1).astype(np.float32)

        def fit(constraint):
            problem = MDE(n, 2, edges, ("log1p", "log"), constraint, weights=weights)
            return hash(problem.embed(random_state=0, max_iter=5).numpy().tobytes())

        def both():
            barrier = threading.Barrier(2, timeout=20)
            run_pieces(barrier.wait, [(), ()], 2)  # needs a thread besides this one
            return fit("centered"), fit("standardized")

        before = both()
        way = sys.argv[1]
        if way == "os.fork":
            child = os.fork()
            if child == 0:
                os._exit(0 if both() == before else 3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        elif way == "multiprocessing":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.starmap(both, [()] * 2) == [before] * 2
        else:
            from joblib import Parallel, delayed
            multiprocessing.set_start_method("fork")  # which joblib takes
            parallel = Parallel(n_jobs=2, backend="multiprocessing")
            assert parallel(delayed(both)() for _ in range(2)) == [before] * 2
        assert both() == before
        print("finished")
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), way],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == "finished"


def test_results_are_in_the_order_of_the_pieces():
    def slow_square(k):
        time.sleep(0.002 * (10 - k))
        return k * k

    pieces = [(k,) for k in range(10)]
    for n_threads in (1, 2, 4, 50):
        assert run_pieces(slow_square, pieces, n_threads) == [k * k for k in range(10)]
    assert run_pieces(slow_square, [], 4) == []


def test_every_piece_is_done_once():
    counts = [0] * 200
    lock = threading.Lock()

    def count(k):
        with lock:
            counts[k] += 1

    run_pieces(count, [(k,) for k in range(200)], 8)
    assert counts == [1] * 200


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_pieces_run_on_several_threads_and_the_calling_one_helps():
    barrier = threading.Barrier(2, timeout=20)
    names = run_pieces(lambda: (barrier.wait(), threading.current_thread().name)[1], [(), ()], 2)
    assert len(set(names)) == 2
    assert threading.current_thread().name in names


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_no_more_threads_than_asked_for(n_threads, monkeypatch):
    with ThreadPoolExecutor(8) as pool:
        monkeypatch.setattr(threads, "_pool", pool)

        def name_of_thread():
            time.sleep(0.002)
            return threading.current_thread().name

        names = set(run_pieces(name_of_thread, [()] * 40, n_threads))
    assert len(names) == n_threads


def test_one_thread_stays_on_the_calling_one():
    names = run_pieces(lambda k: threading.current_thread().name, [(k,) for k in range(5)], 1)
    assert set(names) == {threading.current_thread().name}


def test_progress_does_not_depend_on_the_pool_being_free():
    release = threading.Event()
    pool = threads._get_pool()
    blocked = [pool.submit(release.wait, 20) for _ in range((os.cpu_count() or 1) + 2)]
    try:
        started = time.perf_counter()
        assert run_pieces(lambda k: k, [(k,) for k in range(20)], 4) == list(range(20))
        assert time.perf_counter() - started < 10
    finally:
        release.set()
        for future in blocked:
            future.result()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_of_pieces_reach_the_caller_and_the_pool_goes_on(n_threads):
    def fail(k):
        if k == 3:
            raise ZeroDivisionError
        return k

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            run_pieces(fail, [(k,) for k in range(6)], n_threads)
    assert run_pieces(fail, [(k,) for k in range(3)], n_threads) == [0, 1, 2]


def test_count_threads(torch_threads, monkeypatch):
    torch_threads(3)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 8)
    assert count_threads() == count_threads(None) == 3
    assert [count_threads(n) for n in (1, 5, -1, -2, -8, -20)] == [1, 5, 8, 7, 1, 1]
    with pytest.raises(ValueError, match=r"n_jobs is 0.*None, a positive integer or -1"):
        count_threads(0)


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9])
def test_pieces_of_rows_cover_all_rows_once(n_jobs, n_rows):
    seen = []
    run_rows(lambda start, stop: seen.extend(range(start, stop)), n_rows, 4, n_jobs)
    assert sorted(seen) == list(range(n_rows))


def test_after_an_error_no_further_piece_begins():
    begun = []

    def piece(start, stop):
        begun.append(start)
        time.sleep(0.002)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_rows(piece, 500, 1, 2)
    assert len(begun) < 100


def test_limits_on_the_threads_of_blas_do_not_overlap():
    def threads_of_blas():
        libraries = threads._blas().select(user_api="blas").info()
        return {library["num_threads"] for library in libraries}

    def hold():
        for _ in range(20):
            with one_blas_thread(), one_blas_thread():
                seen.append(threads_of_blas())
                time.sleep(0.001)

    before, seen = threads_of_blas(), []
    both = [threading.Thread(target=hold) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(seen) == 40
    assert all(found == {1} for found in seen)
    assert threads_of_blas() == before
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / 0  # noqa: B018
    assert threads_of_blas() == before
