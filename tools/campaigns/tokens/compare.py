"""Compares tables with the package that they were made of, on many texts."""

from __future__ import annotations

import contextlib
import itertools
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reference import Reference

# BM_ENCODE_SURROUNDED, BM_ENCODE_PLAIN.
_FLAGS = range(4)


class Program:
    """The C code with the tables of one tokenizer, as a program on this machine (tokens.c)."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [path.absolute()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _ask(self, kind: int, flags: int, data: bytes, each: int) -> tuple[int, bytes]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(struct.pack("<III", kind, flags, len(data)) + data)
        self._process.stdin.flush()
        status, count = struct.unpack("<II", self._process.stdout.read(8))
        return status, self._process.stdout.read(count * each)

    def encode(self, text: str, flags: int) -> tuple[int, list[int]]:
        """Returns a status word and the tokens of a text."""
        status, data = self._ask(0, flags, text.encode(), 4)
        return status, list(struct.unpack(f"<{len(data) // 4}I", data))

    def decode(self, ids: list[int]) -> tuple[int, str]:
        """Returns a status word and the text of some tokens."""
        status, data = self._ask(1, 0, struct.pack(f"<{len(ids)}I", *ids), 1)
        return status, data.decode()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass(frozen=True)
class Difference:
    text: str
    flags: int
    got: object
    want: object

    def __str__(self) -> str:
        return f"{self.text!r} with flags {self.flags}: {self.got}, and not {self.want}"


def differences(program: Path, source: Path, count: int, seed: int) -> Iterator[Difference]:
    """Yields what differs on `count` texts, and on the texts of their tokens."""
    reference = Reference(source)
    with contextlib.closing(Program(program)) as target:
        texts = itertools.islice(reference.texts(seed), count)
        for text, flags in zip(texts, itertools.cycle(_FLAGS)):
            want = reference.encode(text, surrounded=bool(flags & 1), plain=bool(flags & 2))
            status, got = target.encode(text, flags)
            if status != 0 or got != want:
                yield Difference(text, flags, f"{status:08x} {got}", want)
            elif reference.decodes:
                said = target.decode(want)
                if said != (0, reference.decode(want)):
                    yield Difference(text, flags, said, reference.decode(want))
