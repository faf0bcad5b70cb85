"""Refuses tensors that the converter to TOSA gets wrong, or loses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bmc import errors
from bmc.errors import BmcError
from bmc.frontends.tflite_file import TfliteFile


def check(file: TfliteFile) -> None:
    """Raises BmcError for the first tensor that found() yields."""
    errors.raise_first(found(file))


def found(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each tensor that is quantized to 16 bits."""
    from ai_edge_litert.schema_py_generated import TensorType

    for graph in file.model.subgraphs:
        for tensor in graph.tensors:
            if tensor.type == TensorType.INT16 and _is_quantized(tensor):
                yield _refused(
                    file,
                    tensor,
                    "is quantized to int16, which rounds differently from int8",
                    "convert with int8 activations: OpsSet.TFLITE_BUILTINS_INT8",
                )


def _is_quantized(tensor: Any) -> bool:
    return tensor.quantization is not None and tensor.quantization.scale is not None


def _refused(file: TfliteFile, tensor: Any, what: str, hint: str) -> BmcError:
    name = tensor.name.decode(errors="replace")
    return BmcError(
        "unsupported-quantization", f"tensor '{name}' in '{file.name}' {what}", hint=hint
    )
