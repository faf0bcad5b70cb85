"""Computes parts of a model in strips of rows, so that the tensors between their layers never exist whole."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, ir_util, names
from bmc.rewrites.context import Context
from bmc.rewrites.layout import images
from bmc.rewrites.memory import rows
from bmc.strips.outline import Kind, Op, Outline
from bmc.strips.segment import Part, Rows, Segment, Strip

_IMPORT = "hal.tensor.import"
_FILLERS = (names.EMPTY, names.FILL, names.BROADCAST)


def apply(module: Any, context: Context) -> None:
    """Cuts the functions that the context has cuts for, and notes the outlines of all."""
    images.drop_unit_axes(module)
    images.expand_numbers(module)
    for function in ir_util.all_of(module, names.HOST_FUNCTION):
        name = ir_util.string(function, "sym_name")
        if len(function.regions[0].blocks) != 1:
            continue
        ops = [child.operation for child in function.regions[0].blocks[0]]
        outline = _outline(ops)
        context.outlines[name] = outline
        # What strips have computed, by the number of the operation that did it before.
        computed: dict[int, Any] = {}
        for cut in context.cuts.get(name, ()):
            stretch = outline.stretch(cut.first, cut.last)
            assert stretch is not None
            outside = [
                computed[number] if number in computed else ops[number].results[0]
                for number in stretch.outside
            ]
            fillers = {
                place
                for place, number in enumerate(stretch.numbers)
                if outline.ops[number].kind is Kind.FILLER
            }
            stretched = [ops[number] for number in stretch.numbers]
            if cut.pixels:
                outside = [_as_pixels(value) for value in outside]
            moving = {ops[number] for number in stretch.numbers if outline.ops[number].moves}
            _move_behind(ops[cut.first : cut.last + 1], moving)
            whole = _Cutter(stretched, outside, stretch.segment, fillers, cut.pixels).cut(cut.rows)
            computed |= {stretch.numbers[place]: value for place, value in whole.items()}


def _as_pixels(value: Any) -> Any:
    """Returns an image with each row in one place, so that rows that strips have read need no memory any more."""
    maker = ir_util.definition(value)
    if maker is None or maker.name != names.GENERIC or not images.is_image(value):
        return value
    with ir.InsertionPoint.after(maker), maker.location:
        pixels = images.strip_of(value, pixels=True)
    value.replace_all_uses_except(pixels, pixels.owner.operation)
    return pixels


def _move_behind(ops: list[ir_util.Op], stretched: set[ir_util.Op]) -> None:
    """Moves what reads the results of a stretch, but is not in it, behind the stretch, which is among `ops`."""
    later = set(stretched)
    end = ops[-1]
    for op in ops:
        if op not in later and any(ir_util.definition(each) in later for each in op.operands):
            later.add(op)
            op.move_after(end)
            end = op


def _outline(ops: list[ir_util.Op]) -> Outline:
    numbers = {op: number for number, op in enumerate(ops)}
    found: list[Op] = []
    for op in ops:
        windows = rows.windows(op)
        reads = []
        for place, operand in enumerate(op.operands):
            maker = ir_util.definition(operand)
            if maker in numbers:
                reads.append((numbers[maker], windows[place] if windows is not None else None))
        is_input = _is_input(op)
        moves = op.name == _IMPORT or any(found[source].moves for source, _ in reads)
        kind = op.results[0].type if len(op.results) == 1 else None
        count = size = 0
        if isinstance(kind, ir.RankedTensorType) and kind.has_static_shape and kind.rank:
            count = kind.shape[0]
            size = ir_util.tensor_bytes(kind) // max(count, 1)
        found.append(
            Op(
                Kind.INPUT if is_input else _kind(op, moves, windows is not None),
                count,
                size,
                tuple(reads),
                windows is not None,
                moves,
            )
        )
    return Outline(found)


def _is_input(op: ir_util.Op) -> bool:
    """Whether a result is an input as the model reads it, which is often the caller's tensor with fewer axes."""
    if op.name in names.RESHAPES:
        given = ir_util.defined_by(op.operands[0], _IMPORT)
        return given is not None and not _is_input(given)
    return op.name == _IMPORT and any(
        reader.name not in names.RESHAPES for reader, _ in ir_util.uses(op.results[0])
    )


def _kind(op: ir_util.Op, moves: bool, is_apart: bool) -> Kind:
    if op.name in _FILLERS:
        return Kind.FILLER
    if op.name in names.RESHAPES and is_apart:
        return Kind.ELEMENTWISE if moves else Kind.FILLER
    if op.name == names.INSERT_SLICE and moves:
        return Kind.JOIN
    if op.name != names.GENERIC:
        return Kind.OTHER
    if ir_util.reduces(op):
        return Kind.SUM
    return Kind.ELEMENTWISE if moves else Kind.FILLER


