"""An image for a board with five memories has its parts where they belong."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path

from elftools.elf.elffile import ELFFile

FILES = [Path(path) for path in os.environ["FILES"].split()]
# Section -> the memory of the board.
PLACES = {
    ".text": 0x20000000,
    ".bm.kernels": 0x20000000,
    ".bm.golden": 0x20000000,
    ".bm.weights": 0x22000000,
    ".bm.arena": 0x80000000,
    ".bm.fast": 0x80100000,
    ".bss": 0x80110000,
    ".bm.stack": 0x80110000,
}
_SIZE = 0x2000000


def file(suffix: str) -> Path:
    return next(path for path in FILES if path.name == "fixture_placed" + suffix)


class PlacedTest(unittest.TestCase):
    def setUp(self) -> None:
        stream = file(".elf").open("rb")
        self.addCleanup(stream.close)
        self.elf = ELFFile(stream)

    def test_every_section_is_in_its_memory(self) -> None:
        for name, origin in PLACES.items():
            section = self.elf.get_section_by_name(name)
            self.assertGreater(section["sh_size"], 0, name)
            self.assertLess(section["sh_addr"] - origin, 0x100000, name)
            self.assertGreaterEqual(section["sh_addr"], origin, name)

    def test_the_weights_have_a_raw_file_of_their_own(self) -> None:
        weights = self.elf.get_section_by_name(".bm.weights").data()
        self.assertEqual(file(".weights.bin").read_bytes(), weights)
        raw = file(".bin").read_bytes()
        self.assertLess(len(raw), _SIZE)
        self.assertNotIn(weights[:4096], raw)
        self.assertTrue(raw.startswith(self.elf.get_section_by_name(".text").data()))

    def test_the_report_counts_each_memory(self) -> None:
        report = json.loads(file(".report.json").read_text())
        used = {memory["name"]: memory["used"] for memory in report["memory"]}
        (model,) = report["models"]
        self.assertEqual(used["external"], model["flash"]["weights_bytes"])
        self.assertEqual(used["slow"], model["arena"]["bytes"])
        self.assertEqual(used["tightly_coupled"], model["fast_bytes"])
        self.assertEqual(report["ram_bytes"]["fast"], model["fast_bytes"])
        regions = {tensor["region"] for tensor in model["entries"][0]["tensors"]}
        self.assertEqual(regions, {"arena", "fast"})


if __name__ == "__main__":
    unittest.main()
