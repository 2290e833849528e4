"""Data for all, pictures without a screen, and no connections."""

import logging
import os
import socket

import matplotlib
import pytest
from sklearn.datasets import load_digits

# before any of the programs is imported
matplotlib.use("Agg")
# scanpy asks for fonts that few machines have
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(autouse=True)
def no_connections(monkeypatch):
    """A test that needs the internet fails where there is one, too."""

    def refuse(self, address):
        raise OSError(f"Tests open no connections; this one asked for {address}.")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture(scope="session")
def digits():
    """Six hundred handwritten digits, and what they are."""
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]
