"""Assigns the loops of a product to roles (outer, rows, lanes, summed), and merges loops that one loop can replace."""

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
    stored,
)
from bmc.kernels.unsupported import Unsupported


def arranged(
    dtypes: tuple[str, ...],
    loops: list[Loop],
    summed: Set[int],
    initial: int | None,
    epilogue: tuple[Node, ...],
    padding: Padding | None = None,
    number: int = 0,
) -> tuple[Product, bool]:
    """Assigns the loops of a product to roles.

    Args:
      dtypes: as in Product; either of the first two operands may become `a`.
      loops: all loops, outermost first.
      summed: indices of the summed loops.
      initial: as in Product.
      epilogue: as in Product, but scalars may still be loads, and nodes may be unused.
      padding: as in Product.
      number: which of the possible products to return; 0 is the preferred one.

    Returns:
      the product, and whether its `a` is the second operand.

    Raises:
      Unsupported: no loop can be lanes, or there are not more than `number` possible products.
    """
    possible: list[tuple[Product, bool]] = []
    # Contiguous pixels with a strided result, such as the phases of a transposed convolution.
    strided_pixels = ((B, A), WIDTHS[dtypes[A]], False)
    # In order of preference: which operands are (a, b), the largest stride of lanes in `b` in bytes, and whether lanes
    # must be contiguous in the result.
    for choice in (
        ((A, B), WIDTHS[dtypes[B]], True),
        ((B, A), LARGEST_GAP, True),
        strided_pixels,
        ((A, B), WIDTHS[dtypes[B]], False),
        ((B, A), LARGEST_GAP_OF_FEW, False),
        # Any stride, as in a grouped convolution.
        ((B, A), sys.maxsize, False),
    ):
        order, max_stride, contiguous = choice
        if order == (B, A) and dtypes[A] != dtypes[B] and dtypes[A] not in FLOATS:
            continue
        rest = range(RESULT, len(dtypes))
        types = tuple(dtypes[each] for each in (*order, *rest))
        ordered_loops = [
            replace(loop, strides=tuple(loop.strides[each] for each in (*order, *rest)))
            for loop in loops
        ]
        ordered_padding = (
            replace(padding, operand=order.index(padding.operand)) if padding else None
        )
        further = stored(epilogue)
        arrangements = _arranged(
            types, ordered_loops, summed, max_stride, contiguous, ordered_padding, further
        )
        for outer, rows, lanes, grid in arrangements:
            if max_stride == sys.maxsize and any(loop.extent >= FEWEST_LANES for loop in rows):
                continue
            if choice == strided_pixels and any(loop.extent >= lanes.extent for loop in rows):
                continue
            if (
                initial is not None
                and lanes.strides[initial]
                and any(loop.strides[initial] for loop in rows)
            ):
                raise Unsupported("initial values of sums that depend on both rows and lanes")
            # The innermost loops have the smallest strides in `a`, which fit into the immediates of loads.
            sums = sorted(
                (ordered_loops[each] for each in summed), key=lambda loop: -loop.strides[A]
            )
            nodes = needed(with_scalars(epilogue, lanes))
            product = Product(
                types, outer, rows, lanes, tuple(sums), initial, nodes, ordered_padding, grid
            )
            if (product, order == (B, A)) not in possible:
                possible.append((product, order == (B, A)))
            if len(possible) > number:
                return possible[number]
    if possible:
        raise Unsupported(f"only {len(possible)} loops that can be lanes")
    raise Unsupported("a result without a loop that can be lanes")


def _arranged(
    dtypes: tuple[str, ...],
    loops: list[Loop],
    summed: Set[int],
    max_stride: int,
    contiguous: bool,
    padding: Padding | None,
    further: Set[int],
) -> Iterator[tuple[tuple[Loop, ...], tuple[Loop, ...], Loop, tuple[Loop, ...]]]:
    """Yields outer loops, rows, lanes and grid, for each loop that can be lanes.

    Args:
      dtypes, loops, summed, padding: as in arranged(), but the first two operands are `a` and `b`.
      max_stride: bytes between neighboring lanes in `b`, at most.
      contiguous: whether lanes must be contiguous in the result.
      further: numbers of further results, whose lanes may be strided.
    """
    outer: list[Loop] = []
    rows: list[Loop] = []
    lanes: list[Loop] = []
    # Loops that could be the lanes of a depthwise product.
    depthwise: list[Loop] = []
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
            depthwise.append(loop)
        else:
            outer.append(loop)
    # With masks, lanes are pixels and may span the lines of an image; they cannot be channels.
    flat = padding is not None and padding.operand == B
    channel_runs = [] if flat else _runs(depthwise)
    for candidates, others in ((_runs(lanes, flat), depthwise), (channel_runs, lanes)):
        for run in candidates:
            loop = _flattened(run)
            if (
                loop.extent >= FEWEST_LANES
                and loop.strides[B] <= max_stride
                and _fits(loop, dtypes, contiguous, further)
            ):
                unused = [part for each in candidates if each is not run for part in each]
                sums = [loops[number] for number in sorted(summed)]
                grid = tuple(run) if flat else ()
                outer_loops = merged([*outer, *others, *unused])
                yield outer_loops, merged(_sliding_last(rows, sums)), loop, grid


