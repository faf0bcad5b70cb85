"""Imports a PyTorch module: torch.export, then torch-mlir to StableHLO or linalg."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from bmc import artifacts, factory, golden, spec
from bmc.artifacts import ImportedModel, Parameter
from bmc.errors import BmcError
from bmc.frontends import torch_export

OUTPUT_TYPES = {"stablehlo": "stablehlo", "linalg": "linalg-on-tensors"}


def import_model(source: str, output_type: str, out: Path) -> ImportedModel:
    """Imports `path/to/model.py:factory`, whose factory returns a spec.ModelSpec.

    Args:
      source: the file and its factory.
      output_type: key of OUTPUT_TYPES.
      out: import directory, which exists.

    Raises:
      BmcError: naming the op and the model line when torch.export or torch-mlir rejects the model.
    """
    folder = factory.split(source)[0].parent
    try:
        import torch
        import torch_mlir  # noqa: F401
    except ImportError as error:
        raise BmcError(
            "torch-missing",
            f"importing a PyTorch model needs the package {error.name}",
            hint="pip install torch torch-mlir",
        ) from None
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
    torch_export.export(module, example, OUTPUT_TYPES[output_type], folder.absolute(), out)
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
