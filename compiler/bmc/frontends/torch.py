"""Imports a PyTorch module: torch.export, then torch-mlir to StableHLO or linalg."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from bmc import artifacts, factory, golden, spec
from bmc.artifacts import ImportedModel, Parameter
from bmc.errors import BmcError
from bmc.iree_tool import LIBRARY_PREFIX

OUTPUT_TYPES = {"stablehlo": "stablehlo", "linalg": "linalg-on-tensors"}

_FRAME = re.compile(r'File "([^"]+)", line')
_OP = re.compile(r"'torch\.operator'.*?name = \"([^\"]+)\"|'([a-z]+\.[\w.]+)'")


def import_model(source: str, output_type: str, out: Path) -> ImportedModel:
    """Imports `path/to/model.py:factory`, whose factory returns a spec.ModelSpec.

    Args:
      source: the file and its factory.
      output_type: key of OUTPUT_TYPES.
      out: import directory, which exists.

    Raises:
      BmcError: naming the op and the model line when torch.export or torch-mlir rejects the model.
    """
    try:
        import torch
        import torch_mlir  # noqa: F401
    except ImportError as error:
        raise BmcError(
            "torch-missing",
            f"importing a PyTorch model needs the package {error.name}",
            hint="pip install torch torch-mlir",
        ) from None
    folder = factory.split(source)[0].parent
    # One thread: the framework's sums, and with them the golden data, do not depend on the core count.
    torch.set_num_threads(1)
    model = factory.call(source, spec.ModelSpec)
    if not isinstance(model.module, torch.nn.Module):
        raise BmcError(
            "bad-spec",
            f"ModelSpec.module is a {type(model.module).__name__}, not a torch.nn.Module",
        )
    module = model.module.eval()
    if not model.cases:
        raise BmcError(
            "bad-spec", "the model has no cases", hint="give at least one tuple of input arrays"
        )
    inputs = golden.infos(model.cases[0], model.input_names, "input")
    expected = tuple(_run(module, case, folder) for case in model.cases)
    outputs = golden.infos(expected[0], model.output_names, "output")
    data = golden.make(
        inputs=model.cases,
        outputs=expected,
        input_infos=inputs,
        output_infos=outputs,
        tolerance=model.tolerance,
        labels=model.labels,
        source=artifacts.GOLDEN_FRAMEWORK,
    )
    example = tuple(torch.from_numpy(array) for array in model.cases[0])
    mlir = out / artifacts.MODEL_FILE
    _export(module, example, OUTPUT_TYPES[output_type], folder.resolve(), mlir)
    return ImportedModel(
        mlir=mlir,
        source=f"{factory.split(source)[0].name}:{factory.split(source)[1]}",
        frontend="torch",
        versions={name: importlib.metadata.version(name) for name in ("torch", "torch-mlir")},
        inputs=inputs,
        outputs=outputs,
        golden=data,
        parameters=_parameters(module),
    )


def _run(module: Any, case: spec.Case, folder: Path) -> spec.Case:
    import torch

    try:
        with torch.no_grad():
            result = module(*(torch.from_numpy(array) for array in case))
    except Exception as error:
        raise BmcError(
            "model-failed",
            f"the model's forward raised {type(error).__name__}: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
        ) from error
    leaves = torch.utils._pytree.tree_leaves(result)
    return tuple(leaf.detach().contiguous().numpy() for leaf in leaves)


def _parameters(module: Any) -> tuple[Parameter, ...]:
    """The state dict in name order; tied weights appear once, under their first name."""
    found: dict[int, Parameter] = {}
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        array = tensor.detach().contiguous()
        data = array.reshape(-1).view(_torch_bytes()).numpy() if array.numel() else array.numpy()
        found.setdefault(
            tensor.data_ptr() or id(tensor),
            Parameter(
                name,
                tuple(tensor.shape),
                str(tensor.dtype).removeprefix("torch."),
                artifacts.sha256(data.data),
            ),
        )
    return tuple(sorted(found.values(), key=lambda parameter: parameter.name))


def _torch_bytes() -> Any:
    import torch

    return torch.uint8


def _export(
    module: Any, example: tuple[Any, ...], output_type: str, root: Path, mlir: Path
) -> None:
    import torch
    from torch_mlir import fx, ir
    from torch_mlir.dialects import torch as torch_dialect
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table
    from torch_mlir.extras.fx_importer import FxImporter

    # torch-mlir finds no state for non-persistent buffers ("Could not find state mapping for buffer").
    for submodule in module.modules():
        submodule._non_persistent_buffers_set.clear()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.export.export(module, example, strict=False)
            program = program.run_decompositions(get_decomposition_table())
    except Exception as error:
        raise BmcError(
            "export-rejected",
            f"torch.export cannot export the model: {factory.first_line(error)}",
            where=_quoted_line(str(error), root) or factory.model_line(error, root),
            hint="the model has to be traceable with fixed shapes: no Python branches on tensor values",
        ) from error
    for node in program.graph.nodes:
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = _relative_frames(node.meta["stack_trace"], root)
    context = ir.Context()
    torch_dialect.register_dialect(context)
    diagnostics: list[str] = []

    def collect(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            diagnostics.append(f"{diagnostic.location}\n{diagnostic.message}")
        return True

    handler = context.attach_diagnostic_handler(collect)
    try:
        imported = fx.export_and_import(
            program,
            output_type=output_type,
            fx_importer=FxImporter(context=context),
            decomposition_table={},
            func_name="main",
        )
    except Exception as error:
        raise _rejection(diagnostics, error) from error
    finally:
        handler.detach()
    with mlir.open("wb") as file:
        imported.operation.write_bytecode(file)


def _rejection(diagnostics: list[str], error: Exception) -> BmcError:
    """Names the op and the innermost model line of the first torch-mlir diagnostic."""
    location, _, message = (
        diagnostics[0].partition("\n") if diagnostics else ("", "", factory.first_line(error))
    )
    op = _OP.search(message)
    name = (op[1] or op[2]) if op else ""
    what = f"cannot lower op '{name}'" if name else "rejects the model"
    where = ""
    for file, line in re.findall(r'"([^"]+)":(\d+):\d+', location):
        if not file.startswith(LIBRARY_PREFIX):
            where = f"{file}:{line}"
            break
    return BmcError(
        "op-rejected",
        f"torch-mlir {what}: {message.split(': %', 1)[0].splitlines()[0][:200]}",
        where=where,
        hint="rewrite that part of the model with other ops",
    )


def _relative_frames(stack_trace: str, root: Path) -> str:
    """Makes file names in a stack trace independent of where the model and Python are installed."""

    def relative(match: re.Match[str]) -> str:
        return f'File "{_relative_name(Path(match[1]), root)}", line'

    return _FRAME.sub(relative, stack_trace)


def _relative_name(file: Path, root: Path) -> str:
    resolved = file.resolve()
    if resolved.is_relative_to(root):
        return resolved.relative_to(root).as_posix()
    for entry in sorted(sys.path, key=len, reverse=True):
        if entry and file.is_relative_to(entry):
            return LIBRARY_PREFIX + file.relative_to(entry).as_posix()
    return LIBRARY_PREFIX + file.name


def _quoted_line(message: str, root: Path) -> str:
    """Returns "model.py:42" for the last frame quoted in an error text that lies inside `root`."""
    where = ""
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', message):
        if Path(file).resolve().is_relative_to(root):
            where = f"{Path(file).resolve().relative_to(root).as_posix()}:{line}"
    return where
