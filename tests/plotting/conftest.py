"""Figures of these tests are drawn without a screen, and closed after each test."""

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")
