"""Checks that an int8 model computes in integers, and an f16 model in f16, except where it lists a reason.

Compiled carelessly, a quantized model still gives the right answers: its int8 weights become f32 at build
time, four times as large, and are multiplied in floating point. Nothing fails. So every product
(convolution, matrix product, attention) of a model declared int8 must accumulate integers, and every
large weight must be int8. A state may begin with floats. Exceptions are listed with a reason:

    bm_model(..., float_parts = {"conv_8x2x4x4x3x3_f32": "grouped, IREE keeps it in f32"})

A key is a dispatch function, its op signature or the name of a weight. Element-wise operations,
poolings, softmax and normalizations are not products and may be in floating point.

A file that mixes both, such as one that onnxruntime quantized in part, is as its maker wanted it: then the reason is
the file.

A model that is to compute in f16 is held to the same: its products must add up f16, or be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from bmc.errors import BmcError
from bmc.facts.products import ProductDispatch
from bmc.plan.weights import Weight

# Smaller float constants are biases, scales and the like.
_LARGE_WEIGHT_BYTES = 1024
_AS_IN_THE_FILE = "as the file has it"


def check_products(
    found: tuple[ProductDispatch, ...],
    float_parts: Mapping[str, str],
    weights: Callable[[], Collection[Weight]] = tuple,
) -> None:
    """Checks a model's products, which are known before its kernels are compiled.

    Args:
      found: the products.
      float_parts: reason by dispatch function or op signature.
      weights: returns the model's constants, of which the hint names those that such products read.

    Raises:
      BmcError: a product is in floating point and not listed, or all of them are. The message names the first, with
        the model's line. A model without products has nothing to check, such as one that only scales int8 values.
    """
    unlisted = [
        p for p in found if not p.is_integer and not {p.function, p.op} & float_parts.keys()
    ]
    if unlisted:
        raise BmcError(
            "float-dispatch",
            f"dispatch '{unlisted[0].op}' of an int8 model adds up products in"
            f" {unlisted[0].accumulator}{_and_more(len(unlisted))}",
            where=unlisted[0].where,
            hint="quantize what they read, or list them with the reason in float_parts:"
            f" {_quoted([*(p.op for p in unlisted), *_read_by(unlisted, weights(), float_parts)])}",
        )
    if found and not any(product.is_integer for product in found):
        raise BmcError(
            "float-dispatch",
            "float_parts lists all products of a model with int8 values: no dispatch multiplies integers",
            hint="quantize the model so that one does, or import it before it is quantized",
        )


def check_halves(found: tuple[ProductDispatch, ...], float_parts: Mapping[str, str]) -> None:
    """Checks that the products of a model that is to compute in f16 do, except those that are listed.

    Args:
      found: the products.
      float_parts: reason by dispatch function or op signature.

    Raises:
      BmcError: a product adds up another type and is not listed, or something listed does not. The message names the
        first, with the model's line.
    """
    others = [p for p in found if p.accumulator != "f16"]
    unlisted = [p for p in others if not {p.function, p.op} & float_parts.keys()]
    if unlisted:
        raise BmcError(
            "float-dispatch",
            f"dispatch '{unlisted[0].op}' of an f16 model adds up products in"
            f" {unlisted[0].accumulator}{_and_more(len(unlisted))}",
            where=unlisted[0].where,
            hint="multiply f32, or list them with the reason in float_parts:"
            f" {_quoted(p.op for p in unlisted)}",
        )
    names = {name for p in others for name in (p.function, p.op)}
    for name in float_parts:
        if name not in names:
            raise BmcError(
                "float-dispatch",
                f"float_parts lists '{name}', which adds up no products but in f16",
            )


def check(
    found: tuple[ProductDispatch, ...],
    weights: Collection[Weight],
    float_parts: Mapping[str, str],
    *,
    mixed: bool = False,
) -> dict[str, Any]:
    """Checks a model's weights, and returns the report's section about integers.

    Args:
      found: the model's products, which check_products() let pass.
      weights: its constants.
      float_parts: reason by dispatch function, op signature or name of a weight.
      mixed: whether the model's file has floats beside integers, which then need no other reason.

    Raises:
      BmcError: a large weight is in floating point and not listed, or something listed is not in floating point.
    """
    float_products = [product for product in found if not product.is_integer]
    large = {w.offset: w for w in weights if _is_large_float(w)}.values()
    if mixed:
        parts = (*(p.op for p in float_products), *map(_key, large))
        float_parts = {**dict.fromkeys(parts, _AS_IN_THE_FILE), **float_parts}
    heavy = [w for w in large if not _names(w) & float_parts.keys()]
    if heavy:
        raise BmcError(
            "float-weight",
            f"weight '{_key(heavy[0])}' of an int8 model is"
            f" {'x'.join(map(str, (*heavy[0].shape, heavy[0].dtype)))}{_and_more(len(heavy))}",
            where=heavy[0].where,
            hint="quantize them, or list them with the reason in float_parts:"
            f" {_quoted(map(_key, heavy))}",
        )
    names = {name for p in float_products for name in (p.function, p.op)} | {
        name for weight in large for name in (weight.name, weight.framework_name)
    }
    for name in float_parts:
        if name not in names:
            raise BmcError(
                "float-dispatch", f"float_parts lists '{name}', which is not in floating point"
            )
    distinct = {weight.offset: weight for weight in weights}.values()
    int8_bytes = sum(w.length for w in distinct if (w.dtype == "i8" and w.shape) or w.is_widened)
    return {
        "integer_dispatches": sorted({p.function for p in found if p.is_integer}),
        "float_parts": dict(float_parts),
        "int8_weight_bytes": int8_bytes,
        "other_weight_bytes": sum(w.length for w in distinct) - int8_bytes,
    }


def _read_by(
    products: Collection[ProductDispatch],
    weights: Collection[Weight],
    float_parts: Mapping[str, str],
) -> list[str]:
    """Returns the names of large floats that products read, as far as both tell their place in the model."""
    places = {product.where for product in products} - {""}
    read = [weight for weight in weights if weight.where in places and _is_large_float(weight)]
    return [_key(weight) for weight in read if not _names(weight) & float_parts.keys()]


def _names(weight: Weight) -> set[str]:
    return {weight.name, weight.framework_name}


def _key(weight: Weight) -> str:
    return weight.framework_name or weight.name


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in dict.fromkeys(names))


def _and_more(count: int) -> str:
    return f", and {count - 1} more do" if count > 1 else ""


def _is_large_float(weight: Weight) -> bool:
    dimensions = [extent for extent in weight.shape if extent > 1]
    is_float = not weight.dtype.startswith("i") and not weight.initial
    return is_float and len(dimensions) > 1 and weight.length >= _LARGE_WEIGHT_BYTES
