"""Products as kernel libraries usually want them: with one loop each for rows, columns and terms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.libraries.dispatch import Dispatch, Operand


@dataclass(frozen=True)
class Matmul:
    """result[row, column] = sum of a[row, term] * b[term, column], for each of `batch` pairs of matrices.

    Steps are in elements.

    Attributes:
      batch, rows, columns, terms: extents.
      a, b, result: the operands. `b` is the one whose columns are the result's; either is the dispatch's first.
      a_row, a_term, b_term, b_column, result_row, result_column: from one index to the next.
      a_batch, b_batch, result_batch: from one matrix to the next.
      sums_batch, sums_row, sums_column: the same for Sums().
    """

    batch: int
    rows: int
    columns: int
    terms: int
    a: Operand
    b: Operand
    result: Operand
    a_batch: int
    a_row: int
    a_term: int
    b_batch: int
    b_term: int
    b_column: int
    result_batch: int
    result_row: int
    result_column: int
    sums_batch: int
    sums_row: int
    sums_column: int


@dataclass(frozen=True, slots=True)
class _Axis:
    """A loop, or several that visit all operands as one would: its extent, and steps in each operand."""

    extent: int
    a: int
    b: int
    result: int
    sums: int


def matmul(dispatch: Dispatch) -> Matmul | None:
    """Returns a dispatch as matrix products; None if it has more loops, as a convolution has, or a padding.

    The columns are the loop along which the result is contiguous, if there is one.
    """
    if dispatch.padding or dispatch.windows:
        return None
    first, second, result = dispatch.operands[:3]
    steps = zip(first.steps, second.steps, result.steps, dispatch.sums_steps, strict=True)
    axes = [
        _Axis(loop.extent, *each)
        for loop, each in zip(dispatch.loops, steps, strict=True)
        if loop.extent > 1
    ]
    summed = [axis for axis in axes if axis.result == 0]
    both = _merged([axis for axis in axes if axis.result and axis.a and axis.b])
    of_first = _merged([axis for axis in axes if axis.result and not axis.b])
    of_second = _merged([axis for axis in axes if axis.result and not axis.a])
    terms = _merged(summed)
    if max(map(len, (both, of_first, of_second, terms))) > 1:
        return None
    once = _Axis(1, 0, 0, 0, 0)
    batch, row, column, term = (
        found[0] if found else once for found in (both, of_first, of_second, terms)
    )
    if row.result == 1 and column.result != 1:
        first, second = second, first
        batch, row, column, term = (
            _Axis(axis.extent, axis.b, axis.a, axis.result, axis.sums)
            for axis in (batch, column, row, term)
        )
    return Matmul(
        batch=batch.extent,
        rows=row.extent,
        columns=column.extent,
        terms=term.extent,
        a=first,
        b=second,
        result=result,
        a_batch=batch.a,
        a_row=row.a,
        a_term=term.a,
        b_batch=batch.b,
        b_term=term.b,
        b_column=column.b,
        result_batch=batch.result,
        result_row=row.result,
        result_column=column.result,
        sums_batch=batch.sums,
        sums_row=row.sums,
        sums_column=column.sums,
    )


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Makes one axis of neighbors that visit memory as one would."""
    found: list[_Axis] = []
    for axis in axes:
        last = found[-1] if found else None
        if last and (last.a, last.b, last.result, last.sums) == tuple(
            axis.extent * step for step in (axis.a, axis.b, axis.result, axis.sums)
        ):
            found[-1] = replace(axis, extent=last.extent * axis.extent)
        else:
            found.append(axis)
    return found
