"""The best of several starts.

The first starting point is given. Each further one is random: normally distributed coordinates in
one or two dimensions more than the embedding has, solved there, and projected onto their principal
axes. In more dimensions, items can pass each other that would block each other's way, so there are
fewer local minima.

Order alone leaves many local minima, which random starts reach again and again. So the solution of
each start of a small ordinal problem is disturbed a few times and solved again, and the better one
is kept. In turn, a fifth of the items get random places, or all items get a random coordinate in
one dimension more. The two lead out of different minima.

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
_DISTURBED = 0.2  # of the items
_HEIGHT = 0.5  # of a further coordinate, relative to the size of the embedding
_BETTER = 1e-5  # least relative gain


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
    quiet = not options["callbacks"] and not options["verbose"]
    shared = quiet and len(seeds) > 0 and effective_n_jobs(n_jobs) > 1
    common = os.getpid(), problem, options, 1 if shared else n_jobs
    tasks = [delayed(_solve)(*common, start)]
    for number, seed in enumerate(seeds):
        tasks.append(delayed(_solve)(*common, None, int(seed), _MORE[number % len(_MORE)]))
    workers = Parallel(n_jobs=n_jobs) if shared else _in_turn
    results = workers(tasks)
    values = np.array([found.value for found, _ in results])
    best, notes = results[int(np.argmin(np.where(np.isnan(values), np.inf, values)))]
    for note in notes:
        warn(*note)
    return best, values


def _solve(process, problem, options, n_jobs, start, seed=0, more=0):
    """The solution from a start, improved, and the warnings of its solve."""
    end_with(process)
    rng = np.random.default_rng(seed)
    if start is None:
        start, _ = _recorded(_random_start, problem, rng, more, options, n_jobs)
    found, notes = _recorded(problem.solve, start, options, n_jobs)
    for number in range(problem.n_disturbed):
        if not found.converged:
            break
        disturb = _partly_random if number % 2 == 0 else _lifted
        start, _ = _recorded(disturb, problem, found.embedding, rng, options, n_jobs)
        again, others = _recorded(problem.solve, start, options, n_jobs)
        if again.converged and again.value < (1 - _BETTER) * found.value:
            found, notes = again, others
    return found, notes


def _in_turn(tasks):
    return [function(*args, **kwargs) for function, args, kwargs in tasks]


def _recorded(function, *args):
    """What a function returns, and its warnings."""
    if threading.current_thread() is not threading.main_thread():
        # To record warnings would change the filters of all threads.
        return function(*args), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*args)
    return found, [(str(w.message), w.category) for w in caught]


def _random_start(problem, rng, more, options, n_jobs):
    """A random starting point, solved in more dimensions and projected."""
    n, m = problem.n_items, problem.n_components
    more = max(0, min(more, n - 1 - m))
    X = rng.standard_normal((n, m + more))
    X *= problem.length / np.sqrt(2 * (m + more))
    return _flattened(problem, X, options, n_jobs)


def _partly_random(problem, X, rng, options, n_jobs):
    """An embedding in which some items have random places."""
    n, m = X.shape
    X = X - X.mean(axis=0)
    moved = rng.choice(n, max(1, round(_DISTURBED * n)), replace=False)
    X[moved] = rng.standard_normal((len(moved), m)) * np.sqrt(np.square(X).mean())
    return X


def _lifted(problem, X, rng, options, n_jobs):
    """An embedding with a random further coordinate, solved there and projected."""
    X = X - X.mean(axis=0)
    size = np.sqrt(np.square(X).sum(axis=1).mean())
    height = _HEIGHT * size * rng.standard_normal(len(X))
    return _flattened(problem, np.column_stack([X, height]), options, n_jobs)


def _flattened(problem, X, options, n_jobs):
    """A starting point in more dimensions, solved there and projected, one by one."""
    m = problem.n_components
    limit = min(options["max_iter"], _COARSE)
    coarse = {**options, "max_iter": limit, "callbacks": [], "verbose": 0, "snapshot_every": None}
    for dimension in range(X.shape[1], m, -1):
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
