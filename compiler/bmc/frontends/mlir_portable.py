"""Turns a portable artifact, whose dialect is VHLO, into the StableHLO that rewrites know.

That is what jax.export's `mlir_module_serialized` and other exporters write: StableHLO as of one version.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.frontends import mlir_locations
from bmc.ir import ir_util
from bmc.iree.tool import IreeTool

# iree-opt has no option for this pass, but for a pipeline that begins with it, and prints the module after each pass.
_PASS = "vhlo-legalize-to-stablehlo"
_PIPELINE = "--iree-stablehlo-input-transformation-pipeline"
_PRINT = (
    "--mlir-print-ir-after-all",
    "--mlir-print-ir-after-change",
    "--mlir-disable-threading",
    "--mlir-print-debuginfo",
)


def is_portable(path: Path, name: str) -> bool:
    """Tells whether a module that IREE's parser accepts is in VHLO.

    Raises:
      BmcError: part of it is.
    """
    with ir.Context():
        module = ir_util.read(path).operation
        ops = {op.name for op in ir_util.walk(module)}
    others = sorted(op for op in ops if not op.startswith("vhlo."))
    if others and len(others) < len(ops):
        raise BmcError(
            "op-rejected",
            f"'{name}' mixes VHLO with other dialects, such as op '{others[0]}'",
            hint="export it as a portable artifact, or as StableHLO",
        )
    return bool(ops) and not others


def to_stablehlo(tool: IreeTool, name: str, out: Path) -> None:
    """Writes the module `name` in the tool's folder to `out`, in StableHLO; raises BmcError as tool.opt() does."""
    passes = "passes"
    tool.opt(name, "lowered.mlirbc", _PIPELINE, *_PRINT, f"--mlir-print-ir-tree-dir={passes}")
    (found,) = (tool.work / passes).rglob(f"*_{_PASS}.mlir")
    text = mlir_locations.without_folders(found.read_bytes())
    (tool.work / "stablehlo.mlir").write_bytes(text)
    tool.opt("stablehlo.mlir", "stablehlo.mlirbc", "--emit-bytecode")
    shutil.copyfile(tool.work / "stablehlo.mlirbc", out)
