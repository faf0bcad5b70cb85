"""The other side of service firmware: sends inputs, runs the model, fetches outputs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from bmc.names import printable
from tools.cli import UserError
from tools.run.decode_status.header import constants
from tools.service.frames import FRAME_BYTES, PAYLOAD_BYTES, Frame, Reader, encode

_KINDS = constants("runtime_bm/app/service.h", "BM_SERVICE_")
_OPEN, _ENTRY, _RESET = _KINDS["OPEN"], _KINDS["ENTRY"], _KINDS["RESET"]
_WRITE, _RUN, _READ, _PEEK = (_KINDS[name] for name in ("WRITE", "RUN", "READ", "PEEK"))
# None of them, which service firmware refuses at once.
_GREETING = 0
_STATUS_BYTES = 4
_WRITE_BEGIN_BYTES = 6
# After this, a request or its answer is taken for lost. A model may run for long, so it doubles each time.
_FIRST_PATIENCE_SECONDS = 0.5
# Records after which firmware does not go on.
_ENDS = ("BM1 TRAP", "BM1 ERROR")


class ServiceError(UserError):
    """The target does not do what it is asked; the message is one sentence for the user."""


class Link(Protocol):
    """Bytes to and from a target."""

    def read(self, seconds: float) -> bytes:
        """What has come, after at most `seconds`; raises EOFError when nothing can come any more."""

    def write(self, data: bytes) -> None:
        """Sends everything."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """An entry point: bytes of each input and output."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def __str__(self) -> str:
        return f"{_listed(self.inputs)} bytes of inputs and {_listed(self.outputs)} of outputs"


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One inference; instructions and cycles are 0 if the target cannot count them."""

    outputs: tuple[bytes, ...]
    instret: int
    cycles: int


@dataclasses.dataclass(frozen=True, slots=True)
class Stop:
    """After which command to stop, and which bytes of which region (bm_plan_binding_t) to fetch there."""

    command: int
    region: int
    offset: int
    size: int


class Service:
    """Service firmware at the other end of a link.

    Args:
      link: the line to it.
      deadline: seconds after which an answer is not waited for any longer.
      decode: explains a status word.
    """

    def __init__(self, link: Link, deadline: float, decode: Callable[[int], str]) -> None:
        self._link = link
        self._deadline = deadline
        self._decode = decode
        self._reader = Reader()
        self._number = 0
        self._entries: Mapping[str, Sizes] = {}
        self._entry = ""

    def greet(self, seconds: float) -> None:
        """Asks whether service firmware is there; raises ServiceError if it does not answer within `seconds`.

        A model may take long to open or to run, but this is answered at once.
        """
        # Zeros complete what it may have received of an earlier request.
        self._link.write(bytes(FRAME_BYTES))
        self._exchange(_GREETING, b"", seconds)

    def open(self, index: int, wanted: str, entries: Mapping[str, Sizes]) -> None:
        """Initializes model `index` of the image.

        Args:
          wanted: its name.
          entries: its entry points by their names; it begins with the first.

        Raises:
          ServiceError: nothing answers, the model cannot be used, or it is another one.
        """
        sizes, name = _described(self._request(_OPEN, index.to_bytes(2, "little")))
        if name != wanted:
            raise ServiceError(
                f"the target runs the model {printable(name)}, not {wanted}: flash the service firmware"
                f" of {wanted}"
            )
        self._entries = entries
        self._begin(next(iter(entries)), sizes)

    def entry(self, name: str) -> None:
        """Chooses an entry point of the open model and keeps its state; raises ServiceError."""
        if name != self._entry:
            sizes, _ = _described(self._request(_ENTRY, name.encode()))
            self._begin(name, sizes)

    def reset(self) -> None:
        """Gives the open model its initial state; raises ServiceError."""
        self._request(_RESET, b"")

    def _begin(self, entry: str, sizes: Sizes) -> None:
        if sizes != self._entries[entry]:
            raise ServiceError(
                f"{entry} has {sizes} on the target, and here {self._entries[entry]}: the target runs"
                " another build, so flash the service firmware again"
            )
        self._entry = entry

    def run(self, inputs: Sequence[bytes]) -> Run:
        """Computes the outputs of the chosen entry point; raises ServiceError."""
        self._write(inputs)
        counters = self._request(_RUN, b"")
        return Run(
            self._outputs(),
            int.from_bytes(counters[:8], "little"),
            int.from_bytes(counters[8:16], "little"),
        )

    def trace(
        self, inputs: Sequence[bytes], commands: range, stops: Sequence[Stop]
    ) -> tuple[Run, list[bytes]]:
        """Runs the chosen entry point in parts.

        Args:
          inputs: as for run().
          commands: all commands of the entry point.
          stops: in the order of their commands.

        Returns:
          The run, whose instructions are not counted, and the bytes at each stop.

        Raises:
          ServiceError: as run().
        """
        self._write(inputs)
        done, inside = commands.start, []
        for stop in stops:
            done = self._advance(done, stop.command + 1)
            inside.append(self._fetch(_PEEK, stop.region, stop.size, stop.offset))
        self._advance(done, commands.stop)
        return Run(self._outputs(), 0, 0), inside

    def _write(self, inputs: Sequence[bytes]) -> None:
        for number, data in enumerate(inputs):
            for at in range(0, len(data), PAYLOAD_BYTES - _WRITE_BEGIN_BYTES):
                part = data[at : at + PAYLOAD_BYTES - _WRITE_BEGIN_BYTES]
                self._request(
                    _WRITE, number.to_bytes(2, "little") + at.to_bytes(4, "little") + part
                )

    def _advance(self, done: int, end: int) -> int:
        if done < end:
            self._request(_RUN, done.to_bytes(4, "little") + (end - done).to_bytes(4, "little"))
        return end

    def _outputs(self) -> tuple[bytes, ...]:
        return tuple(
            self._fetch(_READ, number, size)
            for number, size in enumerate(self._entries[self._entry].outputs)
        )

    def _fetch(self, kind: int, number: int, size: int, begin: int = 0) -> bytes:
        data = b""
        while len(data) < size:
            count = min(size - len(data), PAYLOAD_BYTES - _STATUS_BYTES)
            part = self._request(
                kind,
                number.to_bytes(2, "little")
                + (begin + len(data)).to_bytes(4, "little")
                + count.to_bytes(2, "little"),
            )
            if len(part) != count:
                raise ServiceError(
                    f"the target sent {len(part)} bytes where {count} were asked for: it runs other"
                    " firmware, so flash the model's service firmware"
                )
            data += part
        return data

    def _request(self, kind: int, payload: bytes) -> bytes:
        answer = self._exchange(kind, payload, self._deadline)
        status = int.from_bytes(answer[:_STATUS_BYTES], "little")
        if status:
            raise ServiceError(f"the target refused a request: {self._decode(status)}")
        return answer[_STATUS_BYTES:]

    def _exchange(self, kind: int, payload: bytes, seconds: float) -> bytes:
        """Repeats a request until its answer comes; returns the status and what follows it."""
        self._number = (self._number + 1) % 256
        request = Frame(kind, self._number, payload)
        end = time.monotonic() + seconds
        patience = _FIRST_PATIENCE_SECONDS
        while True:
            self._link.write(encode(request))
            answer = self._answer(request, min(time.monotonic() + patience, end))
            if answer is not None:
                return answer
            if time.monotonic() >= end:
                raise ServiceError(
                    f"the target did not answer for {seconds:g} s: check that it runs the model's service"
                    " firmware (`.service.flash`), that the port is the board's console, and its baud rate;"
                    " reset it if it may still run what was stopped here"
                )
            patience *= 2

    def _answer(self, request: Frame, end: float) -> bytes | None:
        """Waits for the answer; returns None when there is none in time."""
        while (left := end - time.monotonic()) > 0:
            try:
                data = self._link.read(left)
            except EOFError as error:
                raise ServiceError(f"the program ended: {error}") from None
            for frame in self._reader.take(data):
                if (frame.kind, frame.number) == (request.kind, request.number):
                    return frame.payload
            for line in self._reader.lines():
                if line.startswith(_ENDS):
                    raise ServiceError(
                        f"the target stopped: {printable(line.removeprefix('BM1 '))}"
                    )
        return None


def _described(data: bytes) -> tuple[Sizes, str]:
    """Returns the sizes and the name in an answer to OPEN or ENTRY. Of one that is too short, less is left."""
    counts = [int.from_bytes(data[i : i + 2], "little") for i in (0, 2)]
    end = 4 + 4 * sum(counts)
    sizes = [int.from_bytes(data[i : i + 4], "little") for i in range(4, min(end, len(data)), 4)]
    return (
        Sizes(tuple(sizes[: counts[0]]), tuple(sizes[counts[0] :])),
        data[end:].decode("ascii", "replace"),
    )


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes) or "0"
