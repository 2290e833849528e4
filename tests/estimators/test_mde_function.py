"""``skmde.mde`` where code calls the function that scvi-tools had."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import torch
from sklearn.datasets import load_digits

from skmde import PreserveNeighbors, mde

LATENT = load_digits().data[:200, 10:30].astype(np.float32)


def of_pymde(name, **attributes):
    """A class that looks as if it came from PyMDE."""
    members = {"__module__": "pymde.constraints", "__repr__": lambda self: name}
    return type(name, (), {**members, **attributes})


def test_defaults_are_those_of_scvi_tools():
    Y = mde(LATENT, seed=0)
    expected = PreserveNeighbors(
        n_components=2,
        n_neighbors=15,
        repulsive_fraction=0.7,
        constraint="standardized",
        device="auto",
        random_state=0,
    ).fit(LATENT)
    np.testing.assert_array_equal(Y, expected.embedding_)
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(2), atol=1e-4)


@pytest.mark.parametrize(
    "convert", [torch.tensor, sp.csr_matrix, sp.csc_array, pd.DataFrame, lambda X: X.tolist()]
)
def test_every_container_gives_the_same_array(convert):
    Y = mde(convert(LATENT), "cpu", 3)
    assert type(Y) is np.ndarray
    np.testing.assert_allclose(Y, mde(LATENT, device="cpu", seed=3), atol=1e-4)


def test_an_array_comes_out_whatever_scikit_learn_is_configured_to_give():
    with sklearn.config_context(transform_output="pandas"):
        assert type(mde(pd.DataFrame(LATENT[:50]), seed=0)) is np.ndarray


def test_a_seed_repeats_the_map_and_none_does_not():
    np.testing.assert_array_equal(mde(LATENT, seed=1), mde(LATENT, seed=1))
    assert not np.array_equal(mde(LATENT, seed=1), mde(LATENT, seed=2))
    assert not np.array_equal(mde(LATENT), mde(LATENT))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"embedding_dim": 3}, {"n_components": 3}),
        ({"repulsive_fraction": 1.3}, {"repulsive_fraction": 1.3}),
        ({"n_neighbors": 7, "verbose": False}, {"n_neighbors": 7}),
        ({"knn_method": "exact"}, {"neighbors_algorithm": "exact"}),
        ({"knn_method": None}, {"neighbors_algorithm": "auto"}),
        ({"init": "random"}, {"init": "random"}),
        ({"repulsive_penalty": None}, {"repulsive_penalty": None}),
        ({"constraint": of_pymde("_Standardized")()}, {"constraint": "standardized"}),
        ({"constraint": of_pymde("_Centered")()}, {"constraint": "centered"}),
        ({"constraint": None}, {"constraint": "centered"}),
    ],
    ids=str,
)
def test_arguments_of_pymde_mean_what_they_meant(theirs, ours):
    defaults = {"n_neighbors": 15, "repulsive_fraction": 0.7, "constraint": "standardized"}
    expected = PreserveNeighbors(random_state=0, **{**defaults, **ours}).fit(LATENT)
    np.testing.assert_array_equal(mde(LATENT, "cpu", 0, **theirs), expected.embedding_)


def test_anchors_of_pymde_stay_where_they_are():
    coordinates = torch.tensor([[0.0, 0.0], [3.0, 1.0]])
    anchored = of_pymde("Anchored", anchors=torch.tensor([4, 9]), values=coordinates)()
    np.testing.assert_allclose(mde(LATENT, seed=0, constraint=anchored)[[4, 9]], coordinates)


def test_further_parameters_of_the_estimator_pass():
    Y = mde(LATENT, metric="cosine", max_iter=7, random_state=0)
    expected = mde(LATENT, seed=0, metric="cosine", max_iter=7)
    np.testing.assert_array_equal(Y, expected)
    assert not np.array_equal(Y, mde(LATENT, seed=0, max_iter=7))


@pytest.mark.parametrize(
    "arguments",
    [
        {"accelerator": "cpu", "device": 3},
        {"accelerator": "auto", "device": "auto"},
        {"device": torch.device("cpu")},
    ],
    ids=str,
)
def test_devices_as_scvi_tools_names_them(arguments):
    assert mde(LATENT[:50], seed=0, **arguments).shape == (50, 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the messages are those without a GPU")
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"device": 0}, "'cuda:0'"),
        ({"device": np.int64(1)}, "'cuda:1'"),
        ({"device": "2"}, "'cuda:2'"),
        ({"device": "gpu"}, "'cuda'"),
        ({"accelerator": "gpu"}, "'cuda'"),
        ({"accelerator": "cuda", "device": "auto"}, "'cuda'"),
        ({"device": "mps"}, "'mps'"),
    ],
    ids=str,
)
def test_a_device_that_is_not_there_is_refused(arguments, name):
    with pytest.raises(ValueError, match=f"device {name} is not available; this machine has cpu"):
        mde(LATENT, **arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"eps": 1e-3}, TypeError, "'eps': use tol"),
        ({"nonsense": 1}, TypeError, "'nonsense': there is no such thing here"),
        ({"embedding_dim": 3, "n_components": 3}, TypeError, "both 'embedding_dim' and"),
        ({"seed": 0, "random_state": 0}, TypeError, "both 'seed' and 'random_state'"),
        ({"accelerator": "tpu"}, ValueError, "accelerator must be 'auto', 'cpu', 'gpu' or 'cuda'"),
        ({"knn_method": "guess"}, ValueError, "Use neighbors_algorithm"),
        (
            {"constraint": of_pymde("_Sphere")()},
            TypeError,
            r"derive a subclass of skmde\.Constraint",
        ),
        ({"attractive_penalty": of_pymde("Log1p")}, TypeError, r"attractive_penalty=skmde\.Log1p"),
        ({"repulsive_penalty": of_pymde("InvPower")}, TypeError, r"skmde\.InversePower\(\)"),
        ({"attractive_penalty": of_pymde("Huber")()}, TypeError, r"skmde\.Huber\(\)"),
        (
            {"attractive_penalty": functools.partial(of_pymde("Huber"), threshold=1.0)},
            TypeError,
            r"skmde\.Huber\(\), with the same parameters",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused_with_our_name(arguments, error, message):
    with pytest.raises(error, match=message):
        mde(LATENT, **arguments)


def test_nothing_is_printed_and_data_are_left_alone(capfd):
    given = LATENT.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mde(given, seed=0)
    assert capfd.readouterr() == ("", "")
    np.testing.assert_array_equal(given, LATENT)
