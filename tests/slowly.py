"""Variants of a test that only `make test-slow` runs."""

import pytest


def slow(*values):
    """Values of a parameter that are too slow for each run; a faster one is in each run."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
