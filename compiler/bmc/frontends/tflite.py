"""Imports a .tflite model with Arm's converter to TOSA. LiteRT's reference kernels make the golden data.

Both compute integers alike, so an int8 model can be required to match bit for bit.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bmc import (
    artifacts,
    errors,
    factory,
    golden,
    installing,
    progress,
    samples,
    sequences,
    spec,
    spread,
)
from bmc.artifacts import GoldenCall, ImportedModel, TensorInfo
from bmc.errors import BmcError
from bmc.frontends import (
    imported,
    largest_sizes,
    mlir,
    quiet,
    tflite_apart,
    tflite_branches,
    tflite_counts,
    tflite_expansions,
    tflite_file,
    tflite_lstm,
    tflite_own,
    tflite_refused,
    tflite_resizes,
    tflite_rounding,
    tflite_schema,
    tflite_signal,
    tflite_signal_run,
    tflite_sparse,
    tflite_svdf,
    tflite_svdf_op,
    tflite_variables,
    tflite_wide_softmax,
    user_cases,
)
from bmc.frontends.options import ImportOptions
from bmc.frontends.tflite_file import TfliteFile

_PACKAGES = ("ai-edge-litert", "tosa-converter-for-tflite")
# Ops that the converter gets wrong or crashes on, and the types of results that bmc computes itself.
_MISCONVERTED = {
    "ATAN2": ("float32",),
    "FLOOR_MOD": ("float32", "int32", "int64"),
    "SPARSE_TO_DENSE": ("bool", "float32", "int8", "int16", "int32", "int64"),
}
# The largest number of inputs on which a quantized model is compared, and the multiply-accumulates that
# all of them together may take: a few seconds of LiteRT's reference kernels on any machine.
MOST_SAMPLES = 256
SAMPLES_WORK = 2**31
# Made-up calls of a model with state, and changes that are tried to make its answers differ.
_FEWEST_CALLS, _MOST_CALLS, _MOST_CHANGES = 4, 48, 128
_MAIN = "main"
_Runner = tflite_file.Runner | tflite_signal_run.Runner
_ERROR = re.compile(r'(?:"(?P<tensor>[^"]*)".*)?error: (?P<text>.*)')


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports a .tflite file.

    Args:
      path: the file.
      options: the user's options; without `cases`, samples.py makes up inputs.
      out: import directory, which must exist.

    Raises:
      BmcError: it is not a TFLite file, or an op cannot be converted; the error names the op.
    """
    data = path.read_bytes()
    has_state = _has_state(tflite_file.read(data, path.name))
    # Inputs for a model with state are calls.
    given = user_cases.of_file(replace(options, inputs=None) if has_state else options)
    model = spec.ModelSpec(
        spec.ModelFile(path.suffix, data),
        given.cases,
        given.tolerance,
        given.labels,
        ranges=given.ranges,
    )
    return import_spec(model, path.name, options, out)


