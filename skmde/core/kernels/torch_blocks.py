"""Number of elements per call of a user's function on the CPU.

torch cuts long tensors into one part per thread. At the end of a part, elements that do not fill a
vector register are computed by other code, whose last bits differ (pow, sinh, softplus and more).
torch cuts gelu beyond 16384 elements, and all elementwise functions from 32768 elements on. From
2048 to there, it cuts only functions of its vector library (log, exp, tanh and more), whose bits do
not depend on where a part ends. So a call has at most 16384 elements, and their number is a
multiple of `PAD`. Then the bits of an element depend neither on the number of threads nor on the
elements beside it. tests/core/kernels/test_torch_blocks.py tests this for the functions that
penalties and losses use.
"""

from __future__ import annotations

PAD = 64  # elements; a multiple of the length of any vector register
CALL = 256 * PAD  # calls of 31 * PAD elements take 1.8 times the CPU time (300,000 edges)
