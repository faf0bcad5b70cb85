"""Gives OpenBLAS every matrix product of floats."""

from __future__ import annotations

from bmc.libraries import Call, Dispatch, Sums, matmul


def take(dispatch: Dispatch) -> Call | None:
    """Returns the call of cblas_sgemm, None for anything else."""
    product = matmul(dispatch)
    if product is None or product.a.dtype != "f32":
        return None
    a = _stored(product.rows, product.terms, product.a_row, product.a_term)
    b = _stored(product.terms, product.columns, product.b_term, product.b_column)
    if a is None or b is None or (product.sums_column != 1 and product.columns > 1):
        return None
    return Call(
        "openblas_product",
        (product.a, product.b, Sums()),
        {
            "batch": product.batch,
            "rows": product.rows,
            "columns": product.columns,
            "terms": product.terms,
            "a_by_columns": a[0],
            "b_by_columns": b[0],
            "a_stride": a[1],
            "b_stride": b[1],
            "result_stride": max(product.sums_row, product.columns),
            "a_batch": product.a_batch,
            "b_batch": product.b_batch,
            "result_batch": product.sums_batch,
        },
    )


def _stored(rows: int, columns: int, row: int, column: int) -> tuple[bool, int] | None:
    """Returns whether a matrix is stored by columns, and its stride; None if it is neither by rows nor by columns.

    Args:
      rows, columns: extents.
      row, column: elements from one row or column to the next.
    """
    if column == 1 or columns == 1:
        return False, max(row, columns)
    if row == 1 or rows == 1:
        return True, max(column, rows)
    return None
