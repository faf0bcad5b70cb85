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

from tools.debug import target
from tools.debug.program import DebugError, Program
from tools.validate.frames import FRAME_BYTES

# runtime_bm/app/service_probe_main.c.
_MAILBOX = "bm_mailbox"
_WORD = 4
# OpenOCD's end of a command and of its answer, and what begins an answer that is an error.
_END = b"\x1a"
_FAILED = "ironcast: "
_POLL_SECONDS = 0.02
_TAKE_SECONDS = 60.0


class ProbeLink:
    """Firmware that OpenOCD has loaded and started; it must close."""

    def __init__(self, program: Program) -> None:
        """Loads and starts the program; raises DebugError if that is impossible."""
        self._mailbox = _address(Path(program.elf))
        self._pending = b""
        with contextlib.ExitStack() as ends:
            folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
            port = target.free_port()
            servers = f"gdb_port disabled; tcl_port {port}"
            target.through_probe(program, program.port, folder, ends, servers)
            self._socket = ends.enter_context(socket.create_connection(("127.0.0.1", port)))
            # Until startup has cleared it, the mailbox holds whatever was in memory.
            self._tcl(f"write_memory {self._mailbox:#x} 32 {{0 0}}")
            self._tcl("resume")
            self._ends = ends.pop_all()

    def read(self, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        while not (data := self._take()) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
        return data

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), FRAME_BYTES):
            self._put(data[at : at + FRAME_BYTES])

    def close(self) -> None:
        self._ends.close()

    def _put(self, data: bytes) -> None:
        end = time.monotonic() + _TAKE_SECONDS
        while not self._halted_put(data):
            if time.monotonic() > end:
                raise DebugError(
                    f"the target took no bytes for {_TAKE_SECONDS:g} s: it may have trapped, which its"
                    " console says"
                )
            time.sleep(_POLL_SECONDS)

    def _halted_put(self, data: bytes) -> bool:
        with self._halted():
            written, sent = self._words(self._mailbox, 2)
            if sent:
                self._pending += self._fetch(sent)
            if written:
                return False
            self._store(self._mailbox + 2 * _WORD, data)
            self._tcl(f"write_memory {self._mailbox:#x} 32 {{{len(data)} 0}}")
            return True

    def _take(self) -> bytes:
        if not self._pending:
            with self._halted():
                (sent,) = self._words(self._mailbox + _WORD, 1)
                if sent:
                    self._pending = self._fetch(sent)
                    self._tcl(f"write_memory {self._mailbox + _WORD:#x} 32 {{0}}")
        data, self._pending = self._pending, b""
        return data

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
        yield
        self._tcl("resume")

    def _tcl(self, command: str) -> str:
        """Has OpenOCD execute a command; returns its result."""
        guarded = f'if {{[catch {{{command}}} r]}} {{ set r "{_FAILED}$r" }}; set r'
        self._socket.sendall(guarded.encode() + _END)
        answer = b""
        while not answer.endswith(_END):
            part = self._socket.recv(65536)
            if not part:
                raise DebugError("OpenOCD ended: check probe, wiring and power")
            answer += part
        text = answer[:-1].decode("utf-8", "replace")
        if text.startswith(_FAILED):
            raise DebugError(
                f"OpenOCD does not reach the target ({text.removeprefix(_FAILED).strip()}): check probe,"
                " wiring and power"
            )
        return text


def _address(elf: Path) -> int:
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.get_symbol_by_name(_MAILBOX) or []:
                    return int(symbol["st_value"])
    raise DebugError(f"{elf} is no service firmware for a probe: it has no {_MAILBOX}")
