"""The mixing of bits that identities of rows and samples of pairs are built on."""

import numpy as np

from skmde._utils.random import GOLDEN, splitmix64


def test_numbers_are_those_of_splitmix64():
    # the first numbers from the seed 1234567, as in the Java and C programs of its authors
    with np.errstate(over="ignore"):
        states = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * GOLDEN
    assert [int(splitmix64(z)) for z in states] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
