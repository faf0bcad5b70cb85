"""Makes the output of Arm's converter round and saturate as LiteRT does.

- LiteRT rounds the sums of a FULLY_CONNECTED op once. The converter always uses TOSA's double rounding,
  which is off by one every few hundred elements.
- LiteRT divides the weighted sums of a bilinear RESIZE with ties away from zero. TOSA's double rounding
  turns 7/16 into 1.
- LiteRT's CAST truncates. TOSA's rounds.
- LiteRT's ROUND takes the even one of two integers that are equally near. The converter adds a half, which rounds, and
  takes the floor.
- LiteRT's FLOOR_DIV looks at the signs of integers, the converter at that of their product, which overflows.
- LiteRT's DIV makes the largest integer of the least one by -1.
- LiteRT quantizes floats by division, rounds ties away from zero and saturates. The converter multiplies,
  rounds ties to even, and keeps only the lowest bits of a float that is out of range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bmc import errors
from bmc.errors import BmcError
from bmc.frontends import (
    tflite_activations,
    tflite_curves,
    tflite_int8_lstm,
    tflite_int8_svdf,
    tflite_int16,
    tflite_own,
    tflite_schema,
    tflite_signal,
    tflite_text,
    tflite_wide_softmax,
)
from bmc.frontends.tflite_file import TfliteFile

# Dialects of the file.
_TFLITE = ("tf.", "tfl.")
# Operands that stand for an absent tensor or a constant.
_ARGUMENTS = ("tfl.no_value", "tfl.pseudo_const")
_SINGLE_ROUND = "#tosa.rounding_mode<SINGLE_ROUND>"
# Matches the name in loc("name"("model.tflite":0:0)), or in several of these fused.
_NAME = re.compile(r'loc\((?:fused\[)?"([^"]+)"')
# MLIR's escapes for bytes of UTF-8 in such a name.
_ESCAPE = re.compile(rb"\\(\\|[0-9A-F]{2})")
# Larger than any integer to which a float is quantized, and small enough that adding 1 is exact.
_LARGE = 2.0**20


def finish(converted: bytes, file: TfliteFile, destination: Path) -> None:
    """Writes the converter's output with LiteRT's arithmetic and without TFLite's own attributes.

    Args:
      converted: the converter's MLIR, bytecode or text.
      file: the model that was converted.
      destination: file to write.

    Raises:
      BmcError: an op was left unconverted; the error names it.
    """
    from iree.compiler import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(converted)
        ops = _walk(module)
        errors.raise_first(_left(ops, file))
        # Find all of them first, because a change may alter what identifies the others.
        for correct in list(_corrections(ops, file)):
            correct()
        attributes = module.operation.attributes
        for name in list(attributes):
            del attributes[name]
        with destination.open("wb") as stream:
            module.operation.write_bytecode(stream)


def unconverted(converted: bytes, file: TfliteFile) -> list[BmcError]:
    """Returns an error for each op that was left in the converter's output; the arguments are those of finish()."""
    from iree.compiler import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(converted)  # owns the ops
        return list(_left(_walk(module), file))


def _left(ops: list[Any], file: TfliteFile) -> Iterator[BmcError]:
    for op in ops:
        if op.name.startswith(_TFLITE) and op.name not in _ARGUMENTS:
            tensor = _tensor(op)
            yield BmcError(
                "op-rejected",
                f"the converter to TOSA cannot convert op '{op.name.partition('.')[2].upper()}'",
                where=f"{tensor} in {file.name}" if tensor else file.name,
                hint=tflite_schema.OTHER_OPS,
            )


