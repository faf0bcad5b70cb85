"""Writes what a system's csr.json says for those who need it: C, the linker, and tools.

Images are in the ROM, or LiteX's BIOS is there and loads them into the RAM over the serial line. In a simulator, a
register ends the run; on a board, a reset does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools import cli

BOARD_C = """\
// Written by describe.py from LiteX's csr.json.
#include "boards/common/litex/litex.h"
#include "runtime_bm/hal/hal.h"

static const bm_litex_uart_t kUart = {{
    .rxtx = {uart_rxtx:#x},
    .txfull = {uart_txfull:#x},
    .txempty = {uart_txempty:#x},
}};

void bm_hal_init(void) {{}}

void bm_hal_console_write(const char *bytes, size_t size) {{
  bm_litex_uart_write(&kUart, bytes, size);
}}

void bm_hal_exit(uint32_t status) {{
  {end}
}}
"""
EXIT = "bm_litex_exit(&kUart, {exit_status:#x}, status);"
RESTART = """\
(void)status;
  bm_litex_restart(&kUart, {ctrl_reset:#x}, {cycles});"""

# What kernel libraries know of a device.
DEVICE_C = """
extern const uintptr_t bm_device_{name};
const uintptr_t bm_device_{name} = {base:#x};
"""

RESET_C = """
// The first instruction of this CPU.
__asm__(
    ".section .bm.reset, \\"ax\\", @progbits\\n"
    "j _start\\n"
    ".previous");
"""

HEADER = """\
// For the simulator, from LiteX's csr.json.
enum : unsigned {{ LITEX_ROM_BASE = {base:#x}, LITEX_ROM_BYTES = {size:#x} }};
// Its words in the gates.
#define LITEX_ROM {top}system__DOT__rom
"""

# For a CPU that starts elsewhere than at the beginning of the ROM.
RESET = """\
  reset (rx) : ORIGIN = {reset:#x}, LENGTH = 16
"""

REGION = "  {name} ({access}) : ORIGIN = {origin:#x}, LENGTH = {size:#x}\n"
LINKER = """\
/* From LiteX's csr.json. */
MEMORY {{
{regions}}}
REGION_ALIAS("BM_ROM", {code})
REGION_ALIAS("BM_RAM", ram)

#define BM_STACK_BYTES ({stack})
/* Without PMP: what an overrun writes there is seen at the end. */
#define BM_STACK_GUARD_BYTES 8192
"""
RESET_REGION = "\n#define BM_RESET_REGION reset\n"
# Of code at the beginning of an image: trap vectors.
ALIGNMENT = 256


def has_exit(soc: dict[str, Any]) -> bool:
    """Whether a register ends the run: the system is one for a simulator."""
    return "exit_status" in soc["csr_registers"]


def header(soc: dict[str, Any]) -> str:
    """Returns soc.h, for simulator.cc."""
    # The system of an FPGA is within its board.
    return HEADER.format(top="" if has_exit(soc) else "board__DOT__", **soc["memories"]["rom"])


def device_base(soc: dict[str, Any], name: str) -> int:
    """Returns the address of a device's registers, on the bus or among LiteX's control and status registers.

    Raises UserError if there is none of that name.
    """
    if name in soc["memories"]:
        return soc["memories"][name]["base"]
    if name in soc["csr_bases"]:
        return soc["csr_bases"][name]
    raise cli.UserError(
        f"the system has no device '{name}': its add_to(soc, name) must add a bus slave or a CSR module of that name"
    )


def board_c(soc: dict[str, Any], reset_offset: int, baud: int, devices: Sequence[str] = ()) -> str:
    """Returns board.c: the board's part of runtime_bm/hal/hal.h, and the addresses of devices."""
    registers = {name: register["addr"] for name, register in soc["csr_registers"].items()}
    if has_exit(soc):
        end = EXIT.format(**registers)
    else:
        # Of a start bit, eight bits of a character, and a stop bit.
        cycles = 10 * soc["constants"]["config_clock_frequency"] // baud
        end = RESTART.format(cycles=cycles, **registers)
    text = BOARD_C.format(end=end, **registers)
    for name in devices:
        text += DEVICE_C.format(name=name, base=device_base(soc, name))
    return text + (RESET_C if reset_offset else "")


def regions(soc: dict[str, Any], reset_offset: int, baud: int) -> dict[str, tuple[int, int]]:
    """Returns origin and bytes of the memories that images may use, the first of them without the reset vector."""
    rom, ram = soc["memories"]["rom"], soc["memories"]["main_ram"]
    reserved = ALIGNMENT if reset_offset else 0
    memory = {"rom": (rom["base"] + reserved, rom["size"] - reserved)} if not baud else {}
    return memory | {"ram": (ram["base"], ram["size"])}


def linker(soc: dict[str, Any], reset_offset: int, baud: int, stack: int) -> str:
    """Returns memory.ldh. The stack is of `stack` bytes."""
    memory = regions(soc, reset_offset, baud)
    code = next(iter(memory))
    access = {"rom": "rx", "ram": "rwx" if code == "ram" else "rw"}
    reset = (
        RESET.format(reset=soc["memories"]["rom"]["base"] + reset_offset) if reset_offset else ""
    )
    lines = [
        REGION.format(name=name, access=access[name], origin=origin, size=size)
        for name, (origin, size) in memory.items()
    ]
    text = LINKER.format(regions=reset + "".join(lines), code=code, stack=stack)
    return text + (RESET_REGION if reset_offset else "")


def board(
    soc: dict[str, Any],
    memory: dict[str, tuple[int, int]],
    name: str,
    title: str,
    isa: str,
    baud: int,
) -> str:
    """Returns board.json."""
    uart = soc["csr_bases"]["uart"]
    facts = {
        "name": name,
        "title": title,
        "tested": "run" if has_exit(soc) else "built",
        "isa": isa,
        "abi": "ilp32" if isa.startswith("rv32") else "lp64d",
        "vlen_bits": [],
        "timebase_hz": 0,
        "boot_hart": 0,
        "console": f"LiteX's UART at {uart:#x}",
        "memory": [
            {"name": key, "origin": hex(origin), "length": hex(size)}
            for key, (origin, size) in memory.items()
        ],
    }
    if baud:
        load = hex(memory["ram"][0])
        serial = {"baud": baud, "load": load}
        facts["mode"] = "machine"
        facts["flash"] = {"default": "litex-serial", "methods": {"litex-serial": serial}}
    return json.dumps(facts, indent=2) + "\n"


@cli.program("describe", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--csr", type=Path, required=True, help="csr.json")
    parser.add_argument("--name", required=True, help="of the board")
    parser.add_argument("--title", required=True, help="of the board")
    parser.add_argument("--isa", required=True, help="of the design")
    parser.add_argument("--stack", type=int, required=True, help="bytes")
    parser.add_argument(
        "--reset-offset", type=int, default=0, help="where in the ROM the CPU starts"
    )
    parser.add_argument(
        "--baud", type=int, default=0, help="of the line over which a BIOS loads images"
    )
    parser.add_argument(
        "--device", dest="devices", action="append", default=[], help="name of a device"
    )
    parser.add_argument("--code", type=Path, required=True, help="board.c")
    parser.add_argument("--header", type=Path, required=True, help="soc.h")
    parser.add_argument("--memory", type=Path, required=True, help="memory.ldh")
    parser.add_argument("--board", type=Path, required=True, help="board.json")
    options = parser.parse_args(args)
    soc = json.loads(options.csr.read_text())
    code = board_c(soc, options.reset_offset, options.baud, options.devices)
    options.code.write_text(code)
    options.header.write_text(header(soc))
    memory = regions(soc, options.reset_offset, options.baud)
    options.memory.write_text(linker(soc, options.reset_offset, options.baud, options.stack))
    options.board.write_text(
        board(soc, memory, options.name, options.title, options.isa, options.baud)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
