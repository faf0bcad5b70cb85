"""How far roundings move an ONNX model that quantizes activations while it runs.

A value that lies between two steps of 8 bits becomes one or the other by its last bit, and two computations that are
both right differ by a step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from bmc import answers, spec
from bmc.frontends import onnx_limits
from bmc.frontends.onnx_file import OnnxFile
from bmc.spread import Spread

_TRIALS = 4
# The model's own computation is one of many; the trials find few of them.
_MARGIN = 2.0
# Weights of f32 move by so much of themselves.
_ROUNDING = 2.0**-22


def widened(
    apart: Spread, file: OnnxFile, cases: tuple[spec.Case, ...], expected: tuple[spec.Case, ...]
) -> Spread:
    """Returns a spread no smaller than what the outputs move by when weights move by a rounding.

    Args:
      apart: the spread of onnxruntime's kernels.
      file: the model; one without dynamic quantization keeps `apart`.
      cases, expected: inputs, and onnxruntime's outputs for them.
    """
    if not any(kind.startswith("DynamicQuantize") for kind in onnx_limits.ops(file.model)):
        return apart
    share = 0.0
    for seed in range(_TRIALS):
        moved = replace(file, model=_moved(file.model, np.random.default_rng(seed)))
        for outputs, again in zip(expected, moved.run(cases), strict=True):
            share = max(share, *map(answers.share, outputs, again))
    # A power of 2, which most CPUs agree on.
    least = 2.0 ** math.ceil(math.log2(_MARGIN * share)) if share else 0.0
    return replace(apart, relative=max(apart.relative, least))


def _moved(model: Any, rng: np.random.Generator) -> Any:
    from onnx import TensorProto, numpy_helper

    copy = type(model)()
    copy.CopyFrom(model)
    for item in copy.graph.initializer:
        if item.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(item)
            signs = rng.choice((-_ROUNDING, _ROUNDING), array.shape)
            item.CopyFrom(
                numpy_helper.from_array((array * (1 + signs)).astype(np.float32), item.name)
            )
    return copy
