"""Constants of f16 that a model computes with as f32 become f32.

A model file may store its weights in f16 to be smaller, and convert them before it computes. IREE leaves such
conversions for the target, because they make constants larger. Many harts have no instruction for them, and on others
they would be repeated in every inference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, constant_arrays, ir_util, names


def apply(module: Any, _: object) -> None:
    """Rewrites the operations whose bodies do nothing else with elements of a constant than to extend them to f32."""
    operations = [
        op
        for op in ir_util.walk(module.operation)
        if op.name.startswith("linalg.") and len(op.regions) == 1 and len(op.results)
    ]
    for op in operations:
        arguments = op.regions[0].blocks[0].arguments
        for place, value in enumerate(list(op.operands)[: -len(op.results)]):
            extensions = [user for user, _ in ir_util.uses(arguments[place])]
            if not extensions or not all(map(_is_extension, extensions)):
                continue
            elements = constant_arrays.halves(value, module)
            if elements is not None:
                _widen(op, place, elements, extensions)
        if _only_copies(op):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()


def _is_extension(op: ir_util.Op) -> bool:
    return op.name == "arith.extf" and isinstance(op.results[0].type, ir.F32Type)


def _widen(op: ir_util.Op, place: int, elements: Any, extensions: list[ir_util.Op]) -> None:
    """Lets an operation read a constant of f32 in place of one of f16."""
    value = op.operands[place]
    kind = ir.RankedTensorType.get(value.type.shape, ir.F32Type.get())
    wide = ir.DenseElementsAttr.get(elements.astype(np.float32), type=kind)
    maker: Any = ir_util.definition(value)
    with ir.InsertionPoint(op), maker.location:
        constant = build.constant(wide)
    op.operands[place] = constant
    argument = op.regions[0].blocks[0].arguments[place]
    argument.set_type(ir.F32Type.get())
    for extension in extensions:
        extension.results[0].replace_all_uses_with(argument)
        extension.erase()
    if not list(value.uses):
        maker.erase()


def _only_copies(op: ir_util.Op) -> bool:
    """Whether the result is the constant that is read."""
    if op.name != names.GENERIC:
        return False
    source = ir_util.definition(op.operands[0])
    body = op.regions[0].blocks[0]
    (last, *more) = body.operations
    maps = [str(each.value) for each in op.attributes["indexing_maps"]]
    return (
        not more
        and source is not None
        and source.name == "arith.constant"
        and len(maps) == 2
        and maps[0] == maps[1]
        and last.operands[0] == body.arguments[0]
        and op.operands[0].type == op.results[0].type
    )
