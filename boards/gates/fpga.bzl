"""litex_fpga_board: a board that is a CPU design in an FPGA."""

load("//third_party/yowasp:bitstream.bzl", "ecp5_bitstream")
load(":bios.bzl", "litex_bios")
load(":described.bzl", "litex_described")
load(":port.bzl", "litex_port")
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
    litex_soc(
        name = "soc",
        baud = baud,
        cpu = cpu,
        fpga = "fpga.json",
        hertz = hertz,
        # The variants differ in size only.
        part = parts.values()[0],
        rom_bytes = 32 << 10,
        variant = variant,
    )
    litex_described(
        name = name,
        baud = baud,
        isa = isa,
        misa = misa,
        soc = ":soc",
        stack_bytes = stack_bytes,
        title = title,
    )
    litex_bios(
        name = "bios",
        cpu = cpu,
        platform = Label("//boards:{}_none".format(isa[:4])),
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
    litex_port(
        name = "port",
        bios = ":bios",
        simulator = ":simulator",
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
