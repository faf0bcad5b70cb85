"""Compiler options for the runtime's C, in addition to the toolchain's."""

BM_COPTS = [
    # Ignoring a status is a bug, not a warning.
    "-Werror=unused-result",
    # So is one that is not returned, and a pointer to something else.
    "-Werror=return-type",
    "-Werror=incompatible-pointer-types",
    # The compiler must not assume a libc, not even on a host.
    "-ffreestanding",
    # There is no errno: a square root is one instruction, not a call.
    "-fno-math-errno",
] + select({
    # Most of the runtime runs once, at start, so size matters more than speed. The
    # walker needs no more instructions this way (runtime_bm/testing/firmwares/walker.c).
    "@platforms//os:none": ["-Oz"],
    "//conditions:default": [],
})
