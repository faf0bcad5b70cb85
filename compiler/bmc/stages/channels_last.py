"""Stage: convolutions put channels last, the order in which their kernels read whole vectors.

PyTorch and ONNX have channels first, [channel, y, x]. IREE turns some of it around, but no 1x1
convolutions, and nothing that comes from ONNX. Here every convolution gets its image as
[y, x, channel], gives its result like that and has its weights in the order taps, channels in,
channels out. What is between two convolutions is elementwise: it reads and writes through indexing
maps, and the transpositions put in here disappear in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.stages import ir_util

_SUMS = ("arith.addf", "arith.addi")
_PIXEL = re.compile(r"(d\d+)(?: \* \d+)?(?: \+ (d\d+))?")
_PARALLEL, _REDUCTION = (f"#linalg.iterator_type<{kind}>" for kind in ("parallel", "reduction"))


@dataclass(frozen=True)
class _Roles:
    """What the loops of a convolution with channels first are for.

    Attributes:
      pixels: loops over the result's pixels, outermost first.
      taps: loops over the window, in the same order; () for 1x1.
      channel: channels of the result.
      inner: loops that are summed over but no taps: channels of the image, none if depthwise.
      image: dimensions of the image in the order pixels, channels.
      weight: dimensions of the weight in the order taps, channels of the image, of the result.
    """

    pixels: tuple[str, ...]
    taps: tuple[str, ...]
    channel: str
    inner: tuple[str, ...]
    image: tuple[int, ...]
    weight: tuple[int, ...]


def apply(source: Path, output: Path) -> dict[str, tuple[int, ...]]:
    """Rewrites `source` (after global optimization) to `output`.

    Returns:
      for each weight that is stored otherwise the axes for numpy.transpose, by its name.
    """
    permuted: dict[str, tuple[int, ...]] = {}
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(source)
        weights = {
            ir_util.string(op, "sym_name"): op
            for op in ir_util.walk(module.operation)
            if op.name == "util.global"
        }
        for name, op in weights.items():
            loads = _all(module, "util.global.load")
            _drop_unit_dimensions(op, [o for o in loads if ir_util.string(o, "global") == name])
        names = [ir_util.string(op, "global") for op in _all(module, "util.global.load")]
        for op in _all(module, "linalg.generic"):
            roles = _roles(op)
            if roles is None:
                continue
            load = op.operands[1].owner
            if isinstance(load, ir.Block) or load.name != "util.global.load":
                continue
            name = ir_util.string(load, "global")
            if names.count(name) == 1 and len(ir_util.uses(load.results[0])) == 1:
                permuted[name] = roles.weight
                _permute_weight(weights[name], load, roles.weight)
                _put_channels_last(op, roles)
        for op in _all(module, "linalg.generic"):
            if _reads_windows(op) and _turns_around(op.operands[0].owner):
                _keep_apart(op)
        ir_util.write(module, output)
    return permuted


def _drop_unit_dimensions(global_op: ir_util.Op, loads: list[ir_util.Op]) -> None:
    """Makes a weight [n, k, 1, 1] that is only read as [n, k] one of that shape."""
    readers = [reader for load in loads for reader, _ in ir_util.uses(load.results[0])]
    if not readers or any(reader.name != "tensor.collapse_shape" for reader in readers):
        return
    types = {reader.results[0].type for reader in readers}
    if len(types) != 1 or "is_mutable" in global_op.attributes:
        return
    (new_type,) = types
    ir_util.retype_global(global_op, new_type)
    for load in loads:
        new_load = ir_util.load_again(load, new_type)
        for reader, _ in ir_util.uses(load.results[0]):
            reader.results[0].replace_all_uses_with(new_load.results[0])
            reader.erase()
        load.erase()


def _all(module: Any, name: str) -> list[ir_util.Op]:
    return [op for op in ir_util.walk(module.operation) if op.name == name]


def _maps(op: ir_util.Op) -> list[Any]:
    return [ir.AffineMapAttr(m).value for m in op.attributes["indexing_maps"]]


def _map_attributes(maps: list[Any]) -> Any:
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])


def _roles(op: ir_util.Op) -> _Roles | None:
    """None for anything but a convolution with the channels of its result first."""
    if len(op.operands) != 3 or op.regions[0].blocks[0].operations[-2].operation.name not in _SUMS:
        return None
    a, w, result = ([str(loop) for loop in m.results] for m in _maps(op))
    if len(result) < 2 or result[0] not in w or any(loop in w for loop in result[1:]):
        return None
    channel, *pixels = result
    places: dict[str, int] = {}
    taps: dict[str, str] = {}
    others: list[int] = []
    for dimension, index in enumerate(a):
        match = _PIXEL.fullmatch(index)
        if match and match[1] in pixels:
            places[match[1]] = dimension
            taps |= {match[1]: match[2]} if match[2] else {}
        else:
            others.append(dimension)
    tap_loops = tuple(taps[pixel] for pixel in pixels if pixel in taps)
    if len(places) != len(pixels) or len(others) != 1 or len(tap_loops) not in (0, len(pixels)):
        return None
    inner = tuple(a[dimension] for dimension in others if a[dimension] != channel)
    order = (*tap_loops, *inner, channel)
    if sorted(order) != sorted(w):
        return None
    image = (*(places[pixel] for pixel in pixels), *others)
    return _Roles(
        tuple(pixels), tap_loops, channel, inner, image, tuple(w.index(loop) for loop in order)
    )


def _permute_weight(global_op: ir_util.Op, load: ir_util.Op, axes: tuple[int, ...]) -> None:
    ir_util.retype_global(global_op, _permuted(load.results[0].type, axes))
    new_load = ir_util.load_again(load, _permuted(load.results[0].type, axes))
    load.results[0].replace_all_uses_with(new_load.results[0])
    load.erase()


def _put_channels_last(op: ir_util.Op, roles: _Roles) -> None:
    if roles.image != tuple(range(len(roles.image))) and not roles.taps:
        # Nothing is between this one and the op that computes the image.
        _permute_elementwise(op.operands[0].owner, roles.image)
        roles = _roles(op) or roles
    last = (*range(1, len(roles.pixels) + 1), 0)
    with ir.InsertionPoint(op), op.location:
        product = ir.Operation.create(
            op.name,
            results=[_permuted(op.results[0].type, last)],
            operands=[
                _transposed(op.operands[0], roles.image),
                op.operands[1],
                _transposed(op.operands[2], last),
            ],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=1,
        )
    op.regions[0].blocks[0].append_to(product.regions[0])
    # The loops in a new order: pixels, channels, taps, channels of the image.
    order = (*roles.pixels, roles.channel, *roles.taps, *roles.inner)
    loops = [ir.AffineExpr.get_dim(order.index(f"d{old}")) for old in range(len(order))]
    maps = _maps(op)
    picked = [
        [maps[0].results[i] for i in roles.image],
        [maps[1].results[i] for i in roles.weight],
        [maps[2].results[i] for i in last],
    ]
    renumber = ir.AffineMap.get(len(order), 0, loops)
    product.attributes["indexing_maps"] = _map_attributes(
        [
            ir.AffineMap.get(len(order), 0, [index.compose(renumber) for index in indices])
            for indices in picked
        ]
    )
    parallel = len(roles.pixels) + 1
    kinds = [_PARALLEL] * parallel + [_REDUCTION] * (len(order) - parallel)
    product.attributes["iterator_types"] = ir.ArrayAttr.get([ir.Attribute.parse(k) for k in kinds])
    _replace(op, product.results[0], last)


def _permute_elementwise(op: ir_util.Op, axes: tuple[int, ...]) -> None:
    """Makes an elementwise op write its result with axes permuted, if it is one."""
    if isinstance(op, ir.Block) or op.name != "linalg.generic" or len(op.results) != 1:
        return
    maps = _maps(op)
    body = op.regions[0].blocks[0]
    reads_init = bool(ir_util.uses(body.arguments[len(body.arguments) - 1]))
    if (
        reads_init
        or maps[-1] != ir.AffineMap.get_identity(len(axes))
        or maps[-1].n_dims != len(axes)
    ):
        return
    old = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        empty = tensor.empty(_permuted(old, axes).shape, old.element_type)
        new = ir.Operation.create(
            op.name,
            results=[empty.type],
            operands=[*list(op.operands)[:-1], empty],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=1,
        )
    op.regions[0].blocks[0].append_to(new.regions[0])
    maps[-1] = ir.AffineMap.get_permutation(axes)
    new.attributes["indexing_maps"] = _map_attributes(maps)
    _replace(op, new.results[0], axes)


def _replace(op: ir_util.Op, value: Any, axes: tuple[int, ...]) -> None:
    """Makes the readers of `op` read `value`, which is its result with axes permuted."""
    others = []
    for reader, operand in ir_util.uses(op.results[0]):
        is_input = reader.name == "linalg.generic" and operand < len(reader.operands) - 1
        if not is_input or len(reader.results) != 1:
            others.append((reader, operand))
            continue
        maps = _maps(reader)
        old = maps[operand]
        maps[operand] = ir.AffineMap.get(old.n_dims, 0, [old.results[axis] for axis in axes])
        reader.operands[operand] = value
        reader.attributes["indexing_maps"] = _map_attributes(maps)
    if others:
        with ir.InsertionPoint(op), op.location:
            back = _transposed(value, tuple(axes.index(i) for i in range(len(axes))))
        for reader, operand in others:
            reader.operands[operand] = back
    op.erase()


def _transposed(value: Any, axes: tuple[int, ...]) -> Any:
    """`value` with its axes permuted, by a copy that fuses with what makes `value`."""
    if axes == tuple(range(len(axes))):
        return value
    maker = value.owner
    if not isinstance(maker, ir.Block) and maker.name == "linalg.fill":
        empty = tensor.empty(_permuted(value.type, axes).shape, value.type.element_type)
        return linalg.fill(maker.operands[0], outs=[empty])
    if not isinstance(maker, ir.Block) and maker.name == "tensor.pad" and len(maker.operands) == 1:
        return _pad(maker, axes)
    empty = tensor.empty(_permuted(value.type, axes).shape, value.type.element_type)
    dims = [ir.AffineExpr.get_dim(i) for i in range(len(axes))]
    read = ir.AffineMap.get(len(axes), 0, [dims[axes.index(i)] for i in range(len(axes))])
    copy = ir.Operation.create(
        "linalg.generic",
        results=[empty.type],
        operands=[value, empty],
        attributes={
            "indexing_maps": _map_attributes([read, ir.AffineMap.get_identity(len(axes))]),
            "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(_PARALLEL)] * len(axes)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    element = value.type.element_type
    with ir.InsertionPoint(copy.regions[0].blocks.append(element, element)) as point:
        linalg.yield_([point.block.arguments[0]])
    return copy.results[0]


def _reads_windows(op: ir_util.Op) -> bool:
    indices = (str(index) for index in _maps(op)[0].results)
    return any((match := _PIXEL.fullmatch(index)) and match[2] for index in indices)


def _turns_around(op: ir_util.Op) -> bool:
    """True for a copy, which has its axes permuted."""
    is_generic = not isinstance(op, ir.Block) and op.name == "linalg.generic"
    return is_generic and len(op.operands) == 2 and len(op.regions[0].blocks[0].operations) == 1


def _keep_apart(op: ir_util.Op) -> None:
    """Has the image of a window turned around before, in memory: read through a map with channels
    first IREE would compute one number at a time."""
    image = op.operands[0]
    with ir.InsertionPoint(op), op.location:
        barrier = ir.Operation.create(
            "iree_tensor_ext.compute_barrier.start", results=[image.type], operands=[image]
        )
    op.operands[0] = barrier.results[0]


def _pad(pad: ir_util.Op, axes: tuple[int, ...]) -> Any:
    """The same padding around the transposed tensor."""
    new = ir.Operation.create(
        "tensor.pad",
        results=[_permuted(pad.results[0].type, axes)],
        operands=[_transposed(pad.operands[0], axes)],
        attributes={name: pad.attributes[name] for name in pad.attributes}
        | {
            side: ir.DenseI64ArrayAttr.get(
                [ir.DenseI64ArrayAttr(pad.attributes[side])[a] for a in axes]
            )
            for side in ("static_low", "static_high")
        },
        regions=1,
    )
    index = ir.IndexType.get()
    (padding,) = pad.regions[0].blocks[0].operations[-1].operation.operands
    with ir.InsertionPoint(new.regions[0].blocks.append(*[index] * len(axes))):
        ir.Operation.create("tensor.yield", operands=[padding])
    return new.results[0]


def _permuted(tensor_type: Any, axes: tuple[int, ...]) -> Any:
    shape = [tensor_type.shape[axis] for axis in axes]
    return ir.RankedTensorType.get(shape, tensor_type.element_type)
