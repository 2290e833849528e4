"""What `fit` is given beside X: weights, labels, targets and places of samples."""
