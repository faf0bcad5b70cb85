"""Permutes the axes of tensors, for the rewrites that change layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.ir import build, ir_util, names


def maps(op: ir_util.Op) -> list[Any]:
    """Returns the indexing maps of a linalg op."""
    return [ir.AffineMapAttr(m).value for m in op.attributes["indexing_maps"]]


def replace(op: ir_util.Op, value: Any, axes: tuple[int, ...]) -> None:
    """Replaces `op` with `value`, which is its result with permuted axes, and erases `op`.

    A linalg.generic reads `value` through a changed indexing map; any other reader gets it transposed
    back.
    """
    others = []
    for reader, operand in ir_util.uses(op.results[0]):
        is_input = reader.name == names.GENERIC and operand < len(reader.operands) - 1
        if not is_input or len(reader.results) != 1:
            others.append((reader, operand))
            continue
        indexing = maps(reader)
        old = indexing[operand]
        indexing[operand] = ir.AffineMap.get(old.n_dims, 0, [old.results[axis] for axis in axes])
        reader.operands[operand] = value
        reader.attributes["indexing_maps"] = build.maps(indexing)
    if others:
        with ir.InsertionPoint(op), op.location:
            back = _copy(value, tuple(axes.index(i) for i in range(len(axes))))
        for reader, operand in others:
            reader.operands[operand] = back
    op.erase()


def transposed(value: Any, axes: tuple[int, ...]) -> Any:
    """Returns `value` with its axes permuted, by a copy that fuses with the producer of `value`."""
    if axes == tuple(range(len(axes))):
        return value
    maker = value.owner
    if not isinstance(maker, ir.Block) and maker.name == names.FILL:
        empty = tensor.empty(permuted(value.type, axes).shape, value.type.element_type)
        return linalg.fill(maker.operands[0], outs=[empty])
    if not isinstance(maker, ir.Block) and maker.name == names.BROADCAST:
        repeated = [axes.index(n) for n in ir.DenseI64ArrayAttr(maker.attributes["dimensions"])]
        kept = [axis for place, axis in enumerate(axes) if place not in repeated]
        if kept == sorted(kept):
            empty = tensor.empty(permuted(value.type, axes).shape, value.type.element_type)
            return linalg.broadcast(
                maker.operands[0], outs=[empty], dimensions=sorted(repeated)
            ).results[0]
    if not isinstance(maker, ir.Block) and maker.name == names.PAD and len(maker.operands) == 1:
        return _pad(maker, axes)
    return _copy(value, axes)


def _copy(value: Any, axes: tuple[int, ...]) -> Any:
    dims = [ir.AffineExpr.get_dim(i) for i in range(len(axes))]
    read = ir.AffineMap.get(len(axes), 0, [dims[axes.index(i)] for i in range(len(axes))])
    return copied(value, permuted(value.type, axes).shape, read)


def copied(source: Any, shape: list[int], read: Any) -> Any:
    """Returns a tensor of `shape` with the elements that the affine map `read` selects from `source`."""
    return computed(source, shape, source.type.element_type, read, lambda element: element)


def computed(
    source: Any, shape: list[int], element: Any, read: Any, compute: Callable[[Any], Any]
) -> Any:
    """Returns a tensor of `shape` with what `compute` makes of each element that the map `read` selects."""
    written = ir.AffineMap.get_identity(len(shape))
    return build.elementwise([source], tensor.empty(shape, element), [read, written], compute)


def apart(value: Any) -> Any:
    """Returns a tensor, which is not computed in the same kernel as what reads the returned one."""
    return build.same(names.BARRIER, value)


def keep_image_apart(op: ir_util.Op) -> None:
    """Forces the image of a convolution to be materialized first, as it is.

    Otherwise IREE folds a permutation into the map through which the convolution reads its image.
    """
    with ir.InsertionPoint(op), op.location:
        op.operands[0] = apart(op.operands[0])


def _pad(pad: ir_util.Op, axes: tuple[int, ...]) -> Any:
    """Returns the transposed tensor with the same padding."""
    sides = {
        side: ir.DenseI64ArrayAttr.get(
            [ir.DenseI64ArrayAttr(pad.attributes[side])[axis] for axis in axes]
        )
        for side in ("static_low", "static_high")
    }
    kind = permuted(pad.results[0].type, axes)
    new = build.again(pad, [kind], [transposed(pad.operands[0], axes)], **sides)
    index = ir.IndexType.get()
    (padding,) = pad.regions[0].blocks[0].operations[-1].operation.operands
    with ir.InsertionPoint(new.regions[0].blocks.append(*[index] * len(axes))):
        ir.Operation.create(names.PAD_YIELD, operands=[padding])
    return new.results[0]


def permuted(tensor_type: Any, axes: tuple[int, ...]) -> Any:
    """Returns a tensor type with permuted axes."""
    shape = [tensor_type.shape[axis] for axis in axes]
    return ir.RankedTensorType.get(shape, tensor_type.element_type)
