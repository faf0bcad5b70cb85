"""Stage: an int8 model computes in integers, or says where it does not and why.

A quantised model that is compiled without care still gives the right answers: int8 weights are
made f32 when it is built, four times as large, and multiplied in floating point. Nothing fails. So
every product (convolution, matrix product, attention) of a model declared int8 must accumulate
integers, and every large weight must be int8; what is not has to be listed with a reason:

    bm_model(..., float_parts = {"conv_8x2x4x4x3x3_f32": "grouped, IREE keeps it in f32"})

Keys are dispatch functions, their op signatures or names of weights. Element-wise operations,
poolings, softmax and normalisations are not products: they may be in floating point between two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.iree_tool import LIBRARY_PREFIX
from bmc.names import op_signature
from bmc.stages import ir_util
from bmc.stages.weights import Weight

# Smaller float constants are biases, scales and the like.
_LARGE_WEIGHT_BYTES = 1024

_PRODUCT = re.compile(
    r"linalg\.(\w*conv_|\w*matmul|\w*mmt4d|batch_matvec|batch_vecmat|contract|dot|matvec|vecmat)"
    r"|iree_linalg_ext\.(online_)?attention"
)
_MULTIPLICATIONS = ("arith.mulf", "arith.muli")
_ADDITIONS = ("arith.addf", "arith.addi")
_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products in a dispatch.

    Attributes:
      function: dispatch function.
      op: its op signature.
      accumulator: MLIR element type of the sum.
      where: "model.py:42", or "".
    """

    function: str
    op: str
    accumulator: str
    where: str

    @property
    def is_integer(self) -> bool:
        return self.accumulator.startswith("i")


def products(kernels: Path) -> tuple[Product, ...]:
    """Returns the products in `kernels` (phase executable-configurations), in program order."""
    found = []
    with ir.Context():
        module = ir_util.read(kernels)
        for function in ir_util.walk(module.operation):
            if function.name != "func.func":
                continue
            name = ir_util.string(function, "sym_name")
            for op in ir_util.walk(function):
                accumulator = _accumulator(op)
                if accumulator:
                    found.append(Product(name, op_signature(name), accumulator, _line(op)))
    return tuple(found)


def check(
    found: tuple[Product, ...], weights: Iterable[Weight], float_parts: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the report's section on integers.

    Args:
      found: the model's products.
      weights: its constants.
      float_parts: reason by dispatch function, op signature or name of a weight.

    Raises:
      BmcError: naming the dispatch and model line, or the weight, that is in floating point without
        being listed, or what is listed but is not in floating point.
    """
    float_products = [product for product in found if not product.is_integer]
    unlisted = [p for p in float_products if not {p.function, p.op} & float_parts.keys()]
    if unlisted:
        raise BmcError(
            "float-dispatch",
            f"dispatch '{unlisted[0].op}' of an int8 model adds up products in"
            f" {unlisted[0].accumulator}{_and_more(len(unlisted))}",
            where=unlisted[0].where,
            hint="quantise what it reads, or list it with the reason in float_parts",
        )
    if not any(product.is_integer for product in found):
        raise BmcError("float-dispatch", "no dispatch of an int8 model multiplies integers")
    distinct = {weight.offset: weight for weight in weights}.values()
    large = [weight for weight in distinct if _is_large_float(weight)]
    heavy = [w for w in large if not {w.name, w.framework_name} & float_parts.keys()]
    if heavy:
        raise BmcError(
            "float-weight",
            f"weight '{heavy[0].framework_name or heavy[0].name}' of an int8 model is"
            f" {'x'.join(map(str, (*heavy[0].shape, heavy[0].dtype)))}{_and_more(len(heavy))}",
            hint="quantise it, or list it with the reason in float_parts",
        )
    names = {name for p in float_products for name in (p.function, p.op)} | {
        name for weight in large for name in (weight.name, weight.framework_name)
    }
    for name in float_parts:
        if name not in names:
            raise BmcError(
                "float-dispatch", f"float_parts lists '{name}', which is not in floating point"
            )
    int8_bytes = sum(w.length for w in distinct if w.dtype == "i8" and w.shape)
    return {
        "integer_dispatches": sorted({p.function for p in found if p.is_integer}),
        "float_parts": dict(float_parts),
        "int8_weight_bytes": int8_bytes,
        "other_weight_bytes": sum(w.length for w in distinct) - int8_bytes,
    }


def _and_more(count: int) -> str:
    return f", and {count - 1} more do" if count > 1 else ""


def _is_large_float(weight: Weight) -> bool:
    dimensions = [extent for extent in weight.shape if extent > 1]
    is_float = not weight.dtype.startswith("i")
    return is_float and len(dimensions) > 1 and weight.length >= _LARGE_WEIGHT_BYTES


def _accumulator(op: ir_util.Op) -> str:
    """Element type in which a product is added up, "" if `op` is no product."""
    if _PRODUCT.match(op.name):
        return str(op.operands[len(op.operands) - 1].type.element_type)
    if op.name != "linalg.generic":
        return ""
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    reductions = {
        f"d{loop}"
        for loop, kind in enumerate(op.attributes["iterator_types"])
        if "reduction" in str(kind)
    }
    block = op.regions[0].blocks[0]
    summed = {
        argument
        for argument, indexing in zip(block.arguments, maps, strict=True)
        if reductions & set(re.findall(r"d\d+", " ".join(map(str, indexing.results))))
    }
    yielded = list(list(block.operations)[-1].operands)
    outputs = list(block.arguments)[-len(yielded) :]
    for value, output in zip(yielded, outputs, strict=True):
        if any(_multiplies(term, summed) for term in _added_to(value, output)):
            return str(value.type)
    return ""


def _added_to(value: Any, output: Any) -> list[Any]:
    """Returns what `value` adds to the accumulator `output`."""
    definition = _definition(value)
    if definition is None or definition.name not in _ADDITIONS or output not in definition.operands:
        return []
    return [operand for operand in definition.operands if operand != output]


def _multiplies(value: Any, summed: set[Any]) -> bool:
    """True if `value` has a product of two different inputs that both vary along the sum.

    A square is no product of two inputs (variance); nor is the scale of an int32, which is a sum of
    products itself (requantisation).
    """
    definition = _definition(value)
    if definition is None:
        return False
    if definition.name in _MULTIPLICATIONS:
        left, right = (_inputs(operand, summed) for operand in definition.operands)
        if left and right and left != right:
            return True
    return any(_multiplies(operand, summed) for operand in definition.operands)


def _inputs(value: Any, summed: set[Any]) -> set[Any]:
    definition = _definition(value)
    if definition is None:
        return {value} & summed if str(value.type) != "i32" else set()
    return {found for operand in definition.operands for found in _inputs(operand, summed)}


def _definition(value: Any) -> Any:
    """The operation that computes `value`, None for an argument of the body."""
    return None if isinstance(value.owner, ir.Block) else value.owner


def _line(op: ir_util.Op) -> str:
    for file, line in _LOCATION.findall(str(op.location)):
        if not file.startswith(LIBRARY_PREFIX):
            return f"{file}:{line}"
    return ""
