"""Searches from the nodes of a graph, which the ranks of a group share by their sources."""

from __future__ import annotations

from skmde._utils.ranks.together import current_ranks

__all__ = ["join", "own_sources"]


def own_sources(sources):
    """This rank's share of the sources; all of them without ranks."""
    ranks = current_ranks()
    return sources if ranks is None else sources[ranks.share(len(sources))]


def join(out, starts, sources):
    """Write what the other ranks found into an array of results.

    Parameters
    ----------
    out : ndarray of shape (p,)
        This rank has written the results of its own sources.
    starts : ndarray of shape (n + 1,)
        The results of source i are ``out[starts[i]:starts[i + 1]]``.
    sources : ndarray of int
        All sources, ascending. The others have no results.
    """
    ranks = current_ranks()
    if ranks is None or not len(sources):
        return
    # Nodes between two sources have no results, so those of consecutive sources are contiguous.
    firsts = ranks.bounds(len(sources))[1:-1]
    ranks.fill(out, [0, *(int(starts[sources[k]]) for k in firsts), len(out)])
