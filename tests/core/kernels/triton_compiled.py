"""Every fused kernel compiled for a GPU that need not be there; a script, which takes minutes
unless it is called with "few".

It needs no GPU, and shows that Triton's compiler accepts the kernels: its interpreter takes more.
"""

import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from skmde.core.kernels.fused import pairs
from skmde.core.kernels.fused.functions import FUSED, FUSED_LOSSES

ARRAYS = {"others": "*i32", "items": "*i32", "starts": "*i64", "stops": "*i64"}
FLOATS = ("X", "parameters", "weights", "deviations", "gradient", "values")


def compiled(kind, m, quarters, dtype):
    name = {torch.float32: "*fp32", torch.float64: "*fp64"}[dtype]
    columns = triton.next_power_of_2(m)
    constants = {
        "M": m,
        "COLUMNS": columns,
        "ROWS": pairs._ENTRIES // (pairs._WIDTH * columns),
        "WIDTH": pairs._WIDTH,
        "KIND": kind,
        "IS_LOSS": kind in FUSED_LOSSES,
        "QUARTERS": quarters,
        "TERMS": pairs._TERMS[dtype],
        "BIG": torch.finfo(dtype).max,
    }
    signature = ARRAYS | dict.fromkeys(FLOATS, name) | {"n_pieces": "i32"}
    signature = {a: signature.get(a, "constexpr") for a in pairs._add_pairs.arg_names}
    source = ASTSource(fn=pairs._add_pairs, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm


def main():
    cases = [(kind, 2, 6, torch.float32) for kind in sorted(FUSED)]
    cases += [(kind, 3, -1, torch.float64) for kind in sorted(FUSED)]
    for case in cases[-8:-6] if "few" in sys.argv else cases:
        asm = compiled(*case)
        assert "cubin" in asm
        assert "atom" not in asm["ptx"] and "red.global" not in asm["ptx"], case
        assert ".local" not in asm["ptx"], case  # no array was moved out of the registers
    print("ok")


if __name__ == "__main__":
    main()
