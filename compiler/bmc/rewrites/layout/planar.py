"""Stores images with few channels as planes, so that the lanes of vectors are neighboring pixels.

Channels-last convolutions have their output channels in the lanes. Eight or sixteen of them leave most of a group of
registers empty. Where planes are cheaper, the results of convolutions become [channel, y, x], and with them what
elementwise operations, paddings and depthwise convolutions make of them. Other convolutions read either layout.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import LARGEST_GAP
from bmc.rewrites.context import Context
from bmc.rewrites.decisions import Shape
from bmc.rewrites.layout import copied_paddings, images, layouts

# The axes of planes, [channel, y, x], as axes of [y, x, channel], and the other way around.
_PLANES, _PIXELS = (2, 0, 1), (1, 2, 0)
_RANK = 3
# What a byte costs that is stored in the other layout as well, in instructions; most of it is for the memory.
_TURN = 1


@dataclass
class _Island:
    """Tensors that have the same layout, because elementwise operations connect them.

    Attributes:
      convolutions: those that write into it.
      shapes: of all products that write into it.
      others: how many bytes other operations read of it, without bytes of planes that it is made of.
      padded: whether an operation pads a copy of one of the tensors, so that results are stored with gaps between
        lines.
      fixed: whether something else writes into it.
    """

    convolutions: list[ir_util.Op] = field(default_factory=list)
    shapes: set[Shape] = field(default_factory=set)
    others: int = 0
    padded: bool = False
    fixed: bool = False


def apply(module: Any, context: Context) -> None:
    """Turns the images that are cheaper as planes, unless tuning.json says that none is."""
    if context.tuning.pixels:
        return
    images.drop_unit_axes(module)
    for function in ir_util.all_of(module, names.HOST_FUNCTION):
        _Layouts(list(ir_util.walk(function)), context).apply()


class _Layouts:
    def __init__(self, ops: list[ir_util.Op], context: Context) -> None:
        self._ops = ops
        self._context = context
        self._convolutions = {op: found for op in ops if (found := _convolution(op)) is not None}
        # Products that compute images with phases, by what makes images of them.
        self._phased = {op: product for op in ops if (product := images.phases(op)) is not None}
        # A tensor in the same island, nearer to the one that stands for the island.
        self._next: dict[Any, Any] = {}
        self._islands: dict[Any, _Island] = {}
        # The islands whose convolutions read an island.
        self._readers: dict[Any, set[Any]] = defaultdict(set)
        # The tensors that were turned.
        self._planes: dict[Any, Any] = {}

    def apply(self) -> None:
        for op in self._ops:
            for value in self._connected(op):
                one, other = self._root(value), self._root(op.results[0])
                if one != other:
                    self._next[one] = other
        for op in self._ops:
            self._note(op)
        for root, island in self._islands.items():
            for op in island.convolutions:
                self._readers[self._root(op.operands[0])].add(root)
        # An island that stays costs those that read it something, so some are not worth it any more.
        planar = set(self._islands)
        while stays := {root for root in planar if not self._is_worth_it(root, planar)}:
            planar -= stays
        turned = [
            op for op in self._ops if self._connects(op) and self._root(op.results[0]) in planar
        ]
        self._context.planes |= {shape for root in planar for shape in self._islands[root].shapes}
        for op in turned:
            self._turn(op)
        turned = [each for op in turned for each in (self._phased.get(op), op) if each is not None]
        for op in turned:
            for reader, operand in ir_util.uses(op.results[0]):
                if reader not in turned:
                    self._give(reader, operand)
        for op in reversed(turned):
            op.erase()

    def _root(self, value: Any) -> Any:
        while value in self._next:
            value = self._next[value]
        return value

    def _connected(self, op: ir_util.Op) -> list[Any]:
        """Returns the operands that have the layout of the result."""
        found = self._convolutions.get(op)
        if found is not None:
            return [op.operands[0]] if _is_depthwise(found) else []
        if images.is_elementwise(op):
            identity = ir.AffineMap.get_identity(_RANK)
            inputs = zip(list(op.operands)[:-1], permute.maps(op)[:-1], strict=True)
            return [v for v, map_ in inputs if map_ == identity and self._is_in_island(v)]
        if _is_move(op) and images.is_join(op):
            return list(op.operands)
        return [op.operands[0]] if _is_move(op) else []

    def _is_in_island(self, value: Any) -> bool:
        """Whether a value may change its layout. An elementwise operation reads others as they are."""
        maker = ir_util.definition(value)
        is_given = maker is not None and maker.name == names.COLLAPSE_SHAPE
        return images.is_image(value) and (not is_given or maker in self._phased)

    def _note(self, op: ir_util.Op) -> None:
        """Notes what an operation does to the islands of its operands and results."""
        connects = self._connects(op)
        for result in filter(images.is_image, op.results):
            island = self._islands.setdefault(self._root(result), _Island())
            if op in self._convolutions:
                island.convolutions.append(op)
                island.shapes.add(contraction.shape(op))
            elif op in self._phased:
                island.shapes.add(contraction.shape(self._phased[op]))
            elif not connects and op.name not in (
                names.EMPTY,
                names.FILL,
                names.BROADCAST,
            ):
                island.fixed = True
        for value in filter(images.is_image, op.operands):
            island = self._islands.setdefault(self._root(value), _Island())
            island.fixed |= isinstance(value.owner, ir.Block)
            if images.is_padding(op):
                island.padded |= not copied_paddings.is_read_through(op, self._context)
            if not connects and not _is_product_of(op, value):
                island.others += ir_util.tensor_bytes(value.type)
        if images.is_elementwise(op):
            island = self._islands[self._root(op.results[0])]
            as_planes = ir.AffineMap.get_permutation(_PLANES)
            for value, map_ in zip(op.operands, permute.maps(op), strict=True):
                if map_ == as_planes:
                    island.others -= ir_util.tensor_bytes(value.type)

    def _is_worth_it(self, root: Any, planar: set[Any]) -> bool:
        island = self._islands[root]
        if not self._is_near(island, planar):
            return False
        gain = self._gain(island, planar)
        # Its readers may gain more than it loses.
        for other in self._readers[root] & planar if gain <= 0 and not island.fixed else ():
            reader = self._islands[other]
            if self._is_near(reader, planar) and not self._is_near(reader, planar - {root}):
                gain += max(self._gain(reader, planar), 0)
        return gain > 0

    def _gain(self, island: _Island, planar: set[Any]) -> float:
        """Returns how many instructions fewer it takes if its tensors are planes, as those of other islands are."""
        if island.fixed or island.shapes & self._context.decisions.pixels:
            return 0
        target = self._context.target
        gain: float = -_TURN * island.others
        for op in island.convolutions:
            image, sides = self._image(op)
            types = (image, op.operands[1].type, op.results[0].type)
            read = _PLANES if self._root(op.operands[0]) in planar else range(_RANK)
            pixels, planes = (
                layouts.cost(
                    self._convolutions[op],
                    types,
                    orders,
                    target.vlen_bits,
                    island.padded,
                    *sides,
                    dot_channels=target.dot_channels,
                )
                for orders in ((range(_RANK), range(_RANK)), (read, _PLANES))
            )
            gain += pixels - planes
        return gain

    def _image(self, op: ir_util.Op) -> tuple[Any, list[list[int]]]:
        """Returns the type of the image that a convolution reads, and how far it reads beyond each axis."""
        padding = ir_util.definition(op.operands[0])
        if padding is None or not images.is_padding(padding):
            return op.operands[0].type, []
        if not copied_paddings.is_read_through(padding, self._context):
            return op.operands[0].type, []
        sides = (padding.attributes[f"static_{side}"] for side in ("low", "high"))
        return padding.operands[0].type, [list(ir.DenseI64ArrayAttr(side)) for side in sides]

    def _is_near(self, island: _Island, planar: set[Any]) -> bool:
        """Whether every convolution of an island of planes reads planes, or an image with few channels."""
        return all(
            self._root(op.operands[0]) in planar or _gap(op, self._convolutions[op]) <= LARGEST_GAP
            for op in island.convolutions
        )

    def _connects(self, op: ir_util.Op) -> bool:
        """Whether an operation can read planes, and write them."""
        return (
            op in self._convolutions
            or op in self._phased
            or images.is_elementwise(op)
            or _is_move(op)
        )

    def _turn(self, op: ir_util.Op) -> None:
        """Makes planes of what an operation makes."""
        with ir.InsertionPoint(op), op.location:
            if op in self._phased:
                planes = self._joined(op, self._computed(self._phased[op]))
            else:
                planes = self._moved(op) if _is_move(op) else self._computed(op)
            self._planes[op.results[0]] = planes

    def _moved(self, op: ir_util.Op) -> Any:
        """Pads, cuts or joins planes, as `op` does pixels."""
        places = {
            side: [each[axis] for axis in _PLANES] for side, each in images.amounts(op).items()
        }
        operands = [self._as_planes(value) for value in op.operands]
        result = permute.permuted(op.results[0].type, _PLANES)
        new = images.moved(op, result, operands, places)
        for region, old in zip(new.regions, op.regions, strict=True):
            old.blocks[0].append_to(region)
        return new.results[0]

    @staticmethod
    def _joined(op: ir_util.Op, planes: Any) -> Any:
        """Joins the phases of planes, as `op` does those of pixels."""
        groups = [[int(axis) + 1 for axis in group] for group in op.attributes["reassociation"]]
        kind = permute.permuted(op.results[0].type, _PLANES)
        return tensor.collapse_shape(kind, planes, [[0], *groups[:-1]])

    def _computed(self, op: ir_util.Op) -> Any:
        """Computes planes, as `op` does pixels, which may have phases. Its loops come in their order as well."""
        *inputs, first = op.operands
        *maps, result = permute.maps(op)
        maps = [
            _permuted(map_) if value in self._planes else map_
            for value, map_ in zip(inputs, maps, strict=True)
        ]
        rank = op.results[0].type.rank
        loops = [ir.AffineExpr.get_dim(n) for n in range(result.n_dims)]
        loops[:rank] = [*loops[1:rank], loops[0]]
        renumber = ir.AffineMap.get(len(loops), 0, loops)
        planes = (rank - 1, *range(rank - 1))
        new = build.again(
            op,
            [permute.permuted(op.results[0].type, planes)],
            [
                *(self._planes.get(value, value) for value in inputs),
                self._as_planes(first) if rank == _RANK else permute.transposed(first, planes),
            ],
        )
        new.attributes["indexing_maps"] = build.maps(
            [
                ir.AffineMap.get(len(loops), 0, [index.compose(renumber) for index in each.results])
                for each in (*maps, _permuted(result))
            ]
        )
        op.regions[0].blocks[0].append_to(new.regions[0])
        return new.results[0]

    def _as_planes(self, value: Any) -> Any:
        """Returns a tensor as planes, which may be all the same, or the same for each channel."""
        if value in self._planes:
            return self._planes[value]
        maker = ir_util.definition(value)
        type_ = permute.permuted(value.type, _PLANES)
        if maker is not None and maker.name == names.EMPTY:
            return tensor.empty(type_.shape, type_.element_type)
        if maker is not None and images.is_by_channel(maker):
            by_channel = ir.AffineMap.get(_RANK, 0, [ir.AffineExpr.get_dim(0)])
            copied = permute.copied(maker.operands[0], type_.shape, by_channel)
            return images.marked_alike(copied, maker)
        return permute.transposed(value, _PLANES)

    def _give(self, reader: ir_util.Op, operand: int) -> None:
        """Gives planes to an operation that is not turned; it gets pixels again if it must."""
        planes = self._planes[reader.operands[operand]]
        is_input = operand < len(reader.operands) - 1
        if is_input and (
            reader in self._convolutions
            or _is_product_of(reader, reader.operands[operand])
            or images.is_elementwise(reader)
        ):
            maps = permute.maps(reader)
            maps[operand] = _permuted(maps[operand])
            reader.operands[operand] = planes
            reader.attributes["indexing_maps"] = build.maps(maps)
            return
        with ir.InsertionPoint(reader), reader.location:
            # In a kernel of its own. Others would compute one number at a time.
            pixels = permute.transposed(permute.apart(planes), _PIXELS)
            reader.operands[operand] = permute.apart(pixels)


def _is_product_of(op: ir_util.Op, image: Any) -> bool:
    """Whether an operation is a product of an image and weights, so that it can read planes as well."""
    found = contraction.read(op) if op.name == names.GENERIC else None
    return found is not None and found.counts_up and image == op.operands[0]


def _is_move(op: ir_util.Op) -> bool:
    kinds = (images.is_padding, images.is_slice, images.is_join, images.is_strip)
    return any(is_so(op) for is_so in kinds) and not images.stays_pixels(op)


def _convolution(op: ir_util.Op) -> contraction.Contraction | None:
    """Returns the contraction of a channels-last convolution of images, None for anything else."""
    found = contraction.read(op) if op.name == names.GENERIC else None
    if found is None or not found.counts_up or len(found.result) != _RANK or len(found.a) != _RANK:
        return None
    types = [str(operand.type.element_type) for operand in op.operands]
    y, x, channel = found.a
    is_image = (y.loop, x.loop) == (0, 1) and channel.is_plain and channel.loop not in (0, 1)
    is_weight = 2 in found.b and not {0, 1} & set(found.b)
    is_known = types in (["f16"] * 3, ["f32"] * 3, ["i8", "i8", "i32"])
    return found if is_image and is_weight and is_known else None


def _is_depthwise(found: contraction.Contraction) -> bool:
    return found.a[-1].loop == found.result[-1]


def _gap(op: ir_util.Op, found: contraction.Contraction) -> int:
    """Bytes between the pixels that lanes of planes read, in an image of pixels."""
    image = op.operands[0].type
    return int(found.a[1].stride * image.shape[-1] * WIDTHS[str(image.element_type)])


def _permuted(map_: Any) -> Any:
    """A map to [y, x, channel] as one to planes."""
    *pixels, channel = map_.results
    return ir.AffineMap.get(map_.n_dims, 0, [channel, *pixels])
