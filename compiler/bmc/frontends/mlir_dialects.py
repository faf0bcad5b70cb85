"""The dialects that an MLIR file may contain: those of models, not those of compilers.

IREE's own dialects name files to read and write, objects to link, passes to run and code to compile
unchanged. IREE would obey them in a model too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bmc import limits
from bmc.errors import BmcError
from bmc.frontends import call_tree
from bmc.frontends.call_tree import Function
from bmc.ir import ir_util
from bmc.limits import Limits

_DIALECTS = frozenset((
    "affine", "arith", "builtin", "cf", "chlo", "complex", "func", "iree_linalg_ext", "iree_tensor_ext",
    "linalg", "math", "ml_program", "quant", "scf", "shape", "stablehlo", "tensor", "tm_tensor", "torch",
    "torch_c", "tosa",
))  # fmt: skip
# Parts of IREE's util dialect that models use.
_UTIL = frozenset((
    "util.assume.int", "util.call", "util.func", "util.global", "util.global.load", "util.global.store",
    "util.initializer", "util.optimization_barrier", "util.return", "util.uninitialized", "util.unreachable",
))  # fmt: skip
# Attributes of compiler dialects, which may be attached to any op.
_COMPILERS = (
    "flow.", "hal.", "iree_codegen.", "iree_cpu.", "iree_gpu.", "llvm.", "stream.", "transform.", "vm.",
)  # fmt: skip
# Ops with strides, and MLIR's number for one that is computed.
_STRIDED = ("tensor.extract_slice", "tensor.insert_slice", "tensor.parallel_insert_slice")
_DYNAMIC = -(2**63)
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
# Matches #hal.device.target<...> and !stream.timepoint.
_NAMED = re.compile(r"[#!]([A-Za-z_][\w$]*(?:\.[\w$]+)+)")
# Attributes with which ops name the function that they call.
_CALLEES = ("callee", "decomposition")
_LINE = re.compile(r'"([^"]+)":(\d+):\d+')


def check(path: Path, name: str, allowed: Limits) -> set[str]:
    """Checks a module before anything else uses it; returns the names of its functions.

    Args:
      path: MLIR that IREE's parser accepts.
      name: name of the file, for messages.
      allowed: what the file may take.

    Raises:
      BmcError: an op, attribute or type does not belong in a model, a function has no body, calls itself or becomes too
        many ops, or a loop has too many trips; the error names it.
    """
    from iree.compiler import ir

    with ir.Context():
        module = ir_util.read(path).operation
        for op in (module, *ir_util.walk(module)):
            for what, found in _parts(op):
                if not _is_model(found):
                    raise _refused(what, found, op, name)
            if op.name in ("func.func", "util.func") and not len(op.regions[0].blocks):
                raise BmcError(
                    "op-rejected",
                    f"function {op.attributes['sym_name']} in '{name}' has no body",
                    where=_line(op),
                    hint="a model calls nothing outside itself",
                )
            if op.name == "scf.for":
                _check_trips(op, name, allowed)
            if op.name in _STRIDED:
                _check_strides(op, name)
        functions = dict(map(_function, module.regions[0].blocks[0]))
        call_tree.check(functions, name, allowed)
        return set(functions)


def _function(op: Any) -> tuple[str, Function]:
    """Returns the name of an op of the module, and what it would be if it were called."""
    from iree.compiler import ir

    inner = list(ir_util.walk(op.operation))
    calls = [
        ir_util.string(item, key)
        for item in inner
        for key in _CALLEES
        if isinstance(item.attributes.get(key), ir.FlatSymbolRefAttr)
    ]
    named = "sym_name" in op.operation.attributes
    name = ir_util.string(op.operation, "sym_name") if named else str(op.location)
    return name, Function(len(inner) - len(calls), calls)


def _check_strides(op: Any, source: str) -> None:
    from iree.compiler import ir

    strides = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    computed = strides.count(_DYNAMIC)
    # They are the last operands.
    last = list(op.operands)[len(op.operands) - computed :]
    if any(ir_util.constant(operand) is None for operand in last):
        raise BmcError(
            "op-rejected",
            f"a stride of op '{op.name}' in '{source}' depends on data, so it may lead out of the tensor",
            where=_line(op),
            hint="gather the elements at computed indices, which are kept inside",
        )


def _check_trips(op: Any, source: str, allowed: Limits) -> None:
    start, end, step = map(ir_util.constant, op.operands[:3])
    if start is None or end is None or not step or step < 0:
        return
    count = -(-(end - start) // step)
    if count <= allowed.trips:
        return
    raise limits.exceeded(
        "trips",
        count,
        f"loop 'scf.for' in '{source}' has {count:,} trips, more than {allowed.trips:,}",
        _line(op),
    )


def _parts(op: Any) -> Iterator[tuple[str, str]]:
    """Yields (kind, name) for an op, its attributes and its result types."""
    from iree.compiler import ir

    yield "op", op.name
    for name, value in op.attributes.items():
        if name.startswith(_COMPILERS):
            yield "attribute", name
        # Without the numbers, of which there may be many.
        numbers = isinstance(value, (ir.DenseElementsAttr, ir.DenseResourceElementsAttr))
        for found in _names(value.type if numbers else value):
            yield "attribute", found
    for result in op.results:
        for found in _names(result.type):
            yield "type", found


def _names(value: Any) -> list[str]:
    return _NAMED.findall(_QUOTED.sub("", str(value)))


def _is_model(name: str) -> bool:
    return name.partition(".")[0] in _DIALECTS or name in _UTIL


def _refused(what: str, found: str, op: Any, source: str) -> BmcError:
    return BmcError(
        "unsafe-file",
        f"{what} '{found}' in '{source}' belongs to a compiler, not to a model",
        where=_line(op),
        hint="export StableHLO, linalg, TOSA or torch from a framework: a model file is only data",
    )


def _line(op: Any) -> str:
    found = _LINE.search(str(op.location))
    return f"{found[1]}:{found[2]}" if found else ""