def _walk(module: Any) -> list[Any]:
    from iree.compiler import ir

    found: list[Any] = []

    def visit(op: Any) -> Any:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _corrections(ops: list[Any], file: TfliteFile) -> Iterator[Callable[[], None]]:
    """Yields the changes that make each op compute as in LiteRT."""
    dense, casts = file.outputs_of("FULLY_CONNECTED"), file.outputs_of("CAST")
    rounds, quantized = file.outputs_of("ROUND"), _scales(file)
    down, quotients = file.outputs_of("FLOOR_DIV"), file.outputs_of("DIV")
    sums, curves = tflite_int16.sums(file), tflite_curves.curves(file)
    activations, lstms = tflite_activations.activations(file), tflite_int8_lstm.lstms(file)
    svdfs, shares = tflite_int8_svdf.svdfs(file), tflite_wide_softmax.scales(file.model)
    yield from tflite_signal.corrections(ops, _tensor, file)
    for op in ops:
        yield from tflite_own.corrections(op)
        yield from tflite_int8_lstm.corrections(op, _tensor(op), lstms)
        yield from tflite_int8_svdf.corrections(op, _tensor(op), svdfs)
        yield from tflite_wide_softmax.corrections(op, _tensor(op), shares)
        yield from tflite_int16.corrections(op, _tensor(op), sums)
        yield from tflite_curves.corrections(op, _tensor(op), curves)
        yield from tflite_activations.corrections(op, _tensor(op), activations)
        if op.name == "tosa.rescale" and _tensor(op) in dense - sums.keys():
            yield partial(_round_once, op)
        if op.name == "tosa.rescale" and _is(op.operands[0], "tosa.resize"):
            yield partial(_round_away, op)
        if op.name == "tosa.floor" and _tensor(op) in rounds:
            yield partial(_round_to_even, op)
        if op.name == "tosa.mul" and _tensor(op) in down and _is_sign(op):
            yield partial(_join_signs, op)
        if op.name == "tosa.intdiv" and _tensor(op) in quotients:
            yield partial(_saturate, op)
        if op.name == "tosa.cast" and _tensor(op) in casts:
            yield partial(_truncate, op)
        elif op.name == "tosa.cast" and _tensor(op) in quantized:
            if (rounded := _quantized(op)) is not None:
                yield partial(_quantize, op, rounded, quantized[_tensor(op)])
            elif _is(op.operands[0], "tosa.mul") and op.results[0].type.element_type.width < 32:
                yield partial(_quantize_to_16_bits, op, quantized[_tensor(op)])


def _round_once(rescale: Any) -> None:
    from iree.compiler import ir

    if str(ir.ShapedType(rescale.operands[0].type).element_type) == "i32":
        rescale.attributes["rounding_mode"] = ir.Attribute.parse(_SINGLE_ROUND)


def _round_away(rescale: Any) -> None:
    """Makes an i32 division round to nearest, ties away from zero."""
    from iree.compiler import ir

    (sums,) = rescale.operands[0:1]
    if sums.type.element_type.width < 32:
        return  # the nearest pixels
    make = _Maker(rescale, sums)
    # SINGLE_ROUND rounds ties up. Subtracting one from a negative sum avoids ties and changes nothing else.
    sign = make("arithmetic_right_shift", sums, make.constant(31), round=ir.BoolAttr.get(False))
    rescale.operands[0] = make("add", sums, sign)
    rescale.attributes["rounding_mode"] = ir.Attribute.parse(_SINGLE_ROUND)


def _round_to_even(floor: Any) -> None:
    """Makes a float round to nearest, ties to even."""
    x = floor.operands[0].owner.operands[0]
    make = _Maker(floor, x)
    half = make.constant(0.5)
    low = make("floor", x)
    over = make("sub", x, low)
    halved = make.product(low, half)
    odd = make.compare("greater", halved, make("floor", halved))
    up = make.truth("and", make.compare("equal", over, half), odd)
    up = make.truth("or", up, make.compare("greater", over, half))
    made = make("select", up, make("add", low, make.constant(1.0)), low)
    floor.results[0].replace_all_uses_with(made)


def _is_sign(product: Any) -> bool:
    """Whether a product of integers is only compared with 0."""
    uses = [use.owner.name for use in product.results[0].uses]
    return uses == ["tosa.greater"] and str(product.results[0].type.element_type) == "i32"


def _join_signs(product: Any) -> None:
    """Makes an integer that is negative if one of two is, instead of their product."""
    make = _Maker(product, product.results[0])
    product.results[0].replace_all_uses_with(make("bitwise_xor", *list(product.operands)[:2]))


