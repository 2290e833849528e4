"""How many elements a user's function gets in one call, on the CPU.

torch cuts long tensors into one part for each thread. At the end of a part, elements that do not
fill a vector register are computed by other code, with other last bits (pow, sinh, softplus and
more). torch cuts gelu beyond 16384 elements and all elementwise functions from 32768 on. From 2048
on it cuts those of its vector library only (log, exp, tanh and more), whose bits do not depend on
where a part ends. So a call has at most 16384 elements, and their number is a multiple of `PAD`:
the bits of an element then depend neither on the number of threads nor on the elements beside it.
tests/core/kernels/test_torch_blocks.py holds this for what penalties and losses are made of.
"""

from __future__ import annotations

PAD = 64  # elements; fills any vector register
CALL = 256 * PAD  # calls of 31 * PAD elements take 1.8 times the CPU time (300,000 edges)
