"""Random problems for as long as one likes: ``make fuzz``, or ``python tests/fuzz.py --help``.

The cases are those of ``test_properties.py``. What fails is printed once for each place in the
code, as a call that makes it again.
"""

import argparse
import collections
import os
import sys
import time
import traceback

from embedding_properties import check
from hypothesis import HealthCheck, Phase, given, seed, settings
from strategies import recipes

ROUND = settings(
    max_examples=200,
    deadline=None,
    derandomize=False,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
SLOW = 30.0


def where(error):
    """Kind of an error and where it came from, which tells failures apart."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}skmde{os.sep}" in f.filename] or frames
    return f"{type(error).__name__} at {os.path.basename(ours[-1].filename)}:{ours[-1].lineno}"


class Fuzz:
    """Counts of what came of the cases, and the shortest failing recipe for each place."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.counts = collections.Counter()
        self.estimators = collections.Counter()
        self.failures = {}
        self.slowest = 0.0

    @property
    def is_over(self):
        """Whether the time is up."""
        return time.monotonic() >= self.end

    def case(self, recipe):
        """Try a case."""
        if self.is_over:
            return
        start = time.monotonic()
        try:
            outcome = check(recipe)
        except Exception as error:
            outcome = "failure"
            known = self.failures.setdefault(where(error), [0, recipe, repr(error)[:300]])
            known[0] += 1
            if len(repr(recipe)) < len(repr(known[1])):
                known[1:] = recipe, repr(error)[:300]
        self.counts[outcome] += 1
        self.estimators[recipe.estimator] += 1
        self.slowest = max(self.slowest, time.monotonic() - start)

    def report(self):
        """Print figures and failures; whether there were none, and nothing hung."""
        total = sum(self.counts.values())
        print(
            f"{total} cases: {self.counts['embedding']} embeddings, {self.counts['error']} "
            f"documented errors, {self.counts['failure']} failures; "
            f"the slowest took {self.slowest:.1f} s"
        )
        print(", ".join(f"{name} {count}" for name, count in sorted(self.estimators.items())))
        for place, (count, recipe, error) in self.failures.items():
            print(f"\n{count} times {place}: {error}\nPYTHONPATH=.:tests python - <<'END'")
            print("from numpy import inf, nan; from skmde import *; from strategies import *")
            print(f"from embedding_properties import check\ncheck({recipe!r})\nEND")
        return bool(total) and not self.failures and self.slowest < SLOW


def main():
    """Run for some time; exit code 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="another number tries other cases")
    options = parser.parse_args()
    fuzz, rounds = Fuzz(options.seconds), 0
    while not fuzz.is_over:
        rounds += 1
        run = given(recipes())(lambda recipe: fuzz.case(recipe))
        seed(1_000_000 * options.seed + rounds)(ROUND(run))()
    sys.exit(0 if fuzz.report() else 1)


if __name__ == "__main__":
    main()
