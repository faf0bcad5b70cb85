"""The instructions of RV32 and RV64 with vectors: each function returns the text of one.

No other file writes an instruction. Tables name some: ops.py for operations of epilogues, scheme.py for products.

Arguments are registers by name ("v8", "f2", "x10"), the one that is written first, and numbers. `bits` are of an
element. Where `masked`, lanes without a bit in v0 stay as they are, or are anything, as vsetvli says.
"""

from __future__ import annotations

from bmc.kernels.dtypes import FLOATS

# What loads a number into a register, by its type in memory.
_SCALAR_LOADS = {"f32": "flw", "f16": "flh", "i32": "lw", "i8": "lb"}
_INTEGER_LOADS = {8: "lb", 16: "lh", 32: "lw", 64: "ld"}


def _mask(masked: bool) -> str:
    return ", v0.t" if masked else ""


# Integers.


def load_immediate(to: str, value: int) -> str:
    return f"li {to}, {value}"


def move(to: str, source: str) -> str:
    return f"mv {to}, {source}"


def add(to: str, one: str, other: str) -> str:
    return f"add {to}, {one}, {other}"


def add_immediate(to: str, source: str, value: int) -> str:
    """`value` has 12 bits."""
    return f"addi {to}, {source}, {value}"


def multiply(to: str, one: str, other: str) -> str:
    return f"mul {to}, {one}, {other}"


def load_integer(bits: int, to: str, offset: int, address: str) -> str:
    """Loads an integer with its sign."""
    return f"{_INTEGER_LOADS[bits]} {to}, {offset}({address})"


def store_word(source: str, offset: int, address: str) -> str:
    return f"sw {source}, {offset}({address})"


def branch_if_not_below(one: str, other: str, label: str) -> str:
    """As unsigned numbers."""
    return f"bgeu {one}, {other}, {label}"


def branch_if_not_zero(source: str, label: str) -> str:
    return f"bnez {source}, {label}"


# Numbers of a type.


def load_number(dtype: str, to: str, offset: int, address: str) -> str:
    return f"{_SCALAR_LOADS[dtype]} {to}, {offset}({address})"


def store_float(source: str, offset: int, address: str) -> str:
    return f"fsw {source}, {offset}({address})"


def half_to_float(to: str, source: str) -> str:
    return f"fcvt.s.h {to}, {source}"


def float_of_bits(dtype: str, to: str, source: str) -> str:
    return f"fmv.{'h' if dtype == 'f16' else 'w'}.x {to}, {source}"


# The shape of groups, and how fixed-point instructions round.


def set_lanes(length: str, bits: int, lmul: str, policy: str = "ma") -> str:
    """`lmul` as "m2" or "mf2"; lanes that a mask leaves out stay with "mu", and are anything with "ma"."""
    return f"vsetvli zero, {length}, e{bits}, {lmul}, ta, {policy}"


def round_to_nearest_up() -> str:
    return "csrwi vxrm, 0"


# Memory. These are stores with `store`.


def transfer(store: bool, bits: int, register: str, address: str, masked: bool = False) -> str:
    return f"v{'s' if store else 'l'}e{bits}.v {register}, ({address}){_mask(masked)}"


def transfer_strided(
    store: bool, bits: int, register: str, address: str, stride: str, masked: bool = False
) -> str:
    name = "vs" if store else "vl"
    return f"{name}se{bits}.v {register}, ({address}), {stride}{_mask(masked)}"


def transfer_indexed(store: bool, bits: int, register: str, address: str, offsets: str) -> str:
    """`offsets` are bytes from the address, as wide as elements."""
    return f"v{'s' if store else 'l'}uxei{bits}.v {register}, ({address}), {offsets}"


def load_segments(
    fields: int, bits: int, to: str, address: str, stride: str = "", masked: bool = False
) -> str:
    """Loads as many neighbors for each lane into as many groups, the lanes `stride` bytes apart, or neighbors too."""
    if stride:
        return f"vlsseg{fields}e{bits}.v {to}, ({address}), {stride}{_mask(masked)}"
    return f"vl{f'seg{fields}' if fields > 1 else ''}e{bits}.v {to}, ({address})"


