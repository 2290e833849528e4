"""Starting points of a solve."""
