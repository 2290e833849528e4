"""Texts that tell one problem from another."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from sparse_arrays import random_sparse

from skmde import Anchored, Cauchy, Huber, Log1p
from skmde.core.checkpoints.facts import described, differences, digest, of_data

VALUES = [
    *(None, True, 1, 1.0, 1.0 + 1e-15, "1", "None", (), [1], [1.0], {"p": 3}, {"p": 4}),
    *(Log1p(), Log1p(2.0), Cauchy(), Huber(0.5), "log1p", Log1p, np.sin, torch.log1p),
    *(Anchored([0], [[1.0, 2.0]]), Anchored([1], [[1.0, 2.0]]), Anchored([0], [[1.0, 3.0]])),
    *(np.zeros(3), np.zeros((3, 1)), np.zeros(4), np.ones(3), np.zeros(3, np.float32)),
    *(np.array(["a", None], dtype=object), np.array(["b", None], dtype=object)),
    *(np.random.RandomState(0), np.random.RandomState(1)),
    *(sp.eye_array(3).tocsr(), 2 * sp.eye_array(3).tocsr(), sp.csr_array((3, 3))),
    *(list(range(100)), [*range(99), 0], pd.DataFrame({"a": [1.0, 2.0]})),
]


def test_values_that_differ_have_texts_that_differ():
    texts = [described(value) for value in VALUES]
    assert len(set(texts)) == len(texts)
    assert not any(" at 0x" in text for text in texts)


def test_equal_values_have_equal_texts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 4))
    assert described(np.float64(0.1)) == described(0.1)
    assert described(Log1p(1.5)) == described(Log1p(1.5))
    assert described(torch.from_numpy(X)) == digest(X) == digest(X[:, ::-1][:, ::-1])
    assert digest(np.asfortranarray(X)) == digest(X)
    graph = random_sparse((20, 20), 0.2, seed=0)
    assert of_data(graph.tocoo()) == of_data(graph)
    assert described(np.random.RandomState(3)) == described(np.random.RandomState(3))


WRONG = [
    ({"a": "1"}, {"a": "1"}, []),
    ({"a": "1", "b": "2"}, {"a": "3", "b": "2"}, ["a was 1, is 3"]),
    ({"a": "1"}, {"a": "1", "b": "2"}, ["b was missing, is 2"]),
    ({"a": "1", "b": "2"}, {"a": "1"}, ["b was 2, is missing"]),
    ({"weights": digest(np.zeros(3))}, {"weights": digest(np.ones(3))}, ["weights differ"]),
    (
        {"weights": digest(np.zeros(3))},
        {"weights": digest(np.zeros(4))},
        ["weights was float64 of shape (3,), is float64 of shape (4,)"],
    ),
    (
        {"weights": "None"},
        {"weights": digest(np.zeros(4))},
        ["weights was None, is float64 of shape (4,)"],
    ),
]


def test_differences_are_named():
    for before, now, wrong in WRONG:
        assert differences(before, now) == wrong
