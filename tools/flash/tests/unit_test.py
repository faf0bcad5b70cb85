"""Reading boards, and what is refused."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import unittest
from pathlib import Path
from unittest import mock

from tools.cli import UserError
from tools.flash import (
    board,
    copy,
    disks,
    main,
    monitor,
    pack,
    ports,
    sdcard,
    shell,
    uboot,
    ymodem,
)
from tools.flash.tests import fake
from tools.run.fake_clock import FakeClock

UBOOT = {"baud": 115200, "load": "0x1000", "start": "go", "protocol": "ymodem"}


class _CutLine:
    """U-Boot that waits for a block. It listens only when it has just asked for it."""

    port, baud = "ttyS0", 115200

    def __init__(self) -> None:
        self.is_over = self._listens = False

    def read(self) -> bytes:
        self._listens = True
        return b"C"

    def write(self, data: bytes) -> None:
        self.is_over |= self._listens and data == b"\x18" * 8
        self._listens = False

    def drain(self, seconds: float) -> bytes:
        return b"\r\n=> " if self.is_over else b""


class BoardTest(fake.FolderTest):
    def test_every_board_of_the_project(self) -> None:
        found = 0
        for path in sorted(Path("boards").glob("*/board.json")):
            if "flash" in json.loads(path.read_text()):
                found += 1
                self.assertIn(board.read(path).default, main.RUNNERS)
        self.assertGreater(found, 0)

    def test_every_method_has_a_runner(self) -> None:
        self.assertEqual(set(board.METHODS), set(main.RUNNERS))
        self.assertTrue(all(type(each.has_console) is bool for each in main.RUNNERS.values()))

    def test_what_is_wrong_with_it(self) -> None:
        for sentence, methods in {
            "telepathy is no flashing method": {"telepathy": {}},
            "pflash lacks its setting size": {"pflash": {}},
            "pflash.size cannot be 'big': use a number from 0x1 to 0x40000000 *$": {
                "pflash": {"size": "big"}
            },
            "sdcard.size cannot be 2097153: .* that 512 divides": {"sdcard": {"size": 2097153}},
            "pflash.size cannot be -1": {"pflash": {"size": -1}},
            "pflash.size cannot be True": {"pflash": {"size": True}},
            "copy has no setting color": {"copy": {"label": "X", "color": "red"}},
            "it only runs in an emulator": {},
        }.items():
            self.refused(sentence, methods)
        self.refused(
            "flash.default is", {}, flash={"default": "x", "methods": {"pflash": {"size": 1}}}
        )
        self.refused(
            "flash.default is", {}, flash={"default": [], "methods": {"pflash": {"size": 1}}}
        )
        self.refused("flash.methods is not an object", {}, flash={"methods": True})

    def test_what_is_no_json(self) -> None:
        path = self.folder / "board.json"
        for content, sentence in {
            b"\x80": "is not text",
            b"[" * 100_000: "is not JSON",
            b"1" * 10_000: "is not JSON",
        }.items():
            path.write_bytes(content)
            with self.assertRaisesRegex(UserError, sentence):
                board.read(path)


class TransferTest(unittest.TestCase):
    def test_a_board_that_never_stops_printing_is_not_waited_for(self) -> None:
        line = mock.Mock()
        line.read_byte.return_value = ord("x")
        with self.assertRaisesRegex(ymodem.TransferError, "does not ask for the file"):
            ymodem.send(line, "image", b"", lambda done: None)


class RefusalTest(fake.FolderTest):
    def test_wrong_board(self) -> None:
        self.elf = fake.elf(self.folder / "m.elf", "other", 0x1000, b"x")
        self.refused(
            "m.elf is built for other, not for b: .* of b as --board=", {"uboot-serial": UBOOT}
        )

    def test_larger_than_the_region(self) -> None:
        self.elf = fake.elf(self.folder / "m.elf", "b", 0x1000, b"x" * 0x100001)
        self.refused("which no memory of b holds", {"uboot-serial": UBOOT})

    def test_reaching_past_the_region(self) -> None:
        # Memory of 1 MB begins at 0x1000.
        for address, sentence in {0x100F38: "", 0x100F39: "200 bytes for 0x100f39"}.items():
            self.elf = fake.elf(self.folder / "m.elf", "b", address, bytes(200))
            disk = {"copy": {"label": "X"}}
            if sentence:
                self.refused(sentence, disk, "--port", str(self.folder))
            else:
                self.assertEqual(self.flash(disk, "--port", str(self.folder))[0], 0)

    def test_what_has_no_data_fits_too(self) -> None:
        # Memory of 1 MB begins at 0x1000, and the segment's 200 bytes of data are followed by zeros.
        whole = self.elf.read_bytes()
        disk = {"copy": {"label": "X"}}
        for size, sentence in {0x100000: "", 0x100001: "1048577 bytes", 2**60: "bytes"}.items():
            self.elf.write_bytes(whole[:104] + size.to_bytes(8, "little") + whole[112:])
            if sentence:
                sentence += " for 0x1000, which no memory of b holds"
                self.refused(sentence, disk, "--port", str(self.folder))
            else:
                self.assertEqual(self.flash(disk, "--port", str(self.folder))[0], 0)

    def test_larger_than_the_flash(self) -> None:
        self.refused(
            "takes 200 bytes and the flash of b has 199",
            {"pflash": {"size": 199}},
            "--port",
            str(self.folder / "chip"),
        )

    def test_no_port_and_port_that_is_not_there(self) -> None:
        self.refused("name the serial port with --port", {"uboot-serial": UBOOT})
        self.refused("cannot be opened", {"uboot-serial": UBOOT}, "--port", "/dev/none")

    def test_method_of_another_board(self) -> None:
        self.refused("cannot be flashed by dfu", {"uboot-serial": UBOOT}, "--method", "dfu")

    def test_nothing_to_monitor(self) -> None:
        chip = self.folder / "chip"
        self.refused("no console", {"pflash": {"size": 4096}}, "--monitor", "--port", str(chip))
        self.assertFalse(chip.exists())

    def test_linked_for_another_address(self) -> None:
        methods = {"uboot-serial": UBOOT | {"load": "0x2000"}}
        self.refused("linked for 0x1000 and b loads at 0x2000", methods)

    def test_full_disk_leaves_the_old_file(self) -> None:
        old = self.folder / "chip"
        old.write_bytes(b"old")
        # A limit on file sizes fails a write as a full disk does, where one cannot be mounted.
        pid = os.fork()
        if pid == 0:
            import resource
            import signal

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            try:
                pack.write(old, b"x" * 8192)
            except UserError as error:
                os._exit(7 if "no room for 8192 bytes" in str(error) else 1)
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        self.assertEqual(old.read_bytes(), b"old")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["chip", "m.elf"])


class CopyTest(fake.FolderTest):
    def test_copies(self) -> None:
        disk = self.folder / "disk"
        disk.mkdir()
        status, said = self.flash({"copy": {"label": "BOOT"}}, "--port", str(disk))
        self.assertEqual(status, 0, said)
        self.assertEqual((disk / "ironcast-b.bin").read_bytes(), bytes(range(200)))

    def test_finds_the_disk_by_its_label(self) -> None:
        disk = self.folder / "MY BOOT"
        disk.mkdir()
        mounts = self.folder / "mounts"
        # Linux writes a space in octal.
        mounts.write_text(f"/dev/sdb1 {self.folder}/MY\\040BOOT vfat rw 0 0\n")
        with mock.patch.object(copy, "MOUNTS", mounts):
            status, said = self.flash({"copy": {"label": "MY BOOT"}})
        self.assertEqual(status, 0, said)
        self.assertEqual((disk / "ironcast-b.bin").read_bytes(), bytes(range(200)))

    def test_what_others_put_there_is_not_written_through(self) -> None:
        victim = self.folder / "victim"
        victim.write_text("precious")
        disk = self.folder / "disk"
        disk.mkdir()
        names = ("ironcast-b.bin", "ironcast-b.bin.part", "ironcast-b.bin.00.part")
        for name in names:
            (disk / name).symlink_to(victim)
        with mock.patch("secrets.token_hex", return_value="00"):
            self.refused("File exists", {"copy": {"label": "X"}}, "--port", str(disk))
        status, said = self.flash({"copy": {"label": "X"}}, "--port", str(disk))
        self.assertEqual(status, 0, said)
        self.assertEqual(victim.read_text(), "precious")
        self.assertFalse((disk / names[0]).is_symlink())
        self.assertEqual((disk / names[0]).read_bytes(), bytes(range(200)))

    def test_others_may_read_it_as_any_new_file(self) -> None:
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        pack.write(self.folder / "new", b"")
        self.assertEqual((self.folder / "new").stat().st_mode & 0o777, 0o640)

    def test_not_mounted(self) -> None:
        self.refused("no disk BOOT is mounted", {"copy": {"label": "BOOT"}})


class DiskTest(fake.FolderTest):
    """A tree that looks like Linux's: sda is the system's, sdb a card, sdc a mounted card."""

    def setUp(self) -> None:
        super().setUp()
        for name, removable in {"sda": "0", "sdb": "1", "sdc": "1"}.items():
            block = self.folder / "sys/block" / name
            (block / f"{name}1").mkdir(parents=True)
            (block / "size").write_text("2048\n")
            (block / "removable").write_text(removable)
            (block / f"{name}1/partition").write_text("1")
        (self.folder / "proc/self").mkdir(parents=True)
        (self.folder / "proc/self/mounts").write_text("/dev/sdc1 /media/card vfat rw 0 0\n")

    def test_which_may_be_written(self) -> None:
        disks.check_disk("/dev/sdb", self.folder)
        for device, sentence in {
            "/dev/sda": "built into this computer",
            "/dev/sdc": "mounted on /media/card: unmount it first",
            "/dev/sdb1": "not a whole disk",
        }.items():
            with self.assertRaisesRegex(UserError, sentence):
                disks.check_disk(device, self.folder)

    def test_swap_and_what_holds_a_partition(self) -> None:
        swaps = self.folder / "proc/swaps"
        swaps.write_text("Filename Type Size Used Priority\n/dev/sdb1 partition 8 0 -2\n")
        with self.assertRaisesRegex(UserError, "/dev/sdb is swap"):
            disks.check_disk("/dev/sdb", self.folder)
        swaps.write_text("Filename Type Size Used Priority\n")
        disks.check_disk("/dev/sdb", self.folder)
        (self.folder / "sys/block/sdb/sdb1/holders/dm-0").mkdir(parents=True)
        with self.assertRaisesRegex(UserError, "held by another device"):
            disks.check_disk("/dev/sdb", self.folder)

    def test_neither_disk_nor_file(self) -> None:
        for target, sentence in {"/dev/null": "neither a disk", "/dev/none": "not there"}.items():
            with self.assertRaisesRegex(UserError, sentence):
                disks.check(Path(target), self.folder)

    def test_listing(self) -> None:
        usb = self.folder / "sys/bus/usb/devices/1-2"
        usb.mkdir(parents=True)
        (usb / "idVendor").write_text("0403\n")
        (usb / "idProduct").write_text("6010\n")
        self.assertEqual(ports.probes(self.folder), ["1-2  FTDI FT2232 (JTAG)"])
        listed = " ".join(ports.removable_disks(self.folder))
        self.assertRegex(listed, "^/dev/sdb [^/]* /dev/sdc [^/]*mounted on /media/card")
        with mock.patch.object(disks, "disks", {Path("/"): []}.__getitem__):  # of this machine
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(main.main(["--list"]), 0)
        titles = [line for line in said.getvalue().splitlines() if not line.startswith(" ")]
        self.assertEqual(titles, ["serial ports:", "debug probes:", "removable disks:"])


class CutTest(unittest.TestCase):
    def test_a_transfer_that_was_cut_is_cancelled_when_the_board_asks(self) -> None:
        line = _CutLine()
        with mock.patch.object(uboot, "time", FakeClock(tick=0.1)):
            uboot.UBoot(line, {}, 10).attach()  # type: ignore[arg-type]
        self.assertTrue(line.is_over)


class WriteDiskTest(fake.FolderTest):
    """An ordinary file in the place of a disk."""

    def setUp(self) -> None:
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.write_bytes(b"old" * 2000)
        self.data = sdcard.master_boot_record(4 << 20) + bytes(range(256)) * 18

    def test_all_of_it(self) -> None:
        sdcard.write_disk(self.disk, self.data, lambda done, total: None, chunk=1024)
        self.assertEqual(sdcard.read_back(self.disk, len(self.data)), self.data)

    def test_disk_is_opened_for_nobody_else(self) -> None:
        # A file takes O_EXCL and ignores it; a disk that is mounted refuses it.
        with mock.patch.object(os, "open", wraps=os.open) as opened:
            sdcard.write_disk(self.disk, self.data, lambda done, total: None)
        ((path, flags),) = [call.args for call in opened.call_args_list]
        self.assertEqual((path, flags), (self.disk, os.O_WRONLY | os.O_EXCL))

    def test_what_is_read_back_is_not_in_the_page_cache(self) -> None:
        with mock.patch.object(os, "posix_fadvise") as advise:
            sdcard.read_back(self.disk, 100)
        self.assertEqual(advise.call_args.args[1:], (0, 100, os.POSIX_FADV_DONTNEED))

    def test_pulled_out_half_way(self) -> None:
        def pull(done: int, total: int) -> None:
            if done > total // 2:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        with self.assertRaisesRegex(UserError, "put it back in and run the same command again"):
            sdcard.write_disk(self.disk, self.data, pull, chunk=1024)
        self.assertEqual(self.disk.read_bytes()[:512], b"\0" * 512)


class Script:
    """A console that says each of these once."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)

    def read(self) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""

    def write(self, data: bytes) -> None:
        """Nobody listens."""


