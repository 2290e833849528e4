"""What tables of neighbours are compared with."""

import numpy as np


def by_definition(D, k):
    """The k nearest others of each row of a distance matrix, by (distance, index)."""
    n = len(D)
    indices = np.empty((n, k), int)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        indices[i] = others[np.lexsort((others, D[i, others]))][:k]
    return indices, np.take_along_axis(D, indices, axis=1)


def recall(indices, truth):
    hits = [len(set(a) & set(b)) for a, b in zip(indices.tolist(), truth.tolist(), strict=True)]
    return np.mean(hits) / truth.shape[1]
