"""Stage: kernels are vectorised, and factors that scale a whole vector stay scalars.

A tile of a product adds `row[i] * column` to one vector of sums for each row i. For f32 LLVM reads
row[i] into a scalar register; integers it widens first, all rows in one short vector, and takes them
out again with gathers and copies. Here every element is taken out first and widened afterwards,
which gives a scalar load and a widening multiply-add (lb, vwmacc.vx): 2 instead of 4 to 10 vector
instructions for each row.

IREE has no place for this between vectorisation and LLVM, so bmc runs the first half of code
generation by itself and tells iree-compile that it has been done.
"""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith

from bmc.iree_tool import IreeTool
from bmc.stages import ir_util

_VECTORIZE = (
    "builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func("
    "iree-llvmcpu-lower-executable-target)))))"
)
_DONE = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"


def lower(tool: IreeTool, source: str, output: str) -> None:
    """Turns tiled tensor code `source` (phase executable-configurations) into loops over vectors."""
    tool.opt(source, output, f"--pass-pipeline={_VECTORIZE}", "--emit-bytecode")
    _rewrite(tool.work / output)


def _rewrite(path: Path) -> None:
    with ir.Context():
        module = ir_util.read(path)
        for op in ir_util.walk(module.operation):
            if "translation_info" in op.attributes:
                op.attributes["translation_info"] = ir.Attribute.parse(_DONE)
        for op in [op for op in ir_util.walk(module.operation) if op.name == "arith.extsi"]:
            if _only_single_elements_are_read(op):
                _extend_elements(op)
        ir_util.write(module, path)


def _only_single_elements_are_read(op: ir_util.Op) -> bool:
    uses = ir_util.uses(op.results[0])
    return bool(uses) and all(
        use.name == "vector.extract" and not isinstance(use.results[0].type, ir.VectorType)
        for use, _ in uses
    )


def _extend_elements(op: ir_util.Op) -> None:
    """Replaces extract(extend(vector), i) by extend(extract(vector, i))."""
    vector = op.operands[0]
    wide = op.results[0].type.element_type
    for extract, _ in ir_util.uses(op.results[0]):
        with ir.InsertionPoint(extract), extract.location:
            element = ir.Operation.create(
                "vector.extract",
                results=[vector.type.element_type],
                operands=[vector, *list(extract.operands)[1:]],
                attributes={"static_position": extract.attributes["static_position"]},
            )
            extract.results[0].replace_all_uses_with(arith.extsi(wide, element.results[0]))
        extract.erase()
    op.erase()
