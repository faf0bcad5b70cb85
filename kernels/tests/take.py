"""Takes every product of a matrix with a constant one."""

from __future__ import annotations

from bmc.libraries import Call, Dispatch, Packed, Scratch, Sums, matmul


def take(dispatch: Dispatch) -> Call | None:
    product = matmul(dispatch)
    if product is None or product.batch > 1:
        return None
    # Loops are rows, columns and terms, so the weights' axes are columns and terms.
    return Call(
        "naive_" + product.a.dtype,
        (
            product.a,
            Packed(product.b, lambda b: b.reshape(product.columns, product.terms)),
            Scratch(4 * product.columns),
            Sums(),
        ),
        {
            "rows": product.rows,
            "columns": product.columns,
            "terms": product.terms,
            "a_row": product.a_row,
            "a_term": product.a_term,
        },
    )
