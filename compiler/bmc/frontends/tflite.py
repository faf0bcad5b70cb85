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

from bmc import artifacts, errors, factory, golden, intake, progress, samples, spec, spread
from bmc.artifacts import ImportedModel, TensorInfo
from bmc.errors import BmcError
from bmc.frontends import (
    imported,
    mlir,
    quiet,
    tflite_file,
    tflite_refused,
    tflite_resizes,
    tflite_rounding,
    user_cases,
)
from bmc.frontends.options import ImportOptions
from bmc.frontends.tflite_file import TfliteFile

_PACKAGES = ("ai-edge-litert", "tosa-converter-for-tflite")
# The converter returns the remainder of x / y in units of y.
_MISCONVERTED = ("FLOOR_MOD",)
# The largest number of inputs on which a quantized model is compared, and the multiply-accumulates that
# all of them together may take: a few seconds of LiteRT's reference kernels on any machine.
MOST_SAMPLES = 256
SAMPLES_WORK = 2**31
_ERROR = re.compile(r"error: (?P<text>.*)")


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports a .tflite file.

    Args:
      path: the file.
      options: the user's options; without `cases`, samples.py makes up inputs.
      out: import directory, which must exist.

    Raises:
      BmcError: it is not a TFLite file, or an op cannot be converted; the error names the op.
    """
    given = user_cases.of_file(options)
    file = spec.ModelFile(path.suffix, path.read_bytes())
    model = spec.ModelSpec(file, given.cases, given.tolerance, given.labels, ranges=given.ranges)
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
    if not model.cases and (hybrid := file.hybrid_weight()):
        raise BmcError(
            "bad-tolerance",
            f"'{source}' has int8 weights such as '{hybrid}' for float arithmetic, which LiteRT"
            " rounds at run time",
            hint=f"give cases with a tolerance of your own ({intake.HOW}), or convert with a"
            " representative dataset",
        )
    cases = tuple(file.quantize_case(case) for case in model.cases)
    declared = golden.sized(file.inputs, options.shapes)
    inputs = golden.fix(declared, cases[0] if cases else None)
    more = _samples(file, inputs, 0) if cases else ()
    cases = cases or _samples(file, inputs, samples.COUNT)
    golden.check_cases(cases, inputs)
    progress.begin(progress.GOLDEN)
    runner = tflite_file.Runner(file, inputs)
    expected = tuple(runner.run(case) for case in cases)
    outputs = golden.infos(expected[0], model.output_names or file.output_names, "output")
    progress.begin(progress.CONVERT)
    _convert(runner.static_data(), file, out)
    inputs = golden.infos(cases[0], model.input_names or [i.name for i in inputs], "input")
    result = imported.build(
        model,
        out=out,
        source=source,
        frontend="tflite",
        packages=_PACKAGES,
        inputs=inputs,
        outputs=outputs,
        cases=cases,
        expected=expected,
        weights=weights,
        apart=spread.of("tflite", file.ops()),
        answer=runner.run,
    )
    progress.begin(progress.GOLDEN)
    compared = (*result.compared_only, *((case, runner.run(case)) for case in more))
    return replace(result, compared_only=compared)


def misconverted(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each op that the converter gets wrong."""
    for op in _MISCONVERTED:
        for tensor in sorted(file.outputs_of(op)):
            yield BmcError(
                "op-rejected",
                f"the converter to TOSA gets op '{op}' wrong",
                where=f"{tensor} in {file.name}",
                hint=tflite_file.OTHER_OPS,
            )


def _samples(file: TfliteFile, inputs: tuple[TensorInfo, ...], least: int) -> tuple[spec.Case, ...]:
    """Returns `least` made-up inputs, or more if all inputs are quantized and a run is cheap."""
    count = least
    if None not in file.zero_points:
        count = max(least, min(MOST_SAMPLES, SAMPLES_WORK // max(1, file.work())))
    return tuple(samples.case(inputs, index, file.zero_points) for index in range(count))


def _convert(data: bytes, file: TfliteFile, out: Path) -> None:
    """Writes model.mlirbc; `data` is the file with static shapes."""
    from iree.compiler import ir

    errors.raise_first(misconverted(file))
    data = tflite_resizes.centered(data, file)
    converted = _run_converter(data, file, "Bytecode")
    try:
        tflite_rounding.finish(converted, file, out / artifacts.MODEL_FILE)
    except ir.MLIRError:
        # A left-over TFLite op makes the bytecode unreadable, but the text names it.
        tflite_rounding.finish(_run_converter(data, file, "Text"), file, out / artifacts.MODEL_FILE)
    mlir.signature(out / artifacts.MODEL_FILE, file.name)


def unconverted(data: bytes, file: TfliteFile) -> list[BmcError]:
    """Returns an error for each op that the converter leaves as it is; `data` is the file with static shapes.

    Raises:
      BmcError: the converter rejects the file.
    """
    return tflite_rounding.unconverted(_run_converter(data, file, "Bytecode"), file)


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
            hint="pip install tosa-converter-for-tflite",
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
            raise BmcError(
                "op-rejected",
                f"the converter to TOSA rejects '{file.name}': "
                + (found["text"][:200] if found else reason),
                hint=tflite_file.OTHER_OPS,
            )
        return Path(artifacts.MODEL_FILE).read_bytes()
