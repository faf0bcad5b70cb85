"""What a search for less memory knows of a function: its operations, and which of their results are stored."""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmc.strips.segment import Image, Segment, Window


class Kind(enum.Enum):
    """What matters of an operation.

    An INPUT is given by the caller. A SUM adds up several elements, so it is a kernel, with what is elementwise around
    it. What is ELEMENTWISE reads the row that it computes, or one that several rows are made of. A JOIN puts the rows
    of tensors side by side. A FILLER makes the same rows again and again.
    """

    INPUT = enum.auto()
    SUM = enum.auto()
    ELEMENTWISE = enum.auto()
    JOIN = enum.auto()
    FILLER = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True, slots=True)
class Op:
    """An operation of a function, known by its number.

    Attributes:
      kind: what it does.
      rows: of its result, 0 if that is no tensor.
      row_bytes: bytes of each.
      reads: the operations whose results are its operands, and by which window; None for a tensor that is read whole.
      is_apart: whether each row of the result can be computed apart from the others.
      moves: whether the result depends on an input.
    """

    kind: Kind
    rows: int
    row_bytes: int
    reads: tuple[tuple[int, Window | None], ...]
    is_apart: bool
    moves: bool


@dataclass(frozen=True)
class Stretch:
    """Operations that strips may compute.

    Attributes:
      numbers: those whose results are the images of the segment, in that order.
      outside: those whose results are the images outside of it.
      segment: the images and what they read.
      stored: whether each image is in memory, and not only inside of a kernel.
    """

    numbers: tuple[int, ...]
    outside: tuple[int, ...]
    segment: Segment
    stored: tuple[bool, ...]


