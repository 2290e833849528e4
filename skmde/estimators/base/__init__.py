"""What all estimators share: input checks, the fitted state, extension, callbacks."""
