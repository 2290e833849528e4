"""The search algorithms for nearest neighbours, one file each."""
