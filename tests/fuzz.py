"""Random problems for as long as one likes: ``make fuzz``, or ``python tests/fuzz.py --help``.

The cases are those of ``test_properties.py``: fits of the estimators, pairs of fits that must
agree, and problems of `skmde.MDE` in two units. What fails is printed once for each place in the
code, as a call that makes it again.
"""

import argparse
import collections
import os
import sys
import time
import traceback

import numpy as np
from embedding_properties import UndocumentedError, check
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from mde_recipes import check_problem, problems
from relations import RELATIONS, check_relation
from strategies import recipes

from skmde.preprocessing import NeighborIndex

ROUND = settings(
    max_examples=200,
    deadline=None,
    derandomize=False,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
SLOW = 30.0
# A check, and what it is called with; fits of estimators are the most varied.
FITS = recipes(pynndescent=True).map(lambda recipe: (check, recipe))
PAIRS = [pair.map(lambda relation: (check_relation, relation)) for pair in RELATIONS.values()]
PROBLEMS = problems().map(lambda problem: (check_problem, *problem))
KINDS = [*[FITS] * 20, *PAIRS, PROBLEMS]
CASES = st.integers(0, len(KINDS) - 1).flatmap(lambda number: KINDS[number])


def where(error):
    """Kind of an error and where it came from, which tells failures apart."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}skmde{os.sep}" in f.filename] or frames
    place = f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}"
    what = str(error).partition(":")[0] if isinstance(error, UndocumentedError) else ""
    return f"{type(error).__name__} at {place} {what}".rstrip()


class Fuzz:
    """Counts of what came of the cases, and the shortest failing call for each place."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.counts = collections.Counter()
        self.kinds = collections.Counter()
        self.failures = {}
        self.slowest = 0.0, None

    @property
    def is_over(self):
        """Whether the time is up."""
        return time.monotonic() >= self.end

    def case(self, call, *arguments):
        """Try a case."""
        if self.is_over:
            return
        start = time.monotonic()
        try:
            outcome = call(*arguments)
        except Exception as error:
            outcome = "failure"
            code = f"{call.__name__}({', '.join(map(repr, arguments))})"
            known = self.failures.setdefault(where(error), [0, code, repr(error)[:300]])
            known[0] += 1
            if len(code) < len(known[1]):
                known[1:] = code, repr(error)[:300]
        self.counts[outcome] += 1
        self.kinds[getattr(arguments[0], "estimator", call.__name__)] += 1
        seconds = time.monotonic() - start
        if seconds > self.slowest[0]:
            self.slowest = seconds, arguments

    def report(self):
        """Print figures and failures; whether there were none, and nothing hung."""
        total = sum(self.counts.values())
        print(
            f"{total} cases: {self.counts['embedding']} embeddings, {self.counts['error']} "
            f"documented errors, {self.counts['failure']} failures; "
            f"the slowest took {self.slowest[0]:.1f} s: {self.slowest[1]}"
        )
        print(", ".join(f"{name} {count}" for name, count in sorted(self.kinds.items())))
        for place, (count, code, error) in self.failures.items():
            print(f"\n{count} times {place}: {error}\nPYTHONPATH=.:tests python - <<'END'")
            print("from numpy import inf, nan; from skmde import *; from problem_recipes import *")
            print("from embedding_properties import *; from relations import *")
            print(f"from mde_recipes import *\n{code}\nEND")
        return bool(total) and not self.failures and self.slowest[0] < SLOW


def main():
    """Run for some time; exit code 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="another number tries other cases")
    options = parser.parse_args()
    # pynndescent compiles its search, once in a process
    NeighborIndex(algorithm="pynndescent").fit(np.random.default_rng(0).random((40, 3)))
    fuzz, rounds = Fuzz(options.seconds), 0
    while not fuzz.is_over:
        rounds += 1
        run = given(CASES)(lambda case: fuzz.case(*case))
        seed(1_000_000 * options.seed + rounds)(ROUND(run))()
    sys.exit(0 if fuzz.report() else 1)


if __name__ == "__main__":
    main()
