"""CONV_3D_TRANSPOSE of floats, of which the converter to TOSA makes no valid module, as MLIR."""

from __future__ import annotations

from collections.abc import Callable

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, element, index


def _transposed(op: Operation) -> str:
    """Convolves the volume with zeros between its elements, with weights from the other end."""
    made = op.outputs[0]
    options, sizes = op.options, op.inputs[1].shape
    dilations = (options.dilationDFactor, options.dilationHFactor, options.dilationWFactor)
    if not made.is_float or options.fusedActivationFunction or any(each != 1 for each in dilations):
        return ""
    text = Text(op)
    _, weights, volume = text.inputs[:3]
    steps = (options.strideD, options.strideH, options.strideW)
    room, starts = [volume.shape[0]], [0]
    for axis, (size, step) in enumerate(zip(sizes[:3], steps, strict=True), 1):
        before, after = volume.shape[axis], made.shape[axis]
        # What LiteRT leaves out in front: nothing without padding, or half of what is too much.
        cut = 0
        if options.padding == _SAME:
            cut = max(0, (before - 1) * step + size - after) // 2
        starts.append(size - 1 - cut)
        room.append(after + size - 1)
    shape = (*room, volume.shape[-1])
    black = text.filled(shape, "f32", "0.0")
    places = ", ".join(map(str, (*starts, 0)))
    padded = text.operation(
        f"tensor.insert_slice %{volume.name} into %{black.name}[{places}]"
        f" [{', '.join(map(str, volume.shape))}] [1, {', '.join(map(str, steps))}, 1]"
        f" : {volume.type} into",
        shape,
        "f32",
    )

    def turned(b: Body, _: str) -> str:
        at = [b.minus(size - 1, index(b, loop)) for loop, size in enumerate(sizes[:3])]
        return element(b, weights, [*at, index(b, 4), index(b, 3)])

    order = (*sizes[:3], sizes[4], sizes[3])
    kernel = text.loop([], order, "f32", turned)
    zeros = text.filled(made.shape, "f32", "0.0")
    ones = "dense<1> : tensor<3xi64>"
    sums = text.operation(
        f"linalg.conv_3d_ndhwc_dhwcf {{strides = {ones}, dilations = {ones}}}"
        f" ins(%{padded.name}, %{kernel.name} : {padded.type}, {kernel.type})"
        f" outs(%{zeros.name} : {zeros.type}) ->",
        made.shape,
        "f32",
    )
    return text.function(sums)


_SAME = 0
KINDS: dict[str, Callable[[Operation], str]] = {"CONV_3D_TRANSPOSE": _transposed}
