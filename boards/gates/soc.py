"""Makes a system on chip around an open CPU design with LiteX: its Verilog, csr.json, which says what is where, and the
same for LiteX's own software.

The system has the CPU, a ROM that can be as slow as flash, a RAM, a small one for LiteX's BIOS, LiteX's UART without
the serial line, and a register that ends the run. The simulator (simulator.cc) is its environment.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from litex import get_data_mod
from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration import export
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStorage
from migen import If, Signal

from boards.gates.devices import add_device
from boards.gates.vexriscv_cache import enlarge
from tools import cli

HERE = Path(__file__).parent

# What the simulator sees of the system.
PINS = [
    ("sys_clk", 0, Pins(1)),
    ("sys_rst", 0, Pins(1)),
    (
        "serial",
        0,
        Subsignal("source_valid", Pins(1)),
        Subsignal("source_ready", Pins(1)),
        Subsignal("source_data", Pins(8)),
        Subsignal("sink_valid", Pins(1)),
        Subsignal("sink_ready", Pins(1)),
        Subsignal("sink_data", Pins(8)),
    ),
    ("done", 0, Subsignal("valid", Pins(1)), Subsignal("status", Pins(32))),
    ("rom_wait", 0, Pins(8)),
]

# Where LiteX's CPUs expect memory that is cached: above 0x80000000 all is taken for devices.
RAM_ORIGIN = 0x40000000

# What LiteX's BIOS has for its data and its stack.
SRAM_BYTES = 8 << 10

# An access to an address where nothing is ends after so many cycles. The designs do not trap then; LiteX counts it.
BUS_TIMEOUT = 1000


class Exit(LiteXModule):
    """A register: writing it ends the run with that status."""

    def __init__(self, pads) -> None:
        self.status = CSRStorage(32)
        written = Signal()
        self.sync += If(self.status.re, written.eq(1))
        self.comb += [pads.valid.eq(written), pads.status.eq(self.status.storage)]


class Slow(LiteXModule):
    """A memory that answers so many cycles later: `bus` is the memory's, seen through this."""

    def __init__(self, memory: wishbone.Interface, wait: Signal) -> None:
        self.bus = wishbone.Interface.like(memory)
        waited = Signal(len(wait))
        asked = Signal()
        self.comb += [
            asked.eq(self.bus.cyc & self.bus.stb),
            self.bus.connect(memory, omit={"stb"}),
            memory.stb.eq(self.bus.stb & (waited == wait)),
        ]
        self.sync += If(asked & (waited != wait), waited.eq(waited + 1)).Elif(
            self.bus.ack | ~asked, waited.eq(0)
        )


class System(SoCCore):
    mem_map = {**SoCCore.mem_map, "main_ram": RAM_ORIGIN}

    def __init__(self, platform: SimPlatform, cpu: str, variant: str, rom: int, ram: int) -> None:
        self.crg = CRG(platform.request("sys_clk"), platform.request("sys_rst"))
        SoCCore.__init__(
            self,
            platform,
            clk_freq=1_000_000,
            cpu_type=cpu,
            cpu_variant=variant,
            bus_data_width=64 if cpu == "cva6" else 32,
            bus_timeout=BUS_TIMEOUT,
            integrated_rom_size=rom,
            integrated_rom_init=None,  # the simulator fills it
            integrated_sram_size=SRAM_BYTES,
            integrated_main_ram_size=ram,
            integrated_main_ram_init=None,
            uart_name="sim",
            ident="",
            timer_uptime=False,
        )
        # LiteX has the RAM of its BIOS filled from a file, though with nothing.
        self.sram.mem.init = None
        self.exit = Exit(platform.request("done"))
        self.slow_rom = Slow(self.bus.slaves["rom"], platform.request("rom_wait"))
        self.bus.slaves["rom"] = self.slow_rom.bus
        self.comb += platform.trace.eq(0)
        if cpu == "ibex":
            # The design has two such pins by now, which nothing here looks at.
            del self.cpu.cpu_params["o_alert_major_o"]


def sources(platform: SimPlatform, cpu: str) -> list[Path]:
    """Returns the design's source files in the order in which they must be read."""
    files = [Path(path) for path, *_ in platform.sources]
    if cpu == "ibex":
        # What LiteX's list lacks for this version of the design.
        design = Path(get_data_mod("cpu", "ibex").data_location)
        ip = design / "vendor/lowrisc_ip/ip"
        packages = ["util", "mubi", "secded", "cipher", "count"]
        cells = ["buf", "flop"]
        files[:0] = [ip / f"prim/rtl/prim_{name}_pkg.sv" for name in packages]
        files += [ip / f"prim_generic/rtl/prim_generic_{name}.sv" for name in cells]
        files += [design / f"dv/uvm/core_ibex/common/prim/prim_{name}.sv" for name in cells]
    if cpu == "cva6":
        # The package lacks the divider of floats.
        at = next(i for i, file in enumerate(files) if "fpu_div_sqrt_mvp" in str(file))
        files = [file for file in files if "fpu_div_sqrt_mvp" not in str(file)]
        files.insert(at, HERE / "cva6_divider.sv")
    return list(dict.fromkeys(files))


