"""The best of several starts.

The first starting point is given. Each further one is random: normally distributed coordinates in
one or two dimensions more than the embedding has, solved there, and projected onto their principal
axes. In more dimensions, items can pass each other that would block each other's way, so there are
fewer local minima.

Starts are tasks of joblib, so that any of its backends can run them. The seed of each start is
drawn in advance, and each solve gives the same bits for any number of threads. So the result does
not depend on the workers.
"""

from __future__ import annotations

import os
import threading
import warnings
from dataclasses import replace

import numpy as np
import torch
from joblib import Parallel, delayed, effective_n_jobs

from skmde._linalg.reductions import column_means, gram
from skmde._utils.warn import warn
from skmde._utils.workers import end_with
from skmde.constraints import Centered

_COARSE = 100  # most iterations in more dimensions
_MORE = 1, 2  # dimensions more than the embedding has, in turn


def best_of_starts(problem, start, seeds, options, n_jobs):
    """Solve a problem from several starting points.

    Parameters
    ----------
    problem : MetricProblem or MonotoneProblem
    start : ndarray of shape (n, m)
        The first starting point.
    seeds : sequence of int
        Seeds of the further ones.
    options : dict
        Of the solver. With callbacks or a progress bar, the starts are solved one after another in
        this process.
    n_jobs : int or None
        Number of workers, as for :class:`joblib.Parallel`; if there is one, its number of threads.

    Returns
    -------
    best : Solution
        The one of least value; the first of equal ones.
    values : ndarray of shape (1 + len(seeds),)
        The value that each start reached.

    Warns
    -----
    UserWarning
        As the solve of the best start does; the warnings of the others are dropped.
    """
    if not len(seeds):
        found = problem.solve(start, options, n_jobs)
        return found, np.array([found.value])
    quiet = not options["callbacks"] and not options["verbose"]
    shared = quiet and effective_n_jobs(n_jobs) > 1
    common = os.getpid(), problem, options, 1 if shared else n_jobs
    tasks = [delayed(_solve)(*common, start)]
    for number, seed in enumerate(seeds):
        tasks.append(delayed(_solve)(*common, None, int(seed), _MORE[number % len(_MORE)]))
    results = Parallel(n_jobs=n_jobs if shared else 1)(tasks)
    values = np.array([found.value for found, _ in results])
    best, notes = results[int(np.argmin(np.where(np.isnan(values), np.inf, values)))]
    for note in notes:
        warn(*note)
    return best, values


def _solve(process, problem, options, n_jobs, start, seed=0, more=0):
    """A solution, and the warnings of its solve."""
    end_with(process)

    if threading.current_thread() is not threading.main_thread():
        # To record warnings would change the filters of all threads.
        if start is None:
            start = _random_start(problem, seed, more, options, n_jobs)
        return problem.solve(start, options, n_jobs), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if start is None:
            start = _random_start(problem, seed, more, options, n_jobs)
            caught.clear()
        found = problem.solve(start, options, n_jobs)
    return found, [(str(w.message), w.category) for w in caught]


def _random_start(problem, seed, more, options, n_jobs):
    """A random starting point, solved in more dimensions and projected."""
    n, m = problem.n_items, problem.n_components
    more = max(0, min(more, n - 1 - m))
    X = np.random.default_rng(seed).standard_normal((n, m + more))
    X *= problem.length / np.sqrt(2 * (m + more))
    limit = min(options["max_iter"], _COARSE)
    coarse = {**options, "max_iter": limit, "callbacks": [], "verbose": 0, "snapshot_every": None}
    for dimension in range(m + more, m, -1):
        wide = replace(
            problem,
            n_components=dimension,
            constraint=Centered(),
            pairs=problem.pairs._replace(labels=None),
        )
        X = _principal_part(wide.solve(X, coarse, n_jobs).embedding, dimension - 1)
    return X


def _principal_part(X, m):
    """The coordinates of rows on their first m principal axes."""
    X = torch.from_numpy(np.ascontiguousarray(X))
    X = X - column_means(X)
    _, axes = np.linalg.eigh(gram(X, X).numpy())
    return np.ascontiguousarray(X.numpy() @ axes[:, ::-1][:, :m])
