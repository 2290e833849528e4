"""All neighbours within a radius, with a limit on the memory that they may take."""

from __future__ import annotations

from skmde.preprocessing._selection import drop_far

__all__ = ["trim", "within_radius"]

# Entries of a table of neighbours, 12 bytes each, beyond which a radius is refused.
_MAX_ENTRIES = 50_000_000


def within_radius(search, max_distance, n):
    """Tables of all other training rows within a distance.

    The number of neighbours is doubled until no row's list is cut short, so any search will do.

    Parameters
    ----------
    search : callable
        ``search(k)`` returns the sorted tables (indices, distances) of the training rows.
    max_distance : float
    n : int
        Number of training rows.

    Returns
    -------
    indices : ndarray of shape (n, k), int32
        As wide as the row with most neighbours, and at least one column.
    distances : ndarray of shape (n, k), float64

    Raises
    ------
    ValueError
        If the tables would be too large.
    """
    k = min(16, n - 1)
    while True:
        indices, distances = search(k)
        cut_short = (distances[:, -1] <= max_distance).sum()
        if not cut_short or k == n - 1:
            return trim(*drop_far(indices, distances, max_distance))
        k = min(2 * k, n - 1)
        if n * k > _MAX_ENTRIES:
            raise ValueError(
                f"Within max_distance={max_distance}, {cut_short} of {n} rows have more than "
                f"{indices.shape[1]} neighbours; the tables would need more than "
                f"{12 * n * k / 1e9:.1f} GB. Use a smaller max_distance, or set n_neighbors."
            )


def trim(indices, distances):
    """Leave out the columns in which no row has a neighbour, but keep one column."""
    width = max(1, int((indices >= 0).sum(axis=1).max(initial=0)))
    return indices[:, :width], distances[:, :width]
