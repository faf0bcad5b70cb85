"""How the runtime's C is compiled, on top of what the toolchain says."""

BM_COPTS = [
    # A status that is dropped is a bug, not a warning.
    "-Werror=unused-result",
    # No libc behind the compiler's back, on a host either.
    "-ffreestanding",
    # There is no errno: a square root is one instruction, not a call.
    "-fno-math-errno",
] + select({
    # Most of the runtime runs once, at start: small before fast. The walker
    # takes no more instructions for it (runtime_bm/testing/firmwares/walker.c).
    "@platforms//os:none": ["-Oz"],
    "//conditions:default": [],
})
