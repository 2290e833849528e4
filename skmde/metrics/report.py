"""Several scores of an embedding in one report."""

from __future__ import annotations

from skmde.metrics.prediction import as_targets, is_continuous, knn_accuracy, knn_r2
from skmde.metrics.preservation import neighborhood_recall, triplet_accuracy, trustworthiness


def quality_report(X, embedding, y=None, *, test=None, metric="euclidean", random_state=0):
    """Compute the scores that skmde's benchmarks use to compare embeddings.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features)
        The data.
    embedding : array-like of shape (n_items, n_components)
        The embedding.
    y : array-like of shape (n_items,) or (n_items, n_targets), default=None
        Classes, or numbers to predict: floats that are not all whole numbers. If None, the report
        has neither "knn_accuracy" nor "knn_r2".
    test : array-like of bool of shape (n_items,) or of int, default=None
        Mask or indices of the test items of `knn_accuracy` or `knn_r2`; None means that each item
        is predicted from all others.
    metric : str or callable, default="euclidean"
        Distance between rows of X.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    dict of str to float
        "knn_recall15" is `neighborhood_recall` with 15 neighbours, of 1000 sampled items;
        "trustworthiness_5k" is `trustworthiness` with 15 neighbours, of 5000 sampled items;
        "triplet" is `triplet_accuracy` with 200,000 triplets;
        "knn_accuracy" is `knn_accuracy` with 10 neighbours if y has classes, and "knn_r2" is
        `knn_r2` with 10 neighbours if it has numbers. Smaller data are not sampled.

    See Also
    --------
    embedding_report : These figures and more, each with what it says in plain words.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmde.metrics import quality_report
    >>> X, y = load_iris(return_X_y=True)
    >>> report = quality_report(X, PCA(2).fit_transform(X), y)
    >>> {name: round(share, 2) for name, share in report.items()}
    {'knn_recall15': 0.8, 'trustworthiness_5k': 0.99, 'triplet': 0.98, 'knn_accuracy': 0.95}
    """
    options = {"metric": metric, "random_state": random_state}
    report = {
        "knn_recall15": neighborhood_recall(X, embedding, 15, sample=1000, **options),
        "trustworthiness_5k": trustworthiness(X, embedding, 15, sample=5000, **options),
        "triplet": triplet_accuracy(X, embedding, 200_000, **options),
    }
    if y is None:
        return report
    score = knn_r2 if is_continuous(as_targets(y)) else knn_accuracy
    return report | {score.__name__: score(embedding, y, 10, test=test)}