def _sliding_last(rows: list[Loop], sums: list[Loop]) -> list[Loop]:
    """Makes a loop along which a window slides the innermost one, if there is one."""
    sliding = [row for row in rows if any(overlap(row, taps, 3) < 1 for taps in sums)]
    if not sliding or sliding[-1] is rows[-1]:
        return rows
    return [*(row for row in rows if row is not sliding[-1]), sliding[-1]]


def overlap(row_loop: Loop, taps: Loop, rows: int) -> float:
    """Returns the fraction of distinct elements among those of `a` that neighboring rows read at all taps.

    It is 1 if the rows share no elements.
    """
    rows = min(rows, row_loop.extent)
    if taps.extent > LARGEST_WINDOW or not row_loop.strides[A]:
        return 1
    return len(offsets(row_loop, taps, rows)) / (rows * taps.extent)


def offsets(row_loop: Loop, taps: Loop, rows: int) -> list[int]:
    """Returns the distinct byte offsets in `a` that neighboring rows read at all taps, sorted."""
    return sorted(
        {
            row * row_loop.strides[A] + tap * taps.strides[A]
            for row in range(rows)
            for tap in range(taps.extent)
        }
    )


def _fits(lanes: Loop, dtypes: tuple[str, ...], contiguous: bool, further: Set[int]) -> bool:
    """Whether a loop can be the lanes of the epilogue's operands and of the results.

    Operands must be contiguous or the same for all lanes. Further results may be strided, and so may the result unless
    `contiguous`.
    """
    strides = lanes.strides
    fits = strides[RESULT] == WIDTHS[dtypes[RESULT]] if contiguous else strides[RESULT] > 0
    return fits and all(
        strides[number] > 0 if number in further else strides[number] in (0, WIDTHS[dtypes[number]])
        for number in range(RESULT + 1, len(dtypes))
    )


def needed(epilogue: list[Node]) -> tuple[Node, ...]:
    """Returns the nodes that results depend on, renumbered."""
    used = {n for n, node in enumerate(epilogue) if node.op == "store"} | {len(epilogue) - 1}
    for number in reversed(range(len(epilogue))):
        if number in used:
            used.update(epilogue[number].args)
    new_numbers = {number: new for new, number in enumerate(sorted(used))}
    return tuple(
        replace(epilogue[number], args=tuple(new_numbers[arg] for arg in epilogue[number].args))
        for number in new_numbers
    )


def with_scalars(epilogue: tuple[Node, ...], lanes: Loop) -> list[Node]:
    """Returns the nodes, in which loads of an element that is the same for all lanes are scalars."""
    nodes: list[Node] = []
    for node in epilogue:
        if node.op == "load" and lanes.strides[node.operand] == 0:
            nodes.append(replace(node, op="scalar"))
        elif node.op in ("extf", "extsi") and nodes[node.args[0]].op == "scalar":
            # The load of a scalar widens it.
            nodes.append(nodes[node.args[0]])
        else:
            nodes.append(node)
    return nodes


def merged(loops: list[Loop]) -> tuple[Loop, ...]:
    """Drops loops with one iteration, and merges neighboring loops that one loop can replace."""
    return tuple(map(_flattened, _runs(loops)))


def _runs(loops: list[Loop], flat: bool = False) -> list[list[Loop]]:
    """Returns the runs of loops that merged() replaces with one loop each.

    Args:
      flat: whether to ignore the loops' steps along padded edges.
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


def _flattened(run: list[Loop]) -> Loop:
    """Returns one loop for a run of loops."""
    return replace(run[-1], extent=math.prod(loop.extent for loop in run))


def window(
    product: Product, inner_rows: Loop, across: Loop | None, crossing: list[Loop], shares: bool
) -> tuple[Loop, tuple[Loop, ...]]:
    """Returns the loop over taps that is unrolled in each step, and the remaining loops without those in `crossing`.

    Args:
      across: the loop over horizontal taps if some of them are outside the image, which then is unrolled.
      crossing: the loops over vertical taps, and with masks over all padded taps.
      shares: whether to unroll the largest loop over taps that read the same scalars for neighboring rows.
    """
    none = Loop(1, (0,) * len(product.dtypes))
    remaining = [loop for loop in product.summed if loop not in crossing]
    taps = none
    for loop in remaining if shares else ():
        if overlap(inner_rows, loop, 3) < 1 and (taps is none or loop.extent > taps.extent):
            taps = loop
    taps = across or taps
    return taps, merged([loop for loop in remaining if loop is not taps]) or (none,)
