"""Many fits and transforms in one process, whose memory may not grow: ``make soak``.

Prints resident memory, open files and threads after a warm-up and at the end. Exit code 1 if memory
grew by more than ``--megabytes`` or if files or threads became more. Needs Linux's ``/proc``.
"""

import argparse
import gc
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from fault_cases import CASES

# What allocators keep for later differs by some megabytes from run to run.
MEGABYTES = 10.0
WARM_UP = 0.1


def usage():
    """Resident memory in megabytes, open file descriptors, threads."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    files, threads = (len(list(Path(f"/proc/self/{name}").iterdir())) for name in ("fd", "task"))
    return megabytes, files - 1, threads  # one lists the folder


def fits(count, rng):
    """Fit random small problems, of each case as many."""
    cases = list(CASES.values())
    for k in range(count):
        case = cases[k % len(cases)]
        n, d = int(rng.integers(10, 80)), int(rng.integers(2, 8))
        X = rng.standard_normal((n, d)) + 4 * rng.integers(0, 2, (n, 1))
        params = {"n_neighbors": int(rng.integers(2, 9)), "n_jobs": int(rng.integers(1, 3))}
        if case.has("max_iter"):
            params["max_iter"] = 30
        estimator = case.make(**params).fit(X, case.y(X))
        if not np.isfinite(case.ask(estimator, X[:3] + 0.1)).all():
            raise AssertionError(f"not finite: {estimator}")


def transforms(count, rng):
    """Ask fitted estimators for the coordinates of single rows."""
    X = rng.standard_normal((200, 5))
    fitted = [(case, case.make().fit(X, case.y(X))) for case in CASES.values()]
    for k in range(count):
        case, estimator = fitted[k % len(fitted)]
        if not np.isfinite(case.ask(estimator, rng.standard_normal((1, 5)))).all():
            raise AssertionError(f"not finite: {estimator}")


def run(work, name, count, allowed):
    """Warm up, work, and say what has grown; whether that is as little as is allowed."""
    work(max(len(CASES), int(WARM_UP * count)), np.random.default_rng(0))
    before, start = usage(), time.perf_counter()
    work(count, np.random.default_rng(1))
    seconds, after = time.perf_counter() - start, usage()
    grown = [new - old for new, old in zip(after, before, strict=True)]
    print(f"{count} {name} in {seconds:.0f} s")
    for unit, old, new in zip(("MB resident", "open files", "threads"), before, after, strict=True):
        print(f"  {unit}: {old:.0f} after the warm-up, {new:.0f} at the end")
    print(flush=True, end="")
    return grown[0] <= allowed and grown[1] <= 0 and grown[2] <= 0


def main():
    """Run both; exit code 1 if something grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=2000, help="default: 2000")
    parser.add_argument("--transforms", type=int, default=200_000, help="default: 200000")
    parser.add_argument(
        "--megabytes", type=float, default=MEGABYTES, help=f"allowed growth (default: {MEGABYTES})"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    good = run(fits, "fits", options.fits, options.megabytes)
    good &= run(transforms, "transforms of one row", options.transforms, options.megabytes)
    print("nothing grew beyond what is allowed" if good else "something grew")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
