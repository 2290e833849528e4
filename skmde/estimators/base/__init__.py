"""What all estimators share: input checks, the fitted state, the choice of a solver, callbacks."""
