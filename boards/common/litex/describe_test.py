"""Tests what is written of a csr.json."""

from __future__ import annotations

import json
import unittest
from typing import Any

from boards.common.litex import describe


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


class DescribeTest(unittest.TestCase):
    def test_c_has_the_registers(self) -> None:
        text = describe.board_c(soc(), 0)
        self.assertIn("    .txfull = 0xf0000008,\n", text)
        self.assertIn("bm_litex_exit(&kUart, 0xf0000000, status);\n", text)
        self.assertNotIn("_start", text)
        self.assertIn(
            '".section .bm.reset, \\"ax\\", @progbits\\n"\n    "j _start\\n"',
            describe.board_c(soc(), 0x80),
        )

    def test_simulator_knows_the_rom(self) -> None:
        self.assertIn(
            "LITEX_ROM_BASE = 0x10000, LITEX_ROM_BYTES = 0x8000 }", describe.header(soc())
        )

    def test_a_cpu_that_starts_at_the_rom(self) -> None:
        text = describe.linker(soc(), 0, 4096)
        self.assertIn("rom (rx) : ORIGIN = 0x10000, LENGTH = 0x8000\n", text)
        self.assertIn("ram (rw) : ORIGIN = 0x40000000, LENGTH = 0x4000\n", text)
        self.assertIn("#define BM_STACK_BYTES (4096)\n", text)
        self.assertNotIn("reset", text)

    def test_a_cpu_that_starts_elsewhere(self) -> None:
        text = describe.linker(soc(), 0x80, 4096)
        self.assertIn("reset (rx) : ORIGIN = 0x10080, LENGTH = 16\n", text)
        self.assertIn("rom (rx) : ORIGIN = 0x10100, LENGTH = 0x7f00\n", text)
        self.assertIn("#define BM_RESET_REGION reset\n", text)

    def test_board_has_the_same_memory(self) -> None:
        memory = describe.regions(soc(), 0x80)
        board = json.loads(describe.board(soc(), memory, "litex_mine", "Mine", "rv32imc"))
        self.assertEqual(
            board["memory"],
            [
                {"name": "rom", "origin": "0x10100", "length": "0x7f00"},
                {"name": "ram", "origin": "0x40000000", "length": "0x4000"},
            ],
        )
        self.assertEqual((board["abi"], board["isa"]), ("ilp32", "rv32imc"))
        wide = json.loads(describe.board(soc(), memory, "litex_mine", "Mine", "rv64gc"))
        self.assertEqual(wide["abi"], "lp64d")

    def test_devices_have_the_addresses_of_their_registers(self) -> None:
        system = soc()
        system["memories"]["on_the_bus"] = {"base": 0x80000000, "size": 0x1000}
        system["csr_bases"]["among_registers"] = 0xF0002000
        text = describe.board_c(system, 0, ["on_the_bus", "among_registers"])
        self.assertIn("const uintptr_t bm_device_on_the_bus = 0x80000000;\n", text)
        self.assertIn("const uintptr_t bm_device_among_registers = 0xf0002000;\n", text)
        with self.assertRaisesRegex(describe.DescribeError, "no device 'elsewhere'"):
            describe.board_c(system, 0, ["elsewhere"])

    def test_a_system_without_a_register_is_refused(self) -> None:
        lacking = soc()
        del lacking["csr_registers"]["uart_txempty"]
        with self.assertRaises(KeyError):
            describe.board_c(lacking, 0)


if __name__ == "__main__":
    unittest.main()
