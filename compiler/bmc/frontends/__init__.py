"""One module per kind of source file; import_model() picks by the name of the source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bmc import artifacts, verify
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError

_KINDS = "give model.py:factory for PyTorch, or a .mlir or .mlirbc file"


def import_model(source: str, cases: str, output_type: str, out: Path) -> ImportedModel:
    """Imports `source` into the folder `out`, which is created, and writes import.json there.

    Args:
      source: "model.py:factory", or an MLIR file.
      cases: "module.py:function" for MLIR files, or "".
      output_type: what torch-mlir lowers PyTorch to, a key of frontends.torch.OUTPUT_TYPES.
      out: import directory.

    Raises:
      BmcError: unknown kind of file, or the frontend or IREE rejects the model.
    """
    out.mkdir(parents=True, exist_ok=True)
    model = _import(source, cases, output_type, out)
    checks = verify.run(model, out / "reproducer")
    model = replace(model, second_reference=verify.verdict(model, checks))
    artifacts.save(model, out)
    return model


def _import(source: str, cases: str, output_type: str, out: Path) -> ImportedModel:
    # Frontends are imported where they are used: an MLIR compile needs no torch.
    path = Path(source.rpartition(":")[0] if source.rpartition(":")[2].isidentifier() else source)
    if path.suffix == ".py":
        from bmc.frontends import torch

        return torch.import_model(source, output_type, out)
    if path.suffix not in (".mlir", ".mlirbc"):
        raise BmcError("unknown-kind", f"'{source}' is no kind of model bmc knows", hint=_KINDS)
    if not path.is_file():
        raise BmcError("file-missing", f"model file '{source}' does not exist")
    from bmc.frontends import mlir

    return mlir.import_model(path, cases, out)
