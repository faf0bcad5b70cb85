"""The problem of a product: a matrix product or convolution as loops with fixed extents, and its epilogue."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bmc.kernels.dtypes import FLOATS, HALVES, SCHEMES, UNPACKED, WIDTHS, Scheme
from bmc.kernels.unsupported import Unsupported

# Numbers of a product's operands. The epilogue reads operands from 3 on.
A, B, RESULT = range(3)
# Among start offsets: the index of a piece's first lane. Other start offsets are numbers of padded edges.
LANES = -1
# Fewer lanes are not worth vectorizing.
FEWEST_LANES = 8
# Taps of a loop at most that share loads, or that may be outside the image.
LARGEST_WINDOW = 7
# Bytes from lane to lane at most if lanes are pixels of an HWC image.
LARGEST_GAP = 24
# The same if there are fewer output channels than lanes: IREE would not vectorize these.
LARGEST_GAP_OF_FEW = 64


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop.

    Attributes:
      extent: number of iterations.
      strides: bytes from one iteration to the next, for each operand.
      steps: image indices from one iteration to the next, for each edge in the product's padding.
    """

    extent: int
    strides: tuple[int, ...]
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the epilogue, for all lanes of one row.

    Attributes:
      op: an operation of ops.py, or one of
        "sum": the accumulator
        "load": an element of an operand for each lane
        "scalar": an element of an operand for all lanes of the row
        "constant": a number
        "lookup": the byte of a table at the index that is the argument
        "store": no value; the argument is stored as a further result
      dtype: "f32", "f16", "bf16", "i32" or "i8". For loads and stores, the type in memory.
      args: numbers of the nodes that are the arguments.
      operand: number of the operand of a load, scalar, lookup or store.
      value: value of a constant.
    """

    op: str
    dtype: str
    args: tuple[int, ...] = ()
    operand: int = 0
    value: float = 0

    @property
    def bits(self) -> int:
        """The bits of a constant, as a signed integer."""
        if self.dtype not in FLOATS:
            return int(self.value)
        integer, floating = ("<h", "<e") if self.dtype == "f16" else ("<i", "<f")
        (bits,) = struct.unpack(integer, struct.pack(floating, self.value))
        return int(bits)


# (row, tap) pairs of neighboring rows whose horizontal tap is outside the image.
OutOfBounds = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Edge:
    """A padded axis of an image.

    Attributes:
      low: indices of padding before the image.
      extent: indices inside the image.
      moves: whether loops along the axis begin at a start offset (schedule/workgroups.py).
    """

    low: int
    extent: int
    moves: bool = False

    def has(self, index: int) -> bool:
        """Whether an index is inside the image; index 0 is the first one of the padding."""
        return self.low <= index < self.low + self.extent


@dataclass(frozen=True, slots=True)
class Padding:
    """The padding of an image, which is not in memory.

    Attributes:
      operand: number of the image, A or B.
      value: the pad value.
      edges: the padded axes. The index along each is the sum over loops of iteration times step.
      offset: bytes from the first element of the image to where the loops begin; not positive.
    """

    operand: int
    value: float
    edges: tuple[Edge, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Weights of few bits, in groups along the sum (ir/grouped_product.py).

    The summed loops of a product are then those over groups, over the codes of a byte, and over bytes of a group. `b`
    does not move with the second one.

    Attributes:
      bits: of a code, 4 without sign or 8 with one.
      zero: what is subtracted from a code.
      scales: number of the operand with the scale of each group and lane, bits of f16.
      mins: the same for what is added, None if nothing is.
      factors: number of the operand with the f32 by which each row's group of `a` is multiplied, if `a` is int8.
    """

    bits: int
    zero: int
    scales: int
    mins: int | None = None
    factors: int | None = None


