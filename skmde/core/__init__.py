"""The solver: edge lists, objective, projected L-BFGS, and the problem class built on them.

Nothing here knows scikit-learn or the estimators.
"""
