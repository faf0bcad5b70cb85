"""PyTorch models with several entry points, or with buffers that they change, which become state."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch

from bmc import artifacts, factory, golden, progress, spec
from bmc.artifacts import Golden, GoldenCall, Signature
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import argument_names, link, torch_export, torch_tensors, user_cases
from bmc.names import WRAPPED


def export(
    module: torch.nn.Module,
    model: spec.ModelSpec,
    calls: tuple[spec.Call, ...],
    output_type: str,
    folder: Path,
    out: Path,
    quantize: bool,
) -> tuple[tuple[Signature, ...], Golden, dict[str, torch.Tensor], str]:
    """Makes the calls in PyTorch and writes model.mlirbc with one function per method that they name.

    Args:
      module: a module in evaluation mode; its buffers are not changed.
      model: the ModelSpec. Its calls tell entry points, state and ranges.
      calls: the calls to make for golden data, which begin with the initial state: the ModelSpec's or others.
      output_type: the dialect that torch-mlir lowers to. int8 models have their own.
      folder: folder of the model's source, for error messages.
      out: import directory.
      quantize: make every entry point int8. Ranges are measured on the ModelSpec's calls, and golden data is
        computed in the int8 model.

    Returns:
      The signatures in the order of the ModelSpec's calls, the golden data of `calls`, the weights, and the first
      operation that computes in f64.

    Raises:
      BmcError: a call is wrong, or a method cannot be exported or quantized.
    """
    names = _names(module, model)
    for call in calls:
        if call.entry not in names:
            raise BmcError(
                "bad-inputs", f"no call of the model names '{call.entry}', which the inputs are for"
            )
    final: _Callable
    final = methods = _Methods(module)
    progress.begin(progress.GOLDEN)
    inputs, outputs = _make_calls(methods, model.calls, folder)
    states = methods.changed()
    example = dict(zip((call.entry for call in model.calls[::-1]), inputs[::-1], strict=True))
    examples = {
        name: tuple(torch_tensors.tensor(array) for array in (*example[name], *states.values()))
        for name in names
    }
    entries: dict[str, torch.nn.Module] = {
        name: _Pure(module, name, tuple(states)) for name in names
    }
    lower = None
    if quantize:
        from bmc.frontends import torch_quantize

        lower = torch_quantize.lower
        output_type = torch_quantize.OUTPUT_TYPE

        def calibrate(observed: dict[str, Any]) -> None:
            _make_calls(_Functions(observed, states), model.calls, folder)

        progress.begin(progress.QUANTIZE)
        entries = torch_quantize.quantize(entries, examples, calibrate, folder)
        progress.begin(progress.GOLDEN)
        final = _Functions(entries, states)
        inputs, outputs = _make_calls(final, model.calls, folder)
    signatures = tuple(_signature(module, name, model, inputs, outputs) for name in names)
    if calls is not model.calls:
        inputs, outputs = _make_calls(final, calls, folder)
    data = golden.make_calls(
        calls=tuple(GoldenCall(names.index(call.entry), call.reset) for call in calls),
        inputs=inputs,
        outputs=outputs,
        signatures=signatures,
        tolerance=model.tolerance,
    )
    in_f64 = _write(entries, examples, states, output_type, folder, out, lower)
    return signatures, data, _weights(entries, states), in_f64


def answer(module: torch.nn.Module, entry: str, case: spec.Case, folder: Path) -> spec.Case:
    """Returns what a method returns in the initial state; raises BmcError if it refuses the inputs."""
    _, outputs = _make_calls(_Methods(module), (spec.Call(entry, case, True),), folder)
    return outputs[0]


def _write(
    entries: dict[str, torch.nn.Module],
    examples: dict[str, tuple[torch.Tensor, ...]],
    states: dict[str, torch.Tensor],
    output_type: str,
    folder: Path,
    out: Path,
    lower: Callable[[Path, Path], None] | None,
) -> str:
    """Exports every entry, lowers it further if it is int8, and links them into model.mlirbc.

    Returns the first operation that computes in f64.
    """
    reproducer = out / "reproducer"
    with tempfile.TemporaryDirectory() as work:
        functions = []
        in_f64 = ""
        for name, entry in entries.items():
            function = link.Function(name, Path(work) / f"{name}.mlirbc")
            progress.begin(progress.EXPORT)
            found = torch_export.export(
                entry,
                examples[name],
                output_type,
                folder.absolute(),
                function.mlir,
                reproducer,
                link.pure_name(name),
            )
            if lower:
                progress.begin(progress.CONVERT)
                lower(function.mlir, reproducer)
            functions.append(function)
            in_f64 = in_f64 or found.in_f64
        link.link(tuple(functions), states, out / artifacts.MODEL_FILE)
    return in_f64


def _names(module: torch.nn.Module, model: spec.ModelSpec) -> tuple[str, ...]:
    """Returns the methods that become entry points, in the order of their first calls."""
    if model.calibration:
        raise BmcError(
            "bad-spec",
            "calibration is given, but the ranges of a model with calls are measured on the calls",
            hint="leave calibration out",
        )
    names = tuple(dict.fromkeys(call.entry for call in model.calls))
    for name in names:
        if not callable(_entry(module, name)) or not name.isidentifier():
            raise BmcError("bad-spec", f"the module has no method '{name}', which a call names")
    return names


def _weights(
    entries: dict[str, torch.nn.Module], states: dict[str, Array]
) -> dict[str, torch.Tensor]:
    """Returns the weights by the author's names, shared ones once; states are not weights."""
    found: dict[str, torch.Tensor] = {}
    for entry, module in entries.items():
        earlier = tuple(found.values())
        for name, tensor in torch_export.tensors(module).items():
            plain = name.removeprefix(f"{WRAPPED}.")
            if plain not in states and not any(map(tensor.equal, earlier)):
                found[f"{entry}.{plain}" if plain in found else plain] = tensor
    return found


