"""What a user can ask of a frontend."""

from __future__ import annotations

from dataclasses import dataclass

INT8 = "int8"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of `bmc import`.

    Attributes:
      cases: "module.py:function" returning spec.Cases, for models that are files; or "".
      output_type: what torch-mlir lowers PyTorch to, a key of frontends.torch.OUTPUT_TYPES.
      quantize: "" or INT8: quantize with the model's own framework first.
    """

    cases: str = ""
    output_type: str = "stablehlo"
    quantize: str = ""