class UBootTest(unittest.TestCase):
    def test_answer_that_comes_in_pieces(self) -> None:
        # What is typed is echoed; the arrow looks like the prompt.
        script = Script(
            b"crc32 0x10 0x4", b"crc32 for 00000010 ... 00000013 ==> ", b"0123abcd\r\n=> "
        )
        target = uboot.UBoot(script, {}, 1.0)  # type: ignore[arg-type]
        with mock.patch.object(shell, "time", FakeClock(tick=0.1)):
            self.assertEqual(target.crc32(0x10, 4), 0x0123ABCD)


class MonitorTest(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(mock.patch.object(monitor, "time", FakeClock(tick=0.1)))

    def test_ends_after_the_last_record(self) -> None:
        seen: list[str] = []
        outcome = monitor.follow(Script(b"boot\r\nBM1 PA", b"SS cases=1\r\n"), 60, seen.append)
        self.assertEqual(seen, ["boot", "BM1 PASS cases=1"])
        self.assertEqual(outcome.exit_status, 0)

    def test_a_trap_after_pass_counts(self) -> None:
        script = Script(b"BM1 PASS cases=1\n", b"BM1 TRAP cause=2\n")
        outcome = monitor.follow(script, 60, lambda line: None)
        self.assertEqual([r.kind for r in outcome.records()], ["PASS", "TRAP"])

    def test_silence_is_the_deadline(self) -> None:
        outcome = monitor.follow(Script(b"hello\n"), 60, lambda line: None)
        self.assertIsNone(outcome.exit_status)
        self.assertEqual(outcome.lines, ("hello",))


if __name__ == "__main__":
    unittest.main()
