"""`bmc compile --explain`: how the kernels of a layer came about."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, lower
from bmc.errors import BmcError
from bmc.kernels.tree.explain import explained
from bmc.rewrites.context import Config


def explain(model: ImportedModel, options: CompileOptions) -> str:
    """Returns how the kernels of options.explain came about.

    Raises:
      BmcError: the model cannot be compiled for the target, or none of its dispatches or layers has that name.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        configs = lower(model, options, Path(work)).configs
    found = {_heading(each): each for each in configs if each.kernel or each.refusal}
    wanted = {heading: each for heading, each in found.items() if options.explain in heading}
    if not wanted:
        raise BmcError(
            "no-such-layer",
            f"no kernel for {options.target.isa} is one of '{options.explain}'",
            hint=f"there are: {'; '.join(found)}" if found else "it has none of bmc's own",
        )
    return "\n\n".join(f"{heading}\n{_explained(each)}" for heading, each in wanted.items())


def _heading(config: Config) -> str:
    """Returns the name of a dispatch function, and the layers that it computes."""
    return f"{config.function}, of {', '.join(config.layers) or 'no layer'}"


def _explained(config: Config) -> str:
    if config.problem is None or config.kernel is None:
        return f"IREE writes its kernel: {config.refusal}"
    return explained(config.problem, config.kernel)
