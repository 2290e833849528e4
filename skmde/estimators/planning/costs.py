"""Memory of the stages of a fit, in bytes beyond what is in use before it.

The constants were measured on two cores with ``benchmarks/plan.py``, which compares plans with fits
over the sizes of the other benchmarks. They hold for the CPU. On a GPU, the arrays of the solver
are there, and the plan is what host and device need together.
"""

from __future__ import annotations

from collections.abc import Callable

from skmde.estimators.planning.plan import Stage
from skmde.estimators.planning.sizes import Size

_CODE = 15e6  # compiled kernels, and small arrays
_PROJECTED = 64  # features, to which a search reduces more
_MOST_COPIED = 80e6  # principal components are computed from blocks of rows
# Of PreserveNeighbors and its kin: bytes for a sample, a neighbour, and a searched feature.
_SEARCH = 306.0, 57.0, 15.0
_EDGES = 295.0, 77.0, 13.0
_SOLVE = 407.0, 85.0, 15.0
_COMPONENT = 82.0
_SAMPLED_PAIR = 20.0
_GIVEN = 2.0, 0.2  # copies of a given matrix, and of a dense one of distances
_COPY = 1.15  # of a table of rows, with what the allocator loses
# Of PreserveDistances: bytes for a pair.
_ALL, _ALL_MEASURED = 20.0, 6.5
_LISTED, _LISTED_MEASURED = 43.0, 35.0
_ORDERED = 112.0  # with a regression on their order
_ANCHORED = 130.0  # of AnchoredMDE
_ROWS = 2.4  # copies of the rows
# Of matrices of all pairs: bytes for an entry.
_MATRIX, _PATHS = 16.0, 27.0
_BLOCK_ROWS = 4096  # rows of the blocks that principal components are computed from
_PRODUCTS = 40.0, 20.0  # of a product of weights: while it is computed, and after
_VECTORS = 6  # of the eigensolver, for each wanted one
_ENTRY = 36.0, 44.0  # of given weights: sparse, dense (57 if they must be made symmetric)


def all_pairs(n_samples: int) -> float:
    """Number of pairs of so many samples."""
    return n_samples * (n_samples - 1) / 2


def expected_neighbors(
    size: Size, n_neighbors: int | None, default: Callable[[int], int], *, rows: bool
) -> float:
    """Mean number of neighbours of a sample: as given, as stored in X, or the default."""
    n = size.n_samples
    if n_neighbors is not None:
        return min(n_neighbors, max(n - 1, 1))
    if rows or (size.n_stored is None and size.n_features == n):
        return default(n)
    return size.n_features if size.n_stored is None else max(size.n_stored / n, 1.0)


def neighbor_stages(
    size: Size,
    n_neighbors: float,
    n_components: int,
    *,
    rows: bool,
    fraction: float = 0.0,
    copied_matrix: bool = False,
) -> tuple[Stage, ...]:
    """The stages of an estimator of neighbours.

    Parameters
    ----------
    size : Size
    n_neighbors : float
        Their mean number for each sample.
    n_components : int
    rows : bool
        Whether X holds rows, and not distances, similarities or neighbours.
    fraction : float, default=0.0
        Sampled repulsive pairs for each neighbour.
    copied_matrix : bool, default=False
        Whether a dense matrix is copied, as one of similarities is.
    """
    n, k = size.n_samples, n_neighbors
    searched = min(size.n_features, _PROJECTED) if rows else 0
    copies = (_COPY if rows else _GIVEN[size.n_stored is None and not copied_matrix]) * size.n_bytes
    copies = 0.0 if rows and size.on_disk else copies
    wide = rows and size.n_features > _PROJECTED
    kept = copies if wide and size.itemsize > 4 else 0.0

    def stage(name: str, each: tuple[float, float, float], more: float, what: str) -> Stage:
        of_row = each[0] + each[1] * k + each[2] * searched
        return Stage(name, _CODE + n * of_row + more, what)

    kind = "items" if not rows else "rows" if size.n_stored is None else "sparse rows"
    found = stage(
        "neighbors",
        _SEARCH,
        copies if wide or not rows else 0.0,
        f"{k:.3g} {'' if rows else 'given '}neighbours of {n:,} {kind}",
    )
    edges = stage("edges", _EDGES, kept, f"at most {n * k:.3g} pairs")
    copied = min(12.0 * n * size.n_features, _MOST_COPIED) if rows else 0.0
    start = stage("init", _EDGES, kept + copied, f"a start in {n_components} dimensions")
    sampled = min(fraction * n * k, all_pairs(n))
    vectors = n * n_components * _COMPONENT + sampled * _SAMPLED_PAIR
    solve = stage("solve", _SOLVE, kept + vectors, f"{n:,} x {n_components} coordinates")
    return found, edges, start, solve


