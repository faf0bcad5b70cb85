"""A port that goes away is a sentence, whichever call meets it."""

from __future__ import annotations

import os
import pty
import unittest
from unittest import mock

import serial

from tools.cli import UserError
from tools.flash import serial_line
from tools.flash.serial_line import SerialLine
from tools.run.fake_clock import FakeClock


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
            with self.assertRaisesRegex(UserError, "vanished: plug it in again"):
                call()

    def test_between_sending_and_its_end(self) -> None:
        send = serial.Serial.write

        def write(port: serial.Serial, data: bytes) -> None:
            send(port, data)
            self.vanish()

        with (
            mock.patch.object(serial.Serial, "write", write),
            self.assertRaisesRegex(UserError, "vanished: plug it in again"),
        ):
            self.line.write(b"x")

    def test_a_board_that_never_stops_printing_is_not_waited_for(self) -> None:
        with (
            mock.patch.object(serial_line, "time", FakeClock(tick=0.1)),
            mock.patch.object(self.line, "read", return_value=b"x"),
        ):
            self.assertIn(len(self.line.drain()), range(10, 100))


if __name__ == "__main__":
    unittest.main()
