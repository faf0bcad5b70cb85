"""What a stranger's board.json and image may say, and when their code runs."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import unittest
from typing import Any
from unittest import mock

from tools.cli import UserError
from tools.flash import board, image
from tools.flash.tests import fake

_UBOOT = {"baud": 115200, "load": "0x1000", "start": "go", "protocol": "ymodem"}
_CARD = {"size": 4 << 20, "stage": 0}
_DEEP: Any = "deepest"
for _ in range(900):
    _DEEP = [_DEEP]

# What a sentence says, and the setting that it is about.
_SETTINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("pflash.size", "pflash", {"size": 2**62}),
    ("pflash.size", "pflash", {"size": 0}),
    ("pflash.size", "pflash", {"size": 1e3}),
    ("pflash.size", "pflash", {"size": _DEEP}),
    ("sdcard.size", "sdcard", _CARD | {"size": 1024}),
    ("sdcard.size", "sdcard", _CARD | {"size": (4 << 20) + 1}),
    ("sdcard.size", "sdcard", _CARD | {"size": 2**40}),
    ("sdcard.stage", "sdcard", _CARD | {"stage": 2**64}),
    ("sdcard.interface", "sdcard", _CARD | {"interface": "mmc 0; reset"}),
    ("fastboot.partition", "fastboot", {"partition": "--slot=all"}),
    ("fastboot.partition", "fastboot", {"partition": "b" * 65}),
    ("dfu.alt", "dfu", {"alt": "-R"}),
    ("dfu.device", "dfu", {"alt": "0", "device": "--reset"}),
    ("esptool.chip", "esptool", {"chip": "--port", "offset": 0}),
    ("esptool.offset", "esptool", {"chip": "esp32", "offset": 2**32}),
    ("copy.label", "copy", {"label": "../etc"}),
    ("copy.label", "copy", {"label": "x" * 65}),
    ("uboot-serial.baud", "uboot-serial", _UBOOT | {"baud": 0}),
    ("uboot-serial.load", "uboot-serial", _UBOOT | {"load": "0x10000000000000000"}),
    ("uboot-serial.stop", "uboot-serial", _UBOOT | {"stop": "\rreset\r"}),
    ("uboot-serial.prompt", "uboot-serial", _UBOOT | {"prompt": "> " * 17}),
    ("litex-serial.load", "litex-serial", {"baud": 115200, "load": 2**32}),
    ("openocd.config", "openocd", {"config": ["../evil.cfg"], "kind": "ram"}),
    ("openocd.config", "openocd", {"config": ["/tmp/evil.cfg"], "kind": "ram"}),
    ("openocd.config", "openocd", {"config": ["a} ; exec true; {.cfg"], "kind": "ram"}),
    ("openocd.config", "openocd", {"config": ["-c.cfg"], "kind": "ram"}),
    ("openocd.config", "openocd", {"config": ["openocd.cfg\n"], "kind": "ram"}),
    ("openocd.config", "openocd", {"config": ["a.cfg"] * 17, "kind": "ram"}),
]
_RAM = {"name": "ram", "origin": "0x1000", "length": "0x100000"}
_DESCRIPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("name cannot be '../../b'", {"name": "../../b"}),
    ("name cannot be", {"name": ["b"]}),
    ("name cannot be", {"name": "b" * 65}),
    ("title cannot be", {"title": "b" * 201}),
    ("no such region", {"memory": [_RAM | {"length": 2**64}]}),
    ("no such region", {"memory": [_RAM | {"origin": -1}]}),
    ("no such region", {"memory": [_RAM | {"name": "r\n"}]}),
    ("needs name, origin and length", {"memory": [{"name": "ram"}]}),
    ("needs name, origin and length", {"memory": ["ram"]}),
    ("not a list of at most 64", {"memory": [_RAM] * 65}),
    ("not a list of at most 64", {"memory": None}),
]


class MistakesTest(fake.FolderTest):
    def test_settings_and_descriptions(self) -> None:
        rows = [(f"{s} cannot be .*: use ", {m: values}, {}) for s, m, values in _SETTINGS]
        rows += [(sentence, {"copy": {"label": "X"}}, more) for sentence, more in _DESCRIPTIONS]
        for sentence, methods, more in rows:
            with self.subTest(sentence, methods=str(methods)[:60]):
                self.refused(sentence, methods, "--port", str(self.folder), **more)
        long = {"pflash": {"size": 1}, "x" * 2000: {}}
        self.refused("xxx.* is no flashing method", long)
        self.refused("more than 1048576 bytes", {"copy": {"label": "X"}}, title="x" * (1 << 20))

    def test_images(self) -> None:
        whole = self.elf.read_bytes()
        note = json.dumps({"board": "b", "isa": "rv64gc", "models": ["m"]}).encode()
        at = whole.index(note)
        start = at - 24
        for name, text in {
            "nested": b"[" * 100_000,
            "long": b'"' + b"x" * (1 << 20) + b'"',
            "no board": b"[]",
        }.items():
            # A note of any size is put behind the rest; the section that is the note's says where.
            moved = whole[start : start + 4] + struct.pack("<I", len(text)) + whole[start + 8 : at]
            section = whole.index(struct.pack("<QQ", start, len(whole[start:at]) + len(note)))
            place = struct.pack("<QQ", len(whole), len(moved) + len(text))
            self.elf.write_bytes(whole[:section] + place + whole[section + 16 :] + moved + text)
            with self.subTest(name), self.assertRaisesRegex(UserError, "damaged ELF"):
                image.read(self.elf)
        fake.elf(self.elf, "b", 0x1000, b"x", more=[(0x1000 + (4 << 30), b"y")])
        wide = [_RAM | {"length": 1 << 40}]
        self.refused(
            "as one piece", {"copy": {"label": "X"}}, "--port", str(self.folder), memory=wide
        )

    def test_what_is_right_is_taken(self) -> None:
        for method, settings in {
            "pflash": {"size": "0x40000000"},
            "sdcard": {"size": "0x80000000", "stage": 0, "interface": "mmc 0:1"},
            "dfu": {"alt": "@Internal Flash  /0x08000000/", "device": "28e9:0189"},
            "openocd": {"config": ["interface/ftdi/a-b.cfg", "target/x.tcl"], "kind": "ram"},
        }.items():
            path = fake.board(self.folder / "board.json", {method: settings})
            self.assertEqual(board.read(path).settings(method), settings)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class CodeTest(fake.FolderTest):
    """OpenOCD's configuration of a stranger's board; the program in OpenOCD's place leaves a file."""

    def setUp(self) -> None:
        super().setUp()
        self.ran = self.folder / "ran"
        self.openocd = self.folder / "openocd"
        self.openocd.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.ran}\n')
        self.openocd.chmod(0o755)
        self.board = self.folder / "a} [exec true]"
        self.board.mkdir()
        self.config = self.board / "openocd.cfg"
        self.config.write_text("exec true")
        settings = {"config": ["openocd.cfg"], "kind": "ram"}
        fake.board(self.board / "board.json", {"openocd": settings})
        state = {"XDG_STATE_HOME": str(self.folder / "state"), "BUILD_WORKSPACE_DIRECTORY": ""}
        self.enterContext(mock.patch.dict(os.environ, state))

    def load(self, *args: str, answer: str | None = None) -> tuple[int, str]:
        """Loads the image, with a terminal on which `answer` is typed; returns the status and what was said."""
        self.ran.unlink(missing_ok=True)
        self.output = io.StringIO if answer is None else Terminal
        more = [str(self.board / "board.json"), f"--tool=openocd={self.openocd}", *args]
        with mock.patch("sys.stdin", self.output(answer or "")):
            return self.tool("--board", *more)

    def assert_asked(self, asked: bool = True) -> None:
        status, said = self.load()
        self.assertEqual((status, self.ran.exists()), (2, False) if asked else (0, True), said)
        self.assertEqual("no terminal to ask" in said, asked, said)

    def test_it_does_not_run_unasked(self) -> None:
        self.assert_asked()
        status, said = self.load(answer="\n")
        self.assertEqual((status, self.ran.exists()), (2, False), said)
        self.assertIn(f"openocd.cfg in {self.board} is code", said)
        self.assertIn("was not run", said)
        status, said = self.load("--dry-run")
        self.assertIn(f"ask whether openocd.cfg in {self.board} may run", said)
        self.assertFalse(self.ran.exists())

    def test_an_answer_lasts_until_the_code_changes(self) -> None:
        self.assertEqual(self.load(answer="y\n")[0], 0)
        self.assertTrue(self.ran.exists())
        self.assert_asked(False)
        self.config.write_text("exec false")
        self.assert_asked()
        self.load("--allow-code")
        self.assert_asked(False)
        # OpenOCD's own scripts look for others here.
        (self.board / "interface").mkdir()
        (self.board / "interface" / "ftdi.cfg").write_text("exec true")
        self.assert_asked()
        with mock.patch.object(self, "elf", "--allow-code"):
            self.assertEqual(self.load()[0], 0)
        self.assertFalse(self.ran.exists())
        self.assert_asked(False)

    def test_what_a_script_may_read_is_code_too(self) -> None:
        self.config.write_text("source helper.inc")
        helper = self.board / "more" / "helper.inc"
        helper.parent.mkdir()
        for text in ("exec true", "exec false"):
            helper.write_text(text)
            self.assert_asked()
            self.load("--allow-code")
            self.assert_asked(False)
        (self.board / os.fsdecode(b"\xff")).touch()
        self.assert_asked()
        self.load("--allow-code")
        # The image may lie beside it. A link to nothing is nothing.
        shutil.copy(self.elf, self.board)
        (self.board / "link").symlink_to("nothing")
        self.assert_asked(False)
        (self.board / "x.cfg").write_bytes(b"\x7fELF")
        self.assert_asked()

    def test_files_that_do_not_stay_the_same(self) -> None:
        os.mkfifo(self.board / "helper.inc")
        for args in ((), ("--allow-code",)):
            status, said = self.load(*args)
            self.assertEqual((status, self.ran.exists()), (2, False))
            self.assertIn("helper.inc is a device, pipe or socket: put", said)

    def test_a_name_paints_no_line(self) -> None:
        folder = self.board / "a\033[31m\nPASS"
        folder.mkdir()
        (folder / "a.cfg").touch()
        _, said = self.load(answer="\n")
        self.assertIn(f"a?[31m?PASS/a.cfg, openocd.cfg in {self.board} is code", said)
        os.mkfifo(folder / "b.cfg")
        _, said = self.load()
        self.assertIn("a?[31m?PASS/b.cfg is a device", said)
        self.assertEqual(said.count("\n"), 1, said)

    def test_what_cannot_be_remembered_is_allowed_once(self) -> None:
        (self.folder / "state").write_text("no folder")
        self.assertEqual(self.load("--allow-code")[0], 0)
        self.assertTrue(self.ran.exists())
        self.assert_asked()

    def test_answers_that_others_may_have_written_are_not_believed(self) -> None:
        folder = self.folder / "state" / "ironcast"
        file = folder / "board-code"
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.assertEqual(self.load("--allow-code")[0], 0)
        self.assertEqual([p.stat().st_mode & 0o777 for p in (folder, file)], [0o700, 0o600])
        self.assert_asked(False)
        for path, mode in ((folder, 0o720), (folder, 0o702), (file, 0o620), (file, 0o602)):
            with self.subTest(path=path.name, mode=oct(mode)):
                usual = path.stat().st_mode & 0o777
                path.chmod(mode)
                self.assert_asked()
                _, said = self.load(answer="\n")
                self.assertEqual(said.count("not believed, because others may write to"), 1, said)
                path.chmod(usual)
                self.assert_asked(False)
        # What others may read is believed, as they cannot write it.
        folder.chmod(0o755)
        file.chmod(0o644)
        self.assert_asked(False)
        with mock.patch.object(os, "getuid", return_value=os.getuid() + 1):
            self.assert_asked()
            self.assertIn(f"because {folder} is another user's", self.load()[1])
            content = file.read_text()
            self.load(answer="y\n")
            self.assertEqual(file.read_text(), content)
        self.assert_asked(False)

    def test_answers_of_another_user_in_a_folder_of_ones_own(self) -> None:
        self.load("--allow-code")
        real = os.fstat
        folder = self.folder / "state" / "ironcast"

        def fstat(opened: int) -> os.stat_result:
            found = real(opened)
            other = found.st_ino == (folder / "board-code").stat().st_ino
            return os.stat_result((*found[:4], os.getuid() + other, *found[5:]))

        with mock.patch.object(os, "fstat", fstat):
            self.assert_asked()
            self.assertIn("board-code is another user's", self.load()[1])
        self.assert_asked(False)

    def test_a_workspace_is_not_asked_about_and_a_link_into_it_is_not_the_workspace(self) -> None:
        os.environ["BUILD_WORKSPACE_DIRECTORY"] = str(self.board)
        self.assert_asked(False)
        elsewhere = self.folder / "elsewhere.cfg"
        shutil.move(self.config, elsewhere)
        self.config.symlink_to(elsewhere)
        self.assert_asked()

    def test_names_are_words_of_tcl(self) -> None:
        named = self.elf.rename(self.folder / "m} ; exec touch ran; {.elf")
        with mock.patch.object(self, "elf", named):
            self.assertEqual(self.load("--allow-code", "--port=1; exec true")[0], 0)
        ran = self.ran.read_text()
        self.assertIn(r"set PORT 1\;\ exec\ true", ran)
        self.assertIn(r"/a\}\ \[exec\ true\]/openocd.cfg", ran)
        self.assertIn(r"/m\}\ \;\ exec\ touch\ ran\;\ \{.elf;", ran)

    def test_too_much_to_read(self) -> None:
        with (self.board / "disk.img").open("wb") as file:
            file.truncate((64 << 20) + 1)
        status, said = self.load()
        self.assertEqual(status, 2)
        self.assertIn("a folder of their own", said)

    def test_folders_without_end_and_files(self) -> None:
        loop = self.board / "loop"
        loop.mkdir()
        for name in "ab":
            (loop / name).symlink_to(loop)
        status, said = self.load()
        self.assertEqual(status, 2)
        self.assertIn("more than 10000 files: put", said)


if __name__ == "__main__":
    unittest.main()
