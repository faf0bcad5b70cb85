"""Convolutions of images, with one loop for each of their axes."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.libraries.dispatch import Dispatch, Edge, Operand


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of a convolution, or none, whose extent is 1. Steps are in elements.

    Attributes:
      extent: how often it runs.
      image, weight, result, sums: from one iteration to the next in each operand, and in Sums().
    """

    extent: int = 1
    image: int = 0
    weight: int = 0
    result: int = 0
    sums: int = 0


@dataclass(frozen=True)
class Convolution:
    """result[y, x, output] = sum over tap_y, tap_x and input of image[y, x, tap_y, tap_x, input] * weight[...].

    Attributes:
      image, weight, result: the operands.
      y, x: the results, line by line.
      tap_y, tap_x: the window. Strides and dilations are in the steps.
      outputs: the channels of the result. If they move the image, the convolution is depthwise.
      inputs: the channels that are summed.
      groups: channels of image and result that stay apart, if there are outputs as well.
      batch: several images.
      edge_y, edge_x: the padding, None where there is none. The loops begin `low` indices before the image.
      filler: what is read there.
    """

    image: Operand
    weight: Operand
    result: Operand
    y: Axis
    x: Axis
    tap_y: Axis
    tap_x: Axis
    outputs: Axis
    inputs: Axis
    groups: Axis
    batch: Axis
    edge_y: Edge | None
    edge_x: Edge | None
    filler: float

    @property
    def is_depthwise(self) -> bool:
        return self.outputs.image != 0


def axes_of(dispatch: Dispatch) -> list[Axis]:
    """Returns the loops of a dispatch, with the steps of its first operand as those of the image."""
    operands = (each.steps for each in (dispatch.a, dispatch.b, dispatch.result))
    steps = zip(*operands, dispatch.sums_steps, strict=True)
    return [Axis(loop.extent, *each) for loop, each in zip(dispatch.loops, steps, strict=True)]


def convolution(dispatch: Dispatch) -> Convolution | None:
    """Returns a dispatch as a convolution of images; None if no window of one or two axes slides over its image."""
    if not 0 < len(dispatch.windows) <= 2:
        return None
    axes = axes_of(dispatch)
    pixels = {loop for loop, _ in dispatch.windows}
    taps = {tap for _, tap in dispatch.windows}
    found: dict[str, list[Axis]] = {"outputs": [], "inputs": [], "groups": [], "batch": []}
    for number, (axis, loop) in enumerate(zip(axes, dispatch.loops, strict=True)):
        if number in pixels | taps or axis.extent == 1:
            continue
        if loop.is_summed:
            kind = "inputs"
        elif axis.image and axis.weight:
            kind = "groups"
        else:
            kind = "outputs" if axis.weight else "batch"
        found[kind].append(axis)
    if any(len(axes_) > 1 for axes_ in found.values()):
        return None
    one = {kind: axes_[0] if axes_ else Axis() for kind, axes_ in found.items()}
    if one["outputs"].extent == 1 and one["inputs"].extent == 1:
        # Each channel has a window of its own.
        one["outputs"], one["groups"] = one["groups"], Axis()
    windows = [(None, None)] * (2 - len(dispatch.windows)) + list(dispatch.windows)
    (y, tap_y), (x, tap_x) = windows

    def at(number: int | None) -> Axis:
        return Axis() if number is None else axes[number]

    def edge(number: int | None) -> Edge | None:
        edges = dispatch.padding.edges if dispatch.padding and number is not None else ()
        return next((edge for edge in edges if edge.steps[number or 0]), None)

    return Convolution(
        image=dispatch.a,
        weight=dispatch.b,
        result=dispatch.result,
        y=at(y),
        x=at(x),
        tap_y=at(tap_y),
        tap_x=at(tap_x),
        outputs=one["outputs"],
        inputs=one["inputs"],
        groups=one["groups"],
        batch=one["batch"],
        edge_y=edge(y),
        edge_x=edge(x),
        filler=dispatch.padding.value if dispatch.padding else 0,
    )
