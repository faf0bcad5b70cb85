"""Ops on sound as MLIR text: bit for bit as the kernels of TensorFlow Lite for Microcontrollers, in integers.

Every tensor has one dimension. Unsigned numbers have the type of signed ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_signal_ops as ops
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_signal_fft import Fft
from bmc.frontends.tflite_signal_lines import Lines, Value
from bmc.frontends.tflite_signal_ops import Op, Part

# Bits behind the point of a ratio of signal and noise, and of what becomes of it.
_RATIO_BITS, _SHRUNK_BITS = 12, 6
# log2(1 + x) - x at 128 places, with 16 bits behind the point; and ln(2).
_SEGMENT_BITS, _LOG_BITS = 7, 16
_LN2 = 45426


class SignalText:
    """The function that makes features of sound."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._lines = Lines()
        self._values: dict[int, Value] = {}
        self._spectra: dict[int, tuple[Value, Value]] = {}
        self._kept: Value | None = None

    def function(self, types: list[str]) -> str:
        """Returns the function of the input, and of what was kept if anything is; with as many results.

        Args:
          types: of its arguments.
        """
        part, lines = self._part, self._lines
        size = part.sizes[part.given]
        self._values[part.given] = lines.flat(Value("x", (size,), "i16"), types[0])
        if part.channels:
            self._kept = Value("kept", (part.channels,), "i32")
        for op in part.ops:
            self._add(op)
        results = [self._values[part.made], *([self._kept] if self._kept else [])]
        arguments = ["%x: " + types[0], *([f"%kept: {types[1]}"] if part.channels else [])]
        kinds = ", ".join(each.type for each in results)
        body = "\n".join(lines.lines)
        return f"""
func.func @features({", ".join(arguments)}) -> ({kinds}) {{
{body}
  return {", ".join(f"%{each.name}" for each in results)} : {kinds}
}}"""

    def _add(self, op: Op) -> None:
        if op.kind == ops.FFT:
            x = self._values[op.inputs[0]]
            self._spectra[op.outputs[0]] = Fft(self._lines, op.options["fft_length"]).of(x)
            return
        if op.kind == ops.SUBTRACTION:
            assert self._kept is not None
            made, self._kept = self._subtracted(op, self._kept)
            self._values |= dict(zip(op.outputs, (made, self._kept), strict=True))
            return
        if op.kind == ops.SCALE:
            self._values |= dict(zip(op.outputs, self._scaled(op), strict=True))
            return
        makers: dict[str, Callable[[Op], Value]] = {
            ops.WINDOW: self._window,
            ops.ENERGY: self._energy,
            ops.BANK: self._bank,
            ops.ROOT: self._root,
            ops.GAIN: self._gain,
            ops.LOG: self._log,
            ops.RESHAPE: lambda op: self._values[op.inputs[0]],
            ops.CAST: lambda op: self._values[op.inputs[0]],
            ops.SLICE: self._slice,
            ops.JOIN: self._joined,
        }
        self._values[op.outputs[0]] = makers[op.kind](op)

    def _value(self, op: Op, place: int, dtype: str = "") -> Value:
        """Returns an operand; a constant gets the type `dtype`, if that is given."""
        index = op.inputs[place]
        if index not in op.constants:
            return self._values[index]
        array = np.ravel(op.constants[index])
        return self._lines.constant(array.astype(dtype) if dtype else array)

    def _window(self, op: Op) -> Value:
        def body(body: Body, x: str, weight: str) -> list[str]:
            wide = [body.cast("extsi", each, ("i16", "i32")) for each in (x, weight)]
            raw = body.op("shrsi", body.op("muli", *wide), body.number(op.options["shift"]))
            return [body.cast("trunci", body.saturate(raw), ("i32", "i16"))]

        x, weights = self._value(op, 0), self._value(op, 1)
        return self._lines.each([x, weights], ["i16"], body)[0]

    def _scaled(self, op: Op) -> tuple[Value, Value]:
        """Returns numbers shifted to the left as far as the largest of them allows, and by how many bits."""
        x = self._value(op, 0)
        largest = self._lines.largest(x)

        def shift(body: Body, most: str) -> list[str]:
            # Its lowest 15 bits, with the sign, as an unsigned number; none for zero.
            wide = body.cast("extsi", most, ("i16", "i32"))
            zeros = body.line(f"math.ctlz {wide} : i32")
            is_zero = body.line(f"arith.cmpi eq, {wide}, {body.number(0)} : i32")
            free = body.plus(zeros, -17)
            return [body.select(is_zero, body.number(0), body.op("maxsi", free, body.number(0)))]

        (bits,) = self._lines.each([largest], ["i32"], shift)

        def shifted(body: Body, x: str, bits: str) -> list[str]:
            wide = body.op("shli", body.cast("extsi", x, ("i16", "i32")), bits)
            return [body.cast("trunci", wide, ("i32", "i16"))]

        return self._lines.each([x, bits], ["i16"], shifted)[0], bits

    def _energy(self, op: Op) -> Value:
        def body(body: Body, real: str, imaginary: str) -> list[str]:
            wide = [body.cast("extsi", each, ("i16", "i32")) for each in (real, imaginary)]
            return [body.add(*(body.op("muli", each, each) for each in wide))]

        return self._lines.each([*self._spectra[op.inputs[0]]], ["i32"], body)[0]

    def _bank(self, op: Op) -> Value:
        x = self._value(op, 0)
        weights = ops.bank(op, x.shape[0])
        small = np.abs(weights).max() < 2**15
        return self._lines.product(x, weights.astype(np.int16 if small else np.int32))

    def _root(self, op: Op) -> Value:
        """Returns square roots, rounded to nearest, without their lowest bits."""

        def body(body: Body, number: str, bits: str) -> list[str]:
            def op64(name: str, *operands: str) -> str:
                return body.op(name, *operands, kind="i64")

            def choice(flag: str, yes: str, no: str) -> str:
                return body.line(f"arith.select {flag}, {yes}, {no} : i64")

            one, rest, root = body.number(1, "i64"), number, body.number(0, "i64")
            for place in range(31, -1, -1):
                bit = body.number(1 << (2 * place), "i64")
                least = op64("addi", root, bit)
                fits = body.line(f"arith.cmpi uge, {rest}, {least} : i64")
                rest = choice(fits, op64("subi", rest, least), rest)
                half = op64("shrui", root, one)
                root = choice(fits, op64("addi", half, bit), half)
            wide = op64("shrui", number, body.number(32, "i64"))
            is_small = body.line(f"arith.cmpi eq, {wide}, {body.number(0, 'i64')} : i64")
            most = choice(is_small, body.number(2**16 - 1, "i64"), body.number(2**32 - 1, "i64"))
            is_above = body.line(f"arith.cmpi ugt, {rest}, {root} : i64")
            is_below = body.line(f"arith.cmpi ne, {root}, {most} : i64")
            up = body.op("andi", is_above, is_below, kind="i1")
            root = op64("addi", root, body.cast("extui", up, ("i1", "i64")))
            return [body.op("shrui", body.cast("trunci", root, ("i64", "i32")), bits)]

        return self._lines.each([self._value(op, 0), self._value(op, 1)], ["i32"], body)[0]

    def _subtracted(self, op: Op, kept: Value) -> tuple[Value, Value]:
        """Returns numbers without the noise that is kept, and the noise after them."""
        options = op.options
        size = kept.shape[0]
        first = np.arange(size) % 2 == 0

        def by_turns(name: str) -> Array:
            numbers = np.where(first, options[name], options[f"alternate_{name}"])
            return numbers.astype(np.int32)

        def body(body: Body, x: str, noise: str, new: str, old: str) -> list[str]:
            def wide(number: str) -> str:
                return body.cast("extui", number, ("i32", "i64"))

            def scaled(number: str) -> str:
                bits = body.number(options["spectral_subtraction_bits"], "i64")
                return body.cast(
                    "trunci", body.op("shrui", number, bits, kind="i64"), ("i64", "i32")
                )

            bits = body.number(options["smoothing_bits"])
            large = body.op("shli", x, bits)
            parts = [
                body.op("muli", wide(number), wide(share), kind="i64")
                for number, share in ((large, new), (noise, old))
            ]
            after = scaled(body.op("addi", *parts, kind="i64"))
            estimate = body.op("minui", after, large)
            least = body.number(options["min_signal_remaining"], "i64")
            floor = scaled(body.op("muli", wide(x), least, kind="i64"))
            rest = body.op("shrui", body.op("subi", large, estimate), bits)
            return [body.op("maxui", rest, floor), estimate if options["clamping"] else after]

        shares = [self._lines.constant(by_turns(n)) for n in ("smoothing", "one_minus_smoothing")]
        made = self._lines.each([self._value(op, 0), kept, *shares], ["i32", "i32"], body)
        return made[0], made[1]

    def _gain(self, op: Op) -> Value:
        """Returns numbers times a gain that depends on the noise, and that is looked up; large ones become smaller."""
        table = self._value(op, 2)

        def looked_up(body: Body, noise: str) -> str:
            bits = body.op("subi", body.number(32), body.line(f"math.ctlz {noise} : i32"))
            is_low = body.line(f"arith.cmpi ule, {noise}, {body.number(2)} : i32")
            place = body.plus(body.op("shli", bits, body.number(2)), -6)
            place = body.select(is_low, noise, place)
            entries = [
                body.cast("extsi", body.entry(table.name, table.type, at), ("i16", "i32"))
                for at in (
                    place,
                    *(body.select(is_low, noise, body.plus(place, n)) for n in (1, 2)),
                )
            ]
            left = body.op("maxsi", body.minus(11, bits), body.number(0))
            right = body.op("maxsi", body.plus(bits, -11), body.number(0))
            moved = body.op("shrui", body.op("shli", noise, left), right)
            share = body.op("andi", moved, body.number(0x3FF))
            sum_ = body.op("shrsi", body.op("muli", entries[2], share), body.number(5))
            sum_ = body.add(sum_, body.op("shli", entries[1], body.number(5)))
            sum_ = body.plus(body.op("muli", sum_, share), 1 << 14)
            sum_ = body.add(body.op("shrsi", sum_, body.number(15)), entries[0])
            narrow = body.cast("extsi", body.cast("trunci", sum_, ("i32", "i16")), ("i16", "i32"))
            return body.select(is_low, entries[0], narrow)

        def body(body: Body, x: str, noise: str) -> list[str]:
            wide = [
                body.cast("extui", each, ("i32", "i64")) for each in (x, looked_up(body, noise))
            ]
            shift = body.number(op.options["snr_shift"], "i64")
            product = body.op("muli", *wide, kind="i64")
            ratio = body.cast(
                "trunci", body.op("shrui", product, shift, kind="i64"), ("i64", "i32")
            )
            is_low = body.line(f"arith.cmpi ult, {ratio}, {body.number(2 << _RATIO_BITS)} : i32")
            square = body.op("muli", ratio, ratio)
            square = body.op("shrui", square, body.number(2 + 2 * _RATIO_BITS - _SHRUNK_BITS))
            less = body.op("shrui", ratio, body.number(_RATIO_BITS - _SHRUNK_BITS))
            return [body.select(is_low, square, body.plus(less, -(1 << _SHRUNK_BITS)))]

        return self._lines.each([self._value(op, 0), self._value(op, 1)], ["i32"], body)[0]

    def _log(self, op: Op) -> Value:
        places = np.arange(2**_SEGMENT_BITS + 1) / 2**_SEGMENT_BITS
        curve = np.floor((np.log2(1 + places) - places) * 2**_LOG_BITS + 0.5).astype(np.int16)
        table = self._lines.constant(np.append(curve, np.int16(0)))
        segment = _LOG_BITS - _SEGMENT_BITS

        def body(body: Body, x: str) -> list[str]:
            number = body.op("shli", x, body.number(op.options["input_correction_bits"]))
            is_tiny = body.line(f"arith.cmpi ule, {number}, {body.number(1)} : i32")
            # The logarithm of 2 in place of those that are not looked at.
            number = body.select(is_tiny, body.number(2), number)
            whole = body.minus(31, body.line(f"math.ctlz {number} : i32"))
            rest = body.op("subi", number, body.op("shli", body.number(1), whole))
            left = body.op("maxsi", body.minus(_LOG_BITS, whole), body.number(0))
            right = body.op("maxsi", body.plus(whole, -_LOG_BITS), body.number(0))
            share = body.op("shrsi", body.op("shli", rest, left), right)
            place = body.op("shrui", share, body.number(segment))
            low, high = (
                body.cast("extui", body.entry(table.name, table.type, at), ("i16", "i32"))
                for at in (place, body.plus(place, 1))
            )
            inside = body.op("subi", share, body.op("shli", place, body.number(segment)))
            between = body.op("muli", body.op("subi", high, low), inside)
            between = body.op("shrsi", between, body.number(_LOG_BITS))
            log2 = body.add(body.op("shli", whole, body.number(_LOG_BITS)), share)
            log2 = body.add(body.add(log2, low), between)
            product = body.op(
                "muli",
                body.cast("extui", log2, ("i32", "i64")),
                body.number(_LN2, "i64"),
                kind="i64",
            )
            half = body.number(1 << (_LOG_BITS - 1), "i64")
            up = body.op("addi", product, half, kind="i64")
            log = body.op("shrui", up, body.number(_LOG_BITS, "i64"), kind="i64")
            log = body.op(
                "muli",
                body.cast("trunci", log, ("i64", "i32")),
                body.number(op.options["output_scale"]),
            )
            scaled = body.op("shrui", body.plus(log, 1 << (_LOG_BITS - 1)), body.number(_LOG_BITS))
            made = body.select(
                is_tiny, body.number(0), body.op("minui", scaled, body.number(2**15 - 1))
            )
            return [body.cast("trunci", made, ("i32", "i16"))]

        return self._lines.each([self._value(op, 0)], ["i16"], body)[0]

    def _slice(self, op: Op) -> Value:
        start = int(np.ravel(op.constants[op.inputs[1]])[0])
        return self._lines.slice(self._value(op, 0), start, self._part.sizes[op.outputs[0]])

    def _joined(self, op: Op) -> Value:
        return self._lines.joined([self._value(op, place) for place in range(len(op.inputs))])
