"""A dispatch that reads an image through a padding, as it is on a copy of the image that has the padding."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.libraries.dispatch import Dispatch, Edge


@dataclass(frozen=True)
class PaddedCopy:
    """How to make the copy, line by line, such as in a scratchpad; in elements.

    Attributes:
      dispatch: the same without padding. Its image is the copy, in which lines have no gaps.
      value: what is around the image.
      line: of the copy.
      before, inside: how much of a line of the copy is before the image's, and how much is the image's.
      lines_before, lines: how many lines of the copy are before the image, and how many the image has.
      pitch: from line to line of the image.
    """

    dispatch: Dispatch
    value: float
    line: int
    before: int
    inside: int
    lines_before: int
    lines: int
    pitch: int


def padded_copy(dispatch: Dispatch) -> PaddedCopy | None:
    """Returns how a dispatch is on a padded copy of its first operand.

    Returns None if another operand is padded, or if not lines and pixels are, or if a pixel has gaps.
    """
    padding = dispatch.padding
    if padding is None or padding.image is not dispatch.a or len(padding.edges) != 2:
        return None
    pitches = [_pitch(dispatch, edge) for edge in padding.edges]
    (y, pitch), (x, pixel) = sorted(
        zip(padding.edges, pitches, strict=True), key=lambda each: -each[1]
    )
    inner = [
        0 if any(edge.steps[number] for edge in padding.edges) else step
        for number, step in enumerate(dispatch.a.steps)
    ]
    if pixel != _reach(dispatch, inner) or pitch < x.extent * pixel:
        return None
    line = _reach(dispatch, x.steps) * pixel
    steps = tuple(
        in_y * line + in_x * pixel + rest
        for in_y, in_x, rest in zip(y.steps, x.steps, inner, strict=True)
    )
    image = replace(dispatch.a, steps=steps)
    before = x.low * pixel
    return PaddedCopy(
        replace(dispatch, operands=(image, *dispatch.operands[1:]), padding=None),
        padding.value,
        line,
        before,
        min(x.extent * pixel, line - before),
        y.low,
        y.extent,
        pitch,
    )


def _pitch(dispatch: Dispatch, edge: Edge) -> int:
    """Returns elements from one index along an edge to the next, 0 if loops disagree."""
    assert dispatch.padding is not None
    others = [other for other in dispatch.padding.edges if other is not edge]
    found = set()
    for number, (loop, step) in enumerate(zip(dispatch.loops, edge.steps, strict=True)):
        if step and loop.extent > 1:
            along_one = not any(other.steps[number] for other in others)
            found.add(dispatch.a.steps[number] / step if along_one else 0)
    (pitch,) = found if len(found) == 1 else (0,)
    return int(pitch) if pitch == int(pitch) else 0


def _reach(dispatch: Dispatch, steps: list[int] | tuple[int, ...]) -> int:
    """Returns how many indices loops visit, from the first one to the last one."""
    return 1 + sum(
        (loop.extent - 1) * step for loop, step in zip(dispatch.loops, steps, strict=True)
    )
