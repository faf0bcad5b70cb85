"""Reverses a StableHLO tensor before elements are left out of it, because IREE cannot compile the other order.

`x[:, ::-2]` in JAX is the reverse of every second element. What is left of a dimension of n elements begins at
n - 1 - (start + (size - 1) * stride) in the reversed dimension.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util, stablehlo


def apply(module: Any, _: object = None) -> None:
    """Rewrites reversals of slices that leave out elements between others."""
    for op in ir_util.all_of(module, "stablehlo.reverse"):
        maker = ir_util.definition(op.operands[0])
        if maker is None or maker.name != "stablehlo.slice":
            continue
        dims = set(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        starts, steps = (
            list(ir.DenseI64ArrayAttr(maker.attributes[name]))
            for name in ("start_indices", "strides")
        )
        whole, part = maker.operands[0], op.results[0]
        if all(steps[dim] == 1 for dim in dims) or 0 in part.type.shape:
            continue
        for dim in dims:
            last = starts[dim] + (part.type.shape[dim] - 1) * steps[dim]
            starts[dim] = whole.type.shape[dim] - 1 - last
        ends = [
            start + (size - 1) * step + 1
            for start, size, step in zip(starts, part.type.shape, steps, strict=True)
        ]
        with ir.InsertionPoint(op), op.location:
            turned = build.op(
                "stablehlo.reverse", whole.type, whole, dimensions=op.attributes["dimensions"]
            )
            made = stablehlo.sliced(turned, part.type, starts, ends, steps)
        part.replace_all_uses_with(made)
        op.erase()
