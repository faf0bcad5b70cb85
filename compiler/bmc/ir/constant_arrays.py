"""The elements of constant tensors, as NumPy arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from iree.compiler import ir, passmanager
from iree.compiler.dialects import arith, func

from bmc.dtype import Array
from bmc.ir import ir_util, names

# What printed IR says of a resource: four bytes of alignment, then the elements.
_RESOURCE = re.compile(r': "0x[0-9A-Fa-f]{8}([0-9A-Fa-f]*)"')
_INTEGERS = {"i8": "<i1", "i16": "<i2", "i32": "<i4", "i64": "<i8"}
_KNOWN = {**_INTEGERS, "f32": "<f4"}
_HALVES = {"f16": "<f2"}
_DOUBLES = {"f64": "<f8"}
_BRAIN_HALVES = {"bf16": "<u2"}
_UNSIGNED = {"ui8": "<u1", "ui16": "<u2", "ui32": "<u4", "ui64": "<u8"}
_ANY = {**_KNOWN, **_HALVES, **_DOUBLES, **_UNSIGNED, "i1": "?"}
_CONSTANTS = ("arith.constant", "stablehlo.constant", "tosa.const")


def integers(value: ir_util.Value, module: Any) -> Array | None:
    """Returns what numbers() does, but None for floats."""
    kind = getattr(value.type, "element_type", value.type)
    return numbers(value, module) if str(kind) in _INTEGERS else None


def numbers(value: ir_util.Value, module: Any) -> Array | None:
    """Returns the elements of a constant tensor of signless integers or f32, or a constant integer or f32.

    Args:
      value: a value of `module`.
      module: holds the globals that are read.

    Returns:
      An array with the tensor's shape, of the same width. None if `value` is computed, may change, or has
      other elements.
    """
    return _read(value, module, _KNOWN)


def elements(value: ir_util.Value, module: Any) -> Array | None:
    """Returns the elements of a constant tensor of f16, f32, f64, truth values or integers, None of anything else."""
    return _read(value, module, _ANY)


def halves(value: ir_util.Value, module: Any) -> Array | None:
    """Returns what numbers() does, but of a constant tensor of f16, and None for everything else."""
    return _read(value, module, _HALVES)


def brain_halves(value: ir_util.Value, module: Any) -> Array | None:
    """Returns what numbers() does, but the bits of a constant tensor of bf16, and None for everything else."""
    return _read(value, module, _BRAIN_HALVES)


def doubles(value: ir_util.Value, module: Any) -> Array | None:
    """Returns what numbers() does, but of a constant tensor of f64, and None for everything else."""
    return _read(value, module, _DOUBLES)


def _read(value: ir_util.Value, module: Any, known: Mapping[str, str]) -> Array | None:
    owner = ir_util.definition(value)
    if owner is None or isinstance(ir_util.element_type(value.type), ir.ComplexType):
        return None
    if owner.name in _CONSTANTS:
        key = "values" if owner.name == "tosa.const" else "value"
        return _elements(owner.attributes[key], known)
    if owner.name != names.GLOBAL_LOAD or "is_immutable" not in owner.attributes:
        return None
    name = ir_util.string(owner, "global")
    for op in module.body.operations:
        if op.operation.name == names.GLOBAL and ir_util.string(op.operation, "sym_name") == name:
            attributes = op.operation.attributes
            if "initial_value" not in attributes:
                return None
            return _elements(attributes["initial_value"], known)
    return None


def _elements(attribute: Any, known: Mapping[str, str]) -> Array | None:
    if isinstance(attribute, ir.IntegerAttr) and known is _KNOWN:
        return np.array(int(attribute.value), np.int64)
    if isinstance(attribute, ir.FloatAttr) and str(attribute.type) == "f32" and known is _KNOWN:
        return np.array(ir.FloatAttr(attribute).value, np.float32)
    if isinstance(attribute, (ir.DenseIntElementsAttr, ir.DenseFPElementsAttr)):
        if str(attribute.type.element_type) not in known:
            return None
        return _bits(attribute) if known is _BRAIN_HALVES else np.array(attribute)
    if not str(attribute).startswith("dense_resource<"):
        return None
    type_ = ir.RankedTensorType(ir.Type.parse(str(attribute).rpartition(" : ")[2]))
    dtype = known.get(str(type_.element_type))
    if dtype is None:
        return None
    # The bindings cannot read a resource, but a module prints those it uses.
    holder = ir.Module.create(ir.Location.unknown())
    holder.operation.attributes["value"] = attribute
    return np.frombuffer(resource(str(holder)), dtype).reshape(type_.shape)


def _bits(attribute: Any) -> Array:
    """Returns the bits of elements of bf16, which the bindings cannot read: MLIR folds a bitcast of them."""
    shape = list(attribute.type.shape)
    kind = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(16))
    holder = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(holder.body), ir.Location.unknown():
        function = func.FuncOp("bits", ([], [kind]))
    with ir.InsertionPoint(function.add_entry_block()), ir.Location.unknown():
        constant = arith.ConstantOp(attribute.type, attribute)
        func.ReturnOp([arith.BitcastOp(kind, constant)])
    passmanager.PassManager.parse("builtin.module(canonicalize)").run(holder.operation)
    (folded,) = (op for op in ir_util.walk(holder.operation) if op.name == "arith.constant")
    return np.array(folded.attributes["value"]).view("<u2")


def resource(printed: str) -> bytes:
    """Returns the bytes of the only resource of a printed module, of IREE's or of torch-mlir's bindings."""
    (digits,) = _RESOURCE.findall(printed)
    return bytes.fromhex(digits)