class _Cutter:
    """Replaces the operations of a stretch by those of its strips."""

    def __init__(
        self,
        ops: list[ir_util.Op],
        outside: list[Any],
        segment: Segment,
        fillers: set[int],
        pixels: bool,
    ) -> None:
        self._ops = ops
        self._fillers = fillers
        self._outside = outside
        self._segment = segment
        self._pixels = pixels
        # What strips have of each image so far.
        self._tensors: dict[int, Any] = {}
        self._held: Strip = {}

    def cut(self, count: int) -> dict[int, Any]:
        """Goes `count` rows of the first image at a time; returns the images that are read behind the segment."""
        with ir.InsertionPoint(self._ops[-1]):
            for strip in self._segment.strips(count):
                for number, part in strip.items():
                    if number in self._fillers:
                        continue
                    with self._ops[number].location:
                        self._tensors[number] = self._part(number, part)
                    self._held[number] = part
        whole = {
            number: self._tensors[number]
            for number, image in enumerate(self._segment.images)
            if image.returned and number not in self._fillers
        }
        for number, value in whole.items():
            self._replace(self._ops[number], value)
        ir_util.erase_unread(self._ops[::-1])
        return whole

    def _replace(self, op: ir_util.Op, value: Any) -> None:
        for reader, operand in ir_util.uses(op.results[0]):
            if reader not in self._ops:
                reader.operands[operand] = value

    def _part(self, number: int, part: Part) -> Any:
        """Returns the rows that a strip has of an image, as a tensor."""
        image, kind = self._segment.images[number], self._ops[number].results[0].type
        fresh = self._computed(number, Rows(part.fresh, part.rows.end))
        if image.returned:
            whole = self._tensors.get(number)
            if whole is None:
                whole = tensor.empty(list(kind.shape), kind.element_type)
            return images.strip_of(_inserted(fresh, whole, part.fresh), pixels=self._pixels)
        if part.fresh == part.rows.begin:
            return images.strip_of(fresh) if image.kept else fresh
        rows_before = Rows(part.rows.begin, part.fresh)
        old = self._held_rows(number, rows_before)
        empty = tensor.empty([part.rows.count, *list(kind.shape)[1:]], kind.element_type)
        joined = _inserted(fresh, _inserted(old, empty, 0), part.fresh - part.rows.begin)
        return images.strip_of(joined)

    def _held_rows(self, number: int, needed: Rows) -> Any:
        value, begin = self._tensors[number], self._held[number].rows.begin
        if needed.begin == begin and needed.count == value.type.shape[0]:
            return value
        return images.strip_of(_sliced(value, needed.begin - begin, needed.count))

    def _outside_rows(self, number: int, needed: Rows) -> Any:
        value = self._outside[number]
        if needed.count == value.type.shape[0]:
            return value
        return images.strip_of(_sliced(value, needed.begin, needed.count))

    def _computed(self, number: int, fresh: Rows) -> Any:
        """Returns some rows of an image, computed from what strips have of others."""
        op = self._ops[number]
        kind = op.results[0].type
        shape = [fresh.count, *list(kind.shape)[1:]]
        if op.name == names.EMPTY:
            return tensor.empty(shape, kind.element_type)
        windows = rows.windows(op)
        assert windows is not None
        reads = iter(self._segment.images[number].reads)
        operands: list[Any] = []
        needed = fresh
        for operand, window in zip(op.operands, windows, strict=True):
            if window is None:
                operands.append(operand)
                continue
            source, _ = next(reads)
            needed = window.rows(fresh, operand.type.shape[0])
            if ir_util.defined_by(operand, names.EMPTY):
                sizes = [needed.count, *list(operand.type.shape)[1:]]
                operands.append(tensor.empty(sizes, operand.type.element_type))
            elif source < 0:
                operands.append(self._outside_rows(-source - 1, needed))
            elif source in self._fillers:
                # Each reader has its own rows of it, in its own kernel.
                operands.append(self._computed(source, needed))
            else:
                operands.append(self._held_rows(source, needed))
        new = op.clone()
        for place, operand in enumerate(operands):
            new.operands[place] = operand
        new.results[0].set_type(ir.RankedTensorType.get(shape, kind.element_type))
        if number in self._fillers:
            # Otherwise equal ones of several strips would be one, and that a kernel of its own.
            images.mark(new, fresh.begin)
        match op.name:
            case names.PAD:
                padding = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))[0]
                above = needed.begin - (fresh.begin - padding)
                _set(new, "static_low", above)
                _set(new, "static_high", fresh.count - needed.count - above)
            case names.EXPAND_SHAPE:
                _set(new, "static_output_shape", fresh.count)
            case names.EXTRACT_SLICE:
                _set(new, "static_offsets", 0)
                _set(new, "static_sizes", fresh.count)
            case names.INSERT_SLICE:
                _set(new, "static_sizes", fresh.count)
        return new.results[0]


def _set(op: ir_util.Op, name: str, value: int) -> None:
    """Changes what an attribute says about the first axis."""
    old = list(ir.DenseI64ArrayAttr(op.attributes[name]))
    op.attributes[name] = ir.DenseI64ArrayAttr.get([value, *old[1:]])


def _sliced(value: Any, begin: int, count: int) -> Any:
    """Returns `count` rows of an image."""
    shape = list(value.type.shape)
    offsets = [begin, *[0] * (len(shape) - 1)]
    return build.sliced(value, offsets, [count, *shape[1:]], [1] * len(shape))


def _inserted(value: Any, into: Any, begin: int) -> Any:
    """Returns an image with `value` as its rows from `begin` on."""
    shape = list(value.type.shape)
    return build.op(
        names.INSERT_SLICE,
        into.type,
        value,
        into,
        static_offsets=ir.DenseI64ArrayAttr.get([begin, *[0] * (len(shape) - 1)]),
        static_sizes=ir.DenseI64ArrayAttr.get(shape),
        static_strides=ir.DenseI64ArrayAttr.get([1] * len(shape)),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 0, 0, 0]),
    )
