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
    "constraints.anchored": "Anchored",
    "constraints.standard": "Centered Standardized",
    "estimators._anchored": "AnchoredMDE",
    "estimators._anchored_classifier": "AnchoredClassifier",
    "estimators._preserve_distances": "PreserveDistances",
    "estimators._preserve_neighbors": "PreserveNeighbors",
    "estimators._quadratic": "QuadraticMDE",
    "preprocessing.neighbors.known_rows": "KeptRows KnownRows",
    "estimators.pairs.anchored": "AffinityPairs DistancePairs WeightedPairs",
    "estimators.pairs.matrix_distances": "MatrixDistances",
    "estimators.pairs.neighbors": "NeighborPairs",
    "estimators.pairs.path_distances": "GraphDistances NeighborPaths",
    "estimators.pairs.row_distances": "RowDistances",
    "estimators.samples.counted": "CountedSamples",
    "estimators.spectral.gram": "AllPaths DistanceProblem KernelProblem",
    "estimators.spectral.laplacian": "GivenWeightsProblem LaplacianProblem",
    "estimators.spectral.locally_linear": "LocallyLinearProblem Reconstruction",
    "estimators.spectral.principal": "PrincipalProblem",
    "estimators.spectral.unfolding": "UnfoldingProblem",
    "functions.logarithms": "Log Log1p LogRatio",
    "functions.powers": "Cubic InversePower Linear Power Quadratic",
    "functions.relative_losses": "FractionalLoss SoftFractionalLoss WeightedSquaredLoss",
    "functions.residual_losses": "AbsoluteLoss CubicLoss HuberLoss LogisticLoss PowerLoss "
    "SquaredLoss",
    "functions.thresholds": "Barrier Hinge Huber Logistic Sigmoid",
    "_linalg.scaling": "Scaling",
    "preprocessing.neighbors.backends.descent": "DescentSearch",
    "preprocessing.neighbors.backends.exact": "ExactSearch",
    "preprocessing.neighbors.backends.faiss": "FaissSearch",
    "preprocessing.neighbors.backends.pairwise": "PairwiseSearch PairwiseSparseSearch",
    "preprocessing.neighbors.backends.torch": "TorchSearch",
    "preprocessing.neighbors.directions": "SearchWithZeroRows",
    "preprocessing.neighbors.index": "NeighborIndex",
    "preprocessing.neighbors.joint_index": "JointIndex",
    "preprocessing.neighbors.spaces": "AngularSpace MetricSpace VectorSpace",
    "preprocessing.neighbors.tables": "NeighborTables",
    "preprocessing.pairs.distances": "MetricDistances",
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
