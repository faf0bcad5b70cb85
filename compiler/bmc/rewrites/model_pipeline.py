"""The rewrites of a model, whatever it is compiled for, in the order in which they run, with reasons."""

from __future__ import annotations

from bmc.iree import phases
from bmc.rewrites.iree import constant_bytes, constant_casts, separable_gathers
from bmc.rewrites.layout import transposed_convolutions
from bmc.rewrites.meaning import (
    bf16_rounding,
    empty_products,
    f64_constants,
    index_bounds,
    insertions_as_pads,
    known_scatters,
    loop_conditions,
    nan_order,
    overflowing_quotients,
    overlapping_updates,
    powers,
    reversals,
    stable_sorts,
    states,
    trigonometry,
    unsigned_numbers,
    unsigned_operands,
    windows,
)
from bmc.rewrites.model_context import ModelContext
from bmc.rewrites.quantization import (
    channel_scales,
    dequantizations,
    late_biases,
    quantized_heads,
    quantized_moves,
    rescales,
)
from bmc.rewrites.rewrite import Rewrite
from bmc.rewrites.weights import half_constants, named_constants, normalizations

FOR_ALL: tuple[Rewrite[ModelContext], ...] = (
    Rewrite(
        "states",
        phases.INPUT,
        "First, so that IREE never sees a mutable global, whose buffers it would place itself.",
        states.apply,
    ),
    Rewrite(
        "loop_conditions",
        phases.INPUT,
        "Before IREE splits each tensor that a loop carries into a buffer and its length.",
        loop_conditions.apply,
    ),
    Rewrite(
        "known_scatters",
        phases.INPUT,
        "Before overlapping_updates, which rewrites the updates that it makes.",
        known_scatters.apply,
    ),
    Rewrite(
        "insertions_as_pads",
        phases.INPUT,
        "Before IREE joins an insertion with what computes the inserted tensor.",
        insertions_as_pads.apply,
    ),
    Rewrite(
        "separable_gathers",
        phases.INPUT,
        "Before IREE computes the tuples of indices.",
        separable_gathers.apply,
        faster=True,
    ),
    Rewrite("reversals", phases.INPUT, "Before IREE joins them with slices.", reversals.apply),
    Rewrite(
        "unsigned_numbers",
        phases.INPUT,
        "After reversals are in front of slices; before indices and windows are rewritten.",
        unsigned_numbers.apply,
    ),
    Rewrite(
        "index_bounds",
        phases.INPUT,
        "After separable_gathers, which recognizes how tuples of indices are made.",
        index_bounds.apply,
    ),
    Rewrite(
        "overlapping_updates",
        phases.INPUT,
        "While they are as an exporter wrote them.",
        overlapping_updates.apply,
    ),
    Rewrite(
        "unsigned_operands",
        phases.INPUT,
        "Before IREE joins them with products.",
        unsigned_operands.apply,
    ),
    Rewrite(
        "bf16_rounding", phases.INPUT, "Before IREE leaves out roundings.", bf16_rounding.apply
    ),
    Rewrite("windows", phases.INPUT, "Before IREE pads and slides them.", windows.apply),
    Rewrite(
        "empty_products", phases.INPUT, "Before IREE divides by their number.", empty_products.apply
    ),
    Rewrite("powers", phases.INPUT, "Before IREE makes exp and log of powers.", powers.apply),
    Rewrite(
        "overflowing_quotients",
        phases.INPUT,
        "Before IREE evaluates constant expressions, or takes an overflow for impossible.",
        overflowing_quotients.apply,
    ),
    Rewrite(
        "trigonometry", phases.INPUT, "Before IREE makes polynomials of sines.", trigonometry.apply
    ),
    Rewrite(
        "stable_sorts",
        phases.INPUT,
        "Before IREE makes its own sorts of StableHLO's.",
        stable_sorts.apply,
    ),
    Rewrite(
        "nan_order",
        phases.INPUT,
        "While comparisons are as the framework's exporter wrote them.",
        nan_order.apply,
    ),
    Rewrite(
        "late_biases",
        phases.INPUT,
        "Before IREE turns convolutions of dequantized values into integer ones, if their sums start from zeros.",
        late_biases.apply,
        lambda context: context.int8,
    ),
    Rewrite(
        "quantized_heads",
        phases.INPUT,
        "Before IREE splits the products that make the heads of an attention.",
        quantized_heads.apply,
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
        "quantized_moves",
        phases.INPUT,
        "Before IREE splits concatenations into insertions, and joins pads with convolutions.",
        quantized_moves.apply,
        lambda context: context.int8,
        faster=True,
    ),
    Rewrite(
        "constant_casts",
        phases.INPUT,
        "Before IREE evaluates constant expressions.",
        constant_casts.apply,
    ),
    Rewrite(
        "constant_bytes",
        phases.INPUT,
        "Before IREE evaluates constant expressions.",
        constant_bytes.apply,
    ),
    Rewrite(
        "normalizations",
        phases.INPUT,
        "Before IREE evaluates constant expressions, and not where it must find the weights' quantization.",
        normalizations.apply,
        lambda context: not context.int8,
        faster=True,
    ),
    Rewrite("f64_constants", phases.INPUT, "Before IREE makes f32 of f64.", f64_constants.apply),
    Rewrite(
        "half_constants",
        phases.OPTIMIZED,
        "Before what reads constants of f32, and where IREE has evaluated all that a model does with them in f16.",
        half_constants.apply,
    ),
    Rewrite(
        "rescales",
        phases.OPTIMIZED,
        "Before named_constants, while the weights and shifts that prove its ranges are still in the IR.",
        rescales.apply,
        faster=True,
    ),
    Rewrite(
        "transposed_convolutions",
        phases.OPTIMIZED,
        "Before named_constants, while weights are in the IR, and after rescales, which proves ranges with them.",
        transposed_convolutions.apply,
        faster=True,
    ),
    Rewrite(
        "channel_scales",
        phases.OPTIMIZED,
        "Before named_constants, while the scales and zero points are still in the IR.",
        channel_scales.apply,
        lambda context: context.int8,
        faster=True,
    ),
    Rewrite(
        "named_constants",
        phases.OPTIMIZED,
        "As soon as constants have their final values, so that later phases work on kilobytes of IR.",
        named_constants.apply,
    ),
)
