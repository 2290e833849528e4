"""
The loss of original distances
==============================

``loss`` of :class:`~skmde.PreserveDistances` is the cost of an embedding distance that differs from
the original one.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import PreserveDistances

losses = ["absolute", "squared", "sammon", "kamada_kawai", "fractional"]
data_sets = [digits(300), knot(300)]

# %%
# Distances through space
# -----------------------

estimators = {f'loss="{loss}"': PreserveDistances(loss=loss, random_state=0) for loss in losses}
compare(data_sets, estimators)
plt.show()

# %%
# Lengths of paths
# ----------------
#
# With ``n_neighbors``, distances are the lengths of paths through neighbours.

estimators = {
    f'loss="{loss}"': PreserveDistances(loss=loss, n_neighbors=10, random_state=0)
    for loss in losses
}
compare(data_sets, estimators)
plt.show()

# %%
# Through space, no loss can put 64 dimensions into the plane, and they differ in what they give
# up. ``"absolute"`` leaves out a few distances that cannot be kept, and so the middle is empty.
# ``"kamada_kawai"`` and ``"sammon"`` count short distances more, but there are far more long
# ones. ``"fractional"`` is infinite for coincident samples and spreads them evenly. Along paths
# all losses separate the digits and open the knot; those that count relative errors keep the most
# neighbours.
