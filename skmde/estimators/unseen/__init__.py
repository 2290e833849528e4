"""What estimators share for unseen samples: extension, support, and the constraint on rows."""
