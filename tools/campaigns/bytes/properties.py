"""What holds for any text and any bytes: a value, or the reader's own sentence, and never anything else."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis
from damage import WORDS, Edit, apply
from hypothesis import strategies as st
from rich.console import Console

from bmc import records, target
from bmc.elf import kernels
from bmc.errors import BmcError
from tools.cli import UserError
from tools.flash import board, image, litex_serial, monitor, sfl, shell, uboot, ymodem
from tools.flash.tests import fake
from tools.report import link_map, size
from tools.run import judge, result
from tools.run.decode_status import decode
from tools.run.fake_clock import FakeClock
from tools.run.progress import Bar
from tools.run.screen import Screen

# More reads of a serial line than any of its readers needs. One that goes on is a hang.
_MAX_READS = 5000
_ISA = "x86_64"

_CONSOLE = (
    "BM1 BOOT isa=rv64gc vlen=256 board=b",
    "BM1 MODEL name=m",
    "BM1 CASE index=0 result=ok max_abs=1.5e-07 differing=3 cosine=0.9999999 hash=00ff00ff00ff00ff",
    "BM1 DISPATCH index=2 instret=1000",
    "BM1 STATS instret=5000 cycles=6000 arena=768 stack=512 walker=43 workgroup=-",
    "BM1 ACCURACY correct=1 total=1 framework=1",
    "BM1 HASH 00ff00ff00ff00ff",
    "BM1 PASS cases=1",
)  # fmt: skip
_ENDS = (
    "BM1 FAIL cases=1 bad=1 models=m",
    "BM1 TRAP cause=2 epc=80000000 tval=0 model=m dispatch=2 kernel=k",
    "BM1 ERROR status=0304700b a reason",
)  # fmt: skip
_MAP = (
    "             VMA              LMA     Size Align Out     In      Symbol",
    "        80000000         80000000       60     4 .text",
    "        80000000         80000000       10     4         bin/libcrt.a(start.o):(.text.bm_start)",
    "        80002000         80002000      200    64 .bm.arena",
)  # fmt: skip
_CRC_ANSWER = b"\r\ncrc32 for 1000 ... 100f ==> deadbeef\r\n=> "
_U_BOOT = b"U-Boot 2024.01\r\nHit any key to stop autoboot: 1 \r\n=> "
_LITEX = b"Press Q or ESC to abort boot completely.\n\rCancelled\n\r\x1b[92;1mlitex\x1b[0m> "
_LITEX_ANSWER = b"\n\rMAIN_RAM  0x40000000 0x100000 CRC32: deadbeef\n\rlitex\x1b[0m> "


@dataclass(frozen=True)
class Property:
    """`check` takes one of `inputs` and raises nothing but `sentences`."""

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], object]
    sentences: tuple[type[Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """How many inputs gave a value, and how many a sentence."""

    values: int
    sentences: int


def run(held: Property, seed: int, count: int) -> Counts:
    """Tries `count` inputs; raises what the first bad input raised, with the input in its notes."""
    outcomes: Counter[bool] = Counter()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(held.inputs)
    def attempt(given: Any) -> None:
        try:
            held.check(given)
        except held.sentences as sentence:
            _assert_readable(str(sentence))
            outcomes[False] += 1
        else:
            outcomes[True] += 1

    attempt()
    return Counts(outcomes[True], outcomes[False])


NAMES = (
    "console", "profile", "monitor", "image", "board", "u-boot", "ymodem", "litex", "sfl", "status", "map", "kernels",
)  # fmt: skip


def of(kernels_elf: bytes) -> dict[str, Property]:
    """Returns the properties by name; `kernels_elf` is a model's kernels for the host."""
    return {
        "console": Property(_console(), _read_console, (result.RecordError,)),
        "profile": Property(_console(), _read_profile, (UserError,)),
        "monitor": Property(_said("\r\n".join(_CONSOLE).encode()), _follow),
        "image": Property(damaged(_image()), _in_file(image.read), (UserError,)),
        "board": Property(
            st.one_of(damaged(_board()), _wrong_types(json.loads(_board()))),
            _in_file(_read_board),
            (UserError,),
        ),
        "u-boot": Property(_said(_U_BOOT), _talk_to_u_boot, (UserError,)),
        "ymodem": Property(_said(b"CC\x06\x06C\x06"), _send, (UserError,)),
        "litex": Property(_said(_LITEX), _talk_to_litex, (UserError,)),
        "sfl": Property(_said(b"sL5DdSMmkekro\nKKCK"), _send_frames, (UserError,)),
        "status": Property(_status_text(), _decode, (UserError,)),
        "map": Property(_lines(_MAP), link_map.parse),
        "kernels": Property(
            damaged(kernels_elf), lambda data: kernels.load(data, target.find(_ISA)), (BmcError,)
        ),
    }


