"""Quantizes before a tensor is split into the heads of an attention, not afterwards.

IREE splits an integer product into as many as there are heads, because it cannot tell what its result is needed for.
Their lanes are those of one head, which fill a part of a group of vector registers. One product of all heads, and
a transposition of bytes behind it, take fewer instructions. What is read from a state, such as the keys of a cache, is
no product's result, and is transposed by the kernel that quantizes it.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import build, ir_util, names, permute


def apply(module: Any, _: object) -> None:
    """Swaps each quantization that has one scale and the reshapes and transpositions before it."""
    for op in ir_util.all_of(module, names.QUANTIZE):
        chain = _moves(op.operands[0])
        moves = any(each.name == names.TRANSPOSE for each in chain)
        if moves and _is_computed(chain[-1].operands[0]) and _has_one_scale(op):
            _swap(op, chain)


def _moves(value: ir_util.Value) -> list[ir_util.Op]:
    """The reshapes and transpositions that end in `value`, the last one first, as far as nothing else reads them."""
    chain: list[ir_util.Op] = []
    while len(ir_util.uses(value)) == 1:
        op = ir_util.definition(value)
        if op is None or op.name not in (names.TRANSPOSE, *names.RESHAPES):
            break
        chain.append(op)
        value = op.operands[0]
    return chain


def _is_computed(value: ir_util.Value) -> bool:
    """Whether a tensor is the result of a product, or of what follows one."""
    op = ir_util.definition(value)
    return op is not None and bool(op.name.startswith("linalg."))


def _has_one_scale(op: ir_util.Op) -> bool:
    values, *scales, result = (
        ir.AffineMapAttr(item).value for item in ir.ArrayAttr(op.attributes["indexing_maps"])
    )
    identity = ir.AffineMap.get_identity(values.n_dims)
    return values == result == identity and not any(scale.results for scale in scales)


def _turns(move: ir_util.Op) -> bool:
    """Whether other elements become neighbors, as in the keys of an attention."""
    if move.name != names.TRANSPOSE:
        return False
    axes = list(ir.DenseI64ArrayAttr(move.attributes["permutation"]))
    return bool(axes[-1] != len(axes) - 1)


def _swap(op: ir_util.Op, chain: list[ir_util.Op]) -> None:
    source = chain[-1].operands[0]
    element = op.results[0].type.element_type
    attributes = {name: op.attributes[name] for name in op.attributes}
    identity = ir.AffineMap.get_identity(source.type.rank)
    one = ir.AffineMap.get(source.type.rank, 0, [])
    scales = list(op.operands)[1:-1]
    maps = (identity, *(one for _ in scales), identity)
    attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(item) for item in maps])
    with ir.InsertionPoint(op), op.location:

        def empty(shape: Any) -> Any:
            type_ = ir.RankedTensorType.get(shape, element)
            return build.op(names.EMPTY, type_)

        first = empty(source.type.shape)
        value = ir.Operation.create(
            names.QUANTIZE, [first.type], [source, *scales, first], attributes
        ).result
        value = permute.apart(value)
        for move in reversed(chain):
            shape = move.results[0].type.shape
            if move.name == names.TRANSPOSE:
                axes = list(ir.DenseI64ArrayAttr(move.attributes["permutation"]))
                value = linalg.transpose(value, outs=[empty(shape)], permutation=axes).results[0]
                continue
            kind = ir.RankedTensorType.get(shape, element)
            value = build.again(move, [kind], [value, *list(move.operands)[1:]]).result
        if any(_turns(move) for move in chain):
            # Or a product would read its lanes far apart.
            value = permute.apart(value)
    op.results[0].replace_all_uses_with(value)
    for dead in (op, *chain):
        dead.erase()
