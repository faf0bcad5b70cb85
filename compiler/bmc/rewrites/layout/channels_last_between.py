"""What lies between channels-last convolutions has its channels last as well.

PyTorch and ONNX put channels first. Once convolutions have them last, the operation behind each reads [y, x, channel]
and writes [channel, y, x], and the next convolution reads a turned copy of that. Here elementwise operations, paddings,
slices and concatenations of turned images become those of images, and the copies go.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, ir_util, names, permute
from bmc.rewrites.context import Context
from bmc.rewrites.layout import images
from bmc.rewrites.quantization import quantizations

# The axes of an image, [y, x, channel], as axes of planes, [channel, y, x], and the other way around.
_PIXELS, _PLANES = (1, 2, 0), (2, 0, 1)
_MOVES = (names.PAD, names.EXTRACT_SLICE, names.INSERT_SLICE)
_PURE = (names.BROADCAST, names.FILL, names.GENERIC, names.EMPTY, names.BARRIER, *_MOVES)


def apply(module: Any, _: Context) -> None:
    """Rewrites what reads turned images."""
    images.drop_unit_axes(module)
    _erase_unread(module)
    for op in list(ir_util.walk(module.operation)):
        if len(op.results) != 1 or not images.is_image(op.results[0]):
            continue
        if _is_copy(op):
            _read_source(op)
        elif _reads_turned(op):
            _compute(op)
        elif op.name in _MOVES:
            _move(op)
        elif (source := _turned(op.operands[0]) if op.operands else None) is not None:
            _quantize(op, source)
    _erase_unread(module)


def _erase_unread(module: Any) -> None:
    """Erases what nothing reads, so that later rewrites do not take it for a reader."""
    for op in reversed(list(ir_util.walk(module.operation))):
        if op.name in _PURE and not any(list(result.uses) for result in op.results):
            op.erase()


def _is_copy(op: ir_util.Op) -> bool:
    """Whether an operation only copies an image, whose axes may change places."""
    return (
        op.name == names.GENERIC
        and len(op.operands) == 2
        and images.is_image(op.operands[0])
        and len(op.regions[0].blocks[0].operations) == 1
        and op.regions[0].blocks[0].operations[0].operands[0]
        == op.regions[0].blocks[0].arguments[0]
    )


def _turned(value: Any) -> Any:
    """Returns the image of which a value is a turned copy, None if it is none."""
    maker = ir_util.definition(value)
    if maker is None or not images.is_image(value) or not _is_copy(maker):
        return None
    is_turned = permute.maps(maker)[0] == ir.AffineMap.get_permutation(_PIXELS)
    return maker.operands[0] if is_turned else None


def _read_source(copy: ir_util.Op) -> None:
    """Lets the readers of a copy with the same axes read what it copies. They had to wait for a turned copy."""
    source, result = permute.maps(copy)
    if source != result:
        return
    for reader, _ in ir_util.uses(copy.results[0]):
        if reader.name == names.BARRIER:
            reader.results[0].replace_all_uses_with(copy.operands[0])
    copy.results[0].replace_all_uses_with(copy.operands[0])
    copy.erase()


def _reads_turned(op: ir_util.Op) -> bool:
    """Whether an operation computes planes, element by element, from pixels."""
    if op.name != names.GENERIC:
        return False
    *inputs, result = permute.maps(op)
    block = op.regions[0].blocks[0]
    return (
        result == ir.AffineMap.get_identity(images.RANK)
        and ir.AffineMap.get_permutation(_PIXELS) in inputs
        and not list(block.arguments[len(inputs)].uses)
        and all(each.operation.name != names.INDEX for each in block.operations)
    )


def _compute(op: ir_util.Op) -> None:
    """Computes pixels instead of planes."""
    loops = ir.AffineMap.get_permutation(_PLANES)
    *inputs, result = permute.maps(op)
    maps = [
        ir.AffineMap.get(images.RANK, 0, [index.compose(loops) for index in each.results])
        for each in inputs
    ]
    type_ = permute.permuted(op.results[0].type, _PIXELS)
    with ir.InsertionPoint(op), op.location:
        empty = tensor.empty(type_.shape, type_.element_type)
        new = build.again(op, [type_], [*list(op.operands)[:-1], empty])
    new.attributes["indexing_maps"] = build.maps([*maps, result])
    op.regions[0].blocks[0].append_to(new.regions[0])
    permute.replace(op, new.results[0], _PIXELS)


def _move(op: ir_util.Op) -> None:
    """Pads, cuts or joins pixels, as `op` does turned copies of them."""
    sources = [_turned(value) for value in op.operands]
    for place, value in enumerate(op.operands):
        maker = ir_util.definition(value)
        is_empty = maker is not None and maker.name == names.EMPTY
        if is_empty and images.is_image(value):
            type_ = permute.permuted(value.type, _PIXELS)
            with ir.InsertionPoint(op), op.location:
                sources[place] = tensor.empty(type_.shape, type_.element_type)
    if any(source is None for source in sources):
        return
    places = {side: [each[axis] for axis in _PIXELS] for side, each in images.amounts(op).items()}
    with ir.InsertionPoint(op), op.location:
        new = images.moved(op, permute.permuted(op.results[0].type, _PIXELS), sources, places)
    for region, old in zip(new.regions, op.regions, strict=True):
        old.blocks[0].append_to(region)
    permute.replace(op, new.results[0], _PIXELS)


def _quantize(op: ir_util.Op, source: Any) -> None:
    """Quantizes or dequantizes pixels, as `op` does a turned copy of them."""
    with ir.InsertionPoint(op), op.location:
        new = quantizations.spelled_out(op, source)
    if new is not None:
        permute.replace(op, new, _PIXELS)
