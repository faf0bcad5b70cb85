"""What `X.cores` has of an image: modeled cycles of its kernels on the cores of compiler/bmc/cores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OnCore:
    """Modeled cycles of all kernels of bmc's own that one inference runs.

    Attributes:
      core: name of the core's file.
      other: what is other than in the file, as in Core.otherwise(); "" for the file's numbers.
      default: of the kernels that a model has if no core is named.
      chosen: of those that it has with this core, as it is here.
    """

    core: str
    other: str
    default: float
    chosen: float


@dataclass(frozen=True)
class ModelCycles:
    """A model. IREE writes the kernels of the dispatches that are not `own`; nothing is known of their cycles."""

    name: str
    dispatches: int
    own: int
    cores: tuple[OnCore, ...]
