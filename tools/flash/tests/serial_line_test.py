"""A port that goes away is a sentence, whichever call meets it."""

from __future__ import annotations

import os
import pty
import unittest

from tools.flash.errors import FlashError
from tools.flash.serial_line import SerialLine


class VanishedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.board, port = pty.openpty()
        self.line = SerialLine(os.ttyname(port), 115200)
        self.addCleanup(self.line.close)
        os.close(port)

    def vanish(self) -> None:
        os.close(self.board)

    def test_before_a_call(self) -> None:
        self.vanish()
        for call in (lambda: self.line.write(b"x"), self.line.read, lambda: self.line.read_byte(1)):
            with self.assertRaisesRegex(FlashError, "vanished: plug it in again"):
                call()

    def test_between_sending_and_its_end(self) -> None:
        send = self.line._serial.write
        self.line._serial.write = lambda data: (send(data), self.vanish())
        with self.assertRaisesRegex(FlashError, "vanished: plug it in again"):
            self.line.write(b"x")


if __name__ == "__main__":
    unittest.main()
