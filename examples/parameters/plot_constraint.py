"""
The constraint
==============

``constraint`` is the set in which the embedding must lie. The sizes of the disc and of the box are
in the units of the map.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import Box, Disc, PreserveNeighbors

constraints = {
    '"centered"': "centered",
    '"standardized"': "standardized",
    "Disc(8.0)": Disc(8.0),
    "Box(-6.0, 6.0)": Box(-6.0, 6.0),
}
estimators = {
    name: PreserveNeighbors(constraint=constraint, max_iter=1000, random_state=0)
    for name, constraint in constraints.items()
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# ``"centered"`` only fixes the mean. ``"standardized"`` makes the columns uncorrelated, of variance
# 1. It has repulsive pairs that are sampled, half as many as attract, and a barrier as their
# penalty. Take it for features of another model rather than for a picture: it bends the ring.
#
# A disc or a box that is smaller than the map crowds the samples at its boundary. The ring is
# smaller than both and stays as it is.
