"""A dry run prints the steps that a run does, those and no others, and does none of them."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tools.flash import main, pack, sdcard
from tools.flash.job import Job, Runner, Step, command
from tools.flash.tests import fake

_DATA = bytes(range(200))
_CARD_SIZE = 4 << 20
_TOOLS = ("dfu-util", "fastboot", "mkimage", "mtools", "openocd")

# Method -> its settings, more arguments, and the lines of a dry run. FOLDER is the test's own.
_METHODS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "uboot-serial": (
        {"baud": 115200, "load": "0x1000", "start": "go", "protocol": "ymodem"},
        ["--port", "/dev/ttyUSB0"],
        [
            "open /dev/ttyUSB0 at 115200 baud, wait for U-Boot's prompt",
            f"crc32 0x1000 0xc8; until it is {pack.crc(_DATA)}: loady 0x1000 and 200 bytes by YMODEM",
            "go 0x1000",
        ],
    ),
    "uboot-tftp": (
        {"load": "0x1000", "start": "boot_baremetal 1"},
        ["--port", "/dev/ttyUSB0", "--tftp-root", "FOLDER", "--tftp-server", "10.0.0.1"],
        [
            "look for the folder FOLDER",
            "open /dev/ttyUSB0 at 115200 baud, wait for U-Boot's prompt",
            "write 200 bytes to FOLDER/ironcast-b.img",
            "setenv autoload no",
            "dhcp",
            "setenv serverip 10.0.0.1",
            "tftpboot 0x1000 ironcast-b.img",
            f"crc32 0x1000 0xc8 must be {pack.crc(_DATA)}",
            "remove FOLDER/ironcast-b.img",
            "boot_baremetal 1 0x1000 0xc8",
        ],
    ),
    "litex-serial": (
        {"baud": 115200, "load": "0x1000"},
        ["--port", "/dev/ttyUSB0"],
        [
            "open /dev/ttyUSB0 at 115200 baud, wait for LiteX's prompt",
            "mem_list must have 200 bytes at 0x1000",
            f"crc 0x1000 0xc8; until it is {pack.crc(_DATA)}: serialboot and 200 bytes for 0x1000 by SFL",
            "boot 0x1000",
        ],
    ),
    "openocd": (
        {"config": ["openocd.cfg"], "kind": "flash", "address": "0x20000000"},
        [],
        [
            "write 200 bytes to WORK/image.bin",
            "openocd -c 'cd /' -s FOLDER -c 'script openocd.cfg' -c 'gdb_port disabled' -c 'tcl_port disabled' "
            "-c 'telnet_port disabled' -c 'init; reset halt; "
            "flash write_image erase WORK/image.bin 0x20000000 bin; "
            "verify_image WORK/image.bin 0x20000000 bin; reset halt; resume; shutdown'",
        ],
    ),
    "fastboot": (
        {"partition": "boot"},
        ["--port", "S1"],
        [
            "write 200 bytes to WORK/image.bin",
            "fastboot -s S1 -- flash boot WORK/image.bin",
            "fastboot -s S1 -- reboot",
        ],
    ),
    "dfu": (
        {"alt": "0", "device": "28e9:0189"},
        [],
        [
            "write 200 bytes to WORK/image.bin",
            "dfu-util -d 28e9:0189 -a 0 -D WORK/image.bin",
            "dfu-util -d 28e9:0189 -a 0 -U WORK/image.read -Z 200",
            "cmp -n 200 WORK/image.bin WORK/image.read",
        ],
    ),
    "esptool": (
        {"chip": "esp32c3", "offset": "0x10000"},
        ["--port", "/dev/ttyACM0"],
        [
            f"{shlex.quote(sys.executable)} -m esptool --chip esp32c3 {rest}"
            for rest in (
                "elf2image --output WORK/image.bin FOLDER/m.elf",
                "--port /dev/ttyACM0 write-flash 0x10000 WORK/image.bin",
                "--port /dev/ttyACM0 verify-flash 0x10000 WORK/image.bin",
            )
        ],
    ),
    "copy": ({"label": "BOOT"}, [], ["write 200 bytes to the disk BOOT/ironcast-b.bin"]),
    "pflash": (
        {"size": 4096},
        ["--port", "FOLDER/chip"],
        [
            "write 200 bytes, filled up with 0xff to 4096, to FOLDER/chip.new",
            "read FOLDER/chip.new and compare sha256",
            "rename FOLDER/chip.new to FOLDER/chip",
        ],
    ),
    "sdcard": (
        {"size": _CARD_SIZE, "stage": "0x2000"},
        ["--port", "FOLDER/card"],
        [
            "look whether FOLDER/card is a file, or a removable disk that nothing uses",
            "write 200 bytes to WORK/image.bin",
            "SOURCE_DATE_EPOCH=0 mkimage -A riscv -O u-boot -T standalone -C none -a 0x1000 "
            "-e 0x1000 -n ironcast -d WORK/image.bin WORK/ironcast.img",
            "look whether WORK/ironcast.img fits into the card twice",
            "write 193 bytes to WORK/boot.txt",
            "SOURCE_DATE_EPOCH=0 mkimage -A riscv -O linux -T script -C none -n ironcast "
            "-d WORK/boot.txt WORK/boot.scr",
            "make WORK/card.img: 4194304 bytes, a partition table",
            "mtools -c mformat -i WORK/card.img@@1048576 -T 6144 -h 255 -s 63 -H 2048 -N 49524f4e "
            "-v IRONCAST ::",
            "mtools -c mcopy -i WORK/card.img@@1048576 WORK/ironcast.img ::ironcast.img",
            "mtools -c mcopy -i WORK/card.img@@1048576 WORK/boot.scr ::boot.scr",
            "write 4194304 bytes to FOLDER/card, its partition table last",
            "read FOLDER/card and compare",
        ],
    ),
}

# A card that has been written before: what follows when the new image has been packed.
_REPLACED = [
    "mtools -c mcopy -i FOLDER/card@@1048576 -o WORK/ironcast.img ::ironcast.new",
    "mtools -c mcopy -i FOLDER/card@@1048576 -n -o ::ironcast.new WORK/ironcast.read",
    "compare WORK/ironcast.read and WORK/ironcast.img",
    "mtools -c mren -i FOLDER/card@@1048576 -o ::ironcast.img ::ironcast.old",
    "mtools -c mren -i FOLDER/card@@1048576 -o ::ironcast.new ::ironcast.img",
]

_WORK = r"/\S*ironcast-flash-\w+"
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "subprocess.Popen")
_seen: list[str] | None = None


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    if event in (*_CHANGES, "socket.connect") or (event == "open" and args[2] & _WRITING):
        _seen.append(f"{event} {args[0]}")


# Python tells of every file that it opens and every program that it starts.
sys.addaudithook(_watch)


@contextmanager
def touched() -> Iterator[list[str]]:
    """What is written, removed or started inside."""
    global _seen
    _seen = found = []
    try:
        yield found
    finally:
        _seen = None


class Untidy:
    """A method that writes before any of its steps is done."""

    has_console = False

    def __init__(self, job: Job) -> None:
        job.target("a file").write_bytes(b"")

    def steps(self) -> list[Step]:
        return []


class StepsTest(fake.FolderTest):
    def run_method(self, method: str, *more: str) -> tuple[list[str], list[str]]:
        """Runs the tool; returns the lines that it printed, and what it touched."""
        settings, args, _ = _METHODS[method]
        fake.board(self.folder / "board.json", {method: settings})
        tools = [f"--tool={tool}={tool}" for tool in _TOOLS]
        with touched() as found:
            status, said = self.tool(*self.named(args), *tools, *more)
        self.assertEqual(status, 0, said)
        return said.splitlines(), found

    def named(self, lines: list[str]) -> list[str]:
        return [line.replace("FOLDER", str(self.folder)) for line in lines]

    def test_every_method_is_here(self) -> None:
        self.assertEqual(set(_METHODS), set(main.RUNNERS))

    def test_dry_run_prints_this_and_touches_nothing(self) -> None:
        for method, (_, _, lines) in _METHODS.items():
            with self.subTest(method):
                said, found = self.run_method(method, "--dry-run")
                self.assertEqual(said, self.named(lines))
                self.assertEqual(found, [])

    def test_card_that_was_written_before(self) -> None:
        (self.folder / "card").write_bytes(sdcard.master_boot_record(_CARD_SIZE))
        said, found = self.run_method("sdcard", "--dry-run")
        self.assertEqual(said, self.named(_METHODS["sdcard"][2][:4] + _REPLACED))
        self.assertEqual(found, [])

    def test_image_in_ram_starts_at_its_entry(self) -> None:
        fake.elf(self.elf, "b", 0x1000, _DATA, entry=0x1004)
        settings = {"config": ["openocd.cfg"], "kind": "ram"}
        tool = "--tool=openocd=openocd"
        status, said = self.flash({"openocd": settings}, tool, "--dry-run")
        self.assertEqual(status, 0, said)
        self.assertIn(
            f"-c 'init; halt; load_image {self.elf}; verify_image {self.elf}; reg a1 0; "
            "reg pc 0x1004; resume; shutdown'",
            said,
        )

    def test_without_verifying(self) -> None:
        for method in (
            "uboot-serial",
            "litex-serial",
            "uboot-tftp",
            "openocd",
            "dfu",
            "esptool",
            "pflash",
            "sdcard",
        ):
            with self.subTest(method):
                said, _ = self.run_method(method, "--dry-run", "--no-verify")
                self.assertNotRegex("\n".join(said), "crc32|compare|cmp|verify")

    def test_a_server_is_an_address_and_no_command(self) -> None:
        settings, args, _ = _METHODS["uboot-tftp"]
        for server in ("1.2.3.4; reset", "1.2.3.4\nreset", "${x}", "host", "::1"):
            with self.subTest(server):
                more = (*self.named(args[:-1]), server, "--dry-run")
                self.refused(
                    "--tftp-server cannot be .*: name its IPv4", {"uboot-tftp": settings}, *more
                )

    def test_run_does_the_steps_that_a_dry_run_prints(self) -> None:
        for method in _METHODS:
            printed, _ = self.run_method(method, "--dry-run")
            runner, done = main.RUNNERS[method], []

            def steps(self: Runner, real: Any = runner.steps, done: list[str] = done) -> list[Step]:
                return [Step(s.text, functools.partial(done.append, s.text)) for s in real(self)]

            with self.subTest(method), mock.patch.object(runner, "steps", steps):
                said, found = self.run_method(method)
                self.assertEqual([re.sub(_WORK, "WORK", line) for line in done], printed)
                # Beside its steps a run says nothing, and makes and removes its folder.
                self.assertEqual(said, [])
                self.assertEqual([f for f in found if not re.search(_WORK, f)], [])

    def test_step_runs_the_program_that_it_prints(self) -> None:
        log = self.folder / "log"
        program = self.folder / "a program"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "A=$A" "$0" "$@" > {log}\n')
        program.chmod(0o755)
        after: list[str] = []
        argv = [str(program), "-c", "init; halt", "{x} $y"]
        step = command(argv, "", {"A": "b c"}, after=lambda: after.append("done"))
        self.assertFalse(log.exists())
        step.do()
        self.assertEqual(shlex.split(step.text), log.read_text().splitlines())
        self.assertEqual(after, ["done"])

    def test_step_that_fails_ends_the_run(self) -> None:
        steps = [command(["false"], "take another one"), Step("write", self.fail)]
        with mock.patch.object(main.RUNNERS["copy"], "steps", lambda self: steps):
            self.refused("false ended with status 1 .*; take another one", {"copy": {"label": "X"}})

    def test_what_a_dry_run_touches_would_be_seen(self) -> None:
        with mock.patch.dict(main.RUNNERS, {"pflash": Untidy}):
            _, found = self.run_method("pflash", "--dry-run")
        self.assertEqual(found, [f"open {self.folder / 'chip'}"])


if __name__ == "__main__":
    unittest.main()
