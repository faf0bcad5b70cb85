"""What `--monitor` shows of a board's console, which is a pseudoterminal here."""

from __future__ import annotations

import os
import pty
import threading
import time
import tty
import unittest
from pathlib import Path

from tools.flash.tests import fake

# A line of a terminal, which a console for people would fold, and a name that looks like markup.
_FREE = f"[x] {'long ' * 30}".strip()
_RECORDS = (
    "BM1 BOOT isa=rv64gc vlen=0 board=b",
    "BM1 MODEL name=m",
    "BM1 CASE index=0 result=ok max_abs=1.5e-05 differing=3 cosine=- hash=00",
    _FREE,
)
_PASS = "BM1 PASS cases=1"


class MonitorTest(fake.FolderTest):
    def follow(self, lines: tuple[str, ...], *args: str) -> tuple[int, list[str]]:
        """Copies an image to a board that then says `lines`; returns the status and what is shown."""
        board, port = pty.openpty()
        self.addCleanup(os.close, board)
        self.addCleanup(os.close, port)
        tty.setraw(port)
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        image = disk / "ironcast-b.bin"
        image.unlink(missing_ok=True)
        said = threading.Thread(target=_say, args=(board, image, lines))
        said.start()
        self.addCleanup(said.join)
        where = ("--port", str(disk), "--monitor", "--monitor-port", os.ttyname(port))
        status, text = self.flash({"copy": {"label": "X"}}, *where, *args)
        return status, text.splitlines()

    def test_raw_lines_are_those_of_the_firmware(self) -> None:
        status, shown = self.follow((*_RECORDS, _PASS), "--raw")
        self.assertEqual(status, 0, shown)
        self.assertEqual(shown[-6:-1], [*_RECORDS, _PASS])
        self.assertEqual(shown[-1], "PASS: 1 case matches the framework's own output")

    def test_people_see_a_line_for_a_case(self) -> None:
        status, shown = self.follow((*_RECORDS, _PASS))
        self.assertEqual(status, 0, shown)
        self.assertEqual((shown[-4], shown[-3]), ("rv64gc on b", _FREE))
        self.assertRegex(shown[-2], r"^m +PASS  error 1\.5e-05$")

    def test_another_image_is_a_failure(self) -> None:
        boot, model, case, _ = _RECORDS
        for lines, why in (
            (
                (boot.replace("board=b", "board=old"), model, case),
                "another image ran: m for old, and",
            ),
            (
                (boot, "BM1 MODEL name=other", case),
                "another image ran: other for b, and not m for b",
            ),
            ((), "the firmware did not say what it is"),
            ((boot, model, case, case), "PASS for 1 cases, and results of 2"),
            (
                (boot, model, case.replace("=ok", "=mismatch")),
                "PASS beside: CASE index=0 result=mism",
            ),
        ):
            status, shown = self.follow((*lines, _PASS))
            self.assertEqual(status, 1)
            self.assertIn(why, shown[-1])

    def test_a_damaged_record_is_a_failure(self) -> None:
        for args in ((), ("--raw",)):
            status, shown = self.follow((*_RECORDS, "BM1 garbage", _PASS), *args)
            self.assertEqual(status, 1)
            self.assertIn("BM1 garbage", shown)
            self.assertRegex(shown[-1], "^FAIL: the record 'garbage' ")

    def test_what_a_console_said_before_silence_is_shown(self) -> None:
        status, shown = self.follow(_RECORDS, "--deadline", "2")
        self.assertEqual(status, 1)
        self.assertRegex(shown[-2], r"^m +PASS")
        self.assertRegex(shown[-1], "^FAIL: the deadline passed")


def _say(board: int, image: Path, lines: tuple[str, ...]) -> None:
    while not image.exists():
        time.sleep(0.01)
    os.write(board, "".join(f"{line}\r\n" for line in lines).encode())


if __name__ == "__main__":
    unittest.main()
