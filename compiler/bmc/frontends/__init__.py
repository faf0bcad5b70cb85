"""One module per kind of source file; import_model() picks by the name of the source."""

from __future__ import annotations

from pathlib import Path

from bmc.artifacts import ImportedModel
from bmc.errors import BmcError

KINDS = "model.py:factory for PyTorch, or a .mlir or .mlirbc file"


def import_model(source: str, cases: str, output_type: str, out: Path) -> ImportedModel:
    """Imports `source` into the existing folder `out`; raises BmcError for an unknown kind of file."""
    # Frontends are imported where they are used: an MLIR compile needs no torch.
    file = Path(
        source.rpartition(":")[0]
        if source.rpartition(":")[2].isidentifier() and ":" in source
        else source
    )
    if file.suffix == ".py":
        from bmc.frontends import torch

        return torch.import_model(source, output_type, out)
    if file.suffix not in (".mlir", ".mlirbc"):
        raise BmcError(
            "unknown-kind", f"'{source}' is not a kind of model bmc knows", hint=f"give {KINDS}"
        )
    if not file.is_file():
        raise BmcError("file-missing", f"model file '{source}' does not exist")
    from bmc.frontends import mlir

    return mlir.import_model(file, cases, out)
