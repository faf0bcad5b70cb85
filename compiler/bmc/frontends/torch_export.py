"""torch.export and torch-mlir, and what they say when they reject a model."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from bmc import factory
from bmc.errors import BmcError
from bmc.frontends import quiet
from bmc.iree_tool import LIBRARY_PREFIX

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')
_OP = re.compile(r"'torch\.operator'.*?name = \"([^\"]+)\"|'([a-z]+\.[\w.]+)'")


def tensors(module: Any) -> dict[str, Any]:
    """Returns the parameters and buffers of a torch.nn.Module by name."""
    return dict((*module.named_parameters(), *module.named_buffers()))


def export(
    module: Any,
    example: tuple[Any, ...],
    output_type: str,
    root: Path,
    output: Path,
    reproducer: Path,
    function: str = "main",
) -> None:
    """Writes MLIR bytecode with one function.

    Locations in it name files relative to the model's folder, or "<python>/..." for libraries.

    Args:
      module: torch.nn.Module.
      example: one tensor per input.
      output_type: what torch-mlir calls "stablehlo" or "linalg-on-tensors".
      root: the model's folder, absolute.
      output: file to write.
      reproducer: folder for what torch-mlir rejects.
      function: name of the function.

    Raises:
      BmcError: naming the op and the model line that cannot be exported or lowered.
    """
    from torch_mlir import fx, ir
    from torch_mlir.dialects import torch as torch_dialect
    from torch_mlir.extras.fx_importer import FxImporter

    program = _exported_program(module, example, root)
    context = ir.Context()
    torch_dialect.register_dialect(context)
    diagnostics: list[tuple[str, str]] = []

    def collect(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            diagnostics.append((str(diagnostic.location), diagnostic.message))
        return True

    handler = context.attach_diagnostic_handler(collect)
    try:
        imported = fx.export_and_import(
            program,
            output_type=output_type,
            fx_importer=FxImporter(context=context),
            decomposition_table={},
            func_name=function,
        )
    except Exception as error:
        kept = _keep_reproducer(reproducer)
        if diagnostics:
            raise _lowering_rejected(*diagnostics[0], kept) from error
        raise _node_rejected(program, error) from error
    finally:
        handler.detach()
    with output.open("wb") as file:
        imported.operation.write_bytecode(file)


def _exported_program(module: Any, example: tuple[Any, ...], root: Path) -> Any:
    """Traces the module into a torch.export program of core operators."""
    import torch
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    # torch-mlir finds no state for non-persistent buffers ("Could not find state mapping").
    for submodule in module.modules():
        submodule._non_persistent_buffers_set.clear()
    try:
        with quiet.python(), torch.no_grad():
            program = torch.export.export(module, example, strict=False)
            program = program.run_decompositions(get_decomposition_table())
    except Exception as error:
        raise BmcError(
            "export-rejected",
            f"torch.export cannot export the model: {factory.first_line(error)}",
            where=_model_line(_relative_frames(str(error), root), _FRAME)
            or factory.model_line(error, root),
            hint="a model must be traceable with fixed shapes, without branches on tensor values",
        ) from error
    for name, buffer in program.graph_signature.buffers_to_mutate.items():
        writer = next(node for node in program.graph.nodes if node.name == name)
        trace = _relative_frames(writer.meta.get("stack_trace") or "", root)
        raise BmcError(
            "stateful-model",
            f"op '{writer.target}' changes the model's buffer '{buffer}'",
            where=_model_line(trace, _FRAME),
            hint="give ModelSpec.calls: then such buffers are state",
        )
    for node in program.graph.nodes:
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = _relative_frames(node.meta["stack_trace"], root)
    return program


def _keep_reproducer(folder: Path) -> Path | None:
    """torch-mlir leaves the rejected module in the temporary folder; moves it to `folder`."""
    left = Path(tempfile.gettempdir()) / "UnnammedModule.mlir"
    if not left.is_file():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "torch.mlir"
    kept.write_bytes(left.read_bytes())
    left.unlink()
    return kept


def _lowering_rejected(location: str, message: str, reproducer: Path | None) -> BmcError:
    """An op that torch-mlir has imported but cannot lower."""
    op = _OP.search(message)
    what = f"cannot lower op '{op[1] or op[2]}'" if op else "rejects the model"
    reason = re.split(r': [%"]', message, maxsplit=1)[0].splitlines()[0][:200]
    hint = "rewrite that part of the model with other ops"
    return BmcError(
        "op-rejected",
        f"torch-mlir {what}: {reason}",
        where=_model_line(location, _LOCATION),
        hint=f"{hint}; reproducer: {reproducer}" if reproducer else hint,
    )


def _node_rejected(program: Any, error: Exception) -> BmcError:
    """An op that torch-mlir cannot import; its message has no location, so look for the op."""
    text = factory.first_line(error)
    for node in program.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if node.op == "call_function" and name and name in text:
            # Wrappers of ops with side effects have the op itself as an argument.
            ops = [a for a in (node.target, *node.args) if hasattr(a, "overloadpacket")]
            return BmcError(
                "op-rejected",
                f"torch-mlir cannot import op '{ops[0] if ops else name}': {text}",
                where=_model_line(node.meta.get("stack_trace") or "", _FRAME),
                hint="rewrite that part of the model with other ops",
            )
    return BmcError("op-rejected", f"torch-mlir rejects the model: {text}")


def _relative_frames(stack_trace: str, root: Path) -> str:
    """Makes file names in a stack trace independent of where the model and Python are installed."""

    def relative(match: re.Match[str]) -> str:
        return f'File "{_relative_name(Path(match[1]), root)}", line {match[2]}'

    return _FRAME.sub(relative, stack_trace)


def _relative_name(file: Path, root: Path) -> str:
    # Not resolved: in a Bazel sandbox the model's files are links to elsewhere.
    if file.absolute().is_relative_to(root):
        return file.absolute().relative_to(root).as_posix()
    for entry in sorted(sys.path, key=len, reverse=True):
        if entry and file.is_relative_to(entry):
            return LIBRARY_PREFIX + file.relative_to(entry).as_posix()
    return LIBRARY_PREFIX + file.name


def _model_line(text: str, pattern: re.Pattern[str]) -> str:
    """Returns "model.py:42", the innermost line of the model's own files that `text` mentions.

    A stack trace names the innermost frame last, an MLIR location first.
    """
    found = [f"{file}:{line}" for file, line in pattern.findall(text) if not file.startswith("<")]
    if not found:
        return ""
    return found[-1] if pattern is _FRAME else found[0]
