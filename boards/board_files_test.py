"""Tests what is written of a board's facts."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

from boards import board_files
from boards.board_files import Board, Region

RAM = Region(name="ram", origin=0x80000000, length=0x10000)
FLASH = Region(name="flash", origin=0x20000000, length=0x200000)
BOARD = Board(
    name="mine",
    title="Mine",
    isa="rv32imac",
    memory=(RAM,),
    stack_bytes=4096,
    stack_guard_bytes=256,
)


class MemoryTest(unittest.TestCase):
    def test_one_memory_holds_everything(self) -> None:
        text = board_files.memory_ldh(BOARD)
        self.assertIn(
            "MEMORY {\n  ram (rwx) : ORIGIN = 0x80000000, LENGTH = 0x10000\n}\n"
            'REGION_ALIAS("BM_ROM", ram)\nREGION_ALIAS("BM_RAM", ram)\n',
            text,
        )
        self.assertIn("#define BM_STACK_BYTES 4096\n#define BM_STACK_GUARD_BYTES 256\n", text)

    def test_code_is_in_the_first_and_what_is_written_in_the_last(self) -> None:
        held = (
            Region(name="external", origin=0x30000000, length=0x1000, holds="weights"),
            Region(name="tight", origin=0x70000000, length=0x800, holds="arena"),
        )
        text = board_files.memory_ldh(dataclasses.replace(BOARD, memory=(FLASH, *held, RAM)))
        for line in (
            "  flash (rx) : ORIGIN = 0x20000000, LENGTH = 0x200000",
            "  external (r) : ORIGIN = 0x30000000, LENGTH = 0x1000",
            "  tight (rw) : ORIGIN = 0x70000000, LENGTH = 0x800",
            "  ram (rw) : ORIGIN = 0x80000000, LENGTH = 0x10000",
            'REGION_ALIAS("BM_ROM", flash)',
            'REGION_ALIAS("BM_RAM", ram)',
            "#define BM_WEIGHTS_REGION external",
            "#define BM_ARENA_REGION tight",
        ):
            self.assertIn(line + "\n", text)

    def test_says_what_else_the_linker_script_reads(self) -> None:
        text = board_files.memory_ldh(dataclasses.replace(BOARD, defines={"BM_CLINT": "0x2000000"}))
        self.assertIn("#define BM_CLINT 0x2000000\n", text)


class DescriptionTest(unittest.TestCase):
    def test_has_what_tools_read(self) -> None:
        self.assertEqual(
            json.loads(board_files.board_json(BOARD)),
            {
                "name": "mine",
                "title": "Mine",
                "tested": "built",
                "isa": "rv32imac",
                "mode": "machine",
                "memory": [{"name": "ram", "origin": "0x80000000", "length": "0x10000"}],
            },
        )

    def test_names_what_only_one_memory_holds(self) -> None:
        arena = Region(name="tight", origin=0x70000000, length=0x800, holds="arena")
        text = board_files.board_json(dataclasses.replace(BOARD, memory=(FLASH, arena, RAM)))
        held = [region.get("holds") for region in json.loads(text)["memory"]]
        self.assertEqual(held, [None, ["arena"], None])

    def test_the_first_way_to_flash_is_the_default(self) -> None:
        ways = [("uboot-tftp", {"start": "go"}), ("sdcard", {"size": "0x10"})]
        flash = json.loads(board_files.board_json(dataclasses.replace(BOARD, flash=ways)))["flash"]
        self.assertEqual(flash["default"], "uboot-tftp")
        # Images load where memory begins; what a board says itself counts.
        self.assertEqual(
            flash["methods"],
            {"uboot-tftp": {"load": "0x80000000", "start": "go"}, "sdcard": {"size": "0x10"}},
        )

    def test_settings_follow_from_memory_unless_they_are_given(self) -> None:
        board = dataclasses.replace(
            BOARD,
            memory=(FLASH, RAM),
            flash=[("pflash", {}), ("uboot-serial", {"load": "0x1000"})],
        )
        methods = json.loads(board_files.board_json(board))["flash"]["methods"]
        self.assertEqual(methods["pflash"], {"size": "0x200000"})
        self.assertEqual(methods["uboot-serial"], {"load": "0x1000"})


class FilesTest(unittest.TestCase):
    def test_writes_the_files_that_are_asked_for(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        folder = Path(made.name)
        (folder / "facts.json").write_text(json.dumps(dataclasses.asdict(BOARD)))
        facts = f"--facts={folder / 'facts.json'}"
        self.assertEqual(board_files.main([facts, f"--memory={folder / 'memory.ldh'}"]), 0)
        self.assertEqual((folder / "memory.ldh").read_text(), board_files.memory_ldh(BOARD))
        self.assertFalse((folder / "board.json").exists())
        self.assertEqual(board_files.main([facts, f"--board={folder / 'board.json'}"]), 0)
        self.assertEqual((folder / "board.json").read_text(), board_files.board_json(BOARD))


if __name__ == "__main__":
    unittest.main()
