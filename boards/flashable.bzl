"""Boards that `--board=NAME` can choose for `X.flash`, `X.debug` and `X.bisect`."""

# Board -> ISA of the kernels there.
FLASHABLE = {
    "bpi_f3": "rv64gcv_zvl256b",
    "canmv_k230": "rv64gcv_zvl128b",
    "esp32c6": "rv32imac",
    "esp32p4": "rv32imac",
    "hifive1_revb": "rv32imac",
    "qemu_virt_rv64_flash": "rv64gcv_zvl256b",
    "qemu_virt_rv64_smode": "rv64gcv_zvl256b",
    "qemu_virt_rv64_uboot": "rv64gcv_zvl256b",
    "visionfive2": "rv64gc",
}

# Boards that are emulators, and where `X.debug` runs them. The others are reached through their probe.
EMULATED = {
    "qemu_virt_rv64_flash": "//boards/qemu_virt_rv64_flash:vlen256",
    "qemu_virt_rv64_smode": "//boards/qemu_virt_rv64_smode:vlen256",
    "qemu_virt_rv64_uboot": "//boards/qemu_virt_rv64_uboot:vlen256",
}
