"""All rewrites in the order in which they run, with the reason for each one's place."""

from __future__ import annotations

from bmc.iree import phases
from bmc.rewrites import (
    alignments,
    biases,
    channels_last,
    configs,
    constant_casts,
    constants,
    dequantizations,
    gathers,
    im2col,
    insertions,
    loops,
    mark_vectorized,
    matmul_layout,
    pads,
    rescales,
    rounding,
    row_windows,
    scalar_operands,
    soft_fma,
    states,
    views,
    wide_constants,
)
from bmc.rewrites.rewrite import Rewrite

PIPELINE = (
    Rewrite(
        "states",
        phases.INPUT,
        "First, so that IREE never sees a mutable global, whose buffers it would place itself.",
        states.apply,
    ),
    Rewrite(
        "loops",
        phases.INPUT,
        "Before IREE splits each tensor that a loop carries into a buffer and its length.",
        loops.apply,
    ),
    Rewrite(
        "insertions",
        phases.INPUT,
        "Before IREE joins an insertion with what computes the inserted tensor.",
        insertions.apply,
    ),
    Rewrite(
        "biases",
        phases.INPUT,
        "Before IREE turns a convolution of dequantized values into an integer one, which it does only"
        " if the sum starts from zeros.",
        biases.apply,
        lambda context: context.int8,
    ),
    Rewrite(
        "dequantizations",
        phases.INPUT,
        "Before IREE looks for products of dequantized values.",
        dequantizations.apply,
        lambda context: context.int8,
    ),
    Rewrite(
        "constant_casts",
        phases.INPUT,
        "Before IREE evaluates constant expressions.",
        constant_casts.apply,
    ),
    Rewrite(
        "wide_constants",
        phases.INPUT,
        "Before IREE makes f32 of f64.",
        wide_constants.apply,
    ),
    Rewrite(
        "rescales",
        phases.OPTIMIZED,
        "Before constants, while the weights and shifts that prove its ranges are still in the IR.",
        rescales.apply,
        faster=True,
    ),
    Rewrite(
        "constants",
        phases.OPTIMIZED,
        "As soon as constants have their final values, so that later phases work on kilobytes of IR.",
        constants.apply,
    ),
    Rewrite(
        "im2col",
        phases.PARAMETERS,
        "Before channels_last, which also stores the weights in the shape that im2col reads.",
        im2col.apply,
        faster=True,
    ),
    Rewrite(
        "channels_last",
        phases.PARAMETERS,
        "While convolutions are still linalg on whole tensors, so that its transpositions fuse with the"
        " ops between them.",
        channels_last.apply,
        faster=True,
    ),
    Rewrite(
        "row_windows",
        phases.PARAMETERS,
        "After channels_last, because it swaps pixel axes and expects the channels behind them.",
        row_windows.apply,
        faster=True,
    ),
    Rewrite(
        "matmul_layout",
        phases.PARAMETERS,
        "After the rewrites of convolutions, which turn some of them into matrix products.",
        matmul_layout.apply,
        faster=True,
    ),
    Rewrite(
        "pads",
        phases.PARAMETERS,
        "After the rewrites of convolutions, which read the padded image by its axes.",
        pads.apply,
        faster=True,
    ),
    Rewrite(
        "rounding",
        phases.FLOW,
        "After dispatches are formed, because IREE recognizes quantization by the ops this replaces.",
        rounding.apply,
    ),
    Rewrite(
        "alignments",
        phases.CONFIGURED,
        "As soon as kernels have bindings.",
        alignments.apply,
    ),
    Rewrite(
        "views",
        phases.CONFIGURED,
        "Once results are stored to buffers, before those stores are vectorized.",
        views.apply,
        faster=True,
    ),
    Rewrite(
        "configs",
        phases.CONFIGURED,
        "After IREE has chosen tile sizes, before it applies them.",
        configs.apply,
        faster=True,
    ),
    Rewrite(
        "mark_vectorized",
        phases.VECTORIZED,
        "First after vectorization, which bmc runs itself: it tells IREE that this is done.",
        mark_vectorized.apply,
    ),
    Rewrite(
        "scalar_operands",
        phases.VECTORIZED,
        "After vectorization, which widens whole vectors, and before LLVM, which would shuffle them.",
        scalar_operands.apply,
        faster=True,
    ),
    Rewrite(
        "gathers",
        phases.VECTORIZED,
        "Last before LLVM, so that no later rewrite adds a gather.",
        gathers.apply,
    ),
    Rewrite(
        "soft_fma",
        phases.TARGETS,
        "Once fused multiply-adds are LLVM intrinsics, before IREE links its own fmaf.",
        soft_fma.apply,
        lambda context: context.target.soft_float,
    ),
)