class _Callable(Protocol):
    """A model with state."""

    def reset(self) -> None: ...

    def call(self, entry: str, inputs: list[torch.Tensor]) -> Any: ...


class _Methods:
    """The author's module, which changes its own buffers."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._buffers = dict(module.named_buffers())
        self._initial = {n: buffer.detach().clone() for n, buffer in self._buffers.items()}
        self._changed: set[str] = set()

    def reset(self) -> None:
        for name, buffer in self._buffers.items():
            buffer.copy_(self._initial[name])
            owner, _, attribute = name.rpartition(".")
            # A call may have put another tensor there.
            setattr(self._module.get_submodule(owner), attribute, buffer)

    def call(self, entry: str, inputs: list[torch.Tensor]) -> Any:
        result = _entry(self._module, entry)(*inputs)
        self._changed |= {
            name
            for name, buffer in self._module.named_buffers()
            if not torch.equal(buffer, self._initial[name])
        }
        return result

    def changed(self) -> dict[str, Array]:
        """Returns the states, which are the buffers that the calls have changed: their initial values.

        Raises:
          BmcError: another buffer or a parameter lies in the memory of a state.
        """
        others = torch_export.tensors(self._module)
        for name in sorted(self._changed):
            for other, tensor in others.items():
                if other != name and _overlap(self._buffers[name], tensor):
                    raise BmcError(
                        "stateful-model",
                        f"the model changes its buffer '{name}', of which '{other}' is a view",
                        hint="make one a copy with clone(), or take the view in the method that reads it",
                    )
        return {
            n: torch_tensors.array(value)
            for n, value in self._initial.items()
            if n in self._changed
        }


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have bytes in common, as far as the first and the last byte of each tell."""
    storages = [each.untyped_storage().data_ptr() for each in (a, b)]
    if storages[0] != storages[1] or not a.numel() or not b.numel():
        return False
    spans: list[tuple[int, int]] = []
    for each in (a, b):
        steps = zip(each.shape, each.stride(), strict=True)
        last = sum((size - 1) * stride for size, stride in steps)
        first = each.storage_offset() * each.element_size()
        spans.append((first, first + (last + 1) * each.element_size()))
    return spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]


