"""Makes matrix products of numbers that were bf16 read bf16, and add up f32 as before.

PyTorch's exporter converts both operands to f32. The result of the layer before would take twice the memory, and would
be rounded by operations on its bits (bf16_rounding.py). The product of two bf16 is exact in f32.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util

_PRODUCTS = ("stablehlo.dot", "stablehlo.dot_general")
_CONVERT = "stablehlo.convert"


def apply(module: Any, _: object = None) -> None:
    """Rewrites such products of StableHLO."""
    for op in ir_util.walk(module.operation):
        if op.name not in _PRODUCTS or not isinstance(op.results[0].type.element_type, ir.F32Type):
            continue
        sources = [_source(operand) for operand in op.operands]
        if all(isinstance(source.type.element_type, ir.BF16Type) for source in sources):
            for place, source in enumerate(sources):
                op.operands[place] = source


def _source(value: Any) -> Any:
    """Returns what a conversion reads, the value itself if it is none."""
    maker = ir_util.definition(value)
    return maker.operands[0] if maker is not None and maker.name == _CONVERT else value
