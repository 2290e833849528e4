"""What `fit` is given beside X: weights, labels, targets and coordinates of samples."""
