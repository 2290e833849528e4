"""Items with given coordinates or labels: skmde beside scipy's solvers and scikit-learn.

    python benchmarks/anchored.py --data debian_dependencies.npz

Two parts, which ``--parts`` chooses from:

- *network*: one of a hundred nodes of a network has a place in the plane, drawn at random, and the
  others go where the sum of squared lengths of edges is least: skmde's AnchoredMDE beside scipy's
  solvers of the linear system, which is made ready for them before the clock starts. The residual
  of this system, relative to its right-hand side, is computed by this script.
- *digits*: five labels of each digit are known. The accuracy on all others, for several choices of
  the known ones, of AnchoredClassifier and of scikit-learn's LabelSpreading and LabelPropagation,
  with the same number of neighbours. Seconds are those of all fits together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _common as common
import _contests as contests
import numpy as np
import scipy.sparse as sp
from _contests import Entry

PARTS = ("network", "digits")
PER_CLASS = 5  # known labels


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="anchored", peers=False)
    p.add_argument(
        "--data",
        type=Path,
        metavar="NPZ",
        help="file with edges (p, 2), i < j, of a connected network; nodes are numbered from 0; "
        "needed for the part network",
    )
    contests.add_options(p)
    p.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--seeds", type=int, default=10, help="choices of known labels")
    p.add_argument("--n-neighbors", type=int, default=7, help="neighbours in the part digits")
    args = p.parse_args()
    if "network" in args.parts and args.data is None:
        p.error("the part network needs --data")
    if args.output == p.get_default("output") and set(args.parts) != set(PARTS):
        args.output = args.output.with_name(f"anchored_{'_'.join(args.parts)}.json")
    return args


def problem(path: Path, edges: np.ndarray, n: int) -> tuple[Path, Any, np.ndarray, np.ndarray]:
    """The file of a network, its weights, anchors and their coordinates."""
    rng = np.random.default_rng(0)
    upper = sp.coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    weights = sp.csr_array(upper + upper.T)
    anchors = np.sort(rng.choice(n, n // 100, replace=False))
    coordinates = rng.standard_normal((len(anchors), 2))
    contests.save_graph(path, weights, anchors=anchors, coordinates=coordinates)
    return path, weights, anchors, coordinates


def network(args: Any, folder: Path) -> dict[str, Any]:
    with np.load(args.data) as file:
        edges = file["edges"]
    n = int(edges.max()) + 1
    ring = np.stack([np.arange(1000), np.arange(1, 1001)], axis=1)
    small = problem(folder / "ring.npz", ring, 1001)[0]
    data, weights, anchors, coordinates = problem(folder / "network.npz", edges, n)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    free = np.setdiff1d(np.arange(n), anchors)
    right = weights[free][:, anchors] @ coordinates

    def judge(found: Any) -> dict[str, Any]:
        X = found["embedding"]
        # what pulls at a free node, which should be nothing
        force = (degrees[:, None] * X - weights @ X)[free]
        ends = X[edges]
        return {
            "residual": float(np.linalg.norm(force) / np.linalg.norm(right)),
            "distortion": float(((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1).mean()),
            "anchors_kept": bool(np.array_equal(X[anchors], coordinates)),
        }

    rows = [
        Entry("skmde", "skmde_anchored", {}),
        Entry("scipy spsolve", "direct", {"permc_spec": "MMD_AT_PLUS_A"}),
        Entry("scipy cg, Jacobi", "conjugate_gradients", {"rtol": 1e-7}),
    ]
    print(f"{n:,} nodes, {len(edges):,} edges, {len(anchors)} anchors", flush=True)
    found = contests.contest(rows, data, small, judge, args, folder)
    return {"n_nodes": n, "n_edges": len(edges), "n_anchors": len(anchors), "programs": found}


def digits(args: Any, folder: Path) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    known = []
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        of_each = [np.flatnonzero(labels == digit) for digit in range(10)]
        known.append(
            np.concatenate([rng.choice(rows, PER_CLASS, replace=False) for rows in of_each])
        )
    paths = folder / "digits.npz", folder / "few.npz"
    np.savez(paths[0], X=X, labels=labels, known=np.array(known))
    np.savez(paths[1], X=X[:200], labels=labels[:200], known=np.arange(50)[None])

    def judge(found: Any) -> dict[str, Any]:
        scores = found["accuracies"]
        return {"accuracy": float(scores.mean()), "worst": float(scores.min())}

    size = {"n_neighbors": args.n_neighbors}
    rows = [
        Entry("skmde AnchoredClassifier", "skmde_labels", size),
        Entry("LabelSpreading", "label_spreading", {**size, "max_iter": 1000}),
        Entry("LabelPropagation", "label_propagation", {**size, "max_iter": 10_000}),
    ]
    print(f"digits, {10 * PER_CLASS} labels known, {args.seeds} choices of them", flush=True)
    found = contests.contest(rows, *paths, judge, args, folder)
    return {"n_neighbors": args.n_neighbors, "seeds": args.seeds, "programs": found}


def main() -> None:
    args = arguments()
    record: dict[str, Any] = {"threads": args.threads, "repeat": args.repeat}
    record["versions"] = contests.versions()
    with common.scratch() as folder:
        for part in args.parts:
            record[part] = globals()[part](args, folder)
    common.save(args.output, record)


if __name__ == "__main__":
    main()
