"""
How neighbours attract each other
=================================

``attractive_penalty`` is the cost of the distance of two neighbours. Its slope is the pull between
them. What matters is what the pull does at long and at short distances.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import Huber, Log1p, PreserveNeighbors

penalties = [Log1p(1.5), Log1p(2.0), Huber(1.0), "linear", "quadratic"]
estimators = {
    str(penalty): PreserveNeighbors(attractive_penalty=penalty, random_state=0)
    for penalty in penalties
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# The pull of ``Log1p`` fades with the distance, so repulsion can part groups that have only a few
# neighbours in common: tight groups and empty space. ``Log1p(2.0)`` is the default for the digits.
#
# The pull of ``Huber(1.0)`` does not fade, and that of ``"quadratic"`` grows. The map stays in
# one piece; under ``"quadratic"`` the groups are as wide as the gaps between them. ``Huber(1.0)``
# is the default for the knot, whose intrinsic dimension is that of a curve.
#
# ``"linear"`` pulls just as strongly at distance 0 as far away, so neighbours fall onto each
# other: the ring becomes a string of dots.
