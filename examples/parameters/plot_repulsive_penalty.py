"""
The penalty of the repulsion
============================

``repulsive_penalty`` is the function under which pairs repel. Here all pairs repel with each of
them.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import Cauchy, InversePower, Log, LogRatio, PreserveNeighbors

penalties = [Cauchy(), Cauchy(3.0), LogRatio(), Log(), InversePower()]
estimators = {
    str(penalty): PreserveNeighbors(repulsive_penalty=penalty, repulsion="all", random_state=0)
    for penalty in penalties
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# ``Cauchy()`` repels most at a distance of 0.6 and not at all at 0. With the scale 3, points
# closer than that hardly repel, so groups shrink to dots. ``LogRatio``, ``Log`` and
# ``InversePower`` are infinite at 0, so points keep a distance within each group. The reach
# differs: ``Log`` falls exponentially, so groups are near each other. ``InversePower`` is 1 / d,
# so the groups are far apart and look small. 300 iterations are too few for it and ``LogRatio``.
