"""Functions that measure the quality of an embedding, from arrays alone.

There are three groups. `center`, `rotate`, `align` and `procrustes_distance` move embeddings and
compare their positions. `neighborhood_recall`, `trustworthiness` and `triplet_accuracy` measure how
well an embedding preserves the structure of the data, `knn_accuracy` and `knn_r2` how well it
predicts classes or numbers; `embedding_report` computes these and says what they mean,
`quality_report` the four of them that benchmarks compare. `normalized_stress` and
`distortion_by_group` measure errors of the distances. `Distortions` is what the method
`distortions` of an estimator returns.
"""

from skmde.metrics.alignment import align, center, procrustes_distance, rotate
from skmde.metrics.attributes import AttributeScore, HeldOutAttributes, held_out_attributes
from skmde.metrics.distortions import (
    Distortions,
    GroupAverages,
    GroupComparison,
    SegmentDistortion,
)
from skmde.metrics.measures import (
    EmbeddingReport,
    Measure,
    ReportComparison,
    compare,
    embedding_report,
)
from skmde.metrics.prediction import knn_accuracy, knn_r2
from skmde.metrics.preservation import (
    continuity,
    item_recall,
    neighborhood_recall,
    triplet_accuracy,
    trustworthiness,
)
from skmde.metrics.report import quality_report
from skmde.metrics.stress import (
    GroupDistortion,
    distance_correlation,
    distortion_by_group,
    normalized_stress,
)

__all__ = [
    "AttributeScore",
    "Distortions",
    "EmbeddingReport",
    "GroupAverages",
    "GroupComparison",
    "GroupDistortion",
    "HeldOutAttributes",
    "Measure",
    "ReportComparison",
    "SegmentDistortion",
    "align",
    "center",
    "compare",
    "continuity",
    "distance_correlation",
    "distortion_by_group",
    "embedding_report",
    "held_out_attributes",
    "item_recall",
    "knn_accuracy",
    "knn_r2",
    "neighborhood_recall",
    "normalized_stress",
    "procrustes_distance",
    "quality_report",
    "rotate",
    "triplet_accuracy",
    "trustworthiness",
]
