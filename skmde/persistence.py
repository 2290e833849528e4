"""Files of fitted estimators: what a safe reader has to trust.

A pickle (also by joblib) can run any code when it is read, so read only those whose origin you
trust. skops reads files without running code, and refuses types that it does not know, such as
those of this package. ``TRUSTED_TYPES`` names the ones that fitted estimators hold; their methods
that run on reading do nothing but set attributes (and, with the algorithm "faiss", hand bytes to
faiss, which checks them less strictly)::

    skops.io.dump(estimator, "map.skops")
    estimator = skops.io.load("map.skops", trusted=skmde.persistence.TRUSTED_TYPES)
"""

from __future__ import annotations

__all__ = ["TRUSTED_TYPES"]

_CLASSES = {
    "_anchored": "Anchored",
    "_attractive": "Cubic Huber Linear Log1p Logistic Power Quadratic Sigmoid",
    "_repulsive": "Barrier Hinge InversePower Log LogRatio",
    "constraints": "Centered Standardized",
    "estimators._anchored": "AnchoredMDE",
    "estimators._anchored_classifier": "AnchoredClassifier",
    "estimators._anchored_pairs": "DistancePairs WeightedPairs",
    "estimators._counted": "CountedSamples",
    "estimators._known_rows": "KeptRows KnownRows",
    "estimators._neighbor_pairs": "NeighborPairs",
    "estimators._neighbor_tables": "NeighborTables",
    "estimators._original_distances": "GraphDistances MatrixDistances NeighborPaths RowDistances",
    "estimators._preserve_distances": "PreserveDistances",
    "estimators._preserve_neighbors": "PreserveNeighbors",
    "estimators._quadratic": "QuadraticMDE",
    "estimators._quadratic_gram": "AllPaths DistanceProblem KernelProblem",
    "estimators._quadratic_local": "LocallyLinearProblem Reconstruction",
    "estimators._quadratic_mvu": "UnfoldingProblem",
    "estimators._quadratic_pca": "PrincipalProblem",
    "estimators._quadratic_weights": "GivenWeightsProblem LaplacianProblem Neighbors",
    "losses": "AbsoluteLoss CubicLoss FractionalLoss HuberLoss LogisticLoss PowerLoss "
    "SoftFractionalLoss SquaredLoss WeightedSquaredLoss",
    "preprocessing._directions": "WithZeroRows",
    "preprocessing._exact": "AllPairs",
    "preprocessing._faiss": "FaissLists",
    "preprocessing._index": "NeighborIndex",
    "preprocessing._joint_index": "JointIndex",
    "preprocessing._pynndescent": "Descent",
    "preprocessing._pairwise": "AllPairsMetric AllPairsSparse",
    "preprocessing._scaling": "Scaling",
    "preprocessing._spaces": "AngularSpace MetricSpace VectorSpace",
    "preprocessing._torch": "DeviceAllPairs",
    "preprocessing.distances": "MetricDistances",
}

# Full names, for the argument `trusted` of skops.
TRUSTED_TYPES = [
    *(f"skmde.{module}.{name}" for module, names in _CLASSES.items() for name in names.split()),
    # Rows as they were given; skops reads them by scipy's `load_npz`, without pickle.
    *(
        f"scipy.sparse._{kind}.{kind}_{form}"
        for kind in ("coo", "csc", "csr")
        for form in ("array", "matrix")
    ),
    "numpy.dtype",  # of metrics that compare booleans; skops reads it off an empty array
    "torch.device",
]
