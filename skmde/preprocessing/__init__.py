"""From data to edges: neighbours, weights, sampled pairs, graphs."""
