"""Types that skops must trust to load a fitted estimator.

Loading a pickle or a joblib file can run arbitrary code, so load only files from a source that you
trust. skops loads files without running code. It rejects types that it does not know, such as those
of this package. ``TRUSTED_TYPES`` lists the types that fitted estimators contain. When skops loads
them, their methods only set attributes. With the algorithm "faiss", they also pass bytes to faiss,
which validates them less strictly::

    skops.io.dump(estimator, "map.skops")
    estimator = skops.io.load("map.skops", trusted=skmde.persistence.TRUSTED_TYPES)
"""

from __future__ import annotations

__all__ = ["TRUSTED_TYPES"]

_CLASSES = {
    "constraints.anchored": "Anchored",
    "constraints.box": "Box NonNegative",
    "constraints.radial": "Disc Sphere",
    "constraints.same_coordinate": "SameCoordinate",
    "constraints.standard": "Centered Standardized",
    "core.monotone.regressions": "Line Steps",
    "estimators._anchored": "AnchoredMDE",
    "estimators._anchored_classifier": "AnchoredClassifier",
    "estimators._preserve_distances": "PreserveDistances",
    "estimators._preserve_neighbors": "PreserveNeighbors",
    "estimators._quadratic": "QuadraticMDE",
    "estimators.neighborhoods.paths": "PathPairs",
    "estimators.neighborhoods.weights": "NeighborWeights",
    "preprocessing.graphs.near_nodes": "NearNodes",
    "preprocessing.neighbors.known_rows": "KeptRows KnownRows",
    "estimators.pairs.anchored": "AffinityPairs DistancePairs WeightedPairs",
    "estimators.pairs.matrix_distances": "MatrixDistances",
    "estimators.pairs.neighbors": "NeighborPairs",
    "estimators.pairs.path_distances": "GraphDistances NeighborPaths",
    "estimators.pairs.repulsion": "RepulsiveSamples",
    "estimators.pairs.repulsion_rule": "RepulsionRule",
    "estimators.pairs.row_distances": "RowDistances",
    "estimators.samples.counted": "PositiveWeightSamples",
    "estimators.spectral.gram": "AllPaths DistanceProblem KernelProblem",
    "estimators.spectral.laplacian": "GivenWeightsProblem LaplacianProblem",
    "estimators.spectral.locally_linear": "LocallyLinearProblem Reconstruction",
    "estimators.spectral.principal": "PrincipalProblem",
    "estimators.spectral.unfolding": "UnfoldingProblem",
    "functions.adapters": "LossOfDistance",
    "functions.logarithms": "Log Log1p LogRatio",
    "functions.powers": "Cauchy Cubic InversePower Linear Power Quadratic",
    "functions.relative_losses": "FractionalLoss SoftFractionalLoss WeightedSquaredLoss",
    "functions.residual_losses": "AbsoluteLoss CubicLoss HuberLoss LogisticLoss PowerLoss "
    "SquaredLoss",
    "functions.thresholds": "Barrier Hinge Huber Logistic Sigmoid",
    "_linalg.frame": "Unit",
    "_linalg.scaling": "Scaling",
    "preprocessing.neighbors.backends.descent": "DescentSearch",
    "preprocessing.neighbors.backends.exact": "ExactSearch",
    "preprocessing.neighbors.backends.faiss": "FaissSearch",
    "preprocessing.neighbors.backends.pairwise": "PairwiseSearch PairwiseSparseSearch",
    "preprocessing.neighbors.backends.torch": "TorchSearch",
    "preprocessing.neighbors.backends.trees": "TreeSearch",
    "preprocessing.neighbors.directions": "SearchWithZeroRows",
    "preprocessing.neighbors.index": "NeighborIndex",
    "preprocessing.neighbors.joint_index": "JointIndex",
    "preprocessing.neighbors.metrics.fitted": "FittedMetric",
    "preprocessing.neighbors.metrics.linear": "LinearMap",
    "preprocessing.neighbors.spaces": "AngularSpace MetricSpace VectorSpace",
    "preprocessing.neighbors.tables": "NeighborTables SimilarityTables",
    "preprocessing.pairs.distances": "MetricDistances",
}

# Full names, for the argument `trusted` of `skops.io.load`.
TRUSTED_TYPES = [
    *(f"skmde.{module}.{name}" for module, names in _CLASSES.items() for name in names.split()),
    # Sparse training samples; skops loads them with scipy's `load_npz`, without pickle.
    *(
        f"scipy.sparse._{kind}.{kind}_{form}"
        for kind in ("coo", "csc", "csr")
        for form in ("array", "matrix")
    ),
    "numpy.dtype",  # for metrics on booleans; skops takes it from an empty array
    "torch.device",
]
