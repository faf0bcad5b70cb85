"""Products as sums over windows of an image: convolutions, matrix products and depthwise convolutions alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.libraries.convolutions import Axis
from bmc.libraries.dispatch import Array, Dispatch


@dataclass(frozen=True)
class Windows:
    """result[y, x, output] = sum over taps of image[y, x, tap] * weight[output, tap].

    Neighboring loops that visit image and result as one would are one axis. The image is the dispatch's first operand.

    Attributes:
      dispatch: what is computed.
      y, x: the windows.
      output: the loop over outputs. If it moves the image, the convolution is depthwise.
      output_loop: its number in the dispatch, -1 if there is one output.
      taps: the bytes of a window, outermost axis first.
      tap_loops: the loops that these are made of.
    """

    dispatch: Dispatch
    y: Axis
    x: Axis
    output: Axis
    output_loop: int
    taps: tuple[Axis, ...]
    tap_loops: tuple[int, ...]

    @property
    def is_depthwise(self) -> bool:
        return self.output.image != 0

    @property
    def size(self) -> int:
        """Elements of a window."""
        return math.prod(axis.extent for axis in self.taps)

    def matrix(self, weights: Array) -> Array:
        """Returns weights, as Packed gives them, with the shape [outputs, size].

        Args:
          weights: with an axis for each loop that moves the weight.
        """
        dispatch = self.dispatch
        moving = [
            number
            for number, (_, step) in enumerate(zip(dispatch.loops, dispatch.b.steps, strict=True))
            if step
        ]
        wanted = [self.output_loop] * (self.output_loop >= 0) + list(self.tap_loops)
        order = [moving.index(number) for number in wanted]
        order += [axis for axis, number in enumerate(moving) if number not in wanted]
        return weights.transpose(order).reshape(self.output.extent, self.size)


def windows(dispatch: Dispatch) -> Windows | None:
    """Returns a dispatch as sums over windows; None if it has more axes than that, or reads through a padding."""
    if dispatch.padding:
        return None
    image, weight, result = dispatch.operands[:3]
    steps = zip(
        dispatch.loops, image.steps, weight.steps, result.steps, dispatch.sums_steps, strict=True
    )
    rows, outputs, terms = [], [], []
    for number, (loop, in_image, in_weight, in_result, in_sums) in enumerate(steps):
        if loop.extent == 1:
            continue
        axis = Axis(loop.extent, image=in_image, result=in_result, sums=in_sums)
        if loop.is_summed:
            terms.append((number, axis))
        elif not in_weight:
            rows.append(axis)
        else:
            outputs.append((number, axis))
    merged = _merged(rows)
    if len(merged) > 2 or len(outputs) > 1 or not terms:
        return None
    y, x = [Axis()] * (2 - len(merged)) + merged
    output_loop, output = outputs[0] if outputs else (-1, Axis(result=1, sums=1))
    taps = _merged([axis for _, axis in terms])
    loops = tuple(number for number, _ in terms)
    return Windows(dispatch, y, x, output, output_loop, tuple(taps), loops)


def _merged(axes: list[Axis]) -> list[Axis]:
    """Makes one axis of neighbors that visit image and result as one would."""
    found: list[Axis] = []
    for axis in axes:
        last = found[-1] if found else None
        if last and (last.image, last.result, last.sums) == tuple(
            axis.extent * step for step in (axis.image, axis.result, axis.sums)
        ):
            found[-1] = Axis(
                last.extent * axis.extent, image=axis.image, result=axis.result, sums=axis.sums
            )
        else:
            found.append(axis)
    return found
