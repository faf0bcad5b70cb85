"""What a kernel of bmc's own computes: a product with loops of fixed extents, and what happens to its sums."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.scheme import SCHEMES, Scheme

# Numbers of a product's operands; the epilogue reads those that follow.
A, B, RESULT = range(3)
# In what a piece of a product is told about where it begins: how many lanes are before its first one.
LANES = -1
# Fewer lanes than this are not worth a group of registers.
FEWEST_LANES = 8
# Taps of a window that share loads.
LARGEST_WINDOW = 7
# Bytes from lane to lane where lanes are pixels of an image with a few channels.
LARGEST_GAP = 24
# And where there are fewer output channels than lanes, so that IREE would compute one number at a time.
LARGEST_GAP_OF_FEW = 64


class Unsupported(Exception):
    """What this package cannot write; the message says what."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop.

    Attributes:
      extent: how often it runs.
      strides: bytes from one iteration to the next in each operand.
      steps: indices from one iteration to the next along each edge of the product's padding.
    """

    extent: int
    strides: tuple[int, ...]
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the epilogue, for all lanes of one row.

    Attributes:
      op: an operation of ops.py, or one of
        "sum": the sum that is complete
        "load": an element of an operand for each lane
        "scalar": one element of an operand for all lanes of the row
        "constant": a number
        "lookup": the byte of a table that its argument counts
        "store": no value; its argument is stored as another result
      dtype: "f32", "f16", "i32" or "i8", of what is in memory as it is there.
      args: numbers of the nodes it is computed from.
      operand: of a load, scalar, lookup or store, the number of the operand.
      value: of a constant, its value.
    """

    op: str
    dtype: str
    args: tuple[int, ...] = ()
    operand: int = 0
    value: float = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """An axis of an image that is read as if there were more of it on both sides.

    Attributes:
      low: how many indices are before the image.
      extent: how many indices are in the image.
      moves: whether loops begin further along it, by as much as an argument of the kernel says
        (schedule/workgroups.py).
    """

    low: int
    extent: int
    moves: bool = False

    def has(self, index: int) -> bool:
        """Whether an index is in the image, counted from the first one before it."""
        return self.low <= index < self.low + self.extent


@dataclass(frozen=True, slots=True)
class Padding:
    """What is read around an image. It is nowhere in memory.

    Attributes:
      operand: the image, A or B.
      value: what is read outside of it.
      edges: its axes that are padded. The index along each is the sum of the loops' steps.
      offset: bytes from the image's beginning to where the loops begin; not positive.
    """

    operand: int
    value: float
    edges: tuple[Edge, ...]
    offset: int