def import_spec(
    model: spec.ModelSpec, source: str, options: ImportOptions, out: Path
) -> ImportedModel:
    """Imports the ModelFile of a ModelSpec.

    Args:
      model: the factory's result. Floats in its cases for a quantized input are quantized as the file
        says. If all inputs are quantized, the model is compared on many more inputs, as long as these
        are cheap.
      source: the file, with the factory if there is one.
      options: the user's options.
      out: import directory, which must exist.

    Raises:
      BmcError: see import_file().
    """
    if options.quantize:
        raise BmcError(
            "bad-option",
            "a .tflite model cannot be quantized after conversion",
            hint="import the Keras model that it was converted from",
        )
    source = Path(source).name
    file = tflite_file.read(model.module.data, source)
    tflite_refused.check(file)
    weights = file.weights()
    bounds = file.bounds()
    for name, array in weights.items():
        golden.check_finite(name, array, is_bound=name in bounds)
    own = len(file.model.subgraphs[0].outputs)
    model = largest_sizes.judged(model, own, file.output_names)
    has_state = _has_state(file)
    if model.calls and not has_state:
        raise BmcError(
            "bad-spec", f"calls are given, but '{source}' keeps no state", hint="give cases instead"
        )
    cases = tuple(file.quantize_case(case) for case in model.cases)
    calls = _calls(model, file, options) if has_state else ()
    first = file.quantize_case(user_cases.inputs_of(calls[0], 0, ())) if calls else None
    declared = golden.sized(file.inputs, options.shapes)
    inputs = golden.fix(declared, cases[0] if cases else first)
    more = _samples(file, inputs, 0) if cases or has_state else ()
    progress.begin(progress.GOLDEN)
    runner = _runner(file, inputs)
    if not calls:
        if has_state and not cases:
            cases = _in_a_row(file, inputs, runner)
        cases = cases or _samples(file, inputs, samples.COUNT)
        golden.check_cases(cases, inputs)
        calls = tuple(
            spec.Call(_MAIN, case, has_state and index == 0) for index, case in enumerate(cases)
        )
    cases, expected = _answered(calls, file, runner)
    outputs = golden.infos(expected[0], model.output_names or file.output_names, "output")
    apart = spread.of("tflite", file.ops())
    notes = (*file.notes, *tflite_counts.notes(file.output_names, own, expected[0], file.model))
    if not model.tolerance and (weight := file.hybrid_weight()):
        apart = tflite_apart.of_rounded_inputs(file, inputs, _pairs(cases, expected), apart)
        notes += (
            f"'{source}' has int8 weights such as '{weight}' for float arithmetic. LiteRT rounds those floats to"
            f" int8 at run time, bmc does not; the tolerance allows for twice what this changes,"
            f" {apart.relative:.1%} of the largest output",
        )
    elif not (model.cases or model.calls or has_state):
        seen = tflite_apart.with_picture(file, inputs, outputs, _pairs(cases, expected), runner.run)
        cases, expected = (tuple(part) for part in zip(*seen, strict=True))
    progress.begin(progress.CONVERT)
    _convert(runner.static(), out)
    inputs = golden.infos(cases[0], model.input_names or [i.name for i in inputs], "input")
    result = imported.build(
        model,
        out=out,
        source=source,
        frontend="tflite",
        packages=(*_PACKAGES, *([tflite_signal_run.PACKAGE] if tflite_signal.part(file) else [])),
        inputs=inputs,
        outputs=outputs,
        cases=cases,
        expected=expected,
        weights=weights,
        apart=apart,
        answer=runner.run,
        calls=tuple(GoldenCall(0, call.reset) for call in calls) if has_state else (),
    )
    progress.begin(progress.GOLDEN)
    compared = (*result.compared_only, *((case, runner.run(case)) for case in more))
    return replace(result, compared_only=compared, notes=(*result.notes, *notes))


def _has_state(file: TfliteFile) -> bool:
    keeps = bool(file.ops()[tflite_svdf_op.KIND]) or tflite_signal.has_state(file)
    return keeps or tflite_variables.has_state(file)


def _runner(file: TfliteFile, inputs: tuple[TensorInfo, ...]) -> _Runner:
    part = tflite_signal.part(file)
    if part is None:
        return tflite_file.Runner(file, inputs)
    return tflite_signal_run.Runner(file, inputs, part)


def _calls(
    model: spec.ModelSpec, file: TfliteFile, options: ImportOptions
) -> tuple[spec.Call, ...]:
    """Returns the user's calls of a model with state, () if there are none."""
    calls = user_cases.of_calls(model, options)
    for call in calls:
        if call.entry != _MAIN:
            raise BmcError(
                "bad-inputs",
                f"there is no entry point '{call.entry}' in '{file.name}', only '{_MAIN}'",
            )
    return calls


def _answered(
    calls: tuple[spec.Call, ...], file: TfliteFile, runner: _Runner
) -> tuple[tuple[spec.Case, ...], tuple[spec.Case, ...]]:
    """Returns the inputs and the outputs of all calls."""
    cases: list[spec.Case] = []
    expected: list[spec.Case] = []
    for index, call in enumerate(calls):
        if call.reset:
            runner.reset()
        cases.append(file.quantize_case(user_cases.inputs_of(call, index, expected)))
        expected.append(runner.run(cases[-1]))
    return tuple(cases), tuple(expected)


