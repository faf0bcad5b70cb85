"""What a kernel of bmc's own computes: a product with loops of fixed extents, and what happens to its sums."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

# Numbers of a product's operands; the epilogue reads those that follow.
A, B, RESULT = range(3)
# Bytes of an element.
WIDTHS = {"f32": 4, "i32": 4, "i16": 2, "i8": 1}
# Types of operands. In i16 there are only weights of int8 (rewrites/wide_weights.py).
TYPES = ("f32", "i32", "i8")
# Fewer lanes than this are not worth a group of registers.
FEWEST_LANES = 8
# Taps of a window that share loads.
LARGEST_WINDOW = 7
# Bytes from lane to lane where lanes are pixels of an image with a few channels.
LARGEST_GAP = 24
# And where there are fewer output channels than lanes, so that IREE would compute one number at a time.
_LARGEST_GAP_OF_FEW = 64


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
      op: "sum", "load", "scalar" (one number for all lanes of the row), "constant", "mulhi" (the high half of a
        product of 32-bit integers), "carried" (its first argument, plus 1 where the second one, a sum, is less than
        the third, a term of it, as unsigned numbers), "scaled" (a product of 32-bit integers, of which the first is
        less than 2^29, divided by 2^31), "rounded" (its first argument, divided by 2 to the power of the second),
        "clipped" (the same, plus the third, a constant, and limited by the fourth and fifth), "lookup" (the byte of a
        table that its argument counts), "store" (no value: its argument is stored as another result), or the name of
        an operation of MLIR's arith dialect. These divisions round to nearest, and up in the middle.
      dtype: "f32", "i32" or "i8", of what is in memory as it is there.
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
    """

    low: int
    extent: int

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
      sums: loops that are summed, outermost first.
      initial: operand with the sums' initial values for each lane, or one for each row; None for zeros.
      epilogue: the values computed from a sum; the last one is stored.
      padding: what is around the image of a convolution, None if every number that is read is in memory.
      grid: where lanes are pixels of a padded image, the loops that `lanes` is made of, outermost first.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    lanes: Loop
    sums: tuple[Loop, ...]
    initial: int | None
    epilogue: tuple[Node, ...]
    padding: Padding | None = None
    grid: tuple[Loop, ...] = ()

    @property
    def is_float(self) -> bool:
        return self.dtypes[A] == "f32"

    @property
    def is_wide(self) -> bool:
        """Whether `b` has int8 in 16 bits, as it is multiplied."""
        return self.dtypes[B] == "i16"

    @property
    def is_contiguous(self) -> bool:
        """Whether neighboring lanes are neighbors in `b`."""
        return self.lanes.strides[B] == WIDTHS[self.dtypes[B]]

    @property
    def has_long_lines(self) -> bool:
        """Whether lanes are far from each other, and fewer than the neighbors that are summed for each."""
        return (
            not self.rows
            and self.lanes.strides[B] > _LARGEST_GAP_OF_FEW
            and any(
                loop.extent >= self.lanes.extent
                and loop.strides[A] == loop.strides[B] == WIDTHS[self.dtypes[B]]
                for loop in self.sums
            )
        )

    @property
    def apart(self) -> dict[int, int]:
        """Bytes between neighboring lanes of results, by their numbers, if they are no neighbors there."""
        return apart(self.dtypes, self.lanes, (RESULT, *stored(self.epilogue)))


def apart(dtypes: tuple[str, ...], lanes: Loop, operands: Iterable[int]) -> dict[int, int]:
    """Returns the bytes between neighboring lanes of those operands where they move, and are no neighbors."""
    steps = {number: lanes.strides[number] for number in operands}
    return {
        number: step for number, step in steps.items() if step not in (0, WIDTHS[dtypes[number]])
    }


def stored(nodes: Iterable[Node]) -> set[int]:
    """Returns the operands that are further results."""
    return {node.operand for node in nodes if node.op == "store"}


