"""Plans of memory beside the memory that fits take, in processes of their own.

    python benchmarks/plan.py

A line is a fit of rows, or of a matrix of their distances or similarities. *planned* and *taken*
are the peaks of the whole process, with the libraries and the data; *fit* is the ratio of what the
fit itself was planned to add and what it added. Linux only: the peak is reset before each fit.
Results: ``benchmarks/results/plan.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import _common as common

# estimator, rows, features, dtype, parameters
FITS: list[tuple[str, int, int, str, dict[str, Any]]] = [
    ("PreserveNeighbors", 5_000, 50, "float32", {}),
    ("PreserveNeighbors", 20_000, 50, "float32", {}),
    ("PreserveNeighbors", 100_000, 50, "float32", {}),
    ("PreserveNeighbors", 300_000, 50, "float32", {}),
    ("PreserveNeighbors", 100_000, 10, "float32", {}),
    ("PreserveNeighbors", 70_000, 784, "float32", {}),
    ("PreserveNeighbors", 30_000, 784, "float64", {}),
    ("PreserveNeighbors", 100_000, 50, "float32", {"n_components": 3}),
    ("PreserveNeighbors", 100_000, 50, "float32", {"n_neighbors": 50}),
    ("PreserveNeighbors", 100_000, 50, "float32", {"repulsion": "sampled"}),
    ("PreserveDistances", 2_000, 20, "float64", {}),
    ("PreserveDistances", 9_000, 20, "float64", {}),
    ("PreserveDistances", 5_000, 20, "float64", {"loss": "squared"}),
    ("PreserveDistances", 30_000, 20, "float64", {"max_pairs": 5_000_000}),
    ("PreserveDistances", 5_000, 20, "float64", {"monotone": True}),
    ("PreserveDistances", 4_000, 784, "float64", {}),
    ("QuadraticMDE", 20_000, 784, "float64", {"weights": "pca"}),
    ("QuadraticMDE", 6_000, 20, "float64", {"weights": "kernel_pca"}),
    ("QuadraticMDE", 6_000, 20, "float64", {"weights": "isomap"}),
    ("QuadraticMDE", 100_000, 50, "float64", {"weights": "laplacian"}),
    ("QuadraticMDE", 50_000, 50, "float64", {"weights": "lle"}),
    ("AnchoredMDE", 60_000, 50, "float64", {}),
    ("AnchoredMDE", 20_000, 20, "float64", {"loss": "squared"}),
    ("PreserveNeighbors", 6_000, 5, "float64", {"metric": "precomputed"}),
    ("PreserveNeighbors", 6_000, 5, "float64", {"metric": "affinity"}),
    ("PreserveDistances", 6_000, 5, "float64", {"metric": "precomputed"}),
    ("AnchoredMDE", 4_000, 5, "float64", {"metric": "precomputed", "loss": "squared"}),
    ("QuadraticMDE", 4_000, 5, "float64", {"weights": "classical_mds", "metric": "precomputed"}),
    ("QuadraticMDE", 4_000, 5, "float64", {"weights": "precomputed"}),
]
LARGEST = 1_000_000  # rows, with --large
CHILD = """
import json, sys, warnings
import numpy as np
import skmde
name, n, d, dtype, parameters = json.loads(sys.argv[1])
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
def fit(rows, **more):
    estimator = getattr(skmde, name)(random_state=0, **parameters, **more)
    if name == "AnchoredMDE":
        anchors = {"anchors": np.arange(10), "anchor_values": rng.standard_normal((10, 2))}
        return estimator.fit(rows, **anchors)
    return estimator.fit(rows)
def status(field):
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))
centers = 3 * rng.standard_normal((50, d))
X = np.empty((n, d), dtype)
for start in range(0, n, 10_000):
    few = X[start : start + 10_000]
    few[:] = centers[rng.integers(50, size=len(few))] + rng.standard_normal(few.shape)
given = parameters.get("metric"), parameters.get("weights")
if "precomputed" in given or "affinity" in given:
    from scipy.spatial.distance import cdist
    X = cdist(X, X)
    if given != ("precomputed", None) and "classical_mds" not in given:
        X = np.exp(-X)
few_steps = {} if name == "QuadraticMDE" else {"max_iter": 12}
few = X[:300, :300] if X.shape[0] == X.shape[1] else X[:300]
fit(few, **few_steps)  # loads and compiles what all fits need
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
plan = getattr(skmde, name)(**parameters).plan(X)
fit(X, **few_steps)
print(json.dumps([before, plan.n_bytes, status("VmHWM")]))
"""


def main() -> None:
    p = common.parser(__doc__.splitlines()[0], name="plan")
    p.add_argument("--large", action="store_true", help="also a million rows")
    args = p.parse_args()
    fits = list(FITS)
    if args.large:
        fits.append(("PreserveNeighbors", LARGEST, 50, "float32", {}))
    rows, results = [], []
    for fit in fits:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, json.dumps(fit)],
            env=common.environment(args.threads),
            capture_output=True,
            text=True,
            check=True,
        )
        before, planned, peak = json.loads(done.stdout.splitlines()[-1])
        total, own = (before + planned) / peak, planned / (peak - before)
        name, n, d, dtype, parameters = fit
        told = " ".join(f"{key}={value}" for key, value in parameters.items())
        rows.append([name, n, d, dtype, told, (before + planned) / 1e6, peak / 1e6, total, own])
        results.append(
            {
                "fit": fit,
                "planned_mb": (before + planned) / 1e6,
                "taken_mb": peak / 1e6,
                "ratio": total,
                "ratio_of_fit": own,
            }
        )
    header = "estimator rows features dtype parameters planned_MB taken_MB ratio fit".split()
    common.show(rows, header)
    common.save(args.output, {"threads": args.threads, "fits": results})


if __name__ == "__main__":
    main()
