"""Data that several tests of preprocessing share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def cloud():
    """2,000 rows near a 5-dimensional plane in 80 dimensions."""
    rng = np.random.default_rng(0)
    plane = rng.standard_normal((2000, 5)) @ rng.standard_normal((5, 80))
    return plane + 0.1 * rng.standard_normal((2000, 80))