def arranged(
    dtypes: tuple[str, ...],
    loops: list[Loop],
    summed: Set[int],
    initial: int | None,
    epilogue: tuple[Node, ...],
    padding: Padding | None = None,
    number: int = 0,
) -> tuple[Product, bool]:
    """Decides what each loop of a product does.

    Args:
      dtypes: as in Product; either of the first two operands may become `a`.
      loops: all loops, outermost first.
      summed: numbers of the loops that are summed.
      initial: as in Product.
      epilogue: as in Product, but with loads of what turns out to be scalars.
      padding: as in Product.
      number: which of the possible products to return, from 0, the one that is preferred.

    Returns:
      the product, and whether the second operand is its `a`.

    Raises:
      Unsupported: neighbors in the result are no neighbors elsewhere, or there are not so many possible products.
    """
    possible: list[tuple[Product, bool]] = []
    # Neighboring pixels whose results have gaps between them, as the phases of a transposed convolution.
    pixels = ((B, A), WIDTHS[dtypes[A]], False)
    for choice in (
        ((A, B), WIDTHS[dtypes[B]], True),
        ((B, A), LARGEST_GAP, True),
        pixels,
        ((A, B), WIDTHS[dtypes[B]], False),
        ((B, A), _LARGEST_GAP_OF_FEW, False),
        # At any distance, as in the groups of a convolution.
        ((B, A), sys.maxsize, False),
    ):
        order, widest, neighbors = choice
        if order == (B, A) and dtypes[A] != dtypes[B]:
            continue
        rest = range(RESULT, len(dtypes))
        mine = [
            replace(loop, strides=tuple(loop.strides[each] for each in (*order, *rest)))
            for loop in loops
        ]
        around = replace(padding, operand=order.index(padding.operand)) if padding else None
        further = stored(epilogue)
        for found in _arranged(dtypes, mine, summed, widest, neighbors, around, further):
            outer, rows, lanes, grid = found
            if widest == sys.maxsize and any(loop.extent >= FEWEST_LANES for loop in rows):
                continue
            if choice == pixels and any(loop.extent >= lanes.extent for loop in rows):
                continue
            if (
                initial is not None
                and lanes.strides[initial]
                and any(loop.strides[initial] for loop in rows)
            ):
                raise Unsupported("sums that start from different values for each row")
            # Small steps of `a` are in its loads, so they come last.
            sums = sorted((mine[each] for each in summed), key=lambda loop: -loop.strides[A])
            nodes = needed(with_scalars(epilogue, lanes))
            product = Product(dtypes, outer, rows, lanes, tuple(sums), initial, nodes, around, grid)
            if (product, order == (B, A)) not in possible:
                possible.append((product, order == (B, A)))
            if len(possible) > number:
                return possible[number]
    if possible:
        raise Unsupported(f"only {len(possible)} loops that can be lanes")
    raise Unsupported("a result without enough neighboring lanes")


def _arranged(
    dtypes: tuple[str, ...],
    loops: list[Loop],
    summed: Set[int],
    widest: int,
    neighbors: bool,
    padding: Padding | None,
    further: Set[int],
) -> Iterator[tuple[tuple[Loop, ...], tuple[Loop, ...], Loop, tuple[Loop, ...]]]:
    """Yields the outer loops, the rows, the lanes, and their grid, for each loop that can be lanes.

    Args:
      widest: bytes between neighboring lanes in `b`, at most.
      neighbors: whether the result's lanes must be neighbors.
      further: further results, whose lanes may have gaps between them.
    """
    outer: list[Loop] = []
    rows: list[Loop] = []
    lanes: list[Loop] = []
    pairs: list[Loop] = []
    widths = WIDTHS[dtypes[A]], WIDTHS[dtypes[B]]
    for number, loop in enumerate(loops):
        a, b, *_ = loop.strides
        if number in summed:
            continue
        if b == 0:
            rows.append(loop)
        elif a == 0:
            lanes.append(loop)
        elif (a, b) == widths:
            pairs.append(loop)
        else:
            outer.append(loop)
    # Lanes may go on from the end of a line to the next one. Those of a padded image are no channels.
    flat = padding is not None and padding.operand == B
    channels = [] if flat else _together(pairs)
    for found, others in ((_together(lanes, flat), pairs), (channels, lanes)):
        for parts in found:
            loop = _as_one(parts)
            if (
                loop.extent >= FEWEST_LANES
                and loop.strides[B] <= widest
                and _fits(loop, dtypes, neighbors, further)
            ):
                left = [_as_one(each) for each in found if each is not parts]
                sums = [loops[number] for number in sorted(summed)]
                grid = tuple(parts) if flat else ()
                around = merged([*outer, *others, *left])
                yield around, merged(_sliding_last(rows, sums)), loop, grid


