"""Settings that every test shares."""

from hypothesis import settings

# No deadline: the first example of a test may compile a kernel, and CI machines stall.
# Derandomised, so that a run says the same as the run before it.
settings.register_profile("skmde", deadline=None, derandomize=True)
settings.load_profile("skmde")
