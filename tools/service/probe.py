"""A line to a target through its debug probe: frames are written into its memory and read from there."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tools.cli import UserError
from tools.run.debug import target
from tools.run.debug.program import Program
from tools.service.frames import FRAME_BYTES

# runtime_bm/app/service_probe_main.c.
_MAILBOX = "bm_mailbox"
_WORD = 4
# OpenOCD's end of a command and of its answer, and what begins an answer that is an error.
_END = b"\x1a"
_FAILED = "ironcast: "
_POLL_SECONDS = 0.02
_ADVICE = "check probe, wiring and power"


class ProbeLink:
    """Firmware that OpenOCD has loaded and started; it must close."""

    def __init__(self, program: Program) -> None:
        """Loads and starts the program; raises UserError if that is impossible."""
        self._mailbox = _address(Path(program.elf))
        self._deadline = program.deadline
        self._pending = b""
        with contextlib.ExitStack() as ends:
            folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
            port = target.free_port()
            servers = f"gdb_port disabled; tcl_port {port}"
            target.through_probe(program, program.port, folder, ends, servers)
            self._socket = ends.enter_context(_connected(port, program.deadline))
            # Until startup has cleared it, the mailbox holds whatever was in memory.
            self._tcl(f"write_memory {self._mailbox:#x} 32 {{0 0}}")
            self._tcl("resume")
            self._ends = ends.pop_all()

    def read(self, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        while not self._pending and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            with self._halted():
                self._receive()
        data, self._pending = self._pending, b""
        return data

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), FRAME_BYTES):
            self._put(data[at : at + FRAME_BYTES])

    def close(self) -> None:
        self._ends.close()

    def _put(self, data: bytes) -> None:
        end = time.monotonic() + self._deadline
        while not self._halted_put(data):
            if time.monotonic() > end:
                raise UserError(
                    f"the target took no bytes for {self._deadline:g} s: it may have trapped, which its"
                    " console says"
                )
            time.sleep(_POLL_SECONDS)

    def _halted_put(self, data: bytes) -> bool:
        with self._halted():
            if self._receive():
                return False
            self._store(self._mailbox + 2 * _WORD, data)
            self._tcl(f"write_memory {self._mailbox:#x} 32 {len(data)}")
            return True

    def _receive(self) -> int:
        """Fetches what the target has sent; returns how many bytes it still has to take."""
        written, sent = self._words(self._mailbox, 2)
        if sent > FRAME_BYTES:
            raise UserError(
                f"the target says that it sent {sent} bytes, and an answer has at most {FRAME_BYTES}:"
                " its memory is damaged, so start again"
            )
        if sent:
            self._pending += self._fetch(sent)
            self._tcl(f"write_memory {self._mailbox + _WORD:#x} 32 0")
        return written

    def _fetch(self, size: int) -> bytes:
        # Not behind a whole number of words: `in` has an even size.
        start = self._mailbox + 2 * _WORD + FRAME_BYTES
        begin = start - start % _WORD
        count = -(-(start % _WORD + size) // _WORD)
        data = b"".join(word.to_bytes(_WORD, "little") for word in self._words(begin, count))
        return data[start % _WORD :][:size]

    def _store(self, address: int, data: bytes) -> None:
        padded = data + bytes(-len(data) % _WORD)
        words = [
            int.from_bytes(padded[i : i + _WORD], "little") for i in range(0, len(padded), _WORD)
        ]
        self._tcl(f"write_memory {address:#x} 32 {{{' '.join(map(str, words))}}}")

    def _words(self, address: int, count: int) -> list[int]:
        return [int(w, 0) for w in self._tcl(f"read_memory {address:#x} 32 {count}").split()]

    @contextlib.contextmanager
    def _halted(self) -> Iterator[None]:
        self._tcl("halt")
        try:
            yield
        finally:
            self._tcl("resume")

    def _tcl(self, command: str) -> str:
        """Has OpenOCD execute a command; returns its result."""
        guarded = f'if {{[catch {{{command}}} r]}} {{ set r "{_FAILED}$r" }}; set r'
        try:
            answer = self._exchange(guarded.encode() + _END)
        except OSError as error:
            raise _silent(error) from error
        text = answer[:-1].decode("utf-8", "replace")
        if text.startswith(_FAILED):
            raise UserError(
                f"OpenOCD does not reach the target ({text.removeprefix(_FAILED).strip()}): {_ADVICE}"
            )
        return text

    def _exchange(self, command: bytes) -> bytes:
        self._socket.sendall(command)
        answer = b""
        while not answer.endswith(_END):
            part = self._socket.recv(65536)
            if not part:
                raise ConnectionError("it ended")
            answer += part
        return answer


def _connected(port: int, deadline: float) -> socket.socket:
    try:
        return socket.create_connection(("127.0.0.1", port), deadline)
    except OSError as error:
        raise _silent(error) from error


def _silent(error: OSError) -> UserError:
    return UserError(f"OpenOCD does not answer ({error}): {_ADVICE}")


def _address(elf: Path) -> int:
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.get_symbol_by_name(_MAILBOX) or []:
                    return int(symbol["st_value"])
    raise UserError(f"{elf} is no service firmware for a probe: it has no {_MAILBOX}")
