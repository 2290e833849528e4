"""Fused kernels in Triton, for GPUs."""
