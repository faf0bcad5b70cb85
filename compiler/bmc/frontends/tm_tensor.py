"""Turns torch-mlir's own ops for scans and sorts into IREE's.

iree-compile does so too, but not in a model that has StableHLO in another entry point.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from bmc.iree.tool import IreeTool

_PIPELINE = "--pass-pipeline=builtin.module(func.func(torch-iree-tm-tensor-to-linalg-ext))"


def lower(model: Path, reproducer: Path) -> None:
    """Lowers the MLIR bytecode in `model` in place; raises BmcError if IREE rejects an op."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copyfile(model, Path(work) / "torch.mlirbc")
        IreeTool(Path(work), reproducer).lower_torch("torch.mlirbc", "model.mlirbc", _PIPELINE)
        shutil.copyfile(Path(work) / "model.mlirbc", model)
