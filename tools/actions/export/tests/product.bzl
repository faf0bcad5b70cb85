"""What product.py needs: a test names it in `data` and `env`."""

_MAKE = Label("@debian_cmake//:root/usr/bin/make")
_GCC = Label("@debian_riscv_gcc//:root/usr/bin/riscv64-unknown-elf-gcc")
_QEMU_RV32 = Label("//third_party/tools:qemu_system_riscv32")
_QEMU_RV64 = Label("//third_party/tools:qemu_system_riscv64")

PRODUCT_DATA = [
    Label("@debian_cmake//:root"),
    Label("@debian_riscv_gcc//:root"),
    _GCC,
    _MAKE,
    _QEMU_RV32,
    _QEMU_RV64,
]

PRODUCT_ENV = {
    "GCC": "$(rootpath {})".format(_GCC),
    "MAKE": "$(rootpath {})".format(_MAKE),
    "QEMU_RV32": "$(rootpath {})".format(_QEMU_RV32),
    "QEMU_RV64": "$(rootpath {})".format(_QEMU_RV64),
}
