"""Products of matrices as a GPU may compute them, with fewer bits than float32 has."""

import torch


def with_products_of(bits, monkeypatch):
    """Let `torch.addmm` round the factors that are not in float64; TF32 has 10 bits, bfloat16 7."""
    multiply = torch.addmm

    def rounded(x):
        if x.dtype == torch.float64:
            return x
        mantissa, exponent = torch.frexp(x)
        return torch.ldexp((mantissa * 2**bits).round() / 2**bits, exponent)

    def addmm(c, a, b, **options):
        return multiply(c, rounded(a), rounded(b), **options)

    monkeypatch.setattr(torch, "addmm", addmm)