def damaged(good: bytes) -> st.SearchStrategy[bytes]:
    """Anything, or good bytes with a few edits."""
    edit = st.builds(
        Edit,
        at=st.integers(0, 2**32 - 1),
        length=st.integers(0, 16),
        data=st.sampled_from(WORDS) | st.binary(max_size=8),
    )
    edited = st.builds(apply, st.just(good), st.lists(edit, min_size=1, max_size=4))
    # An overwritten word of the header, in the place where it is.
    word = st.builds(_overwritten, st.just(good), st.integers(0, 511), st.sampled_from(WORDS))
    return st.one_of(edited, word, st.binary(max_size=300))


def _overwritten(good: bytes, start: int, word: bytes) -> bytes:
    return good[:start] + word + good[start + len(word) :]


def _assert_readable(sentence: str) -> None:
    assert sentence.strip(), "an empty sentence"


def _lines(good: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """Lines in any order, and damaged ones among them."""
    changed = damaged("\n".join(good).encode()).map(_decoded)
    # Words kept, so that what is wrong is a field or its value.
    words = st.lists(st.sampled_from(" ".join(good).split()), max_size=4).map(" ".join)
    line = st.one_of(st.sampled_from(good), words.map("BM1 {}".format))
    almost = st.builds(_with_line, st.just(good), st.integers(0, len(good) - 1), line)
    return st.one_of(changed, almost, st.lists(line, max_size=12))


def _with_line(good: tuple[str, ...], number: int, line: str) -> list[str]:
    return [*good[:number], line, *good[number + 1 :]]


def _decoded(text: bytes) -> list[str]:
    return text.decode("utf-8", "replace").split("\n")


def _console() -> st.SearchStrategy[result.Outcome]:
    return st.builds(
        result.Outcome,
        st.one_of(_lines(_CONSOLE), _lines((*_CONSOLE, *_ENDS))).map(tuple),
        st.sampled_from((0, 0, 0, 1, None)),
    )


def _read_console(outcome: result.Outcome) -> None:
    for expected in ("PASS", "FAIL", "ERROR", "TRAP"):
        _assert_readable(result.judge_expected(outcome, expected, "cases=1").sentence)
    _assert_readable(judge.agree({"a": outcome, "b": outcome}).sentence)
    said = io.StringIO()
    screen = Console(file=said, markup=False)
    shown, bar = Screen(screen), Bar(screen, [])
    for line in outcome.lines:
        shown.line(line)
        bar.line(line)
    shown.flush()
    shown.verdict(result.judge(outcome), "PASS", "")
    # Nothing moves the cursor or paints.
    assert all(line.isprintable() for line in said.getvalue().split("\n"))


def _read_profile(outcome: result.Outcome) -> None:
    json.dumps(records.encode(size.run_summary(outcome)))


@dataclass(frozen=True, slots=True)
class _Said:
    """What a serial line says: one of `chunks` at each read, then the last one again and again if `endless`."""

    chunks: list[bytes]
    endless: bool


def _said(good: bytes) -> st.SearchStrategy[_Said]:
    chunk = st.one_of(st.just(good), damaged(good), st.binary(max_size=64))
    return st.builds(_Said, st.lists(chunk, max_size=8), st.booleans())


class _Line:
    """A serial line that says things, whatever is asked, and then what `answer` makes of what is written."""

    port, baud = "port", 115200

    def __init__(self, said: _Said, answer: Callable[[bytes], bytes] = lambda data: b"") -> None:
        self._said = said
        self._answer = answer
        self._reads = 0
        self._rest = b""
        self._answers = b""

    def read(self) -> bytes:
        self._reads += 1
        assert self._reads < _MAX_READS, "it never stops reading"
        chunks = self._said.chunks
        if self._reads <= len(chunks):
            return chunks[self._reads - 1]
        if self._said.endless and chunks:
            return chunks[-1]
        answers, self._answers = self._answers, b""
        return answers

    def read_byte(self, seconds: float) -> int | None:
        del seconds
        self._rest = self._rest or self.read()
        if not self._rest:
            return None
        byte, self._rest = self._rest[0], self._rest[1:]
        return byte

    def write(self, data: bytes) -> None:
        self._answers += self._answer(data)

    def drain(self, quiet: float = 0.2) -> bytes:
        del quiet
        self._rest = b""
        return self.read()


def _follow(said: _Said) -> None:
    with mock.patch.object(monitor, "time", FakeClock(tick=0.1)):
        outcome = monitor.follow(_Line(said), 20, lambda line: None)
    _assert_readable(result.judge(outcome).sentence)


def _talk_to_u_boot(said: _Said) -> None:
    line = _Line(said, lambda typed: typed.replace(b"\x03", b"\n=> ").replace(b"\r", _CRC_ANSWER))
    clock = FakeClock(tick=0.1)
    with mock.patch.object(uboot, "time", clock), mock.patch.object(shell, "time", clock):
        prompt = uboot.UBoot(line, {"load": "0x1000", "start": "go"}, 10)  # type: ignore[arg-type]
        prompt.attach()
        assert prompt.crc32(0x1000, 16) < 2**32


def _send(said: _Said) -> None:
    ymodem.send(_Line(said, lambda packet: b"\x06C"), "image", bytes(3000), lambda done: None)


def _talk_to_litex(said: _Said) -> None:
    line = _Line(
        said, lambda typed: typed.replace(b"\x03", b"litex\x1b[0m> ").replace(b"\r", _LITEX_ANSWER)
    )
    clock = FakeClock(tick=0.1)
    with mock.patch.object(litex_serial, "time", clock), mock.patch.object(shell, "time", clock):
        bios = litex_serial.LitexBios(line, 10)  # type: ignore[arg-type]
        bios.attach()
        assert bios.crc32(0x1000, 16) < 2**32
        assert all(region.name for region in bios.memory())


def _send_frames(said: _Said) -> None:
    line = _Line(said, lambda frame: b"sL5DdSMmkekro\n" if frame.endswith(b"\n") else b"K")
    sfl.send(line, 0x1000, bytes(3000), lambda done: None)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    # In memory, where there is such a place: every input is a file.
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


def _in_file(read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        with _folder() as folder:
            path = folder / "input"
            path.write_bytes(data)
            read(path)

    return check


def _image() -> bytes:
    with _folder() as folder:
        return fake.elf(folder / "good.elf", "b", 0x1000, bytes(range(200))).read_bytes()


def _board() -> bytes:
    methods = {
        "pflash": {"size": "0x100"},
        "openocd": {"config": ["a.cfg"], "kind": "ram", "address": "0x80000000"},
        "uboot-serial": {"baud": 300, "load": "0x1", "start": "go", "protocol": "ymodem"},
    }
    with _folder() as folder:
        return fake.board(folder / "board.json", methods).read_bytes()


def _read_board(path: Path) -> None:
    for settings in board.read(path).methods.values():
        for key in {"address", "baud", "load", "size"} & set(settings):
            assert board.number(settings, key) >= 0


def _wrong_types(good: Any) -> st.SearchStrategy[bytes]:
    """`good` with one value at any depth replaced by one of another type."""
    other = st.sampled_from(
        (None, True, -1, 1.5, "", "x", "0x", [], {}, [1], {"name": []}, 10**400)
    )
    places = list(_places(good))
    return st.tuples(st.sampled_from(places), other).map(
        lambda change: json.dumps(_replaced(good, *change)).encode()
    )


def _places(value: Any) -> Iterator[tuple[str | int, ...]]:
    yield ()
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    for key, item in inside:
        for place in _places(item):
            yield (key, *place)


def _replaced(value: Any, place: tuple[str | int, ...], other: object) -> Any:
    if not place:
        return other
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = _replaced(value[place[0]], place[1:], other)
    return copy


def _status_text() -> st.SearchStrategy[str]:
    digits = st.text("0123456789abcdefABCDEFx", min_size=6, max_size=10)
    return st.one_of(st.text(), digits, digits.map("BM1 ERROR status={} text".format))


def _decode(text: str) -> None:
    header = '  CODE(INVALID_ARGUMENT, 3, "wrong") FILE(MODEL, 5, "model.c")\n'
    decode.decode(decode.find_word(text), decode.read_tables(header + text))
