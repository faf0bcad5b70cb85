"""All rewrites, in the order in which they run, and why each stands where it stands."""

from __future__ import annotations

from bmc.iree import phases
from bmc.rewrites import (
    biases,
    channels_last,
    configs,
    constants,
    gathers,
    im2col,
    mark_vectorized,
    matmul_layout,
    rounding,
    row_windows,
    scalar_operands,
    soft_fma,
    states,
    views,
)
from bmc.rewrites.rewrite import Rewrite

PIPELINE = (
    Rewrite(
        "states",
        phases.INPUT,
        "First: IREE then never sees a mutable global, whose buffers it would place by itself.",
        states.apply,
    ),
    Rewrite(
        "biases",
        phases.INPUT,
        "Before IREE turns a convolution of dequantized values into one of integers, which it does"
        " only if the sum starts from zeros.",
        biases.apply,
        lambda context: context.int8,
    ),
    Rewrite(
        "constants",
        phases.OPTIMIZED,
        "As soon as constants have their final values: later phases then work on kilobytes of IR.",
        constants.apply,
    ),
    Rewrite(
        "im2col",
        phases.PARAMETERS,
        "Before channels_last, which would take a lone channel for channels of the result.",
        im2col.apply,
    ),
    Rewrite(
        "channels_last",
        phases.PARAMETERS,
        "While convolutions are still linalg on whole tensors, so that what it puts in fuses with"
        " what is between them.",
        channels_last.apply,
    ),
    Rewrite(
        "row_windows",
        phases.PARAMETERS,
        "After channels_last: it exchanges the axes of pixels, which must stand before the channels.",
        row_windows.apply,
    ),
    Rewrite(
        "matmul_layout",
        phases.PARAMETERS,
        "After the convolutions, some of which have become matrix products.",
        matmul_layout.apply,
    ),
    Rewrite(
        "rounding",
        phases.FLOW,
        "After dispatches are formed: IREE recognizes quantization by the operations this replaces.",
        rounding.apply,
    ),
    Rewrite(
        "views",
        phases.CONFIGURED,
        "Once results are stored to buffers, before their stores are vectorized.",
        views.apply,
    ),
    Rewrite(
        "configs",
        phases.CONFIGURED,
        "Where IREE has chosen tile sizes and not yet used them.",
        configs.apply,
    ),
    Rewrite(
        "mark_vectorized",
        phases.VECTORIZED,
        "First after vectorization, which bmc runs by itself: tells IREE that it is done.",
        mark_vectorized.apply,
    ),
    Rewrite(
        "scalar_operands",
        phases.VECTORIZED,
        "Between vectorization, which widens whole vectors, and LLVM, which would shuffle them.",
        scalar_operands.apply,
    ),
    Rewrite(
        "gathers",
        phases.VECTORIZED,
        "Last before LLVM, so that no gather is made after it.",
        gathers.apply,
    ),
    Rewrite(
        "soft_fma",
        phases.TARGETS,
        "Where fused multiply-adds are LLVM intrinsics and IREE's own fmaf is not linked yet.",
        soft_fma.apply,
        lambda context: context.target.soft_float,
    ),
)
