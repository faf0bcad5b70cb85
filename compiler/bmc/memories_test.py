"""Tests of what a board says of its memories."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from bmc import memories
from bmc.errors import BmcError
from bmc.plan.fast import Memories

_FLASH = {"name": "flash", "length": "0x1000000", "word_cycles": 9}
_RAM = {"name": "ram", "length": "0x100000", "word_cycles": 2}
_TCM = {"name": "tcm", "length": "0x8000", "word_cycles": 1, "holds": ["fast"]}


class MemoriesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "board.json")

    def read(self, fast_ram: int | None, *regions: Any) -> Memories:
        self.path.write_text(json.dumps({"name": "mine", "memory": regions}))
        return memories.read(self.path, fast_ram)

    def test_memory_for_nothing_else(self) -> None:
        self.assertEqual(self.read(None, _FLASH, _TCM, _RAM), Memories(0x8000, 1, 2, 9))
        self.assertEqual(self.read(100, _FLASH, _TCM, _RAM), Memories(100, 1, 2, 9))
        psram = {**_RAM, "name": "psram", "word_cycles": 20, "holds": ["arena"]}
        external = {**_FLASH, "name": "external", "word_cycles": 40, "holds": ["weights"]}
        found = self.read(None, _FLASH, external, psram, _TCM, _RAM)
        self.assertEqual(found, Memories(0x8000, 1, 20, 40))

    def test_a_part_of_the_ram(self) -> None:
        self.assertEqual(self.read(4096, _FLASH, _RAM), Memories(4096, 2, 2, 9))

    def test_errors(self) -> None:
        no_cost = {"name": "rom", "length": "0x10"}
        for fast_ram, regions, text in (
            (None, (_FLASH, _RAM), "mine has no memory for fast tensors alone"),
            (0x8001, (_FLASH, _TCM, _RAM), "mine has 32,768 bytes of fast memory, and not 32,769"),
            (0, (_FLASH, _RAM), "0 bytes of fast RAM are none"),
            (64, (no_cost, _RAM), r"lacks memory\[0\].word_cycles"),
            (64, (), "lacks memory"),
            (64, ({**_FLASH, "word_cycles": True}, _RAM), r"lacks memory\[0\].word_cycles"),
            (None, (_FLASH, {**_TCM, "length": "a lot"}, _RAM), "'a lot' is no length of tcm"),
            (None, (_FLASH, {**_TCM, "length": "-64"}, _RAM), "'-64' is no length of tcm"),
            (64, ({**_FLASH, "word_cycles": 0}, _RAM), "1 cycle or more, also in flash"),
            (64, ({**_FLASH, "holds": 7}, _RAM), r"lacks memory\[0\].holds"),
        ):
            with self.subTest(text), self.assertRaisesRegex(BmcError, text):
                self.read(fast_ram, *regions)
        for text, message in (("[", "is not JSON"), ("[]", "is not a JSON object")):
            self.path.write_text(text)
            with self.assertRaisesRegex(BmcError, message):
                memories.read(self.path, None)
        with self.assertRaisesRegex(BmcError, "cannot be read: No such file"):
            memories.read(self.path.with_name("none.json"), None)


if __name__ == "__main__":
    unittest.main()
