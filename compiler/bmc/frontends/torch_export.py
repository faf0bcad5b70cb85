"""Runs torch.export and torch-mlir, and explains why they reject a model."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmc import factory, spec, supervisor
from bmc.errors import BmcError
from bmc.frontends import (
    doubles,
    quiet,
    tm_tensor,
    torch_alone,
    torch_decompositions,
    torch_places,
    torch_pools,
    torch_rejections,
    torch_substitutes,
    torch_tensors,
    torch_unsigned,
    torch_windows,
)

# Arguments with the fraction of values that an op drops.
_CHANCES = ("p", "dropout", "dropout_p")
_STABLEHLO, _LINALG = "stablehlo", "linalg-on-tensors"
_TRACE_HINT = "a model must be traceable with fixed shapes, without branches on tensor values"
_LOOP_DIFFERS = "Expected carried_inputs and body_output to have same metadata"
_LOOP_HINT = (
    "a loop's body must return the shapes, types and layouts that it gets: clone what it gets"
)
# torch-mlir's largest number of steps of a loop.
_ENDLESS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Exported:
    """What a program computes.

    Attributes:
      in_f64: as in ImportedModel.
      ops: how many ops of each kind it has.
    """

    in_f64: str
    ops: Mapping[str, int]


def tensors(module: Any) -> dict[str, Any]:
    """Returns the parameters and buffers of a torch.nn.Module by name, with all parts of quantized ones."""
    found = (*module.named_parameters(), *module.named_buffers())
    return dict(part for name, tensor in found for part in _parts(name, tensor))


def _parts(name: str, tensor: Any) -> Iterator[tuple[str, Any]]:
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if is_traceable_wrapper_subclass(tensor):
        for part in tensor.__tensor_flatten__()[0]:
            yield from _parts(f"{name}.{part}", getattr(tensor, part))
    else:
        yield name, tensor


def arrays(result: Any) -> spec.Case:
    """Returns a module's outputs, flattened; raises BmcError if one is not a dense tensor."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(result)
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided:
            what = type(leaf).__name__ if not isinstance(leaf, torch.Tensor) else str(leaf.layout)
            raise BmcError(
                "bad-signature",
                f"output {index} of the model is of type {what}, not a dense tensor",
                hint="return tensors, or tuples, lists and dicts of them",
            )
    # Copied, because an output may be a state that the next call changes.
    return tuple(np.array(torch_tensors.array(leaf)) for leaf in leaves)


def export(
    module: Any,
    example: tuple[Any, ...],
    output_type: str,
    root: Path,
    output: Path,
    reproducer: Path,
    function: str = "main",
) -> Exported:
    """Writes MLIR bytecode with one function.

    Its locations name files relative to the model's folder, "<python>/..." for libraries, or the path of a
    module as "<layer>/...".

    Args:
      module: torch.nn.Module.
      example: one tensor per input.
      output_type: torch-mlir's name for the dialect: "raw", "stablehlo" or "linalg-on-tensors". If
        StableHLO lacks an op, the model becomes linalg.
      root: the model's folder, absolute.
      output: file to write.
      reproducer: folder that receives a module that torch-mlir rejects.
      function: name of the function.

    Raises:
      BmcError: an op cannot be exported or lowered; the error names the op and the model line.
    """
    from torch_mlir import fx, ir
    from torch_mlir.compiler_utils import OutputType, lower_mlir_module
    from torch_mlir.dialects import torch as torch_dialect
    from torch_mlir.extras.fx_importer import FxImporter

    program = _exported_program(module, example, root)
    if supervisor.tells_steps():
        torch_alone.lower(program, output_type)
    context = ir.Context()
    torch_dialect.register_dialect(context)
    imported = None
    with _left_behind() as left, _errors(context) as diagnostics:
        try:
            imported = fx.export_and_import(
                program,
                output_type="raw" if output_type == "raw" else "torch",
                fx_importer=FxImporter(context=context),
                decomposition_table={},
                func_name=function,
            ).operation
            if output_type == _STABLEHLO:
                lowered = _stablehlo(imported)
                diagnostics.clear()
                imported, output_type = lowered or imported, "raw" if lowered else _LINALG
            if output_type == _LINALG:
                lower_mlir_module(False, OutputType.get(_LINALG), imported)
        except Exception as error:
            kept = _keep_reproducer(left, reproducer)
            if diagnostics:
                ops = _walk(imported) if imported is not None else []
                raise torch_rejections.of_lowering(*diagnostics[0], ops, kept, program) from error
            raise torch_rejections.of_import(program, error) from error
    _refuse_endless(imported)
    with output.open("wb") as file:
        imported.write_bytecode(file)
    if any(op.name.startswith("tm_tensor.") for op in _walk(imported)):
        tm_tensor.lower(output, reproducer)
    if any("max_pool" in str(node.target) for node in program.graph.nodes):
        torch_pools.apply(output)
    names = (torch_places.op_name(n.target) for n in program.graph.nodes if n.op == "call_function")
    return Exported(doubles.of_torch(program), Counter(names))


