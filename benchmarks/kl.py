"""t-SNE's own objective on 50 principal components of MNIST: skmde's maps beside openTSNE's.

    python benchmarks/kl.py --data mnist70k.npz --peer-python PATH

The Kullback-Leibler divergence is that of openTSNE's affinities (perplexity 30) from each map, with
the exact sum over all pairs. Only openTSNE's map is fitted to these affinities: skmde's objectives
weigh the pairs of 15 neighbours. Seconds are those of the fit; for openTSNE, those of the
affinities are included.
"""

from __future__ import annotations

import subprocess
import time
from typing import Any

import _common as common
import numpy as np
import scipy.sparse as sp

FITS: dict[str, dict[str, Any]] = {
    "skmde": {},
    "normalized": {"repulsion": "normalized"},
    "normalized, 600": {"repulsion": "normalized", "max_iter": 600},
}
PEER = """
import sys, time
import numpy as np, scipy.sparse as sp
from openTSNE import TSNE, affinity, initialization
folder, threads = sys.argv[1], int(sys.argv[2])
X = np.load(folder + "/rows.npy")
start = time.perf_counter()
found = affinity.PerplexityBasedNN(X, perplexity=30, n_jobs=threads, random_state=0)
init = initialization.pca(X, random_state=0)
map = TSNE(n_jobs=threads, random_state=0).fit(affinities=found, initialization=init)
print(time.perf_counter() - start)
sp.save_npz(folder + "/affinities.npz", found.P.tocsr())
np.save(folder + "/map.npy", np.asarray(map))
"""


def divergence(P: sp.csr_array, Z: np.ndarray, block: int = 512) -> float:
    """The Kullback-Leibler divergence of a map's similarities from affinities that sum to 1."""
    i, j = P.nonzero()
    p = P.data
    log_similarities = -np.log1p(((Z[i] - Z[j]) ** 2).sum(axis=1))
    Z32 = Z.astype(np.float32)
    norms, total = (Z32 * Z32).sum(axis=1), -float(len(Z))
    for k in range(0, len(Z), block):
        part = slice(k, k + block)
        squares = norms[part, None] + norms - 2 * Z32[part] @ Z32.T
        total += float((1 / (1 + np.maximum(squares, 0))).sum(dtype=np.float64))
    return float((p * (np.log(p) - log_similarities)).sum() + np.log(total))


def main() -> None:
    p = common.parser(__doc__.splitlines()[0], name="kl")
    common.add_data_option(p)
    p.add_argument("--subset", type=int, metavar="N", help="only the first N rows")
    args = p.parse_args()
    from sklearn.decomposition import PCA

    from skmde import PreserveNeighbors

    images = common.mnist(args.data)[0][: args.subset].astype(np.float32)
    X = PCA(50, random_state=0).fit_transform(images).astype(np.float32)
    _, versions = common.importable(["skmde", "opentsne"], args.peer_python)
    rows: list[dict[str, Any]] = []
    with common.scratch() as folder:
        np.save(folder / "rows.npy", X)
        command = [args.peer_python, "-c", PEER, str(folder), str(args.threads)]
        environment = common.environment(args.threads)
        peer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        P = sp.csr_array(sp.load_npz(folder / "affinities.npz"))
        Z = np.load(folder / "map.npy")
    P.eliminate_zeros()
    rows.append(
        {
            "program": "opentsne",
            "seconds": float(peer.stdout.split()[-1]),
            "iterations": 750,
            "divergence": divergence(P, Z),
        }
    )
    for name, options in FITS.items():
        start = time.perf_counter()
        estimator = PreserveNeighbors(random_state=0, n_jobs=args.threads, **options).fit(X)
        seconds = time.perf_counter() - start
        rows.append(
            {
                "program": name,
                "seconds": seconds,
                "iterations": estimator.n_iter_,
                "divergence": divergence(P, estimator.embedding_.astype(np.float64)),
            }
        )
    columns = ("program", "seconds", "iterations", "divergence")
    common.show([[row[column] for column in columns] for row in rows], columns)
    common.save(args.output, {"threads": args.threads, "versions": versions, "programs": rows})


if __name__ == "__main__":
    main()
