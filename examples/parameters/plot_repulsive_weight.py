"""
How strongly samples repel
==========================

``repulsive_weight`` is the weight of each pair that repels. Both data sets have the attraction
``Log1p(2.0)`` here.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import Log1p, PreserveNeighbors

estimators = {
    f"repulsive_weight={weight}": PreserveNeighbors(
        attractive_penalty=Log1p(2.0), repulsive_weight=weight, random_state=0
    )
    for weight in (0.001, 0.01, 0.1, 1.0, 10.0)
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# At 0.001 the attraction rules: the digits lie on each other along one line, and only the zeros are
# apart. At 0.1 groups are thin, as in maps of UMAP. At 1 and 10 each digit has room, and more
# neighbours are kept. The ring stays whole at each weight; at 10 the points have no room on a line
# any more and make two rows.
#
# ``repulsive_weight=None`` is 1 for both: for the digits, and for a curve of only 400 samples.
