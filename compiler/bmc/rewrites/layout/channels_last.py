"""Convolutions become channels-last, which IREE vectorizes.

PyTorch and ONNX put channels first: [channel, y, x]. IREE transposes some of these convolutions, but no
1x1 convolutions and none that come from ONNX. Here every convolution gets its image as [y, x, channel],
gives its result in that order, and has its weights in the order taps, input channels, output channels.
So does pooling, whose lanes then are channels. The ops between are elementwise. They read and write
through indexing maps, so the transpositions added here disappear in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.rewrites.context import Context
from bmc.rewrites.layout import layouts

_PARALLEL, _REDUCTION = (f"#linalg.iterator_type<{kind}>" for kind in ("parallel", "reduction"))


@dataclass(frozen=True)
class _Roles:
    """The roles of the loops in a channels-first convolution or pooling.

    Attributes:
      pixels: loops over the result's pixels, outermost first.
      taps: loops over the window, in the same order; () for 1x1.
      channel: loop over the output channels.
      inner: loops over the input channels, which are summed over; () if depthwise, or for pooling.
      image: dimensions of the image in the order pixels, channels; a signal of one channel has no dimension for it.
      weight: dimensions of the weight in the order taps, input channels, output channels; of a pooling, its window's.
    """

    pixels: tuple[int, ...]
    taps: tuple[int, ...]
    channel: int
    inner: tuple[int, ...]
    image: tuple[int, ...]
    weight: tuple[int, ...]


def apply(module: Any, context: Context) -> None:
    """Rewrites channels-first convolutions and poolings; records the new layout of weights in `context`."""
    weights = {ir_util.string(op, "sym_name"): op for op in ir_util.all_of(module, names.GLOBAL)}
    loads_of: dict[str, list[ir_util.Op]] = {name: [] for name in weights}
    for load in ir_util.all_of(module, names.GLOBAL_LOAD):
        loads_of[ir_util.string(load, "global")].append(load)
    for name, op in weights.items():
        _drop_unit_dimensions(op, loads_of[name])
    loads = ir_util.all_of(module, names.GLOBAL_LOAD)
    loaded = [ir_util.string(op, "global") for op in loads]
    for op in ir_util.all_of(module, names.GENERIC):
        if (pooled := _pooling(op)) is not None:
            _put_channels_last(op, pooled)
            continue
        roles = _roles(op)
        if roles is None or not (len(roles.image) > 1 or _is_faster(op, roles, context)):
            continue
        load = op.operands[1].owner
        if isinstance(load, ir.Block) or load.name != names.GLOBAL_LOAD:
            continue
        name = ir_util.string(load, "global")
        if loaded.count(name) == 1 and len(ir_util.uses(load.results[0])) == 1:
            context.permutations[name] = roles.weight
            _permute_weight(weights[name], load, roles.weight)
            _put_channels_last(op, roles)
    for op in ir_util.all_of(module, names.GENERIC):
        if contraction.reads_windows(op) and _turns_around(op.operands[0].owner):
            # IREE would compute one number at a time through a channels-first map.
            permute.keep_image_apart(op)


def _drop_unit_dimensions(global_op: ir_util.Op, loads: list[ir_util.Op]) -> None:
    """Stores a weight in the collapsed shape that all its readers use, such as [n, k] for [n, k, 1, 1]."""
    readers = [reader for load in loads for reader, _ in ir_util.uses(load.results[0])]
    if not readers or any(reader.name != names.COLLAPSE_SHAPE for reader in readers):
        return
    types = {reader.results[0].type for reader in readers}
    if len(types) != 1 or "is_mutable" in global_op.attributes:
        return
    (new_type,) = types
    ir_util.retype_global(global_op, new_type)
    for load in loads:
        new_load = build.load_again(load, new_type)
        for reader, _ in ir_util.uses(load.results[0]):
            reader.results[0].replace_all_uses_with(new_load)
            reader.erase()
        load.erase()


def _roles(op: ir_util.Op) -> _Roles | None:
    """Returns the roles of the loops; None unless `op` is a convolution with a channels-first result."""
    product = contraction.read(op)
    if product is None or len(product.result) < 2:
        return None
    channel, *pixels = product.result
    if channel not in product.b or any(loop in product.b for loop in pixels):
        return None
    places: dict[int, int] = {}
    taps: dict[int, int] = {}
    others: list[int] = []
    for dimension, axis in enumerate(product.a):
        if axis.loop in pixels:
            places[axis.loop] = dimension
            taps |= {} if axis.tap is None else {axis.loop: axis.tap}
        elif axis.is_plain:
            others.append(dimension)
    tap_loops = tuple(taps[pixel] for pixel in pixels if pixel in taps)
    is_signal = not others and len(pixels) == 1
    if len(places) != len(pixels) or len(tap_loops) not in (0, len(pixels)):
        return None
    if len(others) != 1 and not is_signal:
        return None
    inner = tuple(product.a[d].loop for d in others if product.a[d].loop != channel)
    order = (*tap_loops, *inner, channel)
    if sorted(order) != sorted(product.b):
        return None
    image = (*(places[pixel] for pixel in pixels), *others)
    weight = tuple(product.b.index(loop) for loop in order)
    return _Roles(tuple(pixels), tap_loops, channel, inner, image, weight)


def _is_faster(op: ir_util.Op, roles: _Roles, context: Context) -> bool:
    """Whether a convolution of a signal is faster with channels in its lanes, as where pixels are apart in memory."""
    found = contraction.read(op)
    if found is None or not context.has_own_kernels:
        return False
    signal, weight, result = (value.type for value in op.operands)
    turned = replace(found, b=tuple(found.b[axis] for axis in roles.weight))
    ways = (
        (turned, permute.permuted(weight, roles.weight), (1, 0)),
        (found, weight, (0, 1)),
    )
    channels, pixels = (
        layouts.cost(
            each, (signal, stored, result), ((0,), order), context.target.vlen_bits, gaps=False
        )
        for each, stored, order in ways
    )
    return channels < pixels


def _pooling(op: ir_util.Op) -> _Roles | None:
    """Returns the roles of the loops; None unless `op` is a pooling of an image with its channels first."""
    if len(op.operands) != 3 or len(op.results) != 1:
        return None
    window = ir_util.definition(op.operands[1])
    if window is None or window.name != names.EMPTY:
        return None
    image, places, result = permute.maps(op)
    loops, taps = contraction.loops(result), contraction.loops(places)
    counts = any(each.name == names.INDEX for each in ir_util.walk(op))
    if loops is None or taps is None or len(loops) != 1 + len(taps) or counts:
        return None
    channel, *pixels = loops
    windows = [{pixel, tap} for pixel, tap in zip(pixels, taps, strict=True)]
    if [set(contraction.terms(index) or ()) for index in image.results] != [{channel}, *windows]:
        return None
    axes = range(len(taps))
    return _Roles(tuple(pixels), taps, channel, (), (*(1 + axis for axis in axes), 0), tuple(axes))


def _permute_weight(global_op: ir_util.Op, load: ir_util.Op, axes: tuple[int, ...]) -> None:
    ir_util.retype_global(global_op, permute.permuted(load.results[0].type, axes))
    new_load = build.load_again(load, permute.permuted(load.results[0].type, axes))
    load.results[0].replace_all_uses_with(new_load)
    load.erase()


def _put_channels_last(op: ir_util.Op, roles: _Roles) -> None:
    if roles.image != tuple(range(len(roles.image))) and not roles.taps:
        # A 1x1 convolution needs no padding, so an elementwise producer can write channels last itself.
        _permute_elementwise(op.operands[0].owner, roles.image)
        roles = _roles(op) or roles
    last = (*range(1, len(roles.pixels) + 1), 0)
    with ir.InsertionPoint(op), op.location:
        product = build.again(
            op,
            [permute.permuted(op.results[0].type, last)],
            [
                permute.transposed(op.operands[0], roles.image),
                op.operands[1],
                permute.transposed(op.operands[2], last),
            ],
        )
    op.regions[0].blocks[0].append_to(product.regions[0])
    # The loops in a new order: pixels, output channels, taps, input channels.
    order = (*roles.pixels, roles.channel, *roles.taps, *roles.inner)
    loops = [ir.AffineExpr.get_dim(order.index(old)) for old in range(len(order))]
    maps = permute.maps(op)
    picked = [
        [maps[0].results[i] for i in roles.image],
        [maps[1].results[i] for i in roles.weight],
        [maps[2].results[i] for i in last],
    ]
    renumber = ir.AffineMap.get(len(order), 0, loops)
    product.attributes["indexing_maps"] = build.maps(
        [
            ir.AffineMap.get(len(order), 0, [index.compose(renumber) for index in indices])
            for indices in picked
        ]
    )
    parallel = len(roles.pixels) + 1
    kinds = [_PARALLEL] * parallel + [_REDUCTION] * (len(order) - parallel)
    product.attributes["iterator_types"] = ir.ArrayAttr.get([ir.Attribute.parse(k) for k in kinds])
    permute.replace(op, product.results[0], last)


def _permute_elementwise(op: ir_util.Op, axes: tuple[int, ...]) -> None:
    """Makes `op` write its result with permuted axes, if it is an elementwise op."""
    if isinstance(op, ir.Block) or op.name != names.GENERIC or len(op.results) != 1:
        return
    maps = permute.maps(op)
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
        empty = tensor.empty(permute.permuted(old, axes).shape, old.element_type)
        new = build.again(op, [empty.type], [*list(op.operands)[:-1], empty])
    op.regions[0].blocks[0].append_to(new.regions[0])
    maps[-1] = ir.AffineMap.get_permutation(axes)
    new.attributes["indexing_maps"] = build.maps(maps)
    permute.replace(op, new.results[0], axes)


def _turns_around(op: ir_util.Op) -> bool:
    """Whether an op only copies, which here means that it permutes axes."""
    is_generic = not isinstance(op, ir.Block) and op.name == names.GENERIC
    return is_generic and len(op.operands) == 2 and len(op.regions[0].blocks[0].operations) == 1
