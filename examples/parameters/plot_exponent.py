"""
The exponent of the attraction
==============================

``Log1p(exponent)`` is :math:`\\log(1 + d^a)`. Far away its pull is :math:`a / d`, whatever the
exponent; near 0 it is :math:`a\\, d^{a-1}`. So the exponent decides about short distances. The
weight of the repulsion is 1 here for both data sets.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import Log1p, PreserveNeighbors

estimators = {
    f"Log1p({a})": PreserveNeighbors(
        attractive_penalty=Log1p(a), repulsive_weight=1.0, random_state=0
    )
    for a in (0.5, 1.0, 1.5, 2.0, 3.0)
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# With 1.0 and 1.5, the pull near 0 is so strong that points of the ring gather in clumps, and
# recall falls. With 2.0 and 3.0 the pull vanishes at distance 0 and the points are spread evenly.
# With 0.5, a few digits are left far from their group, because the pull fades quickest.
#
# 2.0 is the default where all pairs repel, and 1.5 where repulsive pairs are sampled.