@dataclass(frozen=True)
class Product:
    """result[outer, row, lane] = epilogue(sum over sums of a[outer, row, sum] * b[outer, sum, lane]).

    Where `a` has lanes as well, as in a depthwise convolution, lanes are multiplied with lanes. Either operand of a
    convolution may be `a`: lanes are output channels, or neighboring pixels.

    Attributes:
      dtypes: element type of each operand.
      outer: loops around everything.
      rows: loops of the result that `b` does not depend on, outermost first. Blocks of rows are cut from the last
        one, so it is the one along which a window slides.
      lanes: the loop along which `b` moves, and if possible the one along which the result is contiguous. `a` is
        contiguous, or does not move.
      summed: loops that are summed, outermost first.
      initial: operand with the sums' initial values for each lane, or one for each row; None for zeros.
      epilogue: the values computed from a sum; the last one is stored.
      padding: what is around the image of a convolution, None if every number that is read is in memory.
      grid: where lanes are pixels of a padded image, the loops that `lanes` is made of, outermost first.
      lanes_move: whether the first lane is one of the grid's that an argument of the kernel says.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    lanes: Loop
    summed: tuple[Loop, ...]
    initial: int | None
    epilogue: tuple[Node, ...]
    padding: Padding | None = None
    grid: tuple[Loop, ...] = ()
    lanes_move: bool = False

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops over results, of which each may be cut."""
        return (*self.outer, *self.rows, self.lanes)

    def cut(self, number: int, extent: int) -> Product:
        """Returns a piece: so many iterations of one of the loops, beginning anywhere."""
        loop = replace(self.loops[number], extent=extent)
        if number == len(self.loops) - 1:
            return replace(self, lanes=loop, lanes_move=bool(self.grid))
        padding = self.padding
        if padding is not None and any(loop.steps):
            edges = [
                replace(edge, moves=edge.moves or bool(step))
                for edge, step in zip(padding.edges, loop.steps, strict=True)
            ]
            padding = replace(padding, edges=tuple(edges))
        loops = [*self.outer, *self.rows]
        loops[number] = loop
        count = len(self.outer)
        return replace(self, outer=tuple(loops[:count]), rows=tuple(loops[count:]), padding=padding)

    @property
    def start_offsets(self) -> tuple[int, ...]:
        """What a piece is told about where it begins, as in assembly.Kernel."""
        edges = self.padding.edges if self.padding else ()
        moving = (number for number, edge in enumerate(edges) if edge.moves)
        return (*moving, *([LANES] if self.lanes_move else []))

    @property
    def needs_halves(self) -> bool:
        """Whether its kernel needs instructions for f16."""
        return has_halves(self.dtypes, self.epilogue)

    @functools.cached_property
    def scheme(self) -> Scheme:
        """How its numbers are multiplied."""
        is_half = self.dtypes[A] == "f16" and has_only_halves(self.epilogue)
        sums = "i32" if self.dtypes[A] == "i8" else "f16" if is_half else "f32"
        return SCHEMES[self.dtypes[A], self.dtypes[B], sums]

    @property
    def is_contiguous(self) -> bool:
        """Whether neighboring lanes are neighbors in `b`."""
        return self.lanes.strides[B] == WIDTHS[self.dtypes[B]]

    @property
    def has_long_lines(self) -> bool:
        """Whether lanes are far from each other, and fewer than the neighbors that are summed for each."""
        return (
            not self.rows
            and self.lanes.strides[B] > LARGEST_GAP_OF_FEW
            and any(
                loop.extent >= self.lanes.extent
                and all(loop.strides[each] == WIDTHS[self.dtypes[each]] for each in (A, B))
                for loop in self.summed
            )
        )

    @property
    def strided(self) -> dict[int, int]:
        """Bytes between neighboring lanes of results, by their numbers, if they are no neighbors there."""
        return strided(self.dtypes, self.lanes, (RESULT, *stored(self.epilogue)))


def strided(dtypes: tuple[str, ...], lanes: Loop, operands: Iterable[int]) -> dict[int, int]:
    """Returns the bytes between neighboring lanes of those operands where they move, and are no neighbors."""
    steps = {number: lanes.strides[number] for number in operands}
    return {
        number: step for number, step in steps.items() if step not in (0, WIDTHS[dtypes[number]])
    }


def stored(nodes: Iterable[Node]) -> set[int]:
    """Returns the operands that are further results."""
    return {node.operand for node in nodes if node.op == "store"}


def has_halves(dtypes: Iterable[str], *nodes: Iterable[Node]) -> bool:
    """Whether any operand or value is f16, for which kernels use instructions of Zfh and Zvfh."""
    types = {*dtypes, *(node.dtype for each in nodes for node in each)}
    return "f16" in types


def has_only_halves(nodes: Iterable[Node]) -> bool:
    """Whether everything is f16, which then is computed in 16 bits."""
    return all(node.dtype == "f16" for node in nodes)


@functools.cache
def last_readers(nodes: tuple[Node, ...]) -> Mapping[int, int]:
    """Returns the number of the node that is the last one to read each value; the result is read at the end."""
    last = {arg: number for number, node in enumerate(nodes) for arg in node.args}
    return {**last, len(nodes) - 1: len(nodes)}
