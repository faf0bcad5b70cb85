"""Table of the operations of epilogues, with their instructions and their C.

Most operations are nothing but a row here. read/body.py makes nodes of MLIR's operations; the NumPy functions for tests
are in compiler/tests/products.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Op:
    """An element-wise operation on 32-bit integers or on floats.

    Attributes:
      name: the name in Node.op; the name in MLIR's arith dialect, if there is one.
      arity: number of arguments.
      c: C expression for one lane, "" for operations that kernel libraries do not support.
      mnemonic: instruction with two sources: two vectors, or a vector and a scalar.
      commutes: whether the two arguments may be swapped.
      reversed: mnemonic for a scalar as the first argument, if the operation does not commute.
      immediates: constants that fit into the instruction.
      lines: instructions, if there is no mnemonic. `{to}` is the result, which may be the register of an argument;
        `{0}`, `{1}` ... are the arguments, all vectors.
      limits: for minimum and maximum with a constant: the comparison that writes v0 where the constant is the result.
      uses_mask: whether the instructions write v0.
    """

    name: str
    arity: int
    c: str = ""
    mnemonic: str = ""
    commutes: bool = False
    reversed: str = ""
    immediates: range = range(0)
    lines: tuple[str, ...] = ()
    limits: str = ""
    uses_mask: bool = False


_SIGNED, _UNSIGNED = range(-16, 16), range(32)


def _same(name: str, c: str = "") -> Op:
    """Returns an operation without instructions: loads widen, stores narrow, and registers are untyped."""
    return Op(name, 1, c)


_ROWS = (
    # Integers.
    Op("addi", 2, "bm_call_add({0}, {1})", "vadd", commutes=True, immediates=_SIGNED),
    Op("andi", 2, "{0} & {1}", "vand", commutes=True, immediates=_SIGNED),
    Op("maxsi", 2, "bm_call_max({0}, {1})", "vmax", commutes=True),
    Op("minsi", 2, "bm_call_min({0}, {1})", "vmin", commutes=True),
    # The high 32 bits of a product of 32-bit integers.
    Op("mulhi", 2, "bm_call_multiply_high({0}, {1})", "vmulh", commutes=True),
    Op("muli", 2, "bm_call_multiply({0}, {1})", "vmul", commutes=True),
    Op("ori", 2, "{0} | {1}", "vor", commutes=True, immediates=_SIGNED),
    # A shift right by the second argument, rounded to nearest, ties up.
    Op("rounding_shift", 2, "bm_call_rounded({0}, {1})", "vssra", immediates=_UNSIGNED),
    # A product of 32-bit integers divided by 2^31, rounded to nearest, ties up. The first argument is less than 2^29.
    Op("fixed_multiply", 2, "bm_call_scaled({0}, {1})", "vsmul", commutes=True),
    Op("shli", 2, "bm_call_shift_left({0}, {1})", "vsll", immediates=_UNSIGNED),
    Op("shrsi", 2, "bm_call_shift_right({0}, {1})", "vsra", immediates=_UNSIGNED),
    Op("shrui", 2, "bm_call_shift_right_unsigned({0}, {1})", "vsrl", immediates=_UNSIGNED),
    Op("subi", 2, "bm_call_subtract({0}, {1})", "vsub", reversed="vrsub"),
    Op("xori", 2, "{0} ^ {1}", "vxor", commutes=True, immediates=_SIGNED),
    # The first argument plus the carry of an unsigned addition: the second argument is its sum, the third a term.
    Op(
        "carried", 3, "bm_call_carried({0}, {1}, {2})", uses_mask=True,
        lines=("vmsltu.vv v0, {1}, {2}", "vadc.vim {to}, {0}, 0, v0"),
    ),
    # Floats.
    Op("addf", 2, "{0} + {1}", "vfadd", commutes=True),
    Op("divf", 2, "{0} / {1}", "vfdiv", reversed="vfrdiv"),
    Op("maxnumf", 2, "bm_call_max_number({0}, {1})", "vfmax", commutes=True),
    Op("minnumf", 2, "bm_call_min_number({0}, {1})", "vfmin", commutes=True),
    Op("mulf", 2, "{0} * {1}", "vfmul", commutes=True),
    Op("subf", 2, "{0} - {1}", "vfsub", reversed="vfrsub"),
    # A NaN is kept, because it compares neither less nor greater than the constant.
    Op("maximumf", 2, "bm_call_maximum({0}, {1})", commutes=True, limits="vmflt", uses_mask=True),
    Op("minimumf", 2, "bm_call_minimum({0}, {1})", commutes=True, limits="vmfgt", uses_mask=True),
    # The second argument where the first one is above or below 0, the third elsewhere. For a NaN it may be either, so
    # both must be NaN then. A float is above 0 if its bits are, as an integer; -0 makes "below" a float comparison.
    Op(
        "if_positive", 3, "{0} > 0 ? {1} : {2}", uses_mask=True,
        lines=("vmsgt.vi v0, {0}, 0", "vmerge.vvm {to}, {2}, {1}, v0"),
    ),
    Op(
        "if_negative", 3, "{0} < 0 ? {1} : {2}", uses_mask=True,
        lines=("vmv.v.i v0, 0", "vmflt.vv v0, {0}, v0", "vmerge.vvm {to}, {2}, {1}, v0"),
    ),
    # A fused x * y + z, one of whose factors is a constant.
    Op("fma", 3, "bm_call_multiply_add({0}, {1}, {2})"),
    Op("negf", 1, "-{0}", lines=("vfsgnjn.vv {to}, {0}, {0}",)),
    # An estimate of 1/x, which the epilogue refines. In C, the exact quotient does as well.
    Op("recf7", 1, "1.0f / {0}", lines=("vfrec7.v {to}, {0}",)),
    # Between integers and floats.
    Op("fptosi", 1, "bm_call_int_of_float({0})", lines=("vfcvt.rtz.x.f.v {to}, {0}",)),
    Op("sitofp", 1, "(float){0}", lines=("vfcvt.f.x.v {to}, {0}",)),
    # rounding_shift of the first two arguments, plus the third, clamped to the fourth and fifth; these are constants.
    # The rows of a block share its changes of SEW (epilogue/one_row.py).
    Op("requantize", 5, "bm_call_clipped({0}, {1}, {2}, {3}, {4})"),
    _same("bitcast"),
    _same("extf"),
    _same("extsi", "{0}"),
    _same("truncf"),
    _same("trunci", "{0}"),
)  # fmt: skip

OPS = {op.name: op for op in _ROWS}