def _saturate(division: Any) -> None:
    x, divisor = division.operands
    limits = np.iinfo(f"int{x.type.element_type.width}")
    of_x, of_divisor = _Maker(division, x), _Maker(division, divisor)
    least = of_x.compare("equal", x, of_x.constant(int(limits.min)))
    minus_one = of_divisor.compare("equal", divisor, of_divisor.constant(-1))
    make = _Maker(division, division.results[0])
    overflows, quotient = make.truth("and", least, minus_one), make("intdiv", x, divisor)
    made = make("select", overflows, make.constant(int(limits.max)), quotient)
    division.results[0].replace_all_uses_with(made)


def _is(value: Any, name: str) -> bool:
    """Whether a value is the result of the op `name`."""
    return getattr(value.owner, "name", "") == name


def _truncate(cast: Any) -> None:
    """Makes a cast from floats to integers round toward zero."""
    from iree.compiler import ir

    (x,) = cast.operands
    source, target = (ir.ShapedType(value.type).element_type for value in (x, cast.results[0]))
    if isinstance(source, ir.IntegerType) or not isinstance(target, ir.IntegerType):
        return
    if target.width == 1:  # Every value but zero is true.
        return
    make = _Maker(cast, x)
    cast.operands[0] = make.by_sign(make("floor", x), make("ceil", x))


def _quantized(narrowing: Any) -> Any:
    """Returns the first cast of a quantization whose last cast is `narrowing`, None if there is none.

    A quantization casts floats to i32, adds a zero point and casts the sum to a narrower integer.
    """
    from iree.compiler import ir

    (total,) = narrowing.operands
    element = ir.ShapedType(narrowing.results[0].type).element_type
    if not isinstance(element, ir.IntegerType) or not _is(total, "tosa.add"):
        return None
    if not _is(total.owner.operands[0], "tosa.cast"):
        return None
    rounded = total.owner.operands[0].owner
    is_float = str(ir.ShapedType(rounded.operands[0].type).element_type) == "f32"
    return rounded if is_float and 1 < element.width < 32 else None


def _scales(file: TfliteFile) -> dict[str, np.float32]:
    """Returns the scale of each QUANTIZE by the name of its output."""
    return {
        tflite_schema.text(made.name): np.float32(made.quantization.scale[0])
        for graph in file.model.subgraphs
        for op in graph.operators
        if tflite_schema.op_kind(file.model, op) == "QUANTIZE"
        for made in [graph.tensors[op.outputs[0]]]
        if tflite_schema.is_quantized(made)
    }


def _quantize(narrowing: Any, rounded: Any, scale: np.float32) -> None:
    """Divides, makes floats round to nearest, ties away from zero, and the integers saturate."""
    from iree.compiler import ir

    if _is(rounded.operands[0], "tosa.mul"):
        _divide(rounded.operands[0].owner.operation, scale)
    (x,) = rounded.operands
    make = _Maker(rounded, x)
    x = make("clamp", x, min_val=make.number(-_LARGE), max_val=make.number(_LARGE))
    size = make("abs", x)
    whole = make("floor", size)
    up = make.compare("greater_equal", make("sub", size, whole), make.constant(0.5))
    size = make("select", up, make("add", whole, make.constant(1.0)), whole)
    make.x = x
    rounded.operands[0] = make.by_sign(size, make("sub", make.constant(0.0), size))

    (total,) = narrowing.operands
    narrow = ir.ShapedType(narrowing.results[0].type).element_type
    limits = np.iinfo(f"{'u' if narrow.is_unsigned else ''}int{narrow.width}")
    make = _Maker(narrowing, total)
    total = make("maximum", total, make.constant(int(limits.min)))
    narrowing.operands[0] = make("minimum", total, make.constant(int(limits.max)))