@dataclass(frozen=True)
class Product:
    """result[outer, row, lane] = epilogue(sum over k of a[outer, row, k] * b[outer, k, lane]).

    In a depthwise product, `a` has lanes as well. Either operand of a convolution may be `a`: lanes are output channels
    if it is the image, and pixels if it is the weights.

    Attributes:
      dtypes: element type of each operand.
      outer: loops that all operands depend on.
      rows: loops of the result that `b` does not depend on, outermost first. Row blocks are cut from the innermost
        one, so it should be one along which a window slides.
      lanes: the vectorized loop, along which `b` moves. The result is contiguous along it if possible; `a` is
        contiguous, or does not move.
      summed: the summed loops, outermost first.
      initial: number of the operand with initial values of the sums, for each lane or each row; None for zeros.
      epilogue: the nodes computed from a sum; the last one is stored.
      padding: padding of the image, None without padding.
      grid: if lanes are pixels of a padded image, the loops that `lanes` is made of, outermost first.
      lanes_move: whether the first lane of the grid is a start offset.
      extends: whether operands of bf16 are multiplied as f32, as on harts without instructions for products of bf16.
      packing: how `b` is packed, None if it is not.
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
    extends: bool = False
    packing: Packing | None = None

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops over results. Each may be cut."""
        return (*self.outer, *self.rows, self.lanes)

    def cut(self, number: int, extent: int) -> Product:
        """Returns a piece: `extent` iterations of loop `number`, which begins at a start offset if it is padded."""
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
        """The start offsets that the kernel takes, as in assembly.Kernel."""
        edges = self.padding.edges if self.padding else ()
        moving = (number for number, edge in enumerate(edges) if edge.moves)
        return (*moving, *([LANES] if self.lanes_move else []))

    @property
    def halves(self) -> frozenset[str]:
        """The float types of 16 bits that the kernel needs instructions for."""
        return halves(self.dtypes, self.epilogue)

    @functools.cached_property
    def scheme(self) -> Scheme:
        """The types in which operands are multiplied and accumulated."""
        if self.packing is not None:
            return UNPACKED
        found = [each for each in SCHEMES if (each.a, each.b) == self.dtypes[: B + 1]]
        if self.dtypes[:RESULT] == ("f16", "f16"):
            # They are accumulated in f16 only if the epilogue computes in f16 throughout.
            is_half = has_only_halves(self.epilogue)
            found = [each for each in found if (each.accumulator == "f16") == is_half]
        if self.dtypes[:RESULT] == ("bf16", "bf16"):
            found = [each for each in found if each.extends_a == self.extends]
        if len(found) != 1:
            raise Unsupported(f"a product of {self.dtypes[A]} and {self.dtypes[B]}")
        return found[0]

    @property
    def is_contiguous(self) -> bool:
        """Whether lanes are contiguous in `b`."""
        return self.lanes.strides[B] == WIDTHS[self.dtypes[B]]

    @property
    def has_long_lines(self) -> bool:
        """Whether lanes are far apart in `b`, and fewer than the contiguous elements that are summed for each lane."""
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
        """Bytes between neighboring lanes, for each result whose lanes are strided."""
        return strided(self.dtypes, self.lanes, (RESULT, *stored(self.epilogue)))


def strided(dtypes: tuple[str, ...], lanes: Loop, operands: Iterable[int]) -> dict[int, int]:
    """Returns the bytes between neighboring lanes, for each of `operands` whose lanes are strided."""
    steps = {number: lanes.strides[number] for number in operands}
    return {
        number: step for number, step in steps.items() if step not in (0, WIDTHS[dtypes[number]])
    }


def stored(nodes: Iterable[Node]) -> set[int]:
    """Returns the numbers of the operands that are further results."""
    return {node.operand for node in nodes if node.op == "store"}


def halves(dtypes: Iterable[str], *nodes: Iterable[Node]) -> frozenset[str]:
    """Returns the float types of 16 bits of operands and nodes, which need extensions."""
    types = {*dtypes, *(node.dtype for each in nodes for node in each)}
    return frozenset(types.intersection(HALVES))


def has_only_halves(nodes: Iterable[Node]) -> bool:
    """Whether all nodes are f16, so that they are computed in 16 bits."""
    return all(node.dtype == "f16" for node in nodes)


@functools.cache
def last_readers(nodes: tuple[Node, ...]) -> Mapping[int, int]:
    """Returns the last node that reads each value. The result is read by the store, whose number is len(nodes)."""
    last = {arg: number for number, node in enumerate(nodes) for arg in node.args}
    return {**last, len(nodes) - 1: len(nodes)}
