"""litex_described: a board whose files are made of its system's csr.json."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//boards/common:hart.bzl", "hart")
load("//tools/rules:defs.bzl", "bm_board")
load(":description.bzl", "litex_description")

def litex_described(*, name, soc, isa, title, stack_bytes, misa = "", reset_offset = 0, baud = 0, devices = []):
    """The board `name`, its HAL `:hal`, and its files board.c, soc.h, memory.ldh and board.json.

    Args:
      name: of the board, which is also its folder's.
      soc: litex_soc.
      isa: ISA of its kernels.
      title: what the board is, in a few words.
      stack_bytes: stack, in bytes.
      misa: letters of the extensions, for a design whose register is wrong.
      reset_offset: where in the ROM the CPU starts.
      baud: of the serial line over which LiteX's BIOS loads images; 0 if they are in the ROM.
      devices: names of the devices beside the CPU.
    """
    litex_description(
        name = "description",
        baud = baud,
        board = name,
        code = "board.c",
        description = "board.json",
        devices = devices,
        header = "soc.h",
        isa = isa,
        memory = "memory.ldh",
        reset_offset = reset_offset,
        soc = soc,
        stack_bytes = stack_bytes,
        title = title,
    )
    if misa:
        hart(
            name = "hart",
            misa = misa,
            visibility = ["//visibility:private"],
        )
    cc_library(
        name = "hal",
        srcs = ["board.c"],
        target_compatible_with = ["@platforms//os:none"],
        deps = [
            Label("//boards/common:counters"),
            Label("//boards/gates:litex"),
            Label("//runtime_bm/hal:hal_api"),
            ":hart" if misa else Label("//boards/common:hart"),
        ],
    )
    bm_board(
        name = name,
        description = "board.json",
        devices = {device: "" for device in devices},
        hal = ":hal",
        isa = isa,
        memory = "memory.ldh",
        platform = Label("//boards:{}_none".format(isa[:4])),
    )
