"""The sizes at which the code takes another way, and values with which small problems take it.

A limit is named by its module (without the package) and its constant. Those of `PIECES` only cut
work into pieces, so results stay, up to rounding. Beyond those of `WAYS` another algorithm works,
or a sample of the data stands for all of them.

``_CHEAP_CALLABLE`` and ``_CHEAP_OTHER`` are left to ``test_metric_thresholds.py``: beyond them,
pynndescent compiles code for each metric.
"""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

PIECES = {
    "_linalg.lobpcg._POSITIONS_PER_PIECE": 4,
    "_linalg.principal._BLOCK_BYTES": 64,
    "_linalg.principal._BLOCK_ROWS": 3,
    "_linalg.reductions._PRODUCTS_PER_PIECE": 8,
    "_linalg.scaling._BLOCK_BYTES": 64,
    "_linalg.scaling._BLOCK_NUMBERS": 5,
    "_linalg.symmetry._BLOCK_ENTRIES": 8,
    "_utils.rows._ENTRIES": 16,
    "_utils.rows._FEWEST_ROWS": 1,
    "core.kernels.compiled_backend._EDGES_PER_ENTRY": 10,
    "core.kernels.compiled_backend._EDGES_PER_PIECE": 4,
    "core.kernels.compiled_backend._MAX_PIECES": 3,
    "core.kernels.compiled_backend._NUMBERS_PER_PIECE": 8,
    "core.kernels.compiled_backend._PAIRS_PER_PIECE": 4,
    "core.kernels.compiled_backend._SMALL": 2,
    "estimators.pairs.path_distances._BLOCK_ENTRIES": 8,
    "estimators.pairs.stress._BLOCK_PAIRS": 4,
    "estimators.spectral.locally_linear._BLOCK_ENTRIES": 8,
    "estimators.spectral.principal._BLOCK_ROWS": 3,
    "estimators.spectral.principal._PROJECTED_ROWS": 2,
    "preprocessing.graphs.shortest_paths._CHUNK": 2,
    "preprocessing.graphs.shortest_paths._TABLE_BYTES": 64,
    "preprocessing.neighbors.backends.base._PIECE": 2,
    "preprocessing.neighbors.backends.candidates.centered._BLOCK_ROWS": 3,
    "preprocessing.neighbors.backends.candidates.products._BLOCK_ENTRIES": (8, 8),
    "preprocessing.neighbors.backends.exact._PIECE": 2,
    "preprocessing.neighbors.backends.exact._SMALL_PIECE": 2,
    "preprocessing.neighbors.backends.kernels._ITEM_BYTES": 64,
    "preprocessing.neighbors.backends.pairwise._BLOCK_ENTRIES": 8,
    "preprocessing.neighbors.backends.pairwise._FEW": 2,
    "preprocessing.neighbors.backends.sparse._BLOCK_NUMBERS": 8,
    "preprocessing.neighbors.known_rows._BLOCK_BYTES": 64,
    "preprocessing.neighbors.metrics.linear._BLOCK_ROWS": 3,
    "preprocessing.neighbors.metrics.linear._PIECE": 2,
    "preprocessing.neighbors.precomputed._BLOCK_ENTRIES": 8,
    "preprocessing.neighbors.radius._BLOCK_ENTRIES": 8,
    "preprocessing.neighbors.selection._FEW": 1,
    "preprocessing.pairs.distances._BLOCK_ENTRIES": 8,
    "preprocessing.pairs.distances._PAIRS": 8,
}
WAYS = {
    "_linalg.principal._MAX_ENTRIES": 16,
    "_linalg.principal._SMALL": 2,
    "_utils.random._DRAWS": 4,
    "core.kernels.lattice.plan.ENOUGH": 1,
    "core.kernels.lattice.plan.ENOUGH_PER_ITEM": 1,
    "core.kernels.lattice.plan.PAIRS_PER_NODE": 0,
    "core.objectives.edges._TILE": 4,
    "core.objectives.repulsion._EXACT": 3,
    "core.objectives.repulsion._EXACT_IF_SLOW": 3,
    "core.placement.by_distances._FEW": 2,
    "core.scales.typical_scale._MOST": 3,
    "core.spectral.spectrum._FEW_ROWS": 0,
    "core.spectral.spectrum._SMALL": 2,
    "core.spectral.spectrum._WIDE": 0,
    "core.starts.stiff_repulsion._MAX_PAIRS": 3,
    "estimators._preserve_distances._MAX_LANDMARKS": 4,
    "estimators._quadratic._FEW": 0,
    "estimators.pairs.anchored._MAX_LANDMARKS": 4,
    "estimators.pairs.anchored.MAX_PAIRS": 10,
    "estimators.pairs.base._FEW_PAIRS": 0,
    "estimators.pairs.path_distances._ALL_PATHS": 0,
    "estimators.pairs.path_distances._MAX_LENGTHS": 1,
    "estimators.pairs.repulsion._N_REPULSIVE": 3,
    "estimators.spectral.locally_linear._FACTORED": 0,
    "estimators.spectral.principal._FEW": 1,
    "estimators.spectral.principal._LARGE": 0,
    "estimators.starts.distances._LANDMARKS": 20,
    "estimators.starts.distances._LENGTHS": 1,
    "estimators.starts.distances._N_SCALE_PAIRS": 5,
    "estimators.starts.neighbors._LANDMARKS": 2,
    "estimators.starts.neighbors._WORK": 0,
    "preprocessing.graphs.reachable_pairs._BLOCK": 8,
    "preprocessing.graphs.reachable_pairs._SLACK": 0,
    "preprocessing.neighbors.backends.table._ENOUGH_FOR_FAISS": 1 << 10,
    "preprocessing.neighbors.backends.candidates.centered._SAMPLE": 4,
    "preprocessing.neighbors.backends.torch._FEW": 0,
    "preprocessing.neighbors.backends.torch._SPARE": 1,
    "preprocessing.neighbors.index._CHEAP_EUCLIDEAN": 0,
    "preprocessing.neighbors.index._SMALL_DENSE": 0,
    "preprocessing.pairs.sampling._DRAWN_AT_ONCE": 4,
}
LIMITS = {**PIECES, **WAYS}


@contextmanager
def lowered(names):
    """The given limits so low that small problems are beyond them."""
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(patch(f"skmde.{name}", LIMITS[name]))
        yield
