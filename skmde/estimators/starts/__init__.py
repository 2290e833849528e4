"""Starting points of a solver."""
