"""Operations of epilogues, and the instructions that compute them in vectors, by name."""

from __future__ import annotations

INTEGER = {
    "addi": "vadd", "andi": "vand", "maxsi": "vmax", "minsi": "vmin", "mulhi": "vmulh", "muli": "vmul",
    "ori": "vor", "rounded": "vssra", "scaled": "vsmul", "shli": "vsll", "shrsi": "vsra", "shrui": "vsrl",
    "subi": "vsub", "xori": "vxor",
}  # fmt: skip
FLOAT = {
    "addf": "vfadd", "divf": "vfdiv", "maxnumf": "vfmax", "minnumf": "vfmin", "mulf": "vfmul", "subf": "vfsub",
}  # fmt: skip
COMMUTES = {
    "addf", "addi", "andi", "maximumf", "maxnumf", "maxsi", "minimumf", "minnumf", "minsi", "mulf", "mulhi", "muli",
    "ori", "scaled", "xori",
}  # fmt: skip
# With the constant on the left.
REVERSED = {"divf": "vfrdiv", "subf": "vfrsub", "subi": "vrsub"}
# Operations with an immediate: five bits, with or without a sign.
SIGNED = {"addi", "andi", "ori", "xori"}
UNSIGNED = {"rounded", "shli", "shrsi", "shrui"}
# A NaN stays a NaN, because it is neither less nor greater than a constant.
LIMITS = {"maximumf": "vmflt.vf", "minimumf": "vmfgt.vf"}
UNARY = {
    "fptosi": "vfcvt.rtz.x.f.v {to}, {source}",
    "negf": "vfsgnjn.vv {to}, {source}, {source}",
    "recf7": "vfrec7.v {to}, {source}",
    "sitofp": "vfcvt.f.x.v {to}, {source}",
}
# Loads widen and the store narrows, so these are nothing but other names. Registers have no type.
NOTHING = {"bitcast", "extf", "extsi", "truncf", "trunci"}
SUPPORTED = frozenset({*INTEGER, *FLOAT, *LIMITS, *UNARY, *NOTHING, "fma"})
