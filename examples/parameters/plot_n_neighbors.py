"""
How many neighbours
===================

``n_neighbors`` is the number of neighbours that attract each sample. It is the size of the
neighbourhoods that the map keeps whole.
"""

import matplotlib.pyplot as plt
from small_multiples import compare, digits, knot

from skmde import PreserveNeighbors

estimators = {
    f"n_neighbors={k}": PreserveNeighbors(n_neighbors=k, random_state=0)
    for k in (3, 7, 15, 40, 100)
}
compare([digits(), knot()], estimators)
plt.show()

# %%
# With 3 neighbours, the graph of neighbours is so thin that the digits fall into small groups and
# the knot into pieces. 7 or 15 neighbours turn the knot into a ring, which is what it is to an ant
# that walks along it. 40 of 400 points reach from one strand of the knot to the next, so the
# map shows the knot from the side. With 100 of 600 digits, neighbours are often other digits.
#
# The default, 15, suits most data. Recall of 15 neighbours is highest there because the map is made
# for just these; trustworthiness is more even.
