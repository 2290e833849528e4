"""Further inputs of `fit`: weights, labels, targets and coordinates of samples."""
