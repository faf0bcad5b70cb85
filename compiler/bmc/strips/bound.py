"""Computes what the tensors of a function would take if every layer was computed one row at a time.

Each row is computed when the first row needs it, and its bytes are free when no row needs it any more. No row is
computed twice. What kernels need beside tensors, and what it costs to start so many of them, does not count.
"""

from __future__ import annotations

from bmc.strips.outline import Kind, Outline
from bmc.strips.segment import Rows


def bytes_by_rows(outline: Outline) -> int:
    """Returns the most bytes of rows that are alive at once."""
    return _Rows(outline).most()


class _Rows:
    """Which rows of each stored tensor were computed, and which of them are alive."""

    def __init__(self, outline: Outline) -> None:
        self._ops = outline.ops
        self._stages = outline.stages
        self._readers: dict[int, list[int]] = {n: [] for n in self._stages}
        self._kept: set[int] = set()
        for number in self._stages:
            for source in self._needed(number, 0):
                self._readers[source].append(number)
        self._done = dict.fromkeys(self._stages, 0)
        self._freed = dict.fromkeys(self._stages, 0)
        self._alive = self._most = 0

    def most(self) -> int:
        for number in self._stages:
            if self._ops[number].kind is Kind.INPUT:
                self._done[number] = self._ops[number].rows
                self._alive += self._ops[number].rows * self._ops[number].row_bytes
        self._most = self._alive
        read = {source for op in self._ops for source, _ in op.reads}
        ends = [n for n, op in enumerate(self._ops) if op.moves and n not in read]
        results = {source: None for end in ends for source in self._needed(end, 0)}
        self._kept = {*results, *(end for end in ends if end in self._done)}
        for number in sorted(self._kept):
            self._compute(number, self._ops[number].rows)
        return self._most

    def _compute(self, number: int, until: int) -> None:
        while self._done[number] < until:
            needed = self._needed(number, self._done[number])
            for source, rows in needed.items():
                self._compute(source, rows.end)
            self._done[number] += 1
            self._alive += self._ops[number].row_bytes
            self._most = max(self._most, self._alive)
            for source in needed:
                self._free(source)

    def _free(self, number: int) -> None:
        """Frees the rows that no reader needs for its next row, or for later ones."""
        first = 0 if number in self._kept else self._done[number]
        for reader in self._readers[number]:
            if self._done[reader] < self._ops[reader].rows:
                first = min(first, self._needed(reader, self._done[reader])[number].begin)
        if first > self._freed[number]:
            self._alive -= (first - self._freed[number]) * self._ops[number].row_bytes
            self._freed[number] = first

    def _needed(self, number: int, row: int) -> dict[int, Rows]:
        """Returns the rows of stored tensors that a row is computed from, also through tensors that are not stored."""
        found: dict[int, Rows] = {}
        left = [(number, Rows(row, row + 1))]
        while left:
            reader, rows = left.pop()
            for source, window in self._ops[reader].reads:
                op = self._ops[source]
                if not op.moves:
                    continue
                read = Rows(0, op.rows) if window is None else window.rows(rows, op.rows)
                if source in self._readers:
                    found[source] = found[source] | read if source in found else read
                else:
                    left.append((source, read))
        return found
