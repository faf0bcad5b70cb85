"""Instructions of RV32 and RV64 with vectors: each function returns the text of one.

No other file writes an instruction, except that tables hold mnemonics: ops.py for epilogues, dtypes.py for products.

Arguments are register names ("v8", "f2", "x10"), the destination first, and integers. `bits` is the width of an
element. If `masked`, v0 is the mask; masked-off lanes follow the mask policy of vsetvli.
"""

from __future__ import annotations

from dataclasses import dataclass

# The instruction that loads one number into a scalar register.
_SCALAR_LOADS = {"f32": "flw", "f16": "flh", "bf16": "flh", "i32": "lw", "i8": "lb"}
_INTEGER_LOADS = {8: "lb", 16: "lh", 32: "lw", 64: "ld"}


@dataclass(frozen=True, slots=True)
class _Half:
    """Mnemonics that convert between a float type of 16 bits and f32.

    Attributes:
      extend_number: a scalar register.
      extend: a vector, whose result has twice as many registers.
      truncate: a vector, rounded to nearest, ties to even.
    """

    extend_number: str
    extend: str
    truncate: str


_HALVES = {
    "f16": _Half("fcvt.s.h", "vfwcvt.f.f.v", "vfncvt.f.f.w"),
    "bf16": _Half("fcvt.s.bf16", "vfwcvtbf16.f.f.v", "vfncvtbf16.f.f.w"),
}


def _mask(masked: bool) -> str:
    return ", v0.t" if masked else ""


def _kind(source: str | int) -> str:
    """Returns the letter of a source in a mnemonic: immediate, or vector, float or integer register."""
    return "i" if isinstance(source, int) else source[0] if source[0] in "vf" else "x"


# Integers.


def load_immediate(to: str, value: int) -> str:
    return f"li {to}, {value}"


def move(to: str, source: str) -> str:
    return f"mv {to}, {source}"


def add(to: str, one: str, other: str) -> str:
    return f"add {to}, {one}, {other}"


def add_immediate(to: str, source: str, value: int) -> str:
    """`value` is a signed 12-bit integer."""
    return f"addi {to}, {source}, {value}"


def multiply(to: str, one: str, other: str) -> str:
    return f"mul {to}, {one}, {other}"


def load_integer(bits: int, to: str, offset: int, address: str) -> str:
    """Loads a signed integer."""
    return f"{_INTEGER_LOADS[bits]} {to}, {offset}({address})"


def store_word(source: str, offset: int, address: str) -> str:
    return f"sw {source}, {offset}({address})"


def branch_if_not_below(one: str, other: str, label: str) -> str:
    """Compares unsigned integers."""
    return f"bgeu {one}, {other}, {label}"


def branch_if_not_zero(source: str, label: str) -> str:
    return f"bnez {source}, {label}"


# Scalars.


def load_number(dtype: str, to: str, offset: int, address: str) -> str:
    return f"{_SCALAR_LOADS[dtype]} {to}, {offset}({address})"


def store_float(source: str, offset: int, address: str) -> str:
    return f"fsw {source}, {offset}({address})"


def half_to_float(dtype: str, to: str, source: str) -> str:
    return f"{_HALVES[dtype].extend_number} {to}, {source}"


def float_of_integer(to: str, source: str) -> str:
    """Converts an integer of 32 bits in an integer register."""
    return f"fcvt.s.w {to}, {source}"


def multiply_numbers(to: str, one: str, other: str) -> str:
    """Multiplies f32."""
    return f"fmul.s {to}, {one}, {other}"


def float_of_bits(dtype: str, to: str, source: str) -> str:
    return f"fmv.{'h' if dtype == 'f16' else 'w'}.x {to}, {source}"


# vsetvli, and the rounding mode of fixed-point instructions.


def set_lanes(length: str, bits: int, lmul: str, policy: str = "ma") -> str:
    """`lmul` is written as "m2" or "mf2"; `policy` of masked-off lanes is "mu" or "ma"."""
    return f"vsetvli zero, {length}, e{bits}, {lmul}, ta, {policy}"


def round_to_nearest_up() -> str:
    return "csrwi vxrm, 0"


# Vector loads, and stores if `store`.


def transfer(store: bool, bits: int, register: str, address: str, masked: bool = False) -> str:
    return f"v{'s' if store else 'l'}e{bits}.v {register}, ({address}){_mask(masked)}"


def transfer_strided(
    store: bool, bits: int, register: str, address: str, stride: str, masked: bool = False
) -> str:
    name = "vs" if store else "vl"
    return f"{name}se{bits}.v {register}, ({address}), {stride}{_mask(masked)}"


