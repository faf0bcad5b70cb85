"""Writes the loops of a product as assembly.

The lanes are cut into panels, each as wide as a group of vector registers. For one panel, the sums of a block of rows
stay in registers while the loops that are summed run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.kernels import epilogue
from bmc.kernels.assembly import Assembly, TooManyRegisters
from bmc.kernels.epilogue import Lanes
from bmc.kernels.product import RESULT, A, Loop, Product, Unsupported
from bmc.kernels.sums import Block, Sums

_REGISTERS = 32
_LMULS = (1, 2, 4, 8)
_MOST_ROWS = 14
# Numbers of `a` that are in integer registers at a time.
_MOST_NUMBERS = 10


@dataclass(frozen=True)
class Kernel:
    """Assembly text, whose operands' addresses are in `arguments`, and the registers it changes."""

    text: str
    arguments: tuple[str, ...]
    clobbered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """`count` neighboring pieces of `lanes` lanes, each in groups of `lmul` registers, `rows` rows at a time."""

    lanes: int
    lmul: int
    rows: int
    count: int = 1


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: the epilogue has operations or needs registers that there are not.
      TooManyRegisters: too many operands or loops.
    """
    for most in (_MOST_ROWS, 10, 8, 6, 4, 2):
        try:
            return _Nest(product, vlen, most).kernel()
        except TooManyRegisters:
            continue
    raise TooManyRegisters


def cost(product: Product, vlen: int, behind: int) -> float:
    """Returns about how many instructions a kernel executes, with `behind` for each complete group of sums.

    Raises:
      Unsupported: as write().
    """
    return _Nest(product, vlen, _MOST_ROWS).cost(behind)


class _Nest:
    def __init__(self, product: Product, vlen: int, most_rows: int) -> None:
        self._product = product
        self._vlen = vlen
        self._most_rows = most_rows
        self._out = Assembly(len(product.dtypes))
        self._bases = self._out.arguments
        none = Loop(1, (0,) * len(product.dtypes))
        *self._lines, self._line = product.rows or (none,)
        # Operands of the result's shape move from row to row; others have one value for each lane.
        self._moving = [
            number
            for number in range(RESULT, len(product.dtypes))
            if number == RESULT or any(loop.strides[number] for loop in product.rows)
        ]
        self._sums = Sums(self._out, product, self._line)

    def kernel(self) -> Kernel:
        self._outer(self._product.outer)
        return Kernel(self._out.text(), tuple(self._bases), tuple(self._out.clobbered()))

    def cost(self, behind: int) -> float:
        loops = (*self._product.outer, *self._lines, self._line)
        rows = math.prod(loop.extent for loop in loops)
        return sum(
            panel.count * rows * (self._sums.cost(panel.rows) + behind) for panel in self._cut()
        )

    def _outer(self, loops: tuple[Loop, ...]) -> None:
        if not loops:
            self._panels()
            return
        first, *rest = loops
        inner = rest[0] if rest else self._product.lanes

        def body() -> None:
            self._outer(tuple(rest))
            for number, base in enumerate(self._bases):
                self._out.add(base, first.strides[number] - inner.extent * inner.strides[number])

        self._out.repeat(first.extent, body)

    def _panels(self) -> None:
        lanes = self._product.lanes
        for panel in self._cut():

            def body(panel: Panel = panel) -> None:
                self._panel(panel)
                rows = [*self._lines, self._line][0]
                for number, base in enumerate(self._bases):
                    moved = number == 0 or number in self._moving
                    done = rows.extent * rows.strides[number] if moved else 0
                    self._out.add(base, panel.lanes * lanes.strides[number] - done)

            self._out.repeat(panel.count, body)

    def _cut(self) -> list[Panel]:
        """Cuts the lanes so that a step costs the fewest instructions for each lane."""
        shapes = [
            (lmul * self._vlen // 32, lmul, rows)
            for lmul in _LMULS
            if (rows := self._rows(lmul)) > 0
        ]
        if not shapes:
            raise Unsupported("registers")
        widest, lmul, rows = shapes[-1]
        best: dict[int, tuple[float, list[Panel]]] = {0: (0.0, [])}
        for left in range(1, 2 * widest):
            choices = []
            for most, each_lmul, each_rows in shapes:
                lanes = min(most, left)
                cost, others = best[left - lanes]
                cost += self._sums.cost(each_rows)
                choices.append((cost, [Panel(lanes, each_lmul, each_rows), *others]))
            best[left] = min(choices, key=lambda choice: choice[0])
        whole, left = divmod(self._product.lanes.extent, widest)
        if whole and left:
            whole, left = whole - 1, left + widest
        found = [Panel(widest, lmul, rows)] * whole + best[left][1]
        result: list[Panel] = []
        for panel in found:
            last = result[-1] if result else None
            if last and (last.lanes, last.lmul) == (panel.lanes, panel.lmul):
                result[-1] = Panel(panel.lanes, panel.lmul, panel.rows, last.count + 1)
            else:
                result.append(panel)
        return result

    def _rows(self, lmul: int) -> int:
        """How many rows of sums fit into the vector registers beside what else is needed."""
        # Groups of `b`, and of `a` if it has lanes, and what they are widened from.
        narrow = 1 + self._sums.pairs + (lmul == 1 and not self._product.is_float)
        nodes = self._product.epilogue
        most = _REGISTERS // lmul - max(narrow, epilogue.temporaries(nodes, lmul))
        if self._sums.pairs or not self._product.is_float:
            most = min(most, _MOST_NUMBERS)
        return min(most, self._most_rows, self._line.extent)

    def _panel(self, panel: Panel) -> None:
        out = self._out
        distances = self._sums.distances
        with out.registers(1 + len(distances)) as (length, *registers):
            out.set(length, panel.lanes)
            for register, value in zip(registers, distances, strict=True):
                out.set(register, value)
            lanes = Lanes(panel.lanes, panel.lmul, length)
            place = _Place(panel.rows, lanes, dict(zip(distances, registers, strict=True)))
            self._over(self._lines, place)

    def _over(self, loops: list[Loop], place: _Place) -> None:
        """Runs over the lines of rows, and moves the addresses of what depends on rows."""
        if not loops:
            blocks = math.ceil(self._line.extent / place.rows)
            rows, more = divmod(self._line.extent, blocks)
            if more:
                self._out.repeat(more, lambda: self._block(rows + 1, place))
            self._out.repeat(blocks - more, lambda: self._block(rows, place))
            return
        first, *rest = loops
        inner = rest[0] if rest else self._line

        def body() -> None:
            self._over(rest, place)
            for number in (0, *self._moving):
                done = inner.extent * inner.strides[number]
                self._out.add(self._bases[number], first.strides[number] - done)

        self._out.repeat(first.extent, body)

    def _block(self, rows: int, place: _Place) -> None:
        out = self._out
        lmul = place.lanes.lmul
        groups = _REGISTERS // lmul
        sums = list(range(groups - rows, groups))
        place.lanes.use(out, 32)
        self._start(sums, lmul)
        if not self._product.is_float:
            place.lanes.use(out, 16)
        block = Block([group * lmul for group in sums], place.lanes, place.constants)
        self._sums.write(block, *self._bases[:RESULT])
        out.add(self._bases[A], rows * self._line.strides[A])
        if not self._product.is_float:
            place.lanes.use(out, 32)
        for row, group in enumerate(sums):
            addresses = dict(enumerate(self._bases))
            free = [g for g in range(groups) if g not in sums[row:]]
            epilogue.emit(out, self._product.epilogue, group, free, addresses, place.lanes)
            for number in self._moving:
                out.add(self._bases[number], self._line.strides[number])

    def _start(self, sums: list[int], lmul: int) -> None:
        out = self._out
        initial = self._product.initial
        first, *others = [f"v{group * lmul}" for group in sums]
        if initial is None:
            for register in (first, *others):
                out.emit(f"vmv.v.i {register}, 0")
        elif self._product.lanes.strides[initial]:
            out.emit(f"vle32.v {first}, ({self._bases[initial]})")
            for register in others:
                out.emit(f"vmv.v.v {register}, {first}")
        else:
            with out.registers(1) as (number,):
                for row, register in enumerate((first, *others)):
                    # A float's bits are an integer's.
                    place = row * self._line.strides[initial]
                    out.emit(f"lw {number}, {place}({self._bases[initial]})")
                    out.emit(f"vmv.v.x {register}, {number}")


@dataclass(frozen=True)
class _Place:
    """What the blocks of a panel share.

    Attributes:
      rows: how many rows a block has at most.
      constants: registers with distances that fit into no instruction.
    """

    rows: int
    lanes: Lanes
    constants: dict[int, str]