def _in_a_row(
    file: TfliteFile, inputs: tuple[TensorInfo, ...], runner: _Runner
) -> tuple[spec.Case, ...]:
    """Returns made-up calls of a model with state."""
    affordable = SAMPLES_WORK // max(1, file.work())
    count = max(_FEWEST_CALLS, min(_MOST_CALLS, affordable // _MOST_CHANGES))
    if None in file.zero_points:
        # From number 5 on, samples are of one size.
        return tuple(samples.case(inputs, 5 + index, file.zero_points) for index in range(count))

    def answers(cases: tuple[spec.Case, ...]) -> tuple[spec.Case, ...]:
        runner.reset()
        return tuple(map(runner.run, cases))

    return sequences.made_up(inputs, count, min(_MOST_CHANGES, affordable // count), answers)


def _pairs(
    cases: tuple[spec.Case, ...], expected: tuple[spec.Case, ...]
) -> tuple[tuple[spec.Case, spec.Case], ...]:
    return tuple(zip(cases, expected, strict=True))


def misconverted(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each op that the converter gets wrong, and bmc does not know either."""
    for graph in file.model.subgraphs:
        for op in graph.operators:
            kind = tflite_schema.op_kind(file.model, op)
            for result in [graph.tensors[index] for index in op.outputs[:1]]:
                types = _MISCONVERTED.get(kind)
                if types and tflite_schema.weight_type(result) not in types:
                    yield BmcError(
                        "op-rejected",
                        f"the converter to TOSA gets op '{kind}' wrong",
                        where=f"{tflite_schema.text(result.name)} in {file.name}",
                        hint=tflite_schema.OTHER_OPS,
                    )


def _samples(file: TfliteFile, inputs: tuple[TensorInfo, ...], least: int) -> tuple[spec.Case, ...]:
    """Returns `least` made-up inputs, or more if all inputs are quantized and a run is cheap."""
    count = least
    if None not in file.zero_points:
        count = max(least, min(MOST_SAMPLES, SAMPLES_WORK // max(1, file.work())))
    return tuple(samples.case(inputs, index, file.zero_points) for index in range(count))


def _convert(file: TfliteFile, out: Path) -> None:
    """Writes model.mlirbc of a file with static shapes."""
    from iree.compiler import ir

    errors.raise_first(misconverted(file))
    explicit = _explicit(file)
    data = tflite_resizes.centered(tflite_own.write(explicit.data), file.name)
    converted = _run_converter(data, file, "Bytecode")
    try:
        tflite_rounding.finish(converted, file, out / artifacts.MODEL_FILE)
    except ir.MLIRError as error:
        # A left-over TFLite op makes the bytecode unreadable, but the text names it.
        text = _run_converter(data, file, "Text")
        try:
            tflite_rounding.finish(text, file, out / artifacts.MODEL_FILE)
        except ir.MLIRError:
            # Not what is wrong with the text, which MLIR cannot read if it has shapes.
            raise BmcError(
                "op-rejected",
                f"the converter to TOSA makes no valid module of '{file.name}': {error.error_diagnostics[0].message}",
                hint="remove ops of the model to find the one at fault",
            ) from None
    if explicit.states:
        tflite_variables.link_states(out / artifacts.MODEL_FILE, explicit.states)
    mlir.signature(out / artifacts.MODEL_FILE, file.name)


def unconverted(file: TfliteFile) -> list[BmcError]:
    """Returns an error for each op of a file with static shapes that the converter leaves as it is.

    Raises:
      BmcError: the converter rejects the file.
    """
    data = tflite_resizes.centered(tflite_own.write(_explicit(file).data), file.name)
    return tflite_rounding.unconverted(_run_converter(data, file, "Bytecode"), file)


def _explicit(file: TfliteFile) -> tflite_variables.Explicit:
    """Writes out what the converter lacks or has otherwise: LSTMs, sparse tensors, branches, variables, integers."""
    data = tflite_counts.bound(tflite_wide_softmax.narrow(file.data))
    data, kept = tflite_signal.expand(data, file.name)
    data, more = tflite_svdf.expand(data, file.name)
    data = tflite_expansions.expand(tflite_lstm.expand(data, file.name))
    data = tflite_branches.flat(tflite_sparse.dense(data, file.name), file.name)
    return tflite_variables.explicit(data, file, [*kept, *more])


def _run_converter(data: bytes, file: TfliteFile, output: str) -> bytes:
    """Returns the converter's MLIR, in which ops that TOSA lacks are left unconverted.

    Args:
      data: the file with static shapes.
      file: the model, for its name.
      output: "Bytecode" or "Text".

    Raises:
      BmcError: the converter is not installed or rejects the file.
    """
    try:
        import tosa_converter_for_tflite as converter
    except ImportError:
        raise BmcError(
            "tflite-missing",
            "importing a .tflite model needs the package tosa-converter-for-tflite",
            hint=installing.hint("ai-edge-litert", "tosa-converter-for-tflite"),
        ) from None
    # Locations contain the file name given here, so give it without a folder.
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        Path(file.name).write_bytes(data)
        with quiet.captured() as messages:
            try:
                converter.tflite_flatbuffer_to_tosa_mlir(
                    file.name,
                    artifacts.MODEL_FILE,
                    getattr(converter.TosaConverterOutputFormat, output),
                    converter.TosaConverterDebugInfo.Enable,
                )
                reason = ""
            except RuntimeError as error:
                reason = factory.first_line(error)
        if reason:
            found = _ERROR.search(messages.getvalue())
            kind = file.kind_of(found["tensor"] or "") if found else ""
            what = f"op '{kind}' of '{file.name}'" if kind else f"'{file.name}'"
            raise BmcError(
                "op-rejected",
                f"the converter to TOSA rejects {what}: {found['text'][:200] if found else reason}",
                hint=tflite_schema.OTHER_OPS,
            )
        return Path(artifacts.MODEL_FILE).read_bytes()
