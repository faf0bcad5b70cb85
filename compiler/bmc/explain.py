"""`bmc compile --explain`: how the kernels of a layer came about."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, lower
from bmc.errors import BmcError


def explain(model: ImportedModel, options: CompileOptions) -> str:
    """Returns how the kernels of options.explain came about.

    Raises:
      BmcError: the model cannot be compiled for the target, or none of its dispatches or layers has that name.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        found = [each.explanation for each in lower(model, options, Path(work)).configs]
    headings = [text.partition("\n")[0] for text in found if text]
    wanted = [text for text in found if options.explain in text.partition("\n")[0]]
    if not wanted:
        raise BmcError(
            "no-such-layer",
            f"no kernel for {options.target.isa} is one of '{options.explain}'",
            hint=f"there are: {'; '.join(headings)}" if headings else "it has none of bmc's own",
        )
    return "\n\n".join(wanted)
