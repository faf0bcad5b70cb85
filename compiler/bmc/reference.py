"""The second reference: IREE's own runtime runs the same MLIR on this machine.

If the host runtime disagrees with the framework, the import is wrong. If it agrees and the firmware does
not, code generation or bmc is wrong.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmc import artifacts, factory, spec, target
from bmc.artifacts import Signature
from bmc.dtype import Array, is_float
from bmc.errors import BmcError
from bmc.iree import phases, version
from bmc.iree.tool import IreeTool

if TYPE_CHECKING:
    from bmc.rewrites.model_context import States

HOST_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=x86-64-v2",
    target.WHOLE_VECTORS,
    # Initializers compute constant expressions when the module is loaded. Evaluating them earlier would take another
    # compilation and check nothing more.
    "--iree-opt-const-eval=false",
)
# Operations that write a part of a tensor, or all of it, where it is; paddings begin with a fill.
_OVERWRITE = frozenset(
    ("chlo.top_k", "iree_linalg_ext.scatter", "iree_linalg_ext.sort", "stablehlo.scatter")
    + ("stablehlo.dynamic_update_slice", "stablehlo.sort", "tensor.insert_slice", "tosa.scatter")
)
_PADDINGS = frozenset(("stablehlo.pad", "tensor.pad", "tosa.pad"))
# Bytes of the numbers with which IREE fills by a kernel.
_WIDE = 8
_FLOW_FILE = "flow.mlirbc"


def _overwrites(op: Any) -> bool:
    from bmc.ir import ir_util

    if op.name in _PADDINGS:
        return bool(ir_util.element_bytes(ir_util.element_type(op.results[0].type)) == _WIDE)
    return op.name in _OVERWRITE


class HostModel:
    """A model in IREE's host runtime, with its state.

    States are arguments and results here too (rewrites/meaning/states.py), because IREE 3.13 computes wrong results
    with globals for two KV caches in one function.
    """

    def __init__(self, vmfb: bytes, signatures: tuple[Signature, ...], states: States) -> None:
        from iree import runtime

        self._module: Any = runtime.load_vm_flatbuffer(vmfb, driver="local-sync")
        self._signatures = signatures
        self._states = states
        self._values: list[Array] = [np.zeros(i.shape, i.dtype.numpy) for i in states.infos]
        self.reset()

    def reset(self) -> None:
        """Gives all states their initial values."""
        from bmc.rewrites.model_context import RESET

        if self._values:
            self._call(RESET, ())

    @staticmethod
    def compile(mlir: Path, signatures: tuple[Signature, ...], reproducer: Path) -> HostModel:
        """Compiles a model with these entry points for this machine.

        Raises:
          BmcError: the runtime is not installed, or IREE rejects the model.
        """
        vmfb, explicit = HostModel.build(mlir, signatures, reproducer)
        return HostModel(vmfb, signatures, explicit)

    @staticmethod
    def build(
        mlir: Path, signatures: tuple[Signature, ...], reproducer: Path, *more: str
    ) -> tuple[bytes, States]:
        """Returns the compiled module and its states; `more` are flags for iree-compile. Raises what compile() does."""
        try:
            from iree import runtime  # noqa: F401
        except ImportError:
            raise BmcError(
                "iree-runtime-missing",
                "the iree-base-runtime package is not installed",
                hint=f"pip install iree-base-runtime=={version.PINNED}",
            ) from None
        from iree.compiler import ir

        from bmc.ir import ir_util
        from bmc.rewrites.meaning import (
            bf16_products,
            bf16_rounding,
            complex_moves,
            concatenations,
            empty_products,
            f64_constants,
            f64_functions,
            index_bounds,
            insertions_as_pads,
            known_scatters,
            loop_conditions,
            nan_order,
            overflowing_quotients,
            overlapping_updates,
            partial_factors,
            powers,
            reversals,
            scatters_as_points,
            shared_results,
            shared_splats,
            stable_sorts,
            states,
            trigonometry,
            unsigned_numbers,
            unsigned_operands,
            window_scatters,
            windows,
        )

        with tempfile.TemporaryDirectory() as work:
            with ir.Context(), ir.Location.unknown():
                module = ir_util.read(mlir)
                explicit = states.make_explicit(module)
                known_scatters.apply(module)
                overlapping_updates.apply_on_host(module)
                for rewrite in (
                    loop_conditions,
                    insertions_as_pads,
                    window_scatters,
                    complex_moves,
                    reversals,
                    unsigned_numbers,
                    index_bounds,
                    scatters_as_points,
                    unsigned_operands,
                    bf16_products,
                    bf16_rounding,
                    windows,
                    empty_products,
                    partial_factors,
                    powers,
                    overflowing_quotients,
                    trigonometry,
                    f64_functions,
                    stable_sorts,
                    nan_order,
                    concatenations,
                    f64_constants,
                ):
                    rewrite.apply(module)
                overwrites = any(map(_overwrites, ir_util.walk(module.operation)))
                ir_util.write(module, Path(work) / artifacts.MODEL_FILE)
            flags = (*HOST_FLAGS, *phases.f64_flags(signatures), *more)
            tool, source = IreeTool(Path(work), reproducer), artifacts.MODEL_FILE
            if overwrites:
                tool.compile(source, _FLOW_FILE, *flags, *phases.ending(phases.FLOW))
                with ir.Context(), ir.Location.unknown():
                    module = ir_util.read(Path(work) / _FLOW_FILE)
                    shared_results.apply(module)
                    shared_splats.apply(module)
                    ir_util.write(module, Path(work) / _FLOW_FILE)
                source, flags = _FLOW_FILE, (*flags, *phases.resuming(phases.FLOW))
            tool.compile(source, "model.vmfb", *flags)
            return (Path(work) / "model.vmfb").read_bytes(), explicit

    def run(self, case: spec.Case, entry: int = 0) -> spec.Case:
        """Calls an entry point; returns one array per output.

        Raises:
          BmcError: the runtime fails, or the outputs are not those of the signature.
        """
        signature = self._signatures[entry]
        results = self._call(signature.name, case)
        # The runtime loses the sign of integer types, so u8 arrives as int8.
        got = [(array.shape, array.itemsize, is_float(array)) for array in results]
        infos = signature.outputs
        if got != [(info.shape, info.dtype.byte_count, info.dtype.is_float) for info in infos]:
            described = ", ".join("x".join((*map(str, a.shape), a.dtype.name)) for a in results)
            raise BmcError(
                "import-disagrees",
                f"{signature.name} returns ({described}) in IREE, but the framework returned"
                f" ({', '.join(info.describe() for info in infos)})",
                hint="the model became another one when its framework exported it: write it without"
                " conditions on how it is run",
            )
        return tuple(a.view(info.dtype.numpy) for a, info in zip(results, infos, strict=True))

    def _call(self, function: str, case: spec.Case) -> list[Array]:
        uses = self._states.of(function)
        read = [self._values[number] for number in uses.read]
        storage = [np.zeros_like(self._values[number]) for number in uses.written]
        try:
            result = self._module[function](*case, *read, *storage)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            hint = "the inputs are not those that the model takes: check the framework's export"
            if "unimplemented" in str(error):
                hint = "remove parts of the model to find the op, and write it with others"
            elif "command_buffer" in str(error):
                hint = (
                    "IREE loses a buffer of this model: write loops out, or draw random numbers outside"
                    " of the model"
                )
            elif "ranges overlap" in str(error):
                hint = (
                    "IREE cannot move part of a tensor within that tensor: make a new tensor from the"
                    " parts, such as concatenate([x[:1], x[:-1]]) for x[1:] = x[:-1]"
                )
            raise BmcError(
                "host-runtime",
                f"IREE's host runtime cannot run {function}: {factory.first_line(error)}",
                hint=hint,
            ) from error
        results = result if isinstance(result, (list, tuple)) else (result,)
        # Copied, because the runtime's arrays are views of memory that it frees with them.
        arrays = [np.array(np.asarray(item)) for item in results if item is not None]
        output_count = len(arrays) - len(uses.written)
        for number, value in zip(uses.written, arrays[output_count:], strict=True):
            self._values[number] = value
        return arrays[:output_count]
