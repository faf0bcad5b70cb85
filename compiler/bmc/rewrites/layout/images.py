"""What operations do to images, which are tensors [y, x, channel]."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.kernels.ops import OPS

RANK = 3
# What kernels of bmc's own can do behind a convolution.
_SIMPLE = {
    *(f"arith.{op}" for op in (*OPS, "cmpf", "constant", "extui", "select")),
    names.YIELD,
    "math.roundeven",
}


def drop_unit_axes(module: Any) -> None:
    """Cuts and joins images directly, where they get a first axis of one element before, and lose it again."""
    for op in ir_util.all_of(module, names.EXTRACT_SLICE):
        _drop_axis_of_slice(op)
    for op in ir_util.all_of(module, names.COLLAPSE_SHAPE):
        _drop_axis_of_join(op)


def _drop_axis_of_slice(op: ir_util.Op) -> None:
    """Cuts an image directly, where it gets a first axis of one element before, and loses it again."""
    wide = ir_util.definition(op.operands[0])
    if (
        wide is None
        or wide.name != names.EXPAND_SHAPE
        or len(op.operands) != 1
        or not (is_image(wide.operands[0]) and is_image(op.results[0]))
        or list(wide.results[0].type.shape) != [1, *wide.operands[0].type.shape]
    ):
        return
    with ir.InsertionPoint(op), op.location:
        places = {side: each[1:] for side, each in amounts(op).items()}
        new = moved(op, op.results[0].type, [wide.operands[0]], places)
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()
    if not list(wide.results[0].uses):
        wide.erase()


def _drop_axis_of_join(op: ir_util.Op) -> None:
    """Inserts images into an image, if `op` is the end of insertions into an empty tensor with one more axis."""
    insertions: list[ir_util.Op] = []
    maker = ir_util.definition(op.operands[0])
    result = op.results[0].type
    while maker is not None and maker.name == names.INSERT_SLICE:
        insertions.insert(0, maker)
        if len(maker.operands) != 2 or len(list(maker.results[0].uses)) != 1:
            return
        maker = ir_util.definition(maker.operands[1])
    if (
        not insertions
        or maker is None
        or maker.name != names.EMPTY
        or list(op.operands[0].type.shape) != [1, *result.shape]
        or not all(
            is_image(value) for value in (op.results[0], *(i.operands[0] for i in insertions))
        )
    ):
        return
    with ir.InsertionPoint(op), op.location:
        joined = tensor.empty(result.shape, result.element_type)
        for insertion in insertions:
            joined = moved(
                insertion,
                result,
                [insertion.operands[0], joined],
                {side: each[1:] for side, each in amounts(insertion).items()},
            ).results[0]
    op.results[0].replace_all_uses_with(joined)
    for dead in (op, *reversed(insertions)):
        dead.erase()


def expand_numbers(module: Any) -> None:
    """Copies a number for each channel directly to where an image is reshaped whose channels become several axes."""
    for op in ir_util.all_of(module, names.EXPAND_SHAPE):
        maker = ir_util.definition(op.operands[0])
        if maker is None or not is_image(op.operands[0]) or not is_by_channel(maker):
            continue
        shape = list(op.results[0].type.shape)
        groups = ir.ArrayAttr(op.attributes["reassociation"])
        axes = len(ir.ArrayAttr(groups[RANK - 1]))
        if len(shape) != RANK - 1 + axes:
            continue
        with ir.InsertionPoint(op), op.location:
            numbers = tensor.expand_shape(
                ir.RankedTensorType.get(shape[-axes:], op.results[0].type.element_type),
                maker.operands[0],
                [list(range(axes))],
                [],
                shape[-axes:],
            )
            dims = [ir.AffineExpr.get_dim(axis) for axis in range(RANK - 1, len(shape))]
            new = permute.copied(numbers, shape, ir.AffineMap.get(len(shape), 0, dims))
        op.results[0].replace_all_uses_with(new)
        ir_util.erase_unread([op])


def amounts(op: ir_util.Op) -> dict[str, list[int]]:
    """The static offsets, sizes and strides of a slice or an insertion, or the sides of a padding."""
    sides = [name for name in op.attributes if name.startswith("static_")]
    return {side: list(ir.DenseI64ArrayAttr(op.attributes[side])) for side in sides}


def moved(op: ir_util.Op, result: Any, operands: list[Any], places: dict[str, list[int]]) -> Any:
    """Returns a new operation that does what `op` does, but to other tensors, at these places."""
    changed = {side: ir.DenseI64ArrayAttr.get(each) for side, each in places.items()}
    return build.again(op, [result], operands, **changed)


def is_image(value: Any) -> bool:
    type_ = value.type
    return isinstance(type_, ir.RankedTensorType) and type_.rank == RANK


def is_elementwise(op: ir_util.Op) -> bool:
    """Whether an operation computes each element of an image from one element of each operand."""
    if op.name != names.GENERIC or len(op.results) != 1 or not is_image(op.results[0]):
        return False
    *inputs, result = permute.maps(op)
    identity = ir.AffineMap.get_identity(RANK)
    block = op.regions[0].blocks[0]
    return (
        result == identity
        and all(
            map_ == identity or all(isinstance(each, ir.AffineDimExpr) for each in map_.results)
            for map_ in inputs
        )
        and not list(block.arguments[len(inputs)].uses)
        and {each.operation.name for each in block.operations} <= _SIMPLE
    )


def is_by_channel(op: ir_util.Op) -> bool:
    """Whether an operation copies one number for each channel."""
    if op.name != names.BROADCAST and not (
        is_elementwise(op) and len(op.regions[0].blocks[0].operations) == 1
    ):
        return False
    source, *_ = linalg.get_indexing_maps(op)
    return len(op.operands) == 2 and list(source.value.results) == [ir.AffineExpr.get_dim(2)]


def is_padding(op: ir_util.Op) -> bool:
    """Whether an operation pads an image, but not its channels, with a constant."""
    if op.name != names.PAD or not is_image(op.results[0]) or len(op.operands) != 1:
        return False
    sides = (ir.DenseI64ArrayAttr(op.attributes[f"static_{side}"]) for side in ("low", "high"))
    (block,) = op.regions[0].blocks
    return len(block.operations) == 1 and not any(list(side)[-1] for side in sides)


def is_slice(op: ir_util.Op) -> bool:
    """Whether an operation cuts an image out of one, with all channels."""
    if op.name != names.EXTRACT_SLICE or len(op.operands) != 1 or not is_image(op.results[0]):
        return False
    source, result = op.operands[0].type, op.results[0].type
    return bool(source.rank == RANK and source.shape[-1] == result.shape[-1])


def is_join(op: ir_util.Op) -> bool:
    """Whether an operation puts an image into some channels, or some rows, of another one."""
    if op.name != names.INSERT_SLICE or len(op.operands) != 2 or not is_image(op.results[0]):
        return False
    source, result = op.operands[0].type, op.results[0].type
    strides = amounts(op)["static_strides"]
    if not is_image(op.operands[0]) or set(strides) != {1}:
        return False
    return bool(source.shape[:-1] == result.shape[:-1] or source.shape[1:] == result.shape[1:])


_STRIP = "bm.strip"


def mark(op: ir_util.Op, number: int) -> None:
    """Marks an operation of a strip, so that it is not the same as one of another strip."""
    op.attributes[_STRIP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def unmark(op: ir_util.Op) -> None:
    if _STRIP in op.attributes:
        del op.attributes[_STRIP]


def is_marked(op: ir_util.Op) -> bool:
    return _STRIP in op.attributes


def marked_alike(value: Any, other: ir_util.Op) -> Any:
    """Returns a value, whose operation gets the mark of another one."""
    if is_marked(other):
        value.owner.attributes[_STRIP] = other.attributes[_STRIP]
    return value


# Marks of rows that may be planes, and of rows that stay pixels.
_ANY, _PIXELS = 0, 1


def strip_of(value: Any, *, pixels: bool = False) -> Any:
    """Returns rows that strips keep, or read, apart from what computes them; whether they stay pixels."""
    barrier = permute.apart(value)
    mark(barrier.owner, _PIXELS if pixels else _ANY)
    return barrier


def is_strip(op: ir_util.Op) -> bool:
    """Whether an operation keeps such rows apart."""
    return op.name == names.BARRIER and is_marked(op) and is_image(op.results[0])


def stays_pixels(op: ir_util.Op) -> bool:
    """Whether an operation keeps rows apart that stay pixels, or joins them before."""
    if is_join(op):
        return any(stays_pixels(reader) for reader, _ in ir_util.uses(op.results[0]))
    return is_strip(op) and ir.IntegerAttr(op.attributes[_STRIP]).value == _PIXELS


def phases(op: ir_util.Op) -> ir_util.Op | None:
    """Returns the product whose result with phases an operation makes an image of; None for anything else."""
    if op.name != names.COLLAPSE_SHAPE or not is_image(op.results[0]):
        return None
    product = ir_util.definition(op.operands[0])
    if product is None or product.name != names.GENERIC or len(list(op.operands[0].uses)) != 1:
        return None
    found = contraction.read(product)
    channels = product.results[0].type.shape[-1]
    is_read = found is not None and found.counts_up and is_image(product.operands[0])
    return product if is_read and channels == op.results[0].type.shape[-1] else None