@contextlib.contextmanager
def _errors(context: Any) -> Iterator[list[tuple[str, str]]]:
    """Yields a list that collects the location and the message of each error."""
    from torch_mlir import ir

    found: list[tuple[str, str]] = []

    def collect(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            found.append((str(diagnostic.location), diagnostic.message))
        return True

    handler = context.attach_diagnostic_handler(collect)
    try:
        yield found
    finally:
        handler.detach()


def _stablehlo(imported: Any) -> Any:
    """Returns the module lowered to StableHLO, None if StableHLO lacks one of its ops."""
    from torch_mlir.compiler_utils import OutputType, TorchMlirCompilerError, lower_mlir_module

    lowered = imported.clone()
    try:
        lower_mlir_module(False, OutputType.get(_STABLEHLO), lowered)
    except TorchMlirCompilerError:
        return None
    ops = _walk(lowered)
    # IREE turns slice(sort) into chlo.top_k, whose indices cannot have PyTorch's 64 bits.
    sorted_ = (result for op in ops if op.name == "stablehlo.sort" for result in op.results)
    readers = {use.owner.name for result in sorted_ for use in result.uses}
    torch_unsigned.hold(ops)
    return None if "stablehlo.slice" in readers else lowered


def _walk(module: Any) -> list[Any]:
    from torch_mlir import ir

    found: list[Any] = []

    def visit(op: Any) -> Any:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def _exported_program(module: Any, example: tuple[Any, ...], root: Path) -> Any:
    """Traces the module into a torch.export program of core operators."""
    import torch

    try:
        with quiet.python(), torch.no_grad(), _persistent_buffers(module):
            program = torch.export.export(module, example, strict=False)
            _refuse_training(program, root)
            torch_substitutes.prepare(program)
            program = program.run_decompositions(torch_decompositions.table())
    except BmcError:
        raise
    except Exception as error:
        raise BmcError(
            "export-rejected",
            f"torch.export cannot export the model: {factory.first_line(error)}",
            where=torch_places.line_of_trace(torch_places.relative_frames(str(error), root))
            or factory.model_line(error, root),
            hint=_LOOP_HINT if _LOOP_DIFFERS in str(error) else _TRACE_HINT,
        ) from error
    for node in program.graph.nodes:
        if node.meta.get("stack_trace"):
            trace = torch_places.relative_frames(node.meta["stack_trace"], root)
            node.meta["stack_trace"] = torch_places.layer_frame(node) + trace
    torch_substitutes.settle(program)
    _refuse(program)
    torch_substitutes.apply(program)
    torch_windows.apply(program)
    return program


@contextlib.contextmanager
def _persistent_buffers(module: Any) -> Iterator[None]:
    """Makes all buffers persistent while a block runs.

    Otherwise torch-mlir finds no state for them ("Could not find state mapping").
    """
    sets = [part._non_persistent_buffers_set for part in module.modules()]
    before = [set(names) for names in sets]
    for names in sets:
        names.clear()
    try:
        yield
    finally:
        for names, kept in zip(sets, before, strict=True):
            names.update(kept)


def _refuse_training(program: Any, root: Path) -> None:
    """Raises BmcError if an op runs in training mode: with random numbers or batch statistics."""
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        given = dict(zip((a.name for a in schema.arguments), node.args, strict=False)) | node.kwargs
        if given.get("running_mean", given) is None:
            continue  # The statistics of what it reads, also in eval mode; none are kept.
        chance = next((given[name] for name in _CHANCES if name in given), None)
        if chance == 0 or not (given.get("train") or given.get("training") or "dropout_p" in given):
            continue
        trace = torch_places.relative_frames(node.meta.get("stack_trace") or "", root)
        raise BmcError(
            "train-mode",
            f"op '{node.target}' runs in training mode",
            where=torch_places.line_of_trace(trace),
            hint="export the model after eval(), and give functional dropout training=self.training",
        )


def _refuse(program: Any) -> None:
    """Raises BmcError naming an op that a plan made at build time cannot express."""
    import torch

    signature = program.graph_signature
    for node in program.graph.nodes:
        what = hint = ""
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            kind, what, hint = "random-model", "draws random numbers", "pass them in as an input"
        elif buffer := signature.buffers_to_mutate.get(node.name):
            kind, what = "stateful-model", f"changes the model's buffer '{buffer}'"
            hint = "give ModelSpec.calls: then such buffers become state"
        elif name := signature.user_inputs_to_mutate.get(node.name):
            kind, what = "stateful-model", f"changes the model's input '{name}'"
            hint = "change a copy of it: x = x + 1 instead of x += 1"
        elif any(
            isinstance(dim, torch.SymInt) for dim in getattr(node.meta.get("val"), "shape", ())
        ):
            kind, what = "dynamic-shape", "returns a tensor whose size depends on the data"
            hint = "keep the whole tensor and use a mask: torch.where(condition, x, 0)"
        if what:
            where = torch_places.line_of_trace(node.meta.get("stack_trace") or "")
            op = torch_places.written(node)
            raise BmcError(kind, f"op '{op}' {what}", where=where, hint=hint)


def _refuse_endless(lowered: Any) -> None:
    """Raises BmcError for a loop that lost its test, as torch-mlir leaves one that always takes a first step.

    docs/upstream/torch-mlir-while-loop.md has the report.
    """
    from torch_mlir import ir

    for op in _walk(lowered):
        if op.name != "scf.for":
            continue
        last = op.operands[1].owner
        if isinstance(last, ir.Block) or last.name != "arith.constant":
            continue
        if ir.IntegerAttr(last.attributes["value"]).value == _ENDLESS:
            raise BmcError(
                "op-rejected",
                "torch-mlir loses the test of a 'while_loop' whose first test is true whatever the input",
                where=torch_places.line_of_location(str(op.location)),
                hint="let the first test depend on the input, or write the steps one after another",
            )


@contextlib.contextmanager
def _left_behind() -> Iterator[Path]:
    """Gives torch-mlir its own temporary folder; yields the path where it leaves a rejected module.

    torch-mlir uses a fixed file name, so two builds would overwrite each other's in a shared folder.
    """
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            yield Path(folder) / "UnnammedModule.mlir"
        finally:
            tempfile.tempdir = before


def _keep_reproducer(left: Path, folder: Path) -> Path | None:
    """Copies the module that torch-mlir left to `folder`."""
    if not left.is_file():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "torch.mlir"
    kept.write_bytes(left.read_bytes())
    return kept
