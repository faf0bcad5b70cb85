"""Checks images for boards that cannot run here: addresses, format, and the mode in which they start."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

# A machine-mode register, read or written.
_MACHINE = re.compile(
    r"\bcsr\w*\s.*\b(m(status|tvec|ie|isa|hartid|cause|epc|tval|cycle|instret)|pmp\w+)\b"
)


class Image:
    """A linked image: the ELF, the raw file that is loaded, and the disassembly."""

    def __init__(self, paths: list[Path]) -> None:
        by_suffix = {path.suffix: path for path in paths}
        self.path = by_suffix[".elf"]
        self.raw = by_suffix[".bin"].read_bytes()
        self.disassembly = by_suffix[".disasm"].read_text()
        with self.path.open("rb") as file:
            elf = ELFFile(file)
            self.entry = elf["e_entry"]
            # The loaded segments: (address, bytes of the file, size in memory).
            self.segments = [
                (segment["p_paddr"], segment.data(), segment["p_memsz"])
                for segment in elf.iter_segments("PT_LOAD")
            ]


def problems(image: Image, board: dict[str, Any]) -> list[str]:
    """Returns one sentence per problem that the image would have on `board` (board.json)."""
    found = []
    origin = int(board["memory"][0]["origin"], 0)
    end = origin + int(board["memory"][0]["length"], 0)
    if image.entry != origin:
        found.append(f"the image is entered at {image.entry:#x}, memory begins at {origin:#x}")
    for method, settings in board["flash"]["methods"].items():
        if "load" in settings and int(settings["load"], 0) != image.entry:
            found.append(f"{method} loads to {settings['load']}, the entry is {image.entry:#x}")
    for address, stored, in_memory in image.segments:
        if not origin <= address <= end - in_memory:
            found.append(f"a segment at {address:#x} is outside of memory")
        at = address - origin
        if image.raw[at : at + len(stored)] != stored:
            found.append(f"the raw image differs from the segment at {address:#x}")
    machine = _MACHINE.search(image.disassembly)
    if machine and board["mode"] == "supervisor":
        found.append(f"supervisor mode must not execute `{machine[0].strip()}`")
    if not machine and board["mode"] == "machine":
        found.append("an image for machine mode that touches none of its registers")
    return found


class ImageTest(unittest.TestCase):
    def setUp(self) -> None:
        self.image = Image([Path(path) for path in os.environ["IMAGE"].split()])
        self.board = json.loads(Path(os.environ["BOARD"]).read_text())

    def test_suits_its_board(self) -> None:
        self.assertEqual(problems(self.image, self.board), [])

    def test_is_built_not_run(self) -> None:
        self.assertEqual(self.board["tested"], "built")

    def test_says_that_it_cannot_be_run_here(self) -> None:
        done = subprocess.run(
            [Path(os.environ["RUN"]).absolute()], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            f"no emulator runs this image for the board {self.board['name']}: ", done.stderr
        )

    def test_every_way_to_flash_it(self) -> None:
        entry, size = self.image.entry, len(self.image.raw)
        starts = {
            "go": f"go {entry:#x}",
            "boot_baremetal 1": f"boot_baremetal 1 {entry:#x} {size:#x}",
        }
        for method, settings in self.board["flash"]["methods"].items():
            with self.subTest(method):
                flash = [Path(os.environ["FLASH"]).absolute(), "--method", method]
                done = subprocess.run(
                    [*flash, "--port", "/dev/none", "--dry-run"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                if "start" in settings:
                    self.assertEqual(done.stdout.splitlines()[-1], starts[settings["start"]])
                else:
                    tools = {
                        "esptool": "elf2image",
                        "litex-serial": "serialboot",
                        "openocd": "load_image",
                        "sdcard": "mkimage",
                    }
                    self.assertIn(tools[method], done.stdout)

    def test_other_load_address_is_noticed(self) -> None:
        self.board["flash"]["methods"]["uboot-serial"] = {"load": "0x1000"}
        self.assertRegex("".join(problems(self.image, self.board)), "loads to 0x1000")

    def test_rom_can_read_its_format(self) -> None:
        settings = self.board["flash"]["methods"].get("esptool")
        if settings is None:
            self.skipTest("not a chip of Espressif's")
        esptool = [sys.executable, "-m", "esptool", "--chip", settings["chip"]]
        out = os.environ["TEST_TMPDIR"] + "/image"
        subprocess.run([*esptool, "elf2image", "--output", out, str(self.image.path)], check=True)
        done = subprocess.run(
            [*esptool, "image-info", out], capture_output=True, text=True, check=True
        )
        self.assertIn(f"Entry point: {self.image.entry:#x}", done.stdout)
        self.assertRegex(done.stdout, r"Checksum: \w+ \(valid\)")
        # All segments are loaded into RAM, so nothing needs a second-stage boot loader.
        loaded = re.findall(r"^ +\d+  0x\w+  0x\w+  0x\w+  (.*)$", done.stdout, re.MULTILINE)
        self.assertTrue(loaded)
        self.assertTrue(all("DRAM" in kinds for kinds in loaded), done.stdout)

    def test_other_memory_is_noticed(self) -> None:
        self.board["memory"][0]["length"] = "0x1000"
        self.assertRegex("".join(problems(self.image, self.board)), "outside of memory")

    def test_other_mode_is_noticed(self) -> None:
        modes = {"machine": "supervisor", "supervisor": "machine"}
        self.board["mode"] = modes[self.board["mode"]]
        self.assertRegex("".join(problems(self.image, self.board)), "must not|touches none")

    def test_changed_byte_is_noticed(self) -> None:
        raw = bytearray(self.image.raw)
        raw[0] ^= 1
        self.image.raw = bytes(raw)
        self.assertRegex("".join(problems(self.image, self.board)), "differs")


if __name__ == "__main__":
    unittest.main()
