"""Takes products of int8 for the dot unit: fully connected layers and convolutions of single pixels."""

from __future__ import annotations

from bmc.libraries import Call, Dispatch, Packed, Sums, windows

_WORD = 4
# Words that the unit has room for.
_MOST_WORDS = 256
# About how many instructions: of a call, to store a word of a window, to fetch a sum, and for each operation behind it.
_CALL, _STORE, _SUM, _OPERATION = 100, 5, 10, 2.5
# About how many the CPU executes while the unit reads a word of weights.
_WEIGHT = 1.3


def take(dispatch: Dispatch) -> Call | None:
    found = windows(dispatch) if dispatch.a.dtype == "i8" and not dispatch.padding else None
    if found is None or found.is_depthwise or len(found.runs) > 1:
        return None
    (y, x), (run,), outputs = found.rows, found.runs, found.output.extent
    # The unit reads whole words, and a window's sums come after each other.
    places = (run.extent, y.image, x.image, dispatch.a.offset)
    if run.image != 1 or any(place % _WORD for place in places) or found.output.sums != 1:
        return None
    words = run.extent // _WORD
    if words > _MOST_WORDS:
        return None
    behind = sum(node.op != "constant" for node in dispatch.epilogue)
    window = words * _STORE + outputs * (words * _WEIGHT + _SUM + behind * _OPERATION)
    cost = _CALL + y.extent * x.extent * window
    if cost >= dispatch.cost:
        return None
    return Call(
        "dot_unit_sums",
        (dispatch.a, Packed(dispatch.b, found.matrix), Sums()),
        {
            "lines": y.extent,
            "columns": x.extent,
            "line_step": y.image,
            "column_step": x.image,
            "words": words,
            "outputs": outputs,
        },
    )
