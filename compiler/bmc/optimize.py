"""`bmc optimize`: imported model -> operations on tensors, which are the same for every instruction set.

On the way IREE evaluates constant expressions, which takes it longer than most of what follows. So a build does this
once, however many instruction sets it compiles the model for.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bmc import artifacts
from bmc.artifacts import ImportedModel
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.facts import half_floats
from bmc.iree import phases
from bmc.iree.phases import Phase
from bmc.iree.tool import IreeTool
from bmc.rewrites.model_context import ModelContext, StateInfo, States, Uses
from bmc.rewrites.model_pipeline import FOR_ALL
from bmc.rewrites.runner import Runner

_FILE = "optimized.json"
_FORMAT_VERSION = 1


@dataclass(frozen=True)
class Optimized:
    """A model after the phases that know no target.

    Attributes:
      mlir: file with its IR at phases.PARAMETERS.
      archive: file with the bytes of all globals, missing if there are none.
      states: the model's states.
      flags: iree-compile's flags that led there.
    """

    mlir: Path
    archive: Path
    states: States
    flags: tuple[str, ...]


def optimize(
    model: ImportedModel,
    work: Path,
    reproducer: Path,
    *,
    plain: bool = False,
    keep: Path | None = None,
    stop_after: str = "",
) -> Optimized:
    """Runs IREE and the rewrites that know no target.

    Args:
      model: the imported model.
      work: folder for all intermediate files.
      reproducer: folder for what failed.
      plain, keep, stop_after: as in CompileOptions.

    Raises:
      BmcError: the model cannot be compiled for any target.
      Stopped: the rewrite `stop_after` has run.
    """
    has_half_floats = False

    def of_input(module: Any) -> None:
        nonlocal has_half_floats
        has_half_floats = half_floats.found(module)

    def flags(_: Phase) -> tuple[str, ...]:
        return phases.import_flags(model.signatures, has_half_floats)

    context = ModelContext(model.int8)
    runner = Runner(
        IreeTool(work, reproducer),
        tuple(rewrite for rewrite in FOR_ALL if not (plain and rewrite.faster)),
        context,
        flags,
        {phases.INPUT: of_input},
        keep,
        stop_after,
    )
    mlir = runner.run(model.mlir, phases.INPUT, phases.PARAMETERS)
    return Optimized(mlir, work / phases.ARCHIVE, context.states, flags(phases.OPTIMIZED))


def optimize_into(model: ImportedModel, out: Path) -> None:
    """Optimizes a model and writes it into a folder, from which load() reads it; raises BmcError as optimize()."""
    out.mkdir(parents=True, exist_ok=True)
    # Written last, so that it is never beside the files of another model or of a part of one.
    (out / _FILE).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as work:
        optimized = optimize(model, Path(work), out / "reproducer")
        for file in (optimized.mlir, optimized.archive):
            if file.exists():
                shutil.copyfile(file, out / file.name)
    artifacts.write_json(
        out / _FILE,
        {
            "format_version": _FORMAT_VERSION,
            "model": _identity(model),
            "flags": optimized.flags,
            "states": [asdict(i) | {"dtype": i.dtype.name} for i in optimized.states.infos],
            "uses": {name: asdict(uses) for name, uses in optimized.states.uses.items()},
        },
    )


def load(directory: Path, model: ImportedModel) -> Optimized:
    """Reads what optimize_into() wrote; raises BmcError if it is not that of the model."""
    try:
        data = json.loads((directory / _FILE).read_text(encoding="utf-8"))
        same = data["format_version"] == _FORMAT_VERSION and data["model"] == _identity(model)
        states = _states(data) if same else None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BmcError(
            "not-optimized",
            f"'{directory}' is not from `bmc optimize`: {error}",
            hint="make it with `bmc optimize --import DIR --out DIR`",
        ) from error
    if states is None:
        raise BmcError(
            "not-optimized",
            f"'{directory}' was made from another model or by another version of bmc",
            hint="make it again with `bmc optimize`",
        )
    flags = tuple(data["flags"])
    mlir = directory / f"{phases.PARAMETERS.name}.mlirbc"
    return Optimized(mlir, directory / phases.ARCHIVE, states, flags)


def _identity(model: ImportedModel) -> str:
    return artifacts.sha256_file(model.mlir)


def _states(data: dict[str, Any]) -> States:
    infos = (
        StateInfo(**item | {"dtype": DType[item["dtype"]], "shape": tuple(item["shape"])})
        for item in data["states"]
    )
    uses = {
        name: Uses(tuple(item["read"]), tuple(item["written"]))
        for name, item in data["uses"].items()
    }
    return States(tuple(infos), uses)
