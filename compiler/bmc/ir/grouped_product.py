"""Products with packed weights, in groups along the sum that have a scale: one linalg.generic, made and recognized.

    result[m, n] = sum over g and k of x[m, g, k] * ((code[g, k, n] - zero) * scale[g, n] + min[g, n])

Codes of four bits are two in a byte, whose lower half is of the first half of the group. Channels n lie side by side,
so that they fill vectors. Scales and minima are the bits of f16 as integers: no pass then takes them for constants that
may as well be f32, and every hart can extend them. x may be integers as well, with a factor for each row and group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.dtype import F16_FACTOR, F16_MASK, F16_SHIFT
from bmc.ir import build, ir_util, names

_PARALLEL, _REDUCTION = (f"#linalg.iterator_type<{kind}>" for kind in ("parallel", "reduction"))
# The code of four bits that the weight 0 has if it is not 0.
MIDDLE = 8


@dataclass(frozen=True, slots=True)
class Form:
    """How weights are packed.

    Attributes:
      bits: of a code: 4, unsigned, or 8, signed.
      zero: what is subtracted from each code, 0 or MIDDLE.
      has_mins: whether each group has a number that is added to its weights.
      has_factors: whether x is integers, and each of its groups has a factor.
    """

    bits: int
    zero: int = 0
    has_mins: bool = False
    has_factors: bool = False

    @property
    def codes(self) -> int:
        """How many codes are in a byte."""
        return 8 // self.bits


def make(x: Any, codes: Any, scaling: Sequence[Any], factors: Any, form: Form) -> Any:
    """Returns the product, f32 [m, n].

    Args:
      x: f32 or i8 [m, group, codes of a byte, bytes of a group].
      codes: i8 [group, bytes of a group, n].
      scaling: scales, i16 [group, n], and minima if there are any.
      factors: f32 [m, group], None if x is f32.
      form: how they are packed.
    """
    rows, groups, halves, inner = x.type.shape
    channels = codes.type.shape[-1]
    f32 = ir.F32Type.get()
    dims = [ir.AffineExpr.get_dim(number) for number in range(5)]
    m, n, g, half, k = dims
    inputs = [x, codes, *scaling, *([factors] if form.has_factors else [])]
    places = [[m, g, half, k], [g, k, n], *[[g, n]] * len(scaling)]
    places += [*[[m, g]] * form.has_factors, [m, n]]
    start = linalg.fill(build.number(0, f32), outs=[tensor.empty([rows, channels], f32)])
    kinds = [_PARALLEL] * 2 + [_REDUCTION] * 3
    generic = ir.Operation.create(
        names.GENERIC,
        [start.type],
        [*inputs, start],
        attributes={
            "indexing_maps": build.maps([ir.AffineMap.get(5, 0, each) for each in places]),
            "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(each) for each in kinds]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    types = [each.type.element_type for each in (*inputs, start)]
    block = generic.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        element, packed, scale, *others, total = block.arguments
        weight = build.same("arith.mulf", _code(packed, form), _float(scale))
        if form.has_mins:
            weight = build.same("arith.addf", weight, _float(others[0]))
        if form.has_factors:
            number = build.op("arith.sitofp", f32, element)
            element = build.same("arith.mulf", number, others[-1])
        product = build.same("arith.mulf", element, weight)
        ir.Operation.create(names.YIELD, [], [build.same("arith.addf", total, product)])
    return generic.result


def _code(packed: Any, form: Form) -> Any:
    """Returns a code, without what is subtracted from it, as f32."""
    i32, f32 = ir.IntegerType.get_signless(32), ir.F32Type.get()
    code = packed
    if form.bits == 4:
        code = build.op("arith.extsi", i32, packed)
        half = build.op(names.INDEX, ir.IndexType.get(), dim=ir.IntegerAttr.get(_i64(), 3))
        half = build.op("arith.index_cast", i32, half)
        shift = build.same("arith.shli", half, build.number(2, i32))
        code = build.same("arith.shrui", code, shift)
        code = build.same("arith.andi", code, build.number(15, i32))
    number = build.op("arith.sitofp", f32, code)
    return build.same("arith.subf", number, build.number(form.zero, f32)) if form.zero else number


def _float(bits: Any) -> Any:
    """Returns the f32 of an f16 that is finite."""
    i32, f32 = ir.IntegerType.get_signless(32), ir.F32Type.get()
    wide = build.op("arith.extsi", i32, bits)
    moved = build.same("arith.shli", wide, build.number(F16_SHIFT, i32))
    moved = build.same("arith.andi", moved, build.number(F16_MASK, i32))
    number = build.op("arith.bitcast", f32, moved)
    return build.same("arith.mulf", number, build.number(F16_FACTOR, f32))


def _i64() -> Any:
    return ir.IntegerType.get_signless(64)


_HALVED = (
    "arith.extsi",
    names.INDEX,
    "arith.index_cast",
    "arith.shli",
    "arith.shrui",
    "arith.andi",
)
_EXTENDED = ("arith.extsi", "arith.shli", "arith.andi", "arith.bitcast", "arith.mulf")
_SUMMED = ("arith.mulf", "arith.mulf", "arith.addf", names.YIELD)


def _operations(form: Form) -> Counter[str]:
    """Returns how often the body has each operation."""
    found = Counter(("arith.sitofp", *_EXTENDED, *_SUMMED))
    if form.bits == 4:
        found.update(_HALVED)
    if form.zero:
        found.update(("arith.subf",))
    if form.has_mins:
        found.update((*_EXTENDED, "arith.addf"))
    if form.has_factors:
        found.update(("arith.sitofp", "arith.mulf"))
    return found


_FORMS = {
    tuple(sorted(_operations(form).items())): form
    for form in (
        Form(bits, zero, has_mins, has_factors)
        for bits in (4, 8)
        for zero in ((0, MIDDLE) if bits == 4 else (0,))
        for has_mins in (False, True)
        for has_factors in (False, True)
    )
}


def read(op: ir_util.Op) -> Form | None:
    """Returns how the weights of a product are packed that make() made, None for all other operations."""
    if op.name != names.GENERIC or len(op.results) != 1:
        return None
    types = [str(ir_util.element_type(each.type)) for each in op.operands]
    if types[:1] not in (["f32"], ["i8"]) or types[1:3] != ["i8", "i16"] or types[-1] != "f32":
        return None
    body = op.regions[0].blocks[0].operations
    found = Counter(each.operation.name for each in body)
    del found["arith.constant"]
    form = _FORMS.get(tuple(sorted(found.items())))
    if form is None or len(types) != 4 + form.has_mins + form.has_factors:
        return None
    return form if (types[0] == "i8") == form.has_factors else None
