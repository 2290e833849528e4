"""What fitted estimators can say of single points: how far to trust them, and what moves them.

`stability`, `sharpness` and `leave_one_out` measure how well the place of each item is determined,
`point_report` puts this into a table. `forces_on` says which pairs hold an item where it is, and
`feature_sensitivity` which features drive it.
"""

from skmde.inspection.curvature import sharpness
from skmde.inspection.forces import Forces, forces_on
from skmde.inspection.left_out import LeaveOneOut, leave_one_out
from skmde.inspection.points import PointReport, point_report
from skmde.inspection.refits import Stability, stability
from skmde.inspection.sensitivity import FeatureSensitivity, feature_sensitivity

__all__ = [
    "FeatureSensitivity",
    "Forces",
    "LeaveOneOut",
    "PointReport",
    "Stability",
    "feature_sensitivity",
    "forces_on",
    "leave_one_out",
    "point_report",
    "sharpness",
    "stability",
]
