"""What a notebook shows of a fitted estimator."""
