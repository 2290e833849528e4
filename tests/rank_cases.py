"""What each of two ranks does in the tests of ``tests/core/test_ranks.py``: a script.

    python rank_cases.py RANK FOLDER

Rank 0 first fits everything alone. Then both fit together, and each writes what it found into the
folder: arrays into ``RANK.npz``, and the rest into ``RANK.json``.
"""

import datetime
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
import torch.distributed as dist

from skmde import MDE, AnchoredMDE, PreserveDistances, PreserveNeighbors, penalties
from skmde._utils.ranks import group as group_module
from skmde.core.kernels import compiled_backend
from skmde.core.kernels.lattice import convolution

SEEDLESS = "a seed that nobody gave"
PATIENCE, LITTLE_PATIENCE = 120, 2  # seconds


def small_pieces():
    """Cut small problems, too, so that ranks share them."""
    compiled_backend._EDGES_PER_PIECE = 1 << 9
    compiled_backend._PAIRS_PER_PIECE = 1 << 11
    convolution._SMALL = 1 << 6


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    X[:500] += 4
    return X


def edges_of(n, p):
    pairs = np.random.default_rng(1).integers(0, n, size=(p, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def graph(weighted):
    """A ring of 200 nodes and some chords, so that some nodes have no later partner near."""
    ring = np.stack([np.arange(200), np.roll(np.arange(200), 1)], axis=1)
    i, j = np.concatenate([ring, edges_of(200, 60)]).T
    lengths = 1.0 + (i + j) % 7 if weighted else np.ones(len(i))
    one_way = sp.coo_array((lengths, (i, j)), shape=(200, 200)).toarray()
    both = np.maximum(one_way, one_way.T) if weighted else np.sign(one_way + one_way.T)
    return sp.csr_array(both)


def cases():
    """Functions that fit something, by name; each returns an embedding."""
    X, few = rows(), {"random_state": 0, "max_iter": 12}

    def neighbors(**parameters):
        return lambda: PreserveNeighbors(**few | parameters).fit_transform(X)

    def paths(weighted, **parameters):
        estimator = PreserveDistances(metric="graph", **few | parameters)
        return lambda: estimator.fit_transform(graph(weighted))

    def problem(distortion, p=3000, **parameters):
        def solve():
            mde = MDE(300, 2, edges_of(300, p), distortion, constraint="standardized", **parameters)
            return mde.embed(random_state=0, max_iter=40).numpy()

        return solve

    def anchored():
        y = np.full((300, 2), np.nan)
        y[:4] = [0, 0], [0, 9], [9, 0], [9, 9]
        penalty = {"attractive_penalty": "log1p", "repulsive_penalty": "log"}
        return AnchoredMDE(**few, **penalty).fit_transform(X[:300], y)

    return {
        "all pairs repel": neighbors(),
        "close pairs": neighbors(repulsive_penalty=penalties.InversePower(1.0)),
        "sampled repulsion": neighbors(repulsion="sampled"),
        SEEDLESS: neighbors(repulsion="sampled", random_state=None),
        "normalized repulsion": neighbors(repulsion="normalized"),
        "anchored": anchored,
        "distances": lambda: PreserveDistances(**few, n_init=2).fit_transform(X[:200]),
        "batches": neighbors(repulsion="sampled", solver="stochastic"),
        "path lengths": paths(False),
        "sampled path lengths": paths(False, max_pairs=5000),
        "weighted path lengths": paths(True),
        "sampled weighted path lengths": paths(True, max_pairs=5000),
        "short path lengths": paths(True, max_path_length=9.0),
        "short path lengths of equal edges": paths(False, max_path_length=3.0, max_pairs=4000),
        "two penalties": problem(
            (penalties.Quadratic(), penalties.Log()),
            weights=np.random.default_rng(2).choice([1.0, -0.1], len(edges_of(300, 3000))),
        ),
        "one piece": problem(penalties.Quadratic(), p=300),
        "a function of torch": problem(lambda d: d**2),
    }


def message_of(function):
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def disagreements(rank):
    """What each rank says if they do not hold the same."""
    X, few = rows()[:200], {"random_state": 0, "max_iter": 3}
    edges = edges_of(50, 100)
    weights = np.ones(len(edges))
    weights[0] += rank
    return {
        "data": message_of(lambda: PreserveNeighbors(**few).fit(X + rank)),
        "parameters": message_of(lambda: PreserveNeighbors(5 if rank else 2, **few).fit(X)),
        "function": message_of(
            lambda: PreserveNeighbors(attractive_penalty=penalties.Huber(1.0 + rank)).fit(X)
        ),
        "checkpoint": message_of(
            lambda: PreserveNeighbors(**few, checkpoint="no file of this name").fit(X)
        ),
        "weights": message_of(
            lambda: MDE(50, 2, edges, "quadratic", weights=weights).embed(max_iter=2)
        ),
        "their own": message_of(lambda: PreserveNeighbors(**few, n_jobs=1 + rank).fit(X)),
    }


def with_callbacks(rank):
    """Callbacks of one rank only stop both, may call anything, and may fail."""
    X, few = rows()[:200], {"random_state": 0, "max_iter": 20}
    whole = PreserveNeighbors(**few).fit(X)

    def stop(state):
        whole.transform(X[:2] + 0.5)
        return state.iteration == 4

    def fail(state):
        raise OSError("no room")

    stopping, failing = (
        PreserveDistances(**few, callbacks=[f] if rank else None) for f in (stop, fail)
    )
    n_iter = stopping.fit(X).n_iter_
    alone = None if rank else whole.transform(X[:2] + 0.5).tolist()
    return {"n_iter": n_iter, "alone": alone, "failure": message_of(lambda: failing.fit(X))}


def start(rank, folder, name, patience):
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder / name}",
        rank=rank,
        world_size=2,
        timeout=datetime.timedelta(seconds=patience),
    )


def main(rank, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    small_pieces()
    arrays, facts = {}, {}
    if rank == 0:
        alone = {name: fit() for name, fit in cases().items()}
        arrays |= {f"alone: {name}": X for name, X in alone.items()}
    start(rank, folder, "store", PATIENCE)
    arrays |= {name: fit() for name, fit in cases().items()}
    group_module._WHOLE = 1  # as between more than two ranks
    arrays["by shares"] = cases()["all pairs repel"]()
    facts |= disagreements(rank) | with_callbacks(rank)
    dist.destroy_process_group()

    # A rank that is late, and one that ends.
    start(rank, folder, "late", LITTLE_PATIENCE)
    X, began = rows()[:200], time.monotonic()
    if rank:
        time.sleep(2 * LITTLE_PATIENCE)
    else:
        facts["late"] = message_of(lambda: PreserveDistances(max_iter=3).fit(X))
        facts["late after"] = time.monotonic() - began
    dist.destroy_process_group()
    start(rank, folder, "last", PATIENCE)
    np.savez(folder / f"{rank}.npz", **arrays)
    end = [lambda state: os._exit(0)] if rank else None
    if rank:
        (folder / "1.json").write_text(json.dumps(facts))
    began = time.monotonic()
    facts["ended"] = message_of(lambda: PreserveDistances(callbacks=end).fit(X))
    facts["ended after"] = time.monotonic() - began
    (folder / "0.json").write_text(json.dumps(facts))
    os._exit(0)  # the group is broken


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
