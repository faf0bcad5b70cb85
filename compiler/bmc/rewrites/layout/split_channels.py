"""Products compute channels in the order in which they are read.

IREE writes a transposed convolution of TensorFlow Lite as a product whose channels are [phase, phase, channel], and
puts the phases between the pixels in an operation of its own. Here the product has loops over the phases, so that what
follows is elementwise and can be part of its kernel.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.rewrites.context import Context

_PARALLEL, _REDUCTION = (f"#linalg.iterator_type<{kind}>" for kind in ("parallel", "reduction"))


def apply(module: Any, _: Context) -> None:
    """Rewrites products whose channels are split, and permuted by what reads them."""
    for op in ir_util.all_of(module, names.EXPAND_SHAPE):
        product = _product(op)
        uses = ir_util.uses(op.results[0])
        if product is not None and len(uses) == 1 and _permutes(*uses[0]):
            _rewrite(op, product, *uses[0])


def _product(op: ir_util.Op) -> ir_util.Op | None:
    """Returns the product of which an operation splits the channels, None for anything else."""
    product = ir_util.definition(op.operands[0])
    if product is None or product.name != names.GENERIC or len(ir_util.uses(op.operands[0])) > 1:
        return None
    found = contraction.read(product)
    groups = [len(group) for group in op.attributes["reassociation"]]
    if found is None or not found.counts_up or groups[-1] < 2 or set(groups[:-1]) - {1}:
        return None
    channel = found.result[-1]
    start = ir_util.definition(product.operands[2])
    is_split = channel in found.b and all(axis.loop != channel for axis in found.a)
    return product if is_split and start is not None and start.name == names.FILL else None


def _permutes(reader: ir_util.Op, operand: int) -> bool:
    """Whether an operation computes each element from one element of that operand, in another order."""
    if reader.name != names.GENERIC or len(reader.results) != 1:
        return False
    *maps, result = permute.maps(reader)
    if operand >= len(maps) or result != ir.AffineMap.get_identity(result.n_dims):
        return False
    read = contraction.loops(maps[operand])
    return read is not None and sorted(read) == list(range(result.n_dims)) != list(read)


def _rewrite(op: ir_util.Op, product: ir_util.Op, reader: ir_util.Op, operand: int) -> None:
    places = contraction.loops(permute.maps(reader)[operand]) or ()
    image, weight, start = product.operands
    *maps, old = permute.maps(product)
    pixels = len(old.results) - 1
    count = len(places) + old.n_dims - pixels - 1
    loops = [ir.AffineExpr.get_dim(number) for number in range(count)]
    # What each loop of the product becomes; that over channels becomes several.
    renumber = ir.AffineMap.get(
        count, 0, [*(loops[place] for place in places[: pixels + 1]), *loops[len(places) :]]
    )
    split = [loops[place] for place in places[pixels:]]
    channel = ir.AffineExpr.get_dim(pixels)
    shapes: list[int] = list(op.results[0].type.shape)
    groups: list[list[int]] = []
    axes: list[int] = []
    indices: list[Any] = []
    for extent, index in zip(weight.type.shape, maps[1].results, strict=True):
        parts = shapes[pixels:] if index == channel else [extent]
        groups.append(list(range(len(axes), len(axes) + len(parts))))
        axes += parts
        indices += split if index == channel else [index.compose(renumber)]
    result = reader.results[0].type.shape
    with ir.InsertionPoint(product), product.location:
        kind = ir.RankedTensorType.get(axes, weight.type.element_type)
        weight = tensor.expand_shape(kind, weight, groups, [], axes)
        empty = tensor.empty(result, start.type.element_type)
        first = linalg.fill(start.owner.operands[0], outs=[empty])
        new = build.again(product, [first.type], [image, weight, first])
    product.regions[0].blocks[0].append_to(new.regions[0])
    new.attributes["indexing_maps"] = build.maps(
        [
            ir.AffineMap.get(count, 0, each)
            for each in (
                [index.compose(renumber) for index in maps[0].results],
                indices,
                loops[: len(places)],
            )
        ]
    )
    kinds = [_PARALLEL] * len(places) + [_REDUCTION] * (count - len(places))
    new.attributes["iterator_types"] = ir.ArrayAttr.get([ir.Attribute.parse(k) for k in kinds])
    indexing = permute.maps(reader)
    indexing[operand] = ir.AffineMap.get_identity(len(places))
    reader.operands[operand] = new.results[0]
    reader.attributes["indexing_maps"] = build.maps(indexing)
    op.erase()
    product.erase()
