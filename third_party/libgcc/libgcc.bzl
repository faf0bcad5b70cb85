"""GCC's compiler support library for 32-bit RISC-V: floating point and 64-bit division in software."""

load("//third_party:versions.bzl", "DEBIAN_TOOLS")

_PACKAGE = "gcc-riscv64-unknown-elf"

# GCC's version is the package's, up to what Debian appends.
_FOLDER = "usr/lib/gcc/riscv64-unknown-elf/{}/".format(
    DEBIAN_TOOLS["debian_libgcc"]["versions"][_PACKAGE].split("-")[0],
)

# What code may contain -> archive for it in @debian_libgcc//:root.
LIBGCC = {
    "rv32imac": _FOLDER + "rv32imac/ilp32/libgcc.a",
    "rv32imafc": _FOLDER + "rv32imafc/ilp32f/libgcc.a",
}
