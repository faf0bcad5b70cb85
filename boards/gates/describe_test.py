"""Tests what is written of a csr.json."""

from __future__ import annotations

import json
import unittest
from typing import Any

from boards import board_files
from boards.board_files import Board
from boards.gates import describe
from tools.cli import UserError


def soc() -> dict[str, Any]:
    names = ("exit_status", "uart_rxtx", "uart_txfull", "uart_txempty")
    addresses = {name: {"addr": 0xF0000000 + 4 * i} for i, name in enumerate(names)}
    return {
        "csr_bases": {"uart": 0xF0001000},
        "csr_registers": addresses,
        "memories": {
            "rom": {"base": 0x10000, "size": 0x8000},
            "main_ram": {"base": 0x40000000, "size": 0x4000},
        },
    }


def described(
    system: dict[str, Any], reset_offset: int = 0, baud: int = 0, isa: str = "rv32imc"
) -> Board:
    return describe.board(
        system,
        name="litex_mine",
        title="Mine",
        isa=isa,
        stack_bytes=4096,
        reset_offset=reset_offset,
        baud=baud,
    )


def linker(*args: Any) -> str:
    return board_files.memory_ldh(described(*args))


def description(*args: Any) -> dict[str, Any]:
    return json.loads(board_files.board_json(described(*args)))


class DescribeTest(unittest.TestCase):
    def test_c_has_the_registers(self) -> None:
        text = describe.board_c(soc(), 0, 0)
        self.assertIn("    .txfull = 0xf0000008,\n", text)
        self.assertIn("bm_litex_exit(&kUart, 0xf0000000, status);\n", text)
        self.assertNotIn("_start", text)
        self.assertIn(
            '".section .bm.reset, \\"ax\\", @progbits\\n"\n    "j _start\\n"',
            describe.board_c(soc(), 0x80, 0),
        )

    def test_simulator_knows_the_rom(self) -> None:
        self.assertIn(
            "LITEX_ROM_BASE = 0x10000, LITEX_ROM_BYTES = 0x8000 }", describe.header(soc())
        )

    def test_a_cpu_that_starts_at_the_rom(self) -> None:
        text = linker(soc())
        self.assertIn("rom (rx) : ORIGIN = 0x10000, LENGTH = 0x8000\n", text)
        self.assertIn("ram (rw) : ORIGIN = 0x40000000, LENGTH = 0x4000\n", text)
        self.assertIn("#define BM_STACK_BYTES 4096\n", text)
        self.assertNotIn("reset", text)

    def test_a_cpu_that_starts_elsewhere(self) -> None:
        text = linker(soc(), 0x80)
        self.assertIn("reset (rx) : ORIGIN = 0x10080, LENGTH = 0x10\n", text)
        self.assertIn("rom (rx) : ORIGIN = 0x10100, LENGTH = 0x7f00\n", text)
        self.assertIn("#define BM_RESET_REGION reset\n", text)

    def test_board_has_the_same_memory(self) -> None:
        board = description(soc(), 0x80)
        self.assertEqual(
            board["memory"],
            [
                {"name": "rom", "origin": "0x10100", "length": "0x7f00"},
                {"name": "ram", "origin": "0x40000000", "length": "0x4000"},
            ],
        )
        self.assertEqual((board["name"], board["isa"]), ("litex_mine", "rv32imc"))
        self.assertEqual(description(soc(), 0, 0, "rv64gc")["isa"], "rv64gc")

    def test_a_board_whose_bios_loads_images(self) -> None:
        wired = soc()
        wired["constants"] = {"config_clock_frequency": 50_000_000}
        wired["csr_registers"]["ctrl_reset"] = {"addr": 0xF0000800}
        del wired["csr_registers"]["exit_status"]
        text = describe.board_c(wired, 0, 115200)
        self.assertIn("  bm_litex_restart(&kUart, 0xf0000800, 4340);\n", text)
        self.assertNotIn("bm_litex_exit", text)
        text = linker(wired, 0, 115200)
        self.assertIn("MEMORY {\n  ram (rwx) : ORIGIN = 0x40000000, LENGTH = 0x4000\n}\n", text)
        self.assertIn('REGION_ALIAS("BM_ROM", ram)\n', text)
        board = description(wired, 0, 115200)
        self.assertEqual(board["tested"], "built")
        self.assertEqual(
            board["flash"]["methods"], {"litex-serial": {"baud": 115200, "load": "0x40000000"}}
        )

    def test_a_simulator_whose_bios_loads_images(self) -> None:
        self.assertIn("bm_litex_exit(&kUart", describe.board_c(soc(), 0, 115200))
        board = description(soc(), 0, 115200)
        self.assertEqual((board["tested"], len(board["memory"])), ("run", 1))
        self.assertEqual(board["memory"][0]["name"], "ram")
        self.assertIn("litex-serial", board["flash"]["methods"])

    def test_devices_have_the_addresses_of_their_registers(self) -> None:
        system = soc()
        system["memories"]["on_the_bus"] = {"base": 0x80000000, "size": 0x1000}
        system["csr_bases"]["among_registers"] = 0xF0002000
        text = describe.board_c(system, 0, 0, ["on_the_bus", "among_registers"])
        self.assertIn("const uintptr_t bm_device_on_the_bus = 0x80000000;\n", text)
        self.assertIn("const uintptr_t bm_device_among_registers = 0xf0002000;\n", text)
        with self.assertRaisesRegex(UserError, "no device 'elsewhere'"):
            describe.board_c(system, 0, 0, ["elsewhere"])

    def test_a_system_without_a_register_is_refused(self) -> None:
        lacking = soc()
        del lacking["csr_registers"]["uart_txempty"]
        with self.assertRaises(KeyError):
            describe.board_c(lacking, 0, 0)


if __name__ == "__main__":
    unittest.main()
