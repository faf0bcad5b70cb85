"""Images by serial line to a model of LiteX's BIOS, which shares no code with the sender, and faults on the way."""

from __future__ import annotations

import contextlib
import random
import unittest
import zlib
from collections.abc import Callable, Iterator
from unittest import mock

from tools.flash import litex_serial, monitor, sfl, shell
from tools.flash.tests import fake
from tools.run.fake_clock import FakeClock

_METHOD = {"litex-serial": {"baud": 115200, "load": "0x1000"}}
_DATA = random.Random(1).randbytes(40_000)
_ORIGIN, _BYTES = 0x1000, 0x10000
_PROMPT = b"\n\r\x1b[92;1mlitex\x1b[0m> "
_PASS = b"BM1 BOOT isa=rv64gc vlen=0 board=b\r\nBM1 MODEL name=m\r\nBM1 PASS cases=1\r\n"


def _crc16(data: bytes) -> int:
    """CRC-16 with the polynomial 0x1021, bit by bit."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ (0x1021 if crc & 0x8000 else 0)
    return crc & 0xFFFF


class Bios:
    """A board with the BIOS at the other end of a line, as far as `tools/flash` goes.

    Args:
      state: what it does: `console`, `asks` for frames, takes `frames`, or is `silent`.
      damage: what the line makes of a packet that is sent to it.
      reply: what it answers to a frame with data, by its number, in place of taking it.
      region: what `mem_list` prints.
      lacks: a command that it does not know.
      has_editing: whether Ctrl-C discards a line.
    """

    port, baud = "/dev/none", 115200

    def __init__(
        self,
        state: str = "console",
        damage: Callable[[bytes], bytes] = bytes,
        reply: Callable[[int], bytes | None] = lambda frame: None,
        region: str = f"MAIN_RAM  {_ORIGIN:#010x} {_BYTES:#x}",
        lacks: str = "-",
        has_editing: bool = True,
    ) -> None:
        self.state = state
        self.started: int | None = None
        self.commands: list[str] = []
        self.frames = 0
        self.memory = bytearray(_BYTES)
        self._damage, self._reply = damage, reply
        self._region, self._lacks, self._has_editing = region, lacks, has_editing
        self._typed = b""
        self._out = b""

    # The line.

    def write(self, data: bytes) -> None:
        for byte in self._damage(data):
            getattr(self, "_" + self.state)(byte)

    def read(self) -> bytes:
        if not self._out:
            self._wait()
        out, self._out = self._out, b""
        return out

    def read_byte(self, seconds: float) -> int | None:
        out = self.read()
        self._out = out[1:]
        return out[0] if out else None

    def drain(self, quiet: float = 0.2) -> bytes:
        seen = b""
        while data := self.read():
            seen += data
        return seen

    def _wait(self) -> None:
        """A quarter of a second passes, in which nothing comes."""
        if self.state == "asks":
            self._out += b"Timeout\n\r"
            self._prompt()
        elif self.state == "frames" and self._typed:
            self._typed = b""
            self._out += b"E"

    # The board.

    def _silent(self, byte: int) -> None:
        """Nothing comes of it."""

    def _prompt(self) -> None:
        self.state, self._typed = "console", b""
        self._out += _PROMPT

    def _console(self, byte: int) -> None:
        if byte == 3 and self._has_editing:
            self._prompt()
        elif byte == ord("\r"):
            self._out += b"\n\r"
            self._run(self._typed.decode("ascii", "replace"))
        else:
            self._typed += bytes([byte])
            self._out += bytes([byte])

    def _run(self, command: str) -> None:
        self.commands.append(command)
        name, *words = command.split() or [""]
        try:
            numbers = [int(word, 16) for word in words]
        except ValueError:
            name = "incorrect"
        if name == self._lacks:
            self._out += b"Command not found"
        elif name == "mem_list":
            self._out += f"Available memory regions:\n\r{self._region}\n\r".encode()
        elif name == "crc":
            at, size = numbers[0] - _ORIGIN, numbers[1]
            self._out += f"CRC32: {zlib.crc32(self.memory[at : at + size]):08x}".encode()
        elif name == "serialboot":
            self.state, self._typed = "asks", b""
            self._out += b"Press Q or ESC to abort boot completely.\n\rsL5DdSMmkekro\n"
            return
        elif name == "boot":
            self.started = numbers[0]
            self.state = "silent"
            self._out += b"Liftoff!\n\r" + _PASS
            return
        else:
            self._out += b"Command not found"
        self._prompt()

    def _asks(self, byte: int) -> None:
        self._typed += bytes([byte])
        if byte == ord("Q"):
            self._out += b"Cancelled\n\r"
            self._prompt()
        elif self._typed.endswith(b"z6IHG7cYDID6o\n"):
            self.state, self._typed = "frames", b""

    def _frames(self, byte: int) -> None:
        self._typed += bytes([byte])
        length = self._typed[0]
        if length == 0 or len(self._typed) < 4 + length:
            return
        frame, self._typed = self._typed, b""
        reply = None
        if frame[3] == 1:
            self.frames += 1
            reply = self._reply(self.frames)
        if reply is not None:
            self._out += reply
        elif _crc16(frame[3:]) != int.from_bytes(frame[1:3], "big"):
            self._out += b"C"
        elif frame[3] == 1:
            at = int.from_bytes(frame[4:8], "big") - _ORIGIN
            self.memory[at : at + length - 4] = frame[8:]
            self._out += b"K"
        elif frame[3] == 0:
            self._out += b"K"
            self._prompt()
        else:
            self._out += b"U"


@contextlib.contextmanager
def connected(bios: Bios) -> Iterator[None]:
    """The port leads to the model, and time passes only where someone waits."""
    clock = FakeClock(tick=0.1)
    with (
        mock.patch.object(shell, "SerialLine", return_value=bios),
        mock.patch.object(shell, "time", clock),
        mock.patch.object(litex_serial, "time", clock),
        mock.patch.object(monitor, "time", clock),
    ):
        yield


def noise(seed: int, lose: float, flip: float) -> Callable[[bytes], bytes]:
    """Returns a line that loses bytes and flips bits of frames."""
    dice = random.Random(seed)

    def damage(data: bytes) -> bytes:
        kept = (byte for byte in data if dice.random() >= lose)
        return bytes(b ^ (1 << dice.randrange(8)) if dice.random() < flip else b for b in kept)

    return damage


class LitexSerialTest(fake.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        fake.elf(self.elf, "b", _ORIGIN, _DATA, entry=_ORIGIN + 4)

    def send(self, bios: Bios, *args: str) -> tuple[int, str]:
        with connected(bios):
            status, said = self.flash(_METHOD, "--port", bios.port, *args)
        return status, " ".join(said.split())

    def assert_started(self, bios: Bios, *args: str) -> str:
        """The image is in the board's memory and runs."""
        status, said = self.send(bios, *args)
        self.assertEqual(status, 0, said)
        self.assertEqual(bios.started, _ORIGIN + 4)
        self.assertEqual(bios.memory[: len(_DATA)], _DATA)
        return said

    def assert_refused(self, bios: Bios, sentence: str, *args: str) -> None:
        """Nothing was started, and a sentence says why."""
        status, said = self.send(bios, *args)
        self.assertEqual(status, 2, said)
        self.assertRegex(said, sentence)
        self.assertIsNone(bios.started)

    def test_image_is_loaded_verified_and_started(self) -> None:
        bios = Bios()
        said = self.assert_started(bios)
        self.assertIn(f"verified: crc32 {zlib.crc32(_DATA):08x} as computed by LiteX", said)
        self.assertEqual(bios.commands.count("serialboot"), 3)

    def test_progress_is_what_has_been_taken(self) -> None:
        told: list[int] = []
        bios = Bios()
        bios.write(b"serialboot\r")
        sfl.send(bios, _ORIGIN, _DATA[:1000], told.append)
        self.assertEqual(told, [*range(116, 1000, 116), 1000])

    def test_console_is_followed(self) -> None:
        self.assertIn("PASS: 1 case", self.assert_started(Bios(), "--monitor"))

    def test_wherever_the_board_is(self) -> None:
        for state in ("console", "asks", "frames"):
            for typed in (b"", b"\x7fab", b"boot 0x1"):
                for has_editing in (True, False):
                    with self.subTest(state, typed=typed, has_editing=has_editing):
                        bios = Bios(state, has_editing=has_editing)
                        bios.write(typed)
                        self.assert_started(bios)

    def test_bytes_lost_and_flipped(self) -> None:
        for seed in range(5):
            with self.subTest(seed):
                self.assert_started(Bios(damage=noise(seed, lose=1e-3, flip=1e-3)))

    def test_any_answer_may_get_lost_or_be_another(self) -> None:
        for reply in (b"", b"C", b"E", b"U", b"\0", b"EE", b"CEC"):
            with self.subTest(reply):
                bios = Bios(reply=lambda frame, reply=reply: reply if frame % 7 == 0 else None)
                self.assert_started(bios)

    def test_board_that_takes_no_frame(self) -> None:
        for reply in (b"", b"C", b"E", b"U"):
            with self.subTest(reply):
                bios = Bios(reply=lambda frame, reply=reply: reply)
                self.assert_refused(bios, r"/dev/none damages what is sent \(4 tries for 16384")

    def test_frame_that_is_taken_and_not_stored_is_found(self) -> None:
        said = self.assert_started(Bios(reply=lambda frame: b"K" if frame == 5 else None))
        self.assertEqual(said.count("16384 bytes at 0x1000 arrived wrong: sending them again"), 1)
        self.assert_refused(Bios(reply=lambda frame: b"K"), "damages what is sent")

    def test_without_verifying_it_is_not(self) -> None:
        bios = Bios(reply=lambda frame: b"K" if frame == 5 else None)
        status, said = self.send(bios, "--no-verify")
        self.assertEqual((status, bios.started), (0, _ORIGIN + 4), said)
        self.assertNotEqual(bios.memory[: len(_DATA)], _DATA)
        self.assertNotIn("crc", " ".join(bios.commands))

    def test_board_that_starts_again_in_the_middle(self) -> None:
        def restart(frame: int) -> None:
            if frame == 200:
                bios.state = "console"

        bios = Bios(reply=restart)
        self.assertIn("sending this piece again", self.assert_started(bios))

    def test_only_pieces_that_are_not_there_are_sent(self) -> None:
        bios = Bios()
        bios.memory[: len(_DATA)] = _DATA
        bios.memory[20_000] ^= 1
        said = self.assert_started(bios)
        self.assertEqual(said.count("are there already"), 2)
        self.assertEqual(bios.commands.count("serialboot"), 1)

    def test_board_with_other_memory(self) -> None:
        for region in ("MAIN_RAM  0x00001000 0x8000", "MAIN_RAM  0x40000000 0x10000", "what?"):
            with self.subTest(region):
                bios = Bios(region=region)
                self.assert_refused(bios, "40000 bytes for 0x1000, and the board .* no such memory")
                self.assertEqual(bios.frames, 0)

    def test_image_for_another_address(self) -> None:
        fake.elf(self.elf, "b", 0x2000, _DATA)
        self.assert_refused(Bios(), "linked for 0x2000 and b loads at 0x1000")

    def test_board_that_says_nothing_or_something_else(self) -> None:
        self.assert_refused(Bios("silent"), "no LiteX prompt 'litex>' .*nothing was received")
        bios = Bios("silent")
        with mock.patch.object(bios, "read", side_effect=[b"\xffgarbage", b""] * 10_000):
            self.assert_refused(bios, "no LiteX prompt .*last received: .*garbage.* baud rate")

    def test_loader_without_the_command(self) -> None:
        self.assert_refused(Bios(lacks="crc"), "no crc command: use --no-verify")


if __name__ == "__main__":
    unittest.main()
