"""The best of several starts.

The first starting point is given. Each further one is random: normally distributed coordinates in
one or two dimensions more than the embedding has, solved there, and projected onto their principal
axes. In more dimensions, items can pass each other that would block each other's way, so there are
fewer local minima.

Where there are few pairs and a quick descent to local minima, that is, for ordinal data and the
squared loss, a search (``local_search.py``) looks for a better one than a random start leads to.
For ordinal data, whose local minima are many, it does so for the first start, too, unless that is
the user's own, which says where to solve.

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
from joblib import Parallel, delayed, effective_n_jobs

from skmde._utils.ranks.together import current_ranks
from skmde._utils.warn import warn
from skmde._utils.workers import end_with
from skmde.constraints import Centered
from skmde.estimators.mds.local_search import better_minimum, flattened, is_small

_COARSE = 100  # most iterations in more dimensions
_MORE = 1, 2  # dimensions more than the embedding has, in turn


def best_of_starts(problem, start, seeds, options, n_jobs, *, own_start=False):
    """Solve a problem from several starting points.

    Parameters
    ----------
    problem : MetricProblem or MonotoneProblem
    start : ndarray of shape (n, m)
        The first starting point.
    seeds : sequence of int
        Seeds of the further ones.
    options : dict
        Of the solver. With callbacks, a progress bar or a checkpoint, or if ranks share each solve,
        the starts are solved one after another in this process.
    n_jobs : int or None
        Number of workers, as for :class:`joblib.Parallel`; if there is one, its number of threads.
    own_start : bool, default=False
        Whether the first starting point is the user's own, so that nothing is searched for
        elsewhere.

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
    shared = (
        quiet
        and options.get("checkpoint") is None
        and current_ranks() is None
        and len(seeds) > 0
        and effective_n_jobs(n_jobs) > 1
    )
    common = os.getpid(), problem, options, 1 if shared else n_jobs
    tasks = [delayed(_from_given)(*common, start, problem.is_rugged and not own_start)]
    for number, seed in enumerate(seeds):
        tasks.append(delayed(_from_random)(*common, int(seed), _MORE[number % len(_MORE)]))
    workers = Parallel(n_jobs=n_jobs) if shared else _in_turn
    results = workers(tasks)
    values = np.array([found.value for found, _ in results])
    best, notes = results[int(np.argmin(np.where(np.isnan(values), np.inf, values)))]
    for note in notes:
        warn(*note)
    return best, values


def _from_given(process, problem, options, n_jobs, start, with_search):
    """The solution from a start, or a better one, and the warnings of its solve."""
    end_with(process)
    found, notes = _recorded(problem.solve, start, options, n_jobs)
    left = options["max_iter"] - found.n_iter - 1  # the way to the better one is an iteration
    searches = with_search and found.converged and left >= 0
    descend = _quick_descent(problem) if searches else None
    if descend is not None:
        better = better_minimum(
            descend, len(problem.pairs.distances), found.embedding, np.random.default_rng(0)
        )
        if better is not None:
            again, others = _recorded(problem.solve, better, {**options, "max_iter": left}, n_jobs)
            if again.value < found.value:
                return again.after(found), others
    return found, notes


def _from_random(process, problem, options, n_jobs, seed, more):
    """The solution from a random start, and the warnings of its solve."""
    end_with(process)
    rng = np.random.default_rng(seed)
    descend = _quick_descent(problem)
    coarse = descend or _CoarseSolve(problem, options, n_jobs)
    start, _ = _recorded(_random_start, problem, rng, more, coarse)
    if descend is not None:
        better = better_minimum(descend, len(problem.pairs.distances), start, rng)
        start = start if better is None else better
    return _recorded(problem.solve, start, options, n_jobs)


def _quick_descent(problem):
    return problem.descent() if is_small(len(problem.pairs.distances)) else None


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


def _random_start(problem, rng, more, descend):
    """A random starting point, solved in more dimensions and projected."""
    n, m = problem.n_items, problem.n_components
    more = max(0, min(more, n - 1 - m))
    X = rng.standard_normal((n, m + more))
    X *= problem.length / np.sqrt(2 * (m + more))
    return flattened(descend, X, m)


class _CoarseSolve:
    """A solve in any dimension, in place of a descent."""

    def __init__(self, problem, options, n_jobs):
        limit = min(options["max_iter"], _COARSE)
        quiet = {"max_iter": limit, "callbacks": [], "verbose": 0, "snapshot_every": None}
        self._problem, self._options, self._n_jobs = problem, {**options, **quiet}, n_jobs

    def __call__(self, X):
        problem = replace(
            self._problem,
            n_components=X.shape[1],
            constraint=Centered(),
            pairs=self._problem.pairs._replace(labels=None),
        )
        found = problem.solve(X, self._options, self._n_jobs)
        return found.embedding, found.value