def synthesized(verilog: str) -> str:
    """Returns the text without what its authors hide from synthesis: checks, messages, and traces in files."""
    mark = r"//\s*(?:pragma|synopsys|synthesis)\s+translate_"
    return re.sub(rf"{mark}off.*?{mark}on", "", verilog, flags=re.DOTALL)


def copy(files: Iterable[Path], includes: Iterable[Path], out: Path) -> None:
    """Copies sources to `out`, under their paths in the Python packages, and lists them in files.f for Verilator."""
    lines = []

    def place(file: Path) -> Path:
        parts = file.parts
        package = max(
            (i for i, part in enumerate(parts) if part == "site-packages"), default=len(parts) - 2
        )
        return Path(*parts[package + 1 :])

    def put(file: Path) -> None:
        (out / place(file)).parent.mkdir(parents=True, exist_ok=True)
        (out / place(file)).write_text(synthesized(file.read_text()))

    for folder in dict.fromkeys(includes):
        lines.append(f"+incdir+{place(folder)}")
        for file in sorted(folder.glob("**/*")):
            if file.suffix in {".svh", ".vh", ".sv", ".v"}:
                put(file)
    for file in files:
        put(file)
        lines.append(str(place(file)))
    lines.append("system.v")
    (out / "files.f").write_text("\n".join(lines) + "\n")


def headers(system: SoCCore) -> dict[str, str]:
    """Returns what LiteX's software includes and how it is linked: the files of its folder `generated`."""
    files = {
        "csr.h": export.get_csr_header(system.csr_regions, system.constants),
        "git.h": f'#define LITEX_GIT_SHA1 "{metadata.version("litex")}"\n',
        "mem.h": export.get_mem_header(system.mem_regions),
        "output_format.ld": export.get_linker_output_format(system.cpu),
        "regions.ld": export.get_linker_regions(system.mem_regions),
        "soc.h": export.get_soc_header(system.constants),
    }
    # LiteX writes the date into a comment.
    return {
        name: re.sub(r"^// Auto-generated .*\n", "", text, flags=re.MULTILINE)
        for name, text in files.items()
    }


def describe(system: SoCCore, generated: dict[str, str], csr: Path, software: Path) -> None:
    """Writes csr.json, and the files of `software`/generated."""
    described = export.get_csr_json(system.csr_regions, system.constants, system.mem_regions)
    csr.write_text(json.dumps(json.loads(described), indent=2) + "\n")
    (software / "generated").mkdir(parents=True, exist_ok=True)
    for name, text in generated.items():
        (software / "generated" / name).write_text(text)


@cli.program("soc", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--cpu", required=True, help="a CPU that LiteX knows")
    parser.add_argument("--variant", required=True, help="its variant")
    parser.add_argument("--rom", type=lambda text: int(text, 0), required=True, help="bytes")
    parser.add_argument("--ram", type=lambda text: int(text, 0), required=True, help="bytes")
    parser.add_argument("--rtl", type=Path, required=True, help="folder for the Verilog")
    parser.add_argument("--csr", type=Path, required=True, help="csr.json")
    parser.add_argument("--software", type=Path, required=True, help="folder for LiteX's software")
    parser.add_argument(
        "--device",
        dest="devices",
        action="append",
        default=[],
        nargs=2,
        metavar=("NAME", "FILE"),
        help="a device, and the Python file that adds it",
    )
    parser.add_argument("--data-cache", type=int, help="bytes, instead of what VexRiscv has")
    options = parser.parse_args(args)
    logging.disable(logging.INFO)
    platform = SimPlatform("SIM", list(PINS), name="system")
    system = System(platform, options.cpu, options.variant, options.rom, options.ram)
    for name, file in options.devices:
        add_device(system, name, Path(file))
    system.finalize()
    verilog = platform.get_verilog(system, name="system").main_source
    # LiteX writes the date into a comment.
    verilog = re.sub(r"^// Date .*\n", "", verilog, flags=re.MULTILINE)
    options.rtl.mkdir(parents=True, exist_ok=True)
    (options.rtl / "system.v").write_text(verilog)
    copy(sources(platform, options.cpu), map(Path, platform.verilog_include_paths), options.rtl)
    if options.data_cache:
        enlarge(options.rtl, options.data_cache)
    describe(system, headers(system), options.csr, options.software)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
