"""LiteRT's interpreter, with the kernels that a file needs."""

from __future__ import annotations

from typing import Any

from bmc import factory, installing
from bmc.errors import BmcError
from bmc.frontends.tflite_schema import IDENTIFIER

# LiteRT's names of its kernels.
REFERENCE, OPTIMIZED, FAST = "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN"


def interpreter(data: bytes, name: str, *, kernels: str = REFERENCE, keeps: bool = False) -> Any:
    """Returns LiteRT's interpreter with such kernels; raises BmcError if it rejects the file.

    With `keeps`, all tensors have their values after a run.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        raise BmcError(
            "tflite-missing",
            "importing a .tflite model needs the package ai-edge-litert",
            hint=installing.hint("ai-edge-litert", "tosa-converter-for-tflite"),
        ) from None

    def make(kernels: str) -> Any:
        return Interpreter(
            model_content=data,
            num_threads=1,
            experimental_op_resolver_type=getattr(OpResolverType, kernels),
            experimental_preserve_all_tensors=keeps,
        )

    try:
        if data[4:8] != IDENTIFIER:
            raise ValueError("it does not begin like a TFLite file")
        try:
            return make(kernels)
        except ValueError as error:
            if "builtin opcode" not in str(error):
                raise
            # A few ops have no reference kernel.
            return make(OPTIMIZED)
    except ValueError as error:
        raise BmcError(
            "bad-file",
            f"LiteRT rejects '{name}': {factory.first_line(error)}",
            hint="convert the model again, or fetch the whole file",
        ) from None
