"""GCC's compiler support library for 32-bit RISC-V: floating point and 64-bit division in software."""

_FOLDER = "usr/lib/gcc/riscv64-unknown-elf/12.2.0/"

# What code may contain -> archive for it in @debian_libgcc//:root.
LIBGCC = {
    "rv32imac": _FOLDER + "rv32imac/ilp32/libgcc.a",
    "rv32imafc": _FOLDER + "rv32imafc/ilp32f/libgcc.a",
}
