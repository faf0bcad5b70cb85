"""Reads and writes the objects of TFLite's schema, which the flatbuffer compiler made without types."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError

OTHER_OPS = "use other ops there, or import the model that the file was converted from"

IDENTIFIER = b"TFL3"
# Weight types in TFLite's schema that NumPy has as well. Weights of other types are ignored.
_WEIGHT_TYPES = (
    "bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64",
)  # fmt: skip


def shape(tensor: Any) -> tuple[int, ...]:
    """Returns the shape of a tensor of the schema."""
    return () if tensor.shape is None else tuple(int(size) for size in tensor.shape)


def is_quantized(tensor: Any) -> bool:
    """Whether a tensor has a scale; an operand that is absent is None and has none."""
    quantization = getattr(tensor, "quantization", None)
    return (
        quantization is not None and quantization.scale is not None and len(quantization.scale) > 0
    )


def has_scale_of_zero(tensor: Any) -> bool:
    """Whether all elements of a tensor stand for 0, because its scale is 0."""
    return is_quantized(tensor) and not np.any(tensor.quantization.scale)


def meaning(tensor: Any) -> tuple[Any, ...]:
    """Returns what tells which numbers a tensor's elements stand for: its type, scales and zero points."""
    quantization = tensor.quantization
    if quantization is None or quantization.scale is None:
        return tensor.type, (), ()
    return tensor.type, tuple(quantization.scale), tuple(quantization.zeroPoint)


def weight_type(tensor: Any) -> str | None:
    """Returns NumPy's name of a tensor's type, None if NumPy has none."""
    return _weight_types().get(tensor.type)


@functools.cache
def _weight_types() -> dict[int, str]:
    from ai_edge_litert.schema_py_generated import TensorType

    return {getattr(TensorType, name.upper()): name for name in _WEIGHT_TYPES}


def constants(model: Any, tensors: Iterable[Any], name: str) -> dict[str, Array]:
    """Returns which of a ModelT's tensors are constants, by their names; raises BmcError for a wrong size.

    Args:
      model: holds the data.
      tensors: objects of the schema.
      name: name of the file, for messages.
    """
    found: dict[str, Array] = {}
    for tensor in tensors:
        data, kind = model.buffers[tensor.buffer].data, weight_type(tensor)
        # The first buffer stands for none, and may be one without bytes.
        if data is None or not kind or not tensor.buffer:
            continue
        array, dims = np.asarray(data, np.uint8), shape(tensor)
        if array.nbytes != math.prod(dims) * np.dtype(kind).itemsize:
            raise BmcError(
                "bad-file",
                f"'{name}' has {array.nbytes} bytes for {text(tensor.name)}, which is {kind}"
                f" {list(dims)}",
                hint="convert the model again, or fetch the whole file",
            )
        found[text(tensor.name)] = array.view(kind).reshape(dims)
    return found


def builtin(code: Any) -> int:
    """Returns the BuiltinOperator of an OperatorCode.

    Converters before TensorFlow 2.4 wrote only the first field, which has room for 127 operators. Later
    converters write both.
    """
    return max(int(code.deprecatedBuiltinCode), int(code.builtinCode))


def op_kind(model: Any, op: Any) -> str:
    """Returns the kind of an op by TFLite's name, "" for one that the schema lacks."""
    return _kinds().get(builtin(model.operatorCodes[op.opcodeIndex]), "")


@functools.cache
def _kinds() -> dict[int, str]:
    from ai_edge_litert.schema_py_generated import BuiltinOperator

    return {number: name for name, number in vars(BuiltinOperator).items() if name.isupper()}


def text(name: bytes | None) -> str:
    """Returns a name from the file as text, with invalid UTF-8 replaced."""
    return (name or b"").decode(errors="replace")


def pack(model: Any, size: int) -> bytes:
    """Serializes a ModelT to a file of about `size` bytes."""
    import flatbuffers

    builder = flatbuffers.Builder(size)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())
