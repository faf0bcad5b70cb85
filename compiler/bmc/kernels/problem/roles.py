"""Decides what each loop of a product does, and makes one loop of several that visit memory as one would."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Set
from dataclasses import replace

from bmc.kernels.dtypes import FLOATS, WIDTHS
from bmc.kernels.problem.product import (
    FEWEST_LANES,
    LARGEST_GAP,
    LARGEST_GAP_OF_FEW,
    LARGEST_WINDOW,
    RESULT,
    A,
    B,
    Loop,
    Node,
    Padding,
    Product,
    Unsupported,
    stored,
)


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
        ((B, A), LARGEST_GAP_OF_FEW, False),
        # At any distance, as in the groups of a convolution.
        ((B, A), sys.maxsize, False),
    ):
        order, widest, neighbors = choice
        if order == (B, A) and dtypes[A] != dtypes[B] and dtypes[A] not in FLOATS:
            continue
        rest = range(RESULT, len(dtypes))
        types = tuple(dtypes[each] for each in (*order, *rest))
        mine = [
            replace(loop, strides=tuple(loop.strides[each] for each in (*order, *rest)))
            for loop in loops
        ]
        around = replace(padding, operand=order.index(padding.operand)) if padding else None
        further = stored(epilogue)
        for found in _arranged(types, mine, summed, widest, neighbors, around, further):
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
            product = Product(types, outer, rows, lanes, tuple(sums), initial, nodes, around, grid)
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
                left = [part for each in found if each is not parts for part in each]
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
        elif node.op in ("extf", "extsi") and nodes[node.args[0]].op == "scalar":
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
