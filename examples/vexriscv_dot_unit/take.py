"""Takes products of int8 for the dot unit: fully connected layers and convolutions of single pixels."""

from __future__ import annotations

from bmc.libraries import Call, Dispatch, Packed, Sums, windows

_WORD = 4
# Words that the unit has room for.
_MOST_WORDS = 256
# Instructions, measured: of a call and of a window, and behind each sum, for each operation that the compiler writes.
_CALL, _WINDOW, _OPERATION = 100, 60, 2.5
# What a word of weights takes, in instructions of the CPU.
_WEIGHT = 1.5


def take(dispatch: Dispatch) -> Call | None:
    found = windows(dispatch) if dispatch.a.dtype == "i8" and not dispatch.padding else None
    if found is None or found.is_depthwise or len(found.runs) > 1:
        return None
    (y, x), (run,), outputs = found.rows, found.runs, found.output.extent
    # The unit reads whole words, and the rows of results follow each other.
    if run.image != 1 or any(step % _WORD for step in (run.extent, x.image, dispatch.a.offset)):
        return None
    if y.extent > 1 or found.output.sums != 1 or x.extent > 1 and x.sums != outputs:
        return None
    words = run.extent // _WORD
    if words > _MOST_WORDS:
        return None
    behind = sum(node.op != "constant" for node in dispatch.epilogue)
    cost = _CALL + x.extent * (_WINDOW + outputs * (words * _WEIGHT + behind * _OPERATION))
    if cost >= dispatch.cost:
        return None
    return Call(
        "dot_unit_sums",
        (dispatch.a, Packed(dispatch.b, found.matrix), Sums()),
        {"rows": x.extent, "row_step": x.image, "words": words, "outputs": outputs},
    )
