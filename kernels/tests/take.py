"""Takes every product of a matrix with a constant one, and every convolution of int8 without dilation."""

from __future__ import annotations

from bmc.libraries import Call, Convolution, Dispatch, Packed, Scratch, Sums, convolution, matmul


def take(dispatch: Dispatch) -> Call | None:
    window = convolution(dispatch)
    if window is not None:
        return _window(window)
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


def _window(found: Convolution) -> Call | None:
    y, x, tap_y, tap_x = found.y, found.x, found.tap_y, found.tap_x
    is_dilated = y.image % max(tap_y.image, 1) or x.image % max(tap_x.image, 1)
    if found.image.dtype != "i8" or found.groups.extent > 1 or found.batch.extent > 1 or is_dilated:
        return None
    lines, columns = y.image // max(tap_y.image, 1), x.image // max(tap_x.image, 1)
    return Call(
        "naive_window_i8",
        # The loops are outputs, taps and inputs, in this order.
        (found.image, Packed(found.weight, lambda weight: weight), Sums()),
        {
            "lines": y.extent,
            "columns": x.extent,
            "outputs": found.outputs.extent,
            "channels": found.inputs.extent,
            "tap_lines": tap_y.extent,
            "tap_columns": tap_x.extent,
            "image_line": tap_y.image,
            "image_pixel": tap_x.image,
            "image_output": found.outputs.image,
            "image_channel": found.inputs.image,
            "result_y": y.sums,
            "result_x": x.sums,
            "result_o": found.outputs.sums,
            "low_y": found.edge_y.low if found.edge_y else 0,
            "low_x": found.edge_x.low if found.edge_x else 0,
            "height": found.edge_y.extent if found.edge_y else 1 << 30,
            "width": found.edge_x.extent if found.edge_x else 1 << 30,
            "dilation_y": 1,
            "dilation_x": 1,
            "stride_y": lines,
            "stride_x": columns,
            "filler": int(found.filler),
        },
        pads=True,
    )
