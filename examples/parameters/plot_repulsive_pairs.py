"""
Which pairs repel
=================

``repulsion`` chooses the pairs that repel, and whether their weight adapts to the map.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import PreserveNeighbors

kinds = ["all", "normalized", "sampled", "far"]
estimators = {
    f'repulsion="{kind}"': PreserveNeighbors(repulsion=kind, random_state=0) for kind in kinds
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# ``"all"`` and ``"normalized"`` let all pairs repel; with ``"normalized"`` the weight adapts to
# the map, as in t-SNE. ``"sampled"`` lets a random sample of pairs repel, under a penalty that is
# infinite at distance 0: groups are tight, and the ring breaks into dashes where the sample is
# thin. ``"far"`` samples among the farthest pairs only: groups are tighter still, and the ring,
# whose near parts have nothing to hold them apart, becomes a few straight lines.
