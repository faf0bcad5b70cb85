"""All rewrites in the order in which they run, with the reason for each one's place."""

from __future__ import annotations

from typing import Any

from bmc.iree import phases
from bmc.rewrites.context import Context
from bmc.rewrites.iree import (
    alignments,
    lowering_configs,
    mark_vectorized,
    result_views,
    rounded_products,
    scalar_operands,
    soft_fma,
    soft_halves,
    strided_gathers,
)
from bmc.rewrites.kernels import kernel_libraries, own_kernels
from bmc.rewrites.layout import (
    channels_last,
    channels_last_between,
    copied_paddings,
    im2col,
    matmul_layout,
    max_poolings,
    padded_inputs,
    planar,
    split_channels,
)
from bmc.rewrites.model_pipeline import FOR_ALL
from bmc.rewrites.quantization import divisions, half_precision, quantized_poolings, rounding
from bmc.rewrites.rewrite import Rewrite
from bmc.rewrites.weights import half_weights, wide_weights

FOR_TARGET: tuple[Rewrite[Context], ...] = (
    Rewrite(
        "half_precision",
        phases.PARAMETERS,
        "After named_constants, which makes weights known by name, and before what depends on the types of products.",
        half_precision.apply,
        lambda context: context.f16,
    ),
    Rewrite(
        "soft_halves",
        phases.PARAMETERS,
        "Before other rewrites for the target, so that it refuses what the model does, and not what they make of it.",
        soft_halves.apply,
        soft_halves.applies,
    ),
    Rewrite(
        "quantized_poolings",
        phases.PARAMETERS,
        "Before channels_last, so that the pooling and the image before it are turned as they then are.",
        quantized_poolings.apply,
        lambda context: context.int8 and own_kernels.applies(context),
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
        "While convolutions are linalg on whole tensors, so that its transpositions fuse with the ops between them.",
        channels_last.apply,
        faster=True,
    ),
    Rewrite(
        "channels_last_between",
        phases.PARAMETERS,
        "After channels_last, which leaves turned images between convolutions, and before the rewrites of those.",
        channels_last_between.apply,
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
        "padded_inputs",
        phases.PARAMETERS,
        "After the rewrites of convolutions, which read the padded image by its axes.",
        padded_inputs.apply,
        faster=True,
    ),
    Rewrite(
        "split_channels",
        phases.PARAMETERS,
        "After matmul_layout, which puts the channels of weights last, and before planar, which may turn the result.",
        split_channels.apply,
        own_kernels.applies,
        faster=True,
    ),
    Rewrite(
        "max_poolings",
        phases.PARAMETERS,
        "After channels_last, because it expects channels behind pixels, and before planar, which may turn its slices.",
        max_poolings.apply,
        own_kernels.applies,
        faster=True,
    ),
    Rewrite(
        "planar",
        phases.PARAMETERS,
        "After channels_last and pads, because it expects channels behind pixels, and paddings as they will be.",
        planar.apply,
        own_kernels.applies,
        faster=True,
    ),
    Rewrite(
        "wide_weights",
        phases.PARAMETERS,
        "After planar, which decides whether a product's lanes are channels.",
        wide_weights.apply,
        # Libraries get weights as they are.
        lambda context: own_kernels.applies(context) and not context.libraries,
        faster=True,
    ),
    Rewrite(
        "half_weights",
        phases.PARAMETERS,
        "After the rewrites of products, which read and turn weights of f32.",
        half_weights.apply,
        lambda context: context.exact_halves is not None,
    ),
    Rewrite(
        "copied_paddings",
        phases.PARAMETERS,
        "Last before dispatches are formed, once it is known which paddings convolutions read.",
        copied_paddings.apply,
        own_kernels.applies,
        faster=True,
    ),
    Rewrite(
        "rounding",
        phases.FLOW,
        "After dispatches are formed, because IREE recognizes quantization by the ops this replaces.",
        rounding.apply,
    ),
    Rewrite(
        "divisions",
        phases.FLOW,
        "After rounding, whose clamped quotients it recognizes.",
        divisions.apply,
        own_kernels.applies,
        faster=True,
    ),
    Rewrite("alignments", phases.CONFIGURED, "As soon as kernels have bindings.", alignments.apply),
    Rewrite(
        "result_views",
        phases.CONFIGURED,
        "Once results are stored to buffers, before those stores are vectorized.",
        result_views.apply,
        faster=True,
    ),
    Rewrite(
        "lowering_configs",
        phases.CONFIGURED,
        "After IREE has chosen tile sizes, before it applies them.",
        lowering_configs.apply,
        faster=True,
    ),
    Rewrite(
        "kernel_libraries",
        phases.CONFIGURED,
        "After result_views, as own_kernels, and before it, because a library of the user's comes first.",
        kernel_libraries.apply,
        lambda context: bool(context.libraries),
        hides=True,
    ),
    Rewrite(
        "own_kernels",
        phases.CONFIGURED,
        "After result_views, which lets results be stored directly, and after lowering_configs, because a dispatch"
        " whose tile sizes the user gives keeps IREE's kernel.",
        own_kernels.apply,
        own_kernels.applies,
        faster=True,
        hides=True,
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
        "rounded_products",
        phases.VECTORIZED,
        "After vectorization, and before LLVM, which would fuse products into sums.",
        rounded_products.apply,
        rounded_products.applies,
    ),
    Rewrite(
        "strided_gathers",
        phases.VECTORIZED,
        "Last before LLVM, so that no later rewrite adds a gather.",
        strided_gathers.apply,
    ),
    Rewrite(
        "soft_fma",
        phases.TARGETS,
        "Once fused multiply-adds are LLVM intrinsics, before IREE links its own fmaf.",
        soft_fma.apply,
        lambda context: context.target.soft_float,
    ),
)

PIPELINE: tuple[Rewrite[Any], ...] = (*FOR_ALL, *FOR_TARGET)
