"""How far roundings move an ONNX model that quantizes activations.

A value that lies between two steps of 8 bits becomes one or the other by its last bit, and two computations that are
both right differ by a step.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np

from bmc import answers, spec
from bmc.frontends import onnx_limits, quantized
from bmc.frontends.onnx_file import OnnxFile
from bmc.spread import Spread

_TRIALS = 4
# The model's own computation is one of many; the trials find few of them.
_MARGIN = 2.0
# Weights of f32, or scales, move by so much of themselves.
_ROUNDING = 2.0**-22
# A wider one would not tell right answers from wrong ones.
_WIDEST = 2.0**-2
# Whose constants move: a scale moves all that it divides, and a weight of f32 what is added up.
_MOVED = (*quantized.PRODUCTS, "DequantizeLinear", "QuantizeLinear")


def widened(
    apart: Spread,
    file: OnnxFile,
    cases: tuple[spec.Case, ...],
    expected: tuple[spec.Case, ...],
    *,
    is_ours: bool = False,
) -> Spread:
    """Returns a spread no smaller than what the outputs move by when weights or scales move by a rounding.

    Args:
      apart: the spread of onnxruntime's kernels.
      file: the model. One without dynamic quantization that its maker quantized keeps `apart`, and so does one that
        does not move.
      cases, expected: inputs, and onnxruntime's outputs for them.
      is_ours: whether bmc quantized it.
    """
    model = file.model
    if any(kind.startswith("DynamicQuantize") for kind in onnx_limits.ops(model)):
        moving = {item.name for item in model.graph.initializer}
    elif is_ours:
        # Other constants may be exponents or sizes, which must not move.
        moving = {
            name for node in model.graph.node if node.op_type in _MOVED for name in node.input
        }
    else:
        return apart
    share = 0.0
    for seed in range(_TRIALS):
        moved = replace(file, model=_moved(model, moving, np.random.default_rng(seed)))
        for outputs, again in zip(expected, moved.run(cases), strict=True):
            share = max(share, *map(answers.share, outputs, again))
    # A power of 2, which most CPUs agree on. The tolerance of the largest element is twice that.
    whole = math.floor if is_ours else math.ceil
    least = 2.0 ** whole(math.log2(_MARGIN * share)) if share else 0.0
    if is_ours:
        least = min(least, _WIDEST)
    return replace(apart, relative=max(apart.relative, least))


def note(apart: Spread) -> str:
    """Returns a sentence for the user of a model that bmc quantized, whose tolerance is that of widened()."""
    share = f"{100 * apart.relative:.2g}%"
    return (
        f"the tolerance is {share} of the largest element, because roundings decide where numbers between two steps of"
        " int8 go: onnxruntime's own answers move by at least half of that if scales and weights move by a rounding"
    )


def _moved(model: Any, moving: Set[str], rng: np.random.Generator) -> Any:
    from onnx import TensorProto, numpy_helper

    copy = type(model)()
    copy.CopyFrom(model)
    for item in copy.graph.initializer:
        if item.name in moving and item.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(item)
            signs = rng.choice((-_ROUNDING, _ROUNDING), array.shape)
            item.CopyFrom(
                numpy_helper.from_array((array * (1 + signs)).astype(np.float32), item.name)
            )
    return copy
