"""litex_fpga_board: a board that is a CPU design in an FPGA."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_binary")
load("//boards/common:hart.bzl", "hart")
load("//third_party/yowasp:bitstream.bzl", "ecp5_bitstream")
load("//tools/rules:defs.bzl", "bm_board")
load(":bios.bzl", "litex_bios")
load(":built_for_tests.bzl", "built_for_tests")
load(":rom.bzl", "litex_rom")
load(":simulator.bzl", "litex_simulator")
load(":soc.bzl", "litex_soc")

def litex_fpga_board(*, name, parts, title, hertz, baud, stack_bytes, cpu = "vexriscv", variant = "imac", isa = "rv32imc", misa = "imc"):
    """A system around a CPU design: the board `name`, and its bitstreams, with LiteX's BIOS in the ROM.

    Args:
      name: of the board, which is also its folder's.
      parts: dict from names of bitstreams to the FPGAs of the board's variants.
      title: what the board is, in a few words.
      hertz: of the system's clock.
      baud: of the serial line.
      stack_bytes: stack, in bytes.
      cpu: CPU, as LiteX names it.
      variant: of the CPU, as LiteX names it.
      isa: ISA of its kernels.
      misa: letters of the extensions, because the design's register is wrong.
    """
    hart(
        name = "hart",
        misa = misa,
        visibility = ["//visibility:private"],
    )
    litex_soc(
        name = "soc",
        baud = baud,
        board = name,
        code = "board.c",
        cpu = cpu,
        description = "board.json",
        fpga = "fpga.json",
        header = "soc.h",
        hertz = hertz,
        isa = isa,
        memory = "memory.ldh",
        # The variants differ in size only.
        part = parts.values()[0],
        rom_bytes = 32 << 10,
        stack_bytes = stack_bytes,
        title = title,
        variant = variant,
    )
    cc_library(
        name = "hal",
        srcs = ["board.c"],
        target_compatible_with = ["@platforms//os:none"],
        deps = [
            ":hart",
            "//boards/common:counters",
            "//boards/common/litex",
            "//runtime_bm/hal:hal_api",
        ],
    )
    bm_board(
        name = name,
        description = "board.json",
        hal = ":hal",
        isa = isa,
        memory = "memory.ldh",
        platform = "//boards:{}_none".format(isa[:4]),
    )
    litex_bios(
        name = "bios",
        cpu = cpu,
        platform = "//boards:{}_none".format(isa[:4]),
        soc = ":soc",
    )
    litex_rom(
        name = "rom",
        elf = ":bios",
        soc = ":soc",
    )
    litex_simulator(
        name = "simulator",
        design = ":soc",
        header = "soc.h",
        top = "board",
    )
    built_for_tests(
        name = "port._simulator",
        srcs = [":simulator"],
        tags = ["manual"],
    )
    py_binary(
        name = "port",
        srcs = ["//boards/common/litex:port.py"],
        args = [
            "$(rootpath :port._simulator)",
            "$(rootpath :bios)",
        ],
        data = [
            ":bios",
            ":port._simulator",
        ],
        main = "//boards/common/litex:port.py",
        tags = ["manual"],
    )
    for bitstream, part in parts.items():
        # Minutes of work.
        ecp5_bitstream(
            name = bitstream,
            design = ":soc",
            part = part,
            rom = ":rom",
            tags = ["manual"],
            top = "system",
        )
