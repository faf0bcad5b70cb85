"""PyTorch models with several entry points, or with buffers that they change: state on the target."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bmc import artifacts, factory, golden, spec
from bmc.artifacts import Golden, GoldenCall, Signature
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import link, torch_export


def export(
    module: torch.nn.Module,
    model: spec.ModelSpec,
    output_type: str,
    folder: Path,
    out: Path,
) -> tuple[tuple[Signature, ...], Golden]:
    """Makes the calls in PyTorch and writes model.mlirbc with a function per method that they name.

    Args:
      module: in eval mode; it is not changed.
      model: whose calls to make.
      output_type: what torch-mlir lowers to.
      folder: of the model's source, for error messages.
      out: import directory.

    Returns:
      signatures in the order of the first calls, and what the calls returned.

    Raises:
      BmcError: a call is wrong, or a method cannot be exported.
    """
    names = tuple(dict.fromkeys(call.entry for call in model.calls))
    for name in names:
        if not callable(getattr(module, name, None)) or not name.isidentifier():
            raise BmcError("bad-spec", f"the module has no method '{name}', which a call names")
    outputs, states = _make_calls(module, model.calls, folder)
    signatures = tuple(_signature(name, model, outputs) for name in names)
    data = golden.make_calls(
        calls=tuple(GoldenCall(names.index(call.entry), call.reset) for call in model.calls),
        inputs=tuple(call.inputs for call in model.calls),
        outputs=outputs,
        signatures=signatures,
        tolerance=model.tolerance,
    )
    with tempfile.TemporaryDirectory() as work:
        functions = []
        for name in names:
            example = next(call.inputs for call in model.calls if call.entry == name)
            function = link.Function(name, Path(work) / f"{name}.mlirbc")
            torch_export.export(
                _Pure(module, name, tuple(states)),
                tuple(torch.from_numpy(array) for array in (*example, *states.values())),
                output_type,
                folder.absolute(),
                function.mlir,
                out / "reproducer",
                link.pure_name(name),
            )
            functions.append(function)
        link.link(tuple(functions), states, out / artifacts.MODEL_FILE)
    return signatures, data


def _make_calls(
    module: torch.nn.Module, calls: tuple[spec.Call, ...], folder: Path
) -> tuple[tuple[spec.Case, ...], dict[str, Array]]:
    """Returns what the calls return, and the initial values of the buffers that they change."""
    module = copy.deepcopy(module)
    initial = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
    changed: set[str] = set()
    outputs: list[spec.Case] = []
    for call in calls:
        try:
            with torch.no_grad():
                if call.reset:
                    for name, buffer in module.named_buffers():
                        buffer.copy_(initial[name])
                result = getattr(module, call.entry)(*map(torch.from_numpy, call.inputs))
        except Exception as error:
            raise BmcError(
                "model-failed",
                f"the model's {call.entry} raised {type(error).__name__}:"
                f" {factory.first_line(error)}",
                where=factory.model_line(error, folder),
            ) from error
        leaves = torch.utils._pytree.tree_leaves(result)
        # Copies: an output may be the state that the next call changes.
        outputs.append(tuple(np.array(leaf.detach().contiguous().numpy()) for leaf in leaves))
        changed |= {
            name
            for name, buffer in module.named_buffers()
            if not torch.equal(buffer, initial[name])
        }
    return tuple(outputs), {
        name: value.numpy() for name, value in initial.items() if name in changed
    }


def _signature(name: str, model: spec.ModelSpec, outputs: tuple[spec.Case, ...]) -> Signature:
    index = next(i for i, call in enumerate(model.calls) if call.entry == name)
    return Signature(
        name,
        golden.infos(model.calls[index].inputs, (), "input"),
        golden.infos(outputs[index], (), "output"),
    )


class _Pure(torch.nn.Module):  # type: ignore[misc]
    """A method as a function that takes the state after its inputs and returns it after its outputs."""

    def __init__(self, model: torch.nn.Module, method: str, states: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self._method = method
        self._states = states

    def forward(self, *arguments: Any) -> Any:
        count = len(arguments) - len(self._states)
        # Clones: what the method changes is its own.
        state = {
            f"model.{name}": value.clone()
            for name, value in zip(self._states, arguments[count:], strict=True)
        }
        result = torch.func.functional_call(
            _Method(self.model, self._method), state, arguments[:count]
        )
        return result, tuple(state.values())


class _Method(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: torch.nn.Module, method: str) -> None:
        super().__init__()
        self.model = model
        self._method = method

    def forward(self, *inputs: Any) -> Any:
        return getattr(self.model, self._method)(*inputs)
