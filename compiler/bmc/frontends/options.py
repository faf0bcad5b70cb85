"""The user's options for a frontend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bmc import limits
from bmc.limits import Limits

INT8 = "int8"
F16 = "f16"
# Weights of four bits in groups, of which the second also multiplies bytes.
INT4, INT4_INT8 = "int4", "int4_int8"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of `bmc import`.

    Attributes:
      cases: "module.py:function" that returns spec.Cases, for models that are files; "" for none.
      output_type: the dialect that torch-mlir lowers PyTorch to, a key of frontends.torch.OUTPUT_TYPES.
      quantize: INT8 to quantize with the model's own framework first, F16 to compute in f16 on the target, INT4 for
        weights of four bits, INT4_INT8 for these and bytes that they are multiplied with, "" for none of them.
      inputs: .npz file with other inputs than the model's own cases: array "0" is the first input of all cases, and so
        on, one case after the other along the first axis. For a model with ModelSpec.calls, see user_cases.of_calls().
      host_check: whether to compare IREE's host runtime with the framework, as verify.run() does.
      limits: what the import of a file may take.
      shapes: of inputs of a model file whose dimensions are dynamic, by name.
      constants: the one value that an input of an .onnx file always has, by name.
      context: how many tokens the language model of a .gguf file remembers, or 0 for the default.
    """

    cases: str = ""
    output_type: str = "stablehlo"
    quantize: str = ""
    inputs: Path | None = None
    host_check: bool = True
    limits: Limits = limits.DEFAULT
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    context: int = 0
