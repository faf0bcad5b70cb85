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

from boards import board_files
from boards.board_files import Board, Region
from tools import cli

BOARD_C = """\
// Written by describe.py from LiteX's csr.json.
#include "boards/gates/litex.h"
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

# Bytes for the first instruction of a CPU that starts elsewhere than at the beginning of the ROM.
RESET_BYTES = 16
# Without PMP: what an overrun writes there is seen at the end.
STACK_GUARD_BYTES = 8192
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


def board(
    soc: dict[str, Any],
    *,
    name: str,
    title: str,
    isa: str,
    stack_bytes: int,
    reset_offset: int = 0,
    baud: int = 0,
) -> Board:
    """Returns the facts of the board, whose memory is without the reset vector."""
    rom, ram = soc["memories"]["rom"], soc["memories"]["main_ram"]
    reserved = ALIGNMENT if reset_offset else 0
    code = Region(name="rom", origin=rom["base"] + reserved, length=rom["size"] - reserved)
    written = Region(name="ram", origin=ram["base"], length=ram["size"])
    reset = Region(name="reset", origin=rom["base"] + reset_offset, length=RESET_BYTES)
    return Board(
        name=name,
        title=title,
        isa=isa,
        memory=[written] if baud else [code, written],
        stack_bytes=stack_bytes,
        stack_guard_bytes=STACK_GUARD_BYTES,
        console=f"LiteX's UART at {soc['csr_bases']['uart']:#x}",
        tested="run" if has_exit(soc) else "built",
        flash=[("litex-serial", {"baud": baud})] if baud else [],
        reset=reset if reset_offset else None,
    )


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
    described = board(
        soc,
        name=options.name,
        title=options.title,
        isa=options.isa,
        stack_bytes=options.stack,
        reset_offset=options.reset_offset,
        baud=options.baud,
    )
    options.memory.write_text(board_files.memory_ldh(described))
    options.board.write_text(board_files.board_json(described))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