def laplacian_stages(
    size: Size, n_neighbors: float, n_components: int, *, rows: bool, products: bool = False
) -> tuple[Stage, ...]:
    """The stages of a quadratic problem of neighbours; for arguments see `neighbor_stages`.

    With `products`, neighbours of one sample are pairs, too, as in locally linear embedding.
    """
    found, edges, *_ = neighbor_stages(size, n_neighbors, n_components, rows=rows)
    wide = rows and size.n_features > _PROJECTED
    exact = _COPY * size.n_bytes if wide else 0.0
    vectors = 8.0 * _VECTORS * (n_components + 3) * size.n_samples
    made, kept = (each * size.n_samples * n_neighbors**2 * products for each in _PRODUCTS)
    return (
        Stage("weights", max(found.n_bytes, edges.n_bytes) + exact + made, found.what),
        Stage("solve", edges.n_bytes + vectors + kept, f"{n_components} eigenvectors"),
    )


def distance_stages(
    size: Size,
    n_pairs: float,
    *,
    rows: bool,
    listed: bool,
    ordered: bool = False,
    anchored: bool = False,
    joined: bool = False,
) -> tuple[Stage, ...]:
    """The stages of an estimator of distances.

    Parameters
    ----------
    size : Size
    n_pairs : float
    rows : bool
        Whether X holds rows.
    listed : bool
        Whether the pairs are some of all.
    ordered : bool, default=False
        Whether their order counts.
    anchored : bool, default=False
        Whether the problem is that of AnchoredMDE, or of an extension.
    joined : bool, default=False
        Whether a dense matrix of all samples is made from one of some.
    """
    dense = size.n_stored is None
    copies = (_ROWS if rows else 0.0 if dense else _COPY) * size.n_bytes
    measured, solved = (_LISTED_MEASURED, _LISTED) if listed else (_ALL_MEASURED, _ALL)
    if ordered:
        solved = _ORDERED
    if anchored:
        solved = _ANCHORED
    pairs = f"{n_pairs:.3g} pairs of {size.n_samples:,} samples"
    what = f"{pairs}, sampled" if listed and rows else pairs
    made = size.n_bytes if joined and dense and not rows else 0.0
    return (
        Stage("distances", _CODE + copies + made + measured * n_pairs, what),
        Stage("solve", _CODE + copies + solved * n_pairs, "loss and gradient of the pairs"),
    )


def pairs_within(limit: float, size: Size, **options: bool) -> int:
    """The number of sampled pairs for which `distance_stages` stays below a limit."""
    none, some = (
        {stage.name: stage.n_bytes for stage in distance_stages(size, n, listed=True, **options)}
        for n in (0.0, 1e6)
    )
    room = (1e6 * (limit - none[name]) / (some[name] - none[name]) for name in none)
    return max(0, int(min(room)))


def principal_stages(size: Size) -> tuple[Stage, ...]:
    """The stages of principal components."""
    n, d = size.n_samples, size.n_features
    needed = _CODE + 8.0 * (2 * _BLOCK_ROWS * d + 2 * min(n, d) ** 2)
    return (Stage("weights", needed, f"products of {d:,} features, from blocks of rows"),)


def graph_stages(size: Size, n_components: int) -> tuple[Stage, ...]:
    """The stages of a given graph of weights."""
    dense = size.n_stored is None
    entries = size.n_samples**2 if size.n_stored is None else size.n_stored
    vectors = 8.0 * _VECTORS * (n_components + 3) * size.n_samples
    return (
        Stage("weights", _CODE + _ENTRY[dense] * entries, f"{entries:.3g} weights"),
        Stage("solve", _CODE + 12.0 * entries + vectors, "its smallest eigenvalues"),
    )


def matrix_stages(size: Size, *, paths: bool, given: bool = False) -> tuple[Stage, ...]:
    """The stages of a method with a matrix of all pairs, which may be given as distances."""
    n = size.n_samples
    each = _PATHS if paths else _MATRIX + 8.0 * given
    kind = "path lengths" if paths else "inner products or distances"
    needed = _CODE + each * n**2
    return (
        Stage("weights", needed, f"a matrix of the {kind} of all pairs of {n:,} samples"),
        Stage("solve", _CODE + 0.55 * each * n**2, "its largest eigenvalues"),
    )