def transfer_indexed(store: bool, bits: int, register: str, address: str, offsets: str) -> str:
    """`offsets` is a vector of byte offsets from the address, as wide as the elements."""
    return f"v{'s' if store else 'l'}uxei{bits}.v {register}, ({address}), {offsets}"


def load_segments(
    fields: int, bits: int, to: str, address: str, stride: str = "", masked: bool = False
) -> str:
    """Loads `fields` adjacent elements of each lane into as many groups; lanes are `stride` bytes apart or adjacent."""
    if stride:
        return f"vlsseg{fields}e{bits}.v {to}, ({address}), {stride}{_mask(masked)}"
    return f"vl{f'seg{fields}' if fields > 1 else ''}e{bits}.v {to}, ({address})"


def look_up(to: str, table: str, indices: str) -> str:
    """Loads bytes of a table; `indices` is a vector of 32-bit integers."""
    return f"vluxei32.v {to}, ({table}), {indices}"


def load_mask(to: str, address: str) -> str:
    return f"vlm.v {to}, ({address})"


def store_mask(source: str, address: str) -> str:
    return f"vsm.v {source}, ({address})"


# Vector moves and conversions of width.


def copy(to: str, source: str) -> str:
    return f"vmv.v.v {to}, {source}"


def zeros(to: str) -> str:
    return f"vmv.v.i {to}, 0"


def splat(to: str, number: str) -> str:
    """`number` is a float or integer register."""
    return f"{'vfmv.v.f' if number[0] == 'f' else 'vmv.v.x'} {to}, {number}"


def zero_first(to: str) -> str:
    """Sets the first lane to 0."""
    return f"vmv.s.x {to}, zero"


def first_integer(to: str, source: str) -> str:
    return f"vmv.x.s {to}, {source}"


def first_float(to: str, source: str) -> str:
    return f"vfmv.f.s {to}, {source}"


def extend(factor: int, to: str, source: str, masked: bool = False) -> str:
    """Sign-extends integers to `factor` times their width."""
    return f"vsext.vf{factor} {to}, {source}{_mask(masked)}"


def extend_unsigned(factor: int, to: str, source: str) -> str:
    """Extends unsigned integers to `factor` times their width."""
    return f"vzext.vf{factor} {to}, {source}"


def float_of_integers(to: str, source: str) -> str:
    """Converts signed integers of 32 bits."""
    return f"vfcvt.f.x.v {to}, {source}"


def truncate(to: str, source: str) -> str:
    """Truncates integers to half their width."""
    return f"vnsrl.wi {to}, {source}, 0"


def extend_float(dtype: str, to: str, source: str) -> str:
    """Extends floats of 16 bits to f32."""
    return f"{_HALVES[dtype].extend} {to}, {source}"


def truncate_float(dtype: str, to: str, source: str) -> str:
    """Rounds f32 to floats of 16 bits."""
    return f"{_HALVES[dtype].truncate} {to}, {source}"


def slide(to: str, source: str, entering: str, *, up: bool) -> str:
    """Slides all lanes by one; the integer `entering` fills the lane at the end."""
    return f"vslide1{'up' if up else 'down'}.vx {to}, {source}, {entering}"


# Vector arithmetic.


def lane_numbers(to: str) -> str:
    return f"vid.v {to}"


def binary(mnemonic: str, to: str, one: str, other: str | int) -> str:
    """An instruction with two sources; `other` may be a vector, float or integer register.

    An integer has 5 bits, signed or unsigned as the instruction defines.
    """
    return f"{mnemonic}.v{_kind(other)} {to}, {one}, {other}"


def multiply_add(mnemonic: str, to: str, factor: str, other: str) -> str:
    """Accumulates the product of a vector, float or integer register and a vector."""
    return f"{mnemonic}.v{_kind(factor)} {to}, {factor}, {other}"


def clip(to: str, source: str, shift: int | str) -> str:
    """Shifts right, rounds, and saturates to half the width."""
    return f"vnclip.w{_kind(shift)} {to}, {source}, {shift}"


def choose(to: str, otherwise: str, chosen: str) -> str:
    """Selects `chosen`, a vector or float, in lanes whose bit in v0 is set, else `otherwise`."""
    if chosen[0] == "f":
        return f"vfmerge.vfm {to}, {otherwise}, {chosen}, v0"
    return f"vmerge.vvm {to}, {otherwise}, {chosen}, v0"


def and_masks(to: str, one: str, other: str) -> str:
    return f"vmand.mm {to}, {one}, {other}"


def reduce(mnemonic: str, to: str, source: str, first: str) -> str:
    """Reduces all lanes of `source` and the first lane of `first` to the first lane of `to`."""
    return f"{mnemonic}.vs {to}, {source}, {first}"