def _sliding_last(rows: list[Loop], sums: list[Loop]) -> list[Loop]:
    """Puts a loop last along which a window slides, if there is one."""
    sliding = [row for row in rows if any(overlap(row, taps, 3) < 1 for taps in sums)]
    if not sliding or sliding[-1] is rows[-1]:
        return rows
    return [*(row for row in rows if row is not sliding[-1]), sliding[-1]]


def overlap(line: Loop, taps: Loop, rows: int) -> float:
    """Returns how many different numbers some rows read at all taps, as a part of all that they read.

    It is 1 where they have none in common.
    """
    rows = min(rows, line.extent)
    if taps.extent > LARGEST_WINDOW or not line.strides[A]:
        return 1
    return len(offsets(line, taps, rows)) / (rows * taps.extent)


def offsets(line: Loop, taps: Loop, rows: int) -> list[int]:
    """Returns the distances in `a` of the numbers that some rows read at all taps."""
    return sorted(
        {
            row * line.strides[A] + tap * taps.strides[A]
            for row in range(rows)
            for tap in range(taps.extent)
        }
    )


def _fits(lanes: Loop, dtypes: tuple[str, ...], neighbors: bool, further: Set[int]) -> bool:
    """Whether the lanes of what the epilogue reads are neighbors, or do not move.

    The result's must be neighbors as well, or have gaps between them, as those of further results may.
    """
    strides = lanes.strides
    fits = strides[RESULT] == WIDTHS[dtypes[RESULT]] if neighbors else strides[RESULT] > 0
    return fits and all(
        strides[number] > 0 if number in further else strides[number] in (0, WIDTHS[dtypes[number]])
        for number in range(RESULT + 1, len(dtypes))
    )


def needed(epilogue: list[Node]) -> tuple[Node, ...]:
    """The nodes that results are computed from."""
    found = {n for n, node in enumerate(epilogue) if node.op == "store"} | {len(epilogue) - 1}
    for number in reversed(range(len(epilogue))):
        if number in found:
            found.update(epilogue[number].args)
    places = {number: place for place, number in enumerate(sorted(found))}
    return tuple(
        replace(epilogue[number], args=tuple(places[arg] for arg in epilogue[number].args))
        for number in places
    )


def with_scalars(epilogue: tuple[Node, ...], lanes: Loop) -> list[Node]:
    """The nodes, where what is the same for all lanes is no vector."""
    nodes: list[Node] = []
    for node in epilogue:
        if node.op == "load" and lanes.strides[node.operand] == 0:
            nodes.append(replace(node, op="scalar"))
        elif node.op == "extsi" and nodes[node.args[0]].op == "scalar":
            # Loading it has extended it.
            nodes.append(nodes[node.args[0]])
        else:
            nodes.append(node)
    return nodes


def merged(loops: list[Loop]) -> tuple[Loop, ...]:
    """Drops loops that run once, and makes one loop of two that visit memory as one would."""
    return tuple(map(_as_one, _together(loops)))


def _together(loops: list[Loop], flat: bool = False) -> list[list[Loop]]:
    """Returns the loops of merged(), as those that they are made of.

    Args:
      flat: whether loops belong together that are different only for the edges of an image.
    """
    result: list[list[Loop]] = []
    for loop in loops:
        if loop.extent == 1:
            continue
        last = result[-1] if result else None
        if last and all(
            outer == loop.extent * inner
            for outer, inner in zip(
                last[-1].strides if flat else (*last[-1].strides, *last[-1].steps),
                loop.strides if flat else (*loop.strides, *loop.steps),
                strict=True,
            )
        ):
            last.append(loop)
        else:
            result.append([loop])
    return result


def _as_one(parts: list[Loop]) -> Loop:
    return replace(parts[-1], extent=math.prod(loop.extent for loop in parts))
