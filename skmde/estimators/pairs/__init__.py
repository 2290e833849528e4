"""From fitted neighbours or distances to the pairs of a problem."""