def look_up(to: str, table: str, indices: str) -> str:
    """Loads bytes of a table at indices of 32 bits."""
    return f"vluxei32.v {to}, ({table}), {indices}"


def load_mask(to: str, address: str) -> str:
    return f"vlm.v {to}, ({address})"


def store_mask(source: str, address: str) -> str:
    return f"vsm.v {source}, ({address})"


# Moves and changes of width.


def copy(to: str, source: str) -> str:
    return f"vmv.v.v {to}, {source}"


def zeros(to: str) -> str:
    return f"vmv.v.i {to}, 0"


def splat(to: str, number: str) -> str:
    return f"vmv.v.x {to}, {number}"


def splat_number(dtype: str, to: str, number: str) -> str:
    return f"{'vfmv.v.f' if dtype in FLOATS else 'vmv.v.x'} {to}, {number}"


def zero_first(to: str) -> str:
    """Sets the first lane to 0."""
    return f"vmv.s.x {to}, zero"


def first_integer(to: str, source: str) -> str:
    return f"vmv.x.s {to}, {source}"


def first_float(to: str, source: str) -> str:
    return f"vfmv.f.s {to}, {source}"


def extend(factor: int, to: str, source: str, masked: bool = False) -> str:
    """Makes integers `factor` times as wide, with their sign."""
    return f"vsext.vf{factor} {to}, {source}{_mask(masked)}"


def truncate(to: str, source: str) -> str:
    """Takes the lower halves of integers."""
    return f"vnsrl.wi {to}, {source}, 0"


def extend_float(to: str, source: str) -> str:
    return f"vfwcvt.f.f.v {to}, {source}"


def truncate_float(to: str, source: str) -> str:
    return f"vfncvt.f.f.w {to}, {source}"


def slide(to: str, source: str, entering: str, *, up: bool) -> str:
    """Moves all lanes by one, where a number comes in at the end."""
    return f"vslide1{'up' if up else 'down'}.vx {to}, {source}, {entering}"


# Arithmetic.


def lane_numbers(to: str) -> str:
    return f"vid.v {to}"


def binary(mnemonic: str, to: str, one: str, other: str) -> str:
    """An instruction of two sources; of `other`, its first letter tells whether it is a vector, float or integer."""
    kind = {"v": "v", "f": "f"}.get(other[0], "x")
    return f"{mnemonic}.v{kind} {to}, {one}, {other}"


def binary_immediate(mnemonic: str, to: str, one: str, value: int) -> str:
    """`value` has five bits, and a sign or not."""
    return f"{mnemonic}.vi {to}, {one}, {value}"


def multiply_add(mnemonic: str, to: str, factor: str, other: str) -> str:
    """Multiplies a vector or number with a vector, and adds it to a vector."""
    kind = {"v": "v", "f": "f"}.get(factor[0], "x")
    return f"{mnemonic}.v{kind} {to}, {factor}, {other}"


def clip(to: str, source: str, shift: int | str) -> str:
    """Divides by a power of two, rounds, and limits to half as many bits."""
    return f"vnclip.w{'i' if isinstance(shift, int) else 'x'} {to}, {source}, {shift}"


def choose(to: str, otherwise: str, chosen: str) -> str:
    """Takes lanes of `chosen`, a vector or float, where v0 has a bit."""
    if chosen[0] == "f":
        return f"vfmerge.vfm {to}, {otherwise}, {chosen}, v0"
    return f"vmerge.vvm {to}, {otherwise}, {chosen}, v0"


def and_masks(to: str, one: str, other: str) -> str:
    return f"vmand.mm {to}, {one}, {other}"


def reduce(mnemonic: str, to: str, source: str, first: str) -> str:
    """Adds all lanes of a group to the first lane of a register."""
    return f"{mnemonic}.vs {to}, {source}, {first}"
