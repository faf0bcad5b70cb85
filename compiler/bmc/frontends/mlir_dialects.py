"""What an MLIR file may be made of: the dialects of models, not those of compilers.

IREE's own dialects name files to read and to write, objects to link, passes to run and code to
compile as it is; it would obey them in a model too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bmc.errors import BmcError
from bmc.ir import ir_util

_DIALECTS = frozenset((
    "affine", "arith", "builtin", "cf", "chlo", "complex", "func", "iree_linalg_ext", "iree_tensor_ext",
    "linalg", "math", "ml_program", "quant", "scf", "shape", "stablehlo", "tensor", "tm_tensor", "torch",
    "torch_c", "tosa", "vhlo",
))  # fmt: skip
# Of IREE's dialect for what every other one needs.
_UTIL = frozenset((
    "util.assume.int", "util.call", "util.func", "util.global", "util.global.load", "util.global.store",
    "util.initializer", "util.optimization_barrier", "util.return", "util.uninitialized", "util.unreachable",
))  # fmt: skip
# Attributes that these dialects hang on any op.
_COMPILERS = (
    "flow.", "hal.", "iree_codegen.", "iree_cpu.", "iree_gpu.", "llvm.", "stream.", "transform.", "vm.",
)  # fmt: skip
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
# #hal.device.target<...>, !stream.timepoint
_NAMED = re.compile(r"[#!]([A-Za-z_][\w$]*(?:\.[\w$]+)+)")
_LINE = re.compile(r'"([^"]+)":(\d+):\d+')


def check(path: Path, name: str) -> None:
    """Looks through a module before anything is done with it.

    Args:
      path: MLIR that IREE's parser accepts.
      name: of the file, for messages.

    Raises:
      BmcError: naming the op, attribute or type that is none of a model's, or a function without a body.
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


def _parts(op: Any) -> Iterator[tuple[str, str]]:
    """Names of what an op is, has and gives, each with its kind."""
    from iree.compiler import ir

    yield "op", op.name
    for name, value in op.attributes.items():
        if name.startswith(_COMPILERS):
            yield "attribute", name
        # Without the numbers, which may be many.
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
        f"{what} '{found}' in '{source}' is none of a model's, but of a compiler",
        where=_line(op),
        hint="a model file is data: give StableHLO, linalg, TOSA or torch, as a framework exports it",
    )


def _line(op: Any) -> str:
    found = _LINE.search(str(op.location))
    return f"{found[1]}:{found[2]}" if found else ""