class _Functions:
    """Entry points that take and return their state."""

    def __init__(self, entries: dict[str, Any], states: dict[str, Array]) -> None:
        self._entries = entries
        self._initial = tuple(torch_tensors.tensor(value) for value in states.values())
        self._values = self._initial

    def reset(self) -> None:
        self._values = self._initial

    def call(self, entry: str, inputs: list[torch.Tensor]) -> Any:
        result, self._values = self._entries[entry](*inputs, *self._values)
        return result


def _make_calls(
    model: _Callable, calls: tuple[spec.Call, ...], folder: Path
) -> tuple[tuple[spec.Case, ...], tuple[spec.Case, ...]]:
    """Returns the inputs and the outputs of all calls, and leaves the model in its initial state."""
    inputs: list[spec.Case] = []
    outputs: list[spec.Case] = []
    for index, call in enumerate(calls):
        case = user_cases.inputs_of(call, index, outputs)
        try:
            with torch.no_grad():
                if call.reset:
                    model.reset()
                result = model.call(call.entry, [torch_tensors.tensor(array) for array in case])
        except Exception as error:
            raise BmcError(
                "model-failed",
                f"the model's {call.entry} raised {type(error).__name__}:"
                f" {factory.first_line(error)}",
                where=factory.model_line(error, folder),
            ) from error
        outputs.append(torch_export.arrays(result))
        inputs.append(case)
    with torch.no_grad():
        model.reset()
    return tuple(inputs), tuple(outputs)


def _signature(
    module: torch.nn.Module,
    name: str,
    model: spec.ModelSpec,
    inputs: tuple[spec.Case, ...],
    outputs: tuple[spec.Case, ...],
) -> Signature:
    index = next(i for i, call in enumerate(model.calls) if call.entry == name)
    case, entry = inputs[index], _entry(module, name)
    method = entry.forward if isinstance(entry, torch.nn.Module) else entry
    return Signature(
        name,
        golden.infos(case, argument_names.first(method, len(case)), "input"),
        golden.infos(outputs[index], (), "output"),
    )


class _Pure(torch.nn.Module):  # type: ignore[misc]
    """A method as a function that takes the state after its inputs and returns it after its outputs."""

    def __init__(self, model: torch.nn.Module, method: str, states: tuple[str, ...]) -> None:
        super().__init__()
        setattr(self, WRAPPED, model)
        self._method = method
        self._states = states

    def forward(self, *arguments: Any) -> Any:
        count = len(arguments) - len(self._states)
        # The method changes these copies, not the arguments.
        state = {
            f"{WRAPPED}.{name}": value.clone()
            for name, value in zip(self._states, arguments[count:], strict=True)
        }
        result = torch.func.functional_call(
            _Method(getattr(self, WRAPPED), self._method), state, arguments[:count]
        )
        return result, tuple(state.values())


class _Method(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: torch.nn.Module, method: str) -> None:
        super().__init__()
        setattr(self, WRAPPED, model)
        self._method = method

    def forward(self, *inputs: Any) -> Any:
        entry = _entry(getattr(self, WRAPPED), self._method)
        if not isinstance(entry, torch.nn.Module):
            # Where an op was made, PyTorch records only lines of functions that are called "forward" or annotated.
            entry = torch.fx.traceback.annotate_fn({})(entry)
        return entry(*inputs)


def _entry(module: torch.nn.Module, name: str) -> Any:
    """Returns what a user calls: the module itself for forward(), because only that runs its hooks."""
    return module if name == "forward" else getattr(module, name, None)
