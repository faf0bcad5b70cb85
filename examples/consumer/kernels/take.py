"""Says which layers the kernel `dense` computes."""

from bmc.libraries import Call, Dispatch, Packed, Sums, matmul


def take(dispatch: Dispatch) -> Call | None:
    product = matmul(dispatch)
    if product is None or product.a.dtype != "f32":
        return None
    if product.rows > 1 or product.batch > 1 or product.a_term != 1:
        return None
    # One axis for the columns and one for the terms; the kernel reads the columns of a term at once.
    weights = Packed(product.b, lambda array: array.T)
    return Call(
        "dense",
        (product.a, weights, Sums()),
        {"inputs": product.terms, "outputs": product.columns},
    )
