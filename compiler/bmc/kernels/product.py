"""What a kernel of bmc's own computes: a product with loops of fixed extents, and what happens to its sums."""

from __future__ import annotations

from dataclasses import dataclass

# Numbers of a product's operands; the epilogue reads those that follow.
A, B, RESULT = range(3)


class Unsupported(Exception):
    """What this package cannot write; the message says what."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop.

    Attributes:
      extent: how often it runs.
      strides: bytes from one iteration to the next in each operand.
    """

    extent: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the epilogue, for all lanes of one row.

    Attributes:
      op: "sum", "load", "constant", "mulhi" (the high half of a product of 32-bit integers), or the name of an
        operation of MLIR's arith dialect.
      dtype: "f32", "i32" or "i8".
      args: numbers of the nodes it is computed from.
      operand: of a load, the number of the operand.
      value: of a constant, its value; of a comparison, its predicate.
    """

    op: str
    dtype: str
    args: tuple[int, ...] = ()
    operand: int = 0
    value: float = 0


@dataclass(frozen=True)
class Product:
    """result[outer, row, lane] = epilogue(sum over sums of a[outer, row, sum] * b[outer, sum, lane]).

    Where `a` has lanes as well, as in a depthwise convolution, lanes are multiplied with lanes.

    Attributes:
      dtypes: element type of each operand.
      outer: loops around everything.
      rows: loops of the result that `b` does not depend on, outermost first.
      lanes: the loop along which `b` and the result are contiguous, and `a` is, or does not move.
      sums: loops that are summed, outermost first.
      initial: operand with the sums' initial values for each lane, None for zeros.
      epilogue: the values computed from a sum; the last one is stored.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    lanes: Loop
    sums: tuple[Loop, ...]
    initial: int | None
    epilogue: tuple[Node, ...]

    @property
    def is_float(self) -> bool:
        return self.dtypes[A] == "f32"


def merged(loops: list[Loop]) -> tuple[Loop, ...]:
    """Drops loops that run once, and makes one loop of two that visit memory as one would."""
    result: list[Loop] = []
    for loop in loops:
        if loop.extent == 1:
            continue
        last = result[-1] if result else None
        if last and all(
            outer == loop.extent * inner
            for outer, inner in zip(last.strides, loop.strides, strict=True)
        ):
            result[-1] = Loop(last.extent * loop.extent, loop.strides)
        else:
            result.append(loop)
    return tuple(result)
