"""Numbers that say how good an embedding is: arrays in, numbers out.

Three kinds: where an embedding lies (`center`, `rotate`, `align`, `procrustes_distance`), what it
keeps of the data (`neighborhood_recall`, `trustworthiness`, `triplet_accuracy`, `knn_accuracy`, all
four in `quality_report`), and how far off its distances are (`normalized_stress`,
`distortion_by_group`).
"""

from skmde.metrics.alignment import align, center, procrustes_distance, rotate
from skmde.metrics.preservation import (
    knn_accuracy,
    neighborhood_recall,
    triplet_accuracy,
    trustworthiness,
)
from skmde.metrics.report import quality_report
from skmde.metrics.stress import GroupDistortion, distortion_by_group, normalized_stress

__all__ = [
    "GroupDistortion",
    "align",
    "center",
    "distortion_by_group",
    "knn_accuracy",
    "neighborhood_recall",
    "normalized_stress",
    "procrustes_distance",
    "quality_report",
    "rotate",
    "triplet_accuracy",
    "trustworthiness",
]
