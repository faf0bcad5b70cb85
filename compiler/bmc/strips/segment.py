"""Cuts a part of a model into strips: which rows of each tensor each strip computes, and which it keeps.

The rows of a tensor are its elements along the first axis. Strips go down the images: each computes some rows of the
first one, and of every other one the rows that can be computed from those. What the next strips read again is kept, so
that no row is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows [begin, end) of a tensor."""

    begin: int
    end: int

    def __bool__(self) -> bool:
        return self.begin < self.end

    def __or__(self, other: Rows) -> Rows:
        """Returns these rows, others, and those between."""
        return Rows(min(self.begin, other.begin), max(self.end, other.end))

    @property
    def count(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Window:
    """Which rows of an operand a row of the result reads: `size` rows from row * stride + first on.

    With `per`, so many rows of the result read the same ones: row / per counts.
    """

    stride: int = 1
    size: int = 1
    first: int = 0
    per: int = 1

    def rows(self, rows: Rows, count: int) -> Rows:
        """Returns which of an operand's `count` rows some rows of the result read."""
        last = (rows.end - 1) // self.per * self.stride + self.first + self.size
        return Rows(max(rows.begin // self.per * self.stride + self.first, 0), min(last, count))

    def known(self, until: int, count: int, total: int) -> int:
        """Returns how many of `total` rows of the result can be computed from the first `until` of `count` rows."""
        if until >= count:
            return total
        complete = (until - self.first - self.size) // self.stride + 1
        return min(max(complete, 0) * self.per, total)

    def has_whole(self, rows: Rows) -> bool:
        """Whether all rows of the result that read the same ones are among some rows, or none of them."""
        return rows.begin % self.per == 0 and rows.end % self.per == 0


@dataclass(frozen=True, slots=True)
class Image:
    """A tensor inside of a segment.

    Attributes:
      rows: how many it has.
      reads: the images that it is computed from, by number, and how; numbers below zero are outside.
      kept: whether strips keep the rows that later ones read.
      returned: whether it is read behind the segment, so that all of its rows are kept.
    """

    rows: int
    reads: tuple[tuple[int, Window], ...]
    kept: bool = False
    returned: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What a strip has of an image: `rows`, of which those from `fresh` on are computed in this strip."""

    rows: Rows
    fresh: int


Strip = dict[int, Part]


@dataclass(frozen=True)
class Segment:
    """Images, each behind those that it reads.

    Attributes:
      images: all that are computed. Those that are not kept exist only inside of a kernel.
      outside: how many rows the images have that are read, but were computed before; image -1 is the first of them.
      first: the image that says how far a strip goes.
    """

    images: tuple[Image, ...]
    outside: tuple[int, ...]
    first: int

    def strips(self, rows: int) -> list[Strip]:
        """Returns what each strip computes, if each goes `rows` rows further down the first image."""
        count = self.images[self.first].rows
        done = [0] * len(self.images)
        kept_from = [0] * len(self.images)
        follows = self._follows()
        found: list[Strip] = []
        for end in (*range(rows, count, rows), count):
            until = self._known(end, follows)
            strip: Strip = {}
            for number, fresh in self._fresh(until, done, follows).items():
                image = self.images[number]
                begin = 0 if image.returned else kept_from[number]
                holds = image.kept or image.returned
                strip[number] = Part(Rows(begin if holds else fresh.begin, fresh.end), fresh.begin)
                if holds:
                    done[number] = fresh.end
            found.append(strip)
            kept_from = self._next(done)
        return found

    def has_rows(self, strip: Strip) -> bool:
        """Whether all that a strip computes is made of whole rows, and nothing of what is outside of an image alone."""
        return all(
            window.has_whole(fresh) and window.rows(fresh, self._count(source))
            for number, part in strip.items()
            for fresh in [Rows(part.fresh, part.rows.end)]
            for source, window in self.images[number].reads
        )

    def _count(self, number: int) -> int:
        return self.outside[-number - 1] if number < 0 else self.images[number].rows

    def _follows(self) -> list[bool]:
        """Returns which images are computed from the first one."""
        follows = [False] * len(self.images)
        for number, image in enumerate(self.images):
            follows[number] = number == self.first or any(
                source >= 0 and follows[source] for source, _ in image.reads
            )
        return follows

    def _known(self, end: int, follows: list[bool]) -> list[int]:
        """Returns how many rows of each image can be computed, given `end` rows of the first one."""
        until: list[int] = []
        for number, image in enumerate(self.images):
            if number == self.first:
                until.append(end)
                continue
            until.append(
                min(
                    (
                        window.known(until[source], self._count(source), image.rows)
                        for source, window in image.reads
                        if source >= 0 and follows[source]
                    ),
                    default=image.rows,
                )
            )
        return until

    def _fresh(self, until: list[int], done: list[int], follows: list[bool]) -> dict[int, Rows]:
        """Returns the rows that a strip computes of each image of which it computes any."""
        needs: dict[int, Rows] = {}
        found: dict[int, Rows] = {}
        for number in range(len(self.images) - 1, -1, -1):
            image = self.images[number]
            need = needs.get(number, Rows(0, 0))
            if not (image.kept or image.returned):
                fresh = need
            elif follows[number]:
                fresh = Rows(done[number], until[number])
            else:
                fresh = Rows(done[number], need.end)
            if not fresh:
                continue
            found[number] = fresh
            for source, window in image.reads:
                rows = window.rows(fresh, self._count(source))
                needs[source] = needs[source] | rows if source in needs else rows
        return dict(sorted(found.items()))

    def _next(self, done: list[int]) -> list[int]:
        """Returns the first row of each image that a later strip reads."""
        first: list[int] = [image.rows for image in self.images]
        for number in range(len(self.images) - 1, -1, -1):
            image = self.images[number]
            begin = done[number] if image.kept or image.returned else first[number]
            if begin >= image.rows:
                continue
            for source, window in image.reads:
                if source >= 0:
                    rows = window.rows(Rows(begin, begin + 1), self.images[source].rows)
                    first[source] = min(first[source], rows.begin)
        return first