class Outline:
    """The operations of a function in program order, and what can be told from them."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = tuple(ops)
        self._readers: list[list[int]] = [[] for _ in ops]
        for number, op in enumerate(ops):
            for source in dict.fromkeys(source for source, _ in op.reads):
                self._readers[source].append(number)
        self._stored = [self._is_stored(number) for number in range(len(ops))]
        # The last operation that reads a result, or is in a kernel with one that does.
        self._last_use = list(range(len(ops)))
        for number in reversed(range(len(ops))):
            for reader in self._readers[number]:
                last = reader if self._stored[reader] else self._last_use[reader]
                self._last_use[number] = max(self._last_use[number], last)
        # The operations whose results are stored.
        self.stages = tuple(number for number, stored in enumerate(self._stored) if stored)
        self._stretches: dict[tuple[int, int], Stretch | None] = {}
        self._estimates: dict[tuple[int, int, int], int] = {}
        self._factors: dict[tuple[int, int], float] = {}

    def bytes_alive(self, stage: int) -> int:
        """Returns the bytes of the stored tensors that are alive while a stage is computed."""
        begin = self.stages[stage - 1] if stage else -1
        end = self.stages[stage]
        return sum(
            self._bytes(n)
            for n in self.stages[: stage + 1]
            if n == end or self._last_use[n] > begin
        )

    def stretch(self, first: int, last: int) -> Stretch | None:
        """Returns what the last of some operations is computed from, None if strips cannot compute it."""
        if (first, last) not in self._stretches:
            self._stretches[first, last] = self._stretch(first, last)
        return self._stretches[first, last]

    def _stretch(self, first: int, last: int) -> Stretch | None:
        needed = {last}
        outside: list[int] = []
        for number in range(last, -1, -1):
            if number not in needed:
                continue
            op = self.ops[number]
            if not op.is_apart or not op.rows:
                return None
            for source, window in op.reads:
                inside = first <= source and self.ops[source].moves
                if window is None:
                    if inside:
                        return None
                elif inside or self.ops[source].kind is Kind.FILLER:
                    needed.add(source)
                elif source not in outside:
                    outside.append(source)
        numbers = tuple(sorted(needed))
        places = {number: place for place, number in enumerate(numbers)}
        places |= {number: -1 - place for place, number in enumerate(outside)}
        images = tuple(
            Image(
                self.ops[number].rows,
                tuple((places[s], w) for s, w in self.ops[number].reads if w is not None),
                self._is_kept(number, needed),
                self.ops[number].moves and not needed.issuperset(self._readers[number]),
            )
            for number in numbers
        )
        chosen = [n for n, image in enumerate(images) if image.kept and self.ops[numbers[n]].moves]
        if not chosen or not outside:
            return None
        counts = tuple(self.ops[number].rows for number in outside)
        return Stretch(
            numbers,
            tuple(outside),
            Segment(images, counts, chosen[0]),
            tuple(self._stored[number] for number in numbers),
        )

    def bytes_in_strips(self, first: int, last: int, rows: int) -> int:
        """Estimates the most bytes alive at once, if each strip of a stretch has `rows` rows of its first image."""
        if (first, last, rows) not in self._estimates:
            self._estimates[first, last, rows] = self._bytes_in_strips(first, last, rows)
        return round(self._estimates[first, last, rows] * self._factors.get((first, last), 1.0))

    def learn(self, first: int, last: int, rows: int, size: int) -> None:
        """Notes that strips took `size` bytes, if that is more than estimated; fewer rows will take more as well."""
        factor = size / self._estimates[first, last, rows]
        self._factors[first, last] = max(factor, self._factors.get((first, last), 1.0))

    def forget(self) -> None:
        """Forgets what was learned."""
        self._factors.clear()

    def _bytes_in_strips(self, first: int, last: int, rows: int) -> int:
        stretch = self.stretch(first, last)
        assert stretch is not None
        around = sum(
            self._bytes(n)
            for n in self.stages
            if n < first
            and self._last_use[n] > last
            or n < first
            and self._last_use[n] >= first
            and n not in stretch.outside
        )
        images = stretch.segment.images
        held: dict[int, int] = {}
        most = 0
        strips = stretch.segment.strips(rows)
        if not all(map(stretch.segment.has_rows, strips)):
            # No tensor is without rows, so there are no such strips.
            return sys.maxsize
        for place, strip in enumerate(strips):
            left = 1 - place / len(strips)
            outside = sum(
                self._bytes(n) * left for n in stretch.outside if self._last_use[n] <= last
            )
            readers = {s: reader for reader in strip for s, _ in images[reader].reads}
            alive = dict(held)
            for number, part in strip.items():
                if not stretch.stored[number]:
                    continue
                alive[number] = part.rows.count * self.ops[stretch.numbers[number]].row_bytes
                most = max(most, around + round(outside) + sum(alive.values()))
                if images[number].kept or images[number].returned:
                    held[number] = alive[number]
                done = [n for n in alive if n not in held and readers.get(n, -1) <= number]
                for each in done:
                    del alive[each]
        return most

    def _bytes(self, number: int) -> int:
        return self.ops[number].rows * self.ops[number].row_bytes

    def _is_stored(self, number: int) -> bool:
        op = self.ops[number]
        if not op.moves or not op.rows:
            return False
        readers = [self.ops[n] for n in self._readers[number]]
        if op.kind is Kind.INPUT:
            return True
        if op.kind is Kind.JOIN:
            return any(r.kind is not Kind.JOIN for r in readers)
        if op.kind not in (Kind.SUM, Kind.ELEMENTWISE) or self._is_widening(op):
            return False
        # What is only joined is computed where it is joined.
        return any(r.kind not in (Kind.ELEMENTWISE, Kind.JOIN) for r in readers)

    def _is_widening(self, op: Op) -> bool:
        """Whether an operation makes larger elements of each tensor that it reads, as its readers can themselves."""
        sources = [self.ops[source] for source, _ in op.reads if self.ops[source].moves]
        return op.kind is Kind.ELEMENTWISE and all(
            source.rows == op.rows and source.row_bytes < op.row_bytes for source in sources
        )

    def _is_kept(self, number: int, inside: set[int]) -> bool:
        """Whether strips keep rows: a reader reads several rows at a time, or some readers are ahead of others."""
        op = self.ops[number]
        if op.kind not in (Kind.SUM, Kind.ELEMENTWISE) or not op.moves:
            return False
        readers = self._readers[number]
        if len(readers) > 1 and self._stored[number]:
            return True
        for reader in readers:
            windows = [w for source, w in self.ops[reader].reads if source == number]
            if reader not in inside or any(replace(w, per=1) != Window() for w in windows if w):
                return True
            if self.ops[reader].kind in (Kind.JOIN, Kind.OTHER):
                return True
        return not readers