def _quantize_to_16_bits(narrowing: Any, scale: np.float32) -> None:
    """Does what _quantize() does of a product that is cast to 16 bits at once, because there is no zero point."""
    from iree.compiler import ir

    (product,) = narrowing.operands
    i32 = ir.IntegerType.get_signless(32, narrowing.context)
    whole = ir.RankedTensorType.get(product.type.shape, i32, loc=narrowing.location)
    with ir.InsertionPoint(narrowing), narrowing.location:
        rounded = ir.Operation.create("tosa.cast", [whole], [product])
    narrowing.operands[0] = rounded.result
    _quantize(narrowing, rounded, scale)


def _divide(product: Any, scale: np.float32) -> None:
    """Makes a quotient of a product with 1 / scale, which may be next to it."""
    x = product.operands[0]
    loops = ", ".join(f"d{axis}" for axis in range(len(x.type.shape)))
    parallel = ", ".join(['"parallel"'] * len(x.type.shape))
    # One number for all elements, as in _Maker.constant().
    text = f"""
func.func @quotient(%x: {x.type}) -> {x.type} {{
  %scale = arith.constant {scale:.9e} : f32
  %empty = tensor.empty() : {x.type}
  %quotient = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({loops})>],
    iterator_types = [{parallel}]}} ins(%x : {x.type}) outs(%empty : {x.type}) {{
  ^element(%number: f32, %old: f32):
    %result = arith.divf %number, %scale : f32
    linalg.yield %result : f32
  }} -> {x.type}
  return %quotient : {x.type}
}}"""
    tflite_text.replace(product, text, [x])


class _Maker:
    """Makes TOSA ops on tensors of the type of `x`, in front of an op."""

    def __init__(self, before: Any, x: Any) -> None:
        from iree.compiler import ir

        self._ir = ir
        self._before = before
        self._flags = ir.RankedTensorType.get(
            x.type.shape, ir.IntegerType.get_signless(1), loc=before.location
        )
        self.x = x

    def __call__(self, name: str, *operands: Any, **attributes: Any) -> Any:
        return self._make(f"tosa.{name}", self.x.type, operands, attributes)

    def constant(self, value: float) -> Any:
        # Of one element: IREE keeps a large tensor of equal ones as a weight.
        shaped = self._ir.ShapedType(self.x.type)
        kind = self._ir.RankedTensorType.get(
            [1] * shaped.rank, shaped.element_type, loc=self._before.location
        )
        splat = self._ir.DenseElementsAttr.get_splat(kind, self.number(value))
        return self._make("tosa.const", kind, (), {"values": splat})

    def number(self, value: float) -> Any:
        element = self._ir.ShapedType(self.x.type).element_type
        if isinstance(element, self._ir.IntegerType):
            return self._ir.IntegerAttr.get(element, int(value))
        return self._ir.FloatAttr.get(element, value, loc=self._before.location)

    def compare(self, name: str, a: Any, b: Any) -> Any:
        return self._make(f"tosa.{name}", self._flags, (a, b), {})

    def truth(self, name: str, a: Any, b: Any) -> Any:
        return self._make(f"tosa.logical_{name}", self._flags, (a, b), {})

    def product(self, a: Any, b: Any) -> Any:
        dense = self._ir.DenseElementsAttr.get(np.zeros(1, np.int8), context=self._before.context)
        shift = self._make("tosa.const", dense.type, (), {"values": dense})
        return self("mul", a, b, shift)

    def by_sign(self, positive: Any, negative: Any) -> Any:
        """Returns a tensor with `positive` where x >= 0 and `negative` elsewhere."""
        flags = self.compare("greater_equal", self.x, self.constant(0.0))
        return self("select", flags, positive, negative)

    def _make(self, name: str, result: Any, operands: Any, attributes: dict[str, Any]) -> Any:
        with self._ir.InsertionPoint(self._before), self._before.location:
            return self._ir.Operation.create(name, [result], list(operands), attributes).result


def _tensor(op: Any) -> str:
    """Returns the name of the file's tensor that the op computes, "" if unknown."""
    found = _NAME.search(str(op.location))
    return _ESCAPE.sub(_unescaped, found[1].encode()).decode() if found else ""


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"\\" if match[1] == b"\\" else bytes.fromhex(match[1].decode())
