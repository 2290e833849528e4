"""Names of parameters in the names of tests."""

import re


def label(value):
    """The value's repr, without the addresses of functions: the same in each process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
