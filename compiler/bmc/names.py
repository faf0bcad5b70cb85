"""IREE's names for kernels."""

from __future__ import annotations


def op_signature(function: str) -> str:
    """Returns "matmul_128x512x128_f32" for "main_dispatch_15_matmul_128x512x128_f32"."""
    head, _, tail = function.partition("_dispatch_")
    number, _, rest = tail.partition("_")
    return rest if head and number.isdigit() and rest else function
