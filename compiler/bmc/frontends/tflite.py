"""Imports a .tflite model: Arm's converter to TOSA, and LiteRT's reference kernels for the golden data.

Both compute integers alike, so an int8 model can be held to every bit.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

from bmc import artifacts, factory, golden, intake, spec
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import imported, mlir, quiet, tflite_file, tflite_refused
from bmc.frontends.options import ImportOptions
from bmc.frontends.tflite_file import TfliteFile

_PACKAGES = ("ai-edge-litert", "tosa-converter-for-tflite")
# It gives the remainder of x / y in units of y.
_MISCONVERTED = ("FLOOR_MOD",)
# What an op is given in place of a tensor.
_ARGUMENTS = ("tfl.no_value", "tfl.pseudo_const")
_SINGLE_ROUND = "#tosa.rounding_mode<SINGLE_ROUND>"
_ERROR = re.compile(r"error: (?P<text>.*)")
# Of a location: loc("name"("model.tflite":0:0)), or several of these fused.
_NAME = re.compile(r'loc\((?:fused\[)?"([^"]+)"')
# MLIR's escapes in it, of bytes in UTF-8.
_ESCAPE = re.compile(rb"\\(\\|[0-9A-F]{2})")


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports a .tflite file.

    Args:
      path: the file.
      options: without `cases` there is one seeded random case.
      out: import directory, which exists.

    Raises:
      BmcError: not a TFLite file, or naming the op that cannot be converted.
    """
    given = golden.of_file(options.cases) or spec.Cases((), ())
    file = spec.ModelFile(path.suffix, path.read_bytes())
    model = spec.ModelSpec(file, given.cases, given.tolerance, given.labels)
    return import_spec(model, path.name, options, out)


def import_spec(
    model: spec.ModelSpec, source: str, options: ImportOptions, out: Path
) -> ImportedModel:
    """Imports the ModelFile of a ModelSpec.

    Args:
      model: floats in its cases that stand for a quantised input are quantised as the file says.
        With no case at all there is one seeded random case.
      source: the file, and its factory if it has one.
      options: what the user asks for.
      out: import directory, which exists.

    Raises:
      BmcError: see import_file().
    """
    if options.quantize:
        raise BmcError(
            "bad-option",
            "a .tflite model cannot be quantised after it was converted",
            hint="import the Keras model that it was converted from",
        )
    source = Path(source).name
    file = tflite_file.read(model.module.data, source)
    tflite_refused.check(file)
    weights = file.weights()
    for name, array in weights.items():
        golden.check_finite(name, array)
    if not model.cases and (hybrid := file.hybrid_weight()):
        raise BmcError(
            "bad-tolerance",
            f"'{source}' has int8 weights such as '{hybrid}' for float arithmetic, which LiteRT"
            " rounds as it runs",
            hint=f"give cases with a tolerance of your own ({intake.HOW}), or convert with a"
            " representative dataset",
        )
    cases = tuple(file.quantize_case(case) for case in model.cases)
    inputs = golden.fix(file.inputs, cases[0] if cases else None)
    cases = cases or (file.random_case(inputs),)
    golden.check_cases(cases, inputs)
    runner = tflite_file.Runner(file, inputs)
    expected = tuple(runner.run(case) for case in cases)
    outputs = golden.infos(expected[0], model.output_names or file.output_names, "output")
    _convert(runner.static_data(), file, out)
    inputs = golden.infos(cases[0], model.input_names or [i.name for i in inputs], "input")
    return imported.build(
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
    )


def _convert(data: bytes, file: TfliteFile, out: Path) -> None:
    """Writes model.mlirbc; `data` is the file with static shapes."""
    from iree.compiler import ir

    for op in _MISCONVERTED:
        for tensor in sorted(file.outputs_of(op)):
            raise BmcError(
                "op-rejected",
                f"the converter to TOSA gets op '{op}' wrong",
                where=f"{tensor} in {file.name}",
                hint=tflite_file.OTHER_OPS,
            )
    converted = _run_converter(data, file, "Bytecode")
    try:
        _finish(converted, file, out / artifacts.MODEL_FILE)
    except ir.MLIRError:
        # An op of TFLite's that is left makes the bytecode unreadable; the text names it.
        _finish(_run_converter(data, file, "Text"), file, out / artifacts.MODEL_FILE)
    mlir.signature(out / artifacts.MODEL_FILE, file.name)


def _run_converter(data: bytes, file: TfliteFile, output: str) -> bytes:
    """Returns MLIR, where ops that have no form in TOSA are left as they are.

    Args:
      output: "Bytecode" or "Text".
    """
    try:
        import tosa_converter_for_tflite as converter
    except ImportError:
        raise BmcError(
            "tflite-missing",
            "importing a .tflite model needs the package tosa-converter-for-tflite",
            hint="pip install tosa-converter-for-tflite",
        ) from None
    # Locations name the file as it is called here: without a folder.
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


def _finish(converted: bytes, file: TfliteFile, destination: Path) -> None:
    """Copies the converter's output without TFLite's own attributes and with LiteRT's rounding.

    LiteRT rounds the sums of a FULLY_CONNECTED op once, where the converter always writes TOSA's
    double rounding: every few hundred elements it would be one off. And its CAST drops what is
    behind the point, where TOSA's rounds.
    """
    from iree.compiler import ir

    dense, casts = file.outputs_of("FULLY_CONNECTED"), file.outputs_of("CAST")
    left: list[Any] = []
    rounding: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name.startswith(("tf.", "tfl.")) and op.name not in _ARGUMENTS:
            left.append(op)
        if op.name == "tosa.rescale" and _tensor(op) in dense:
            sums = ir.ShapedType(op.operands[0].type).element_type
            if str(sums) == "i32":
                op.attributes["rounding_mode"] = ir.Attribute.parse(_SINGLE_ROUND)
        if op.name == "tosa.cast" and _tensor(op) in casts:
            rounding.append(op)
        return ir.WalkResult.ADVANCE

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(converted)
        module.operation.walk(visit)
        if left:
            raise BmcError(
                "op-rejected",
                f"the converter to TOSA has no form for op"
                f" '{left[0].name.partition('.')[2].upper()}'",
                where=f"{_tensor(left[0])} in {file.name}",
                hint=tflite_file.OTHER_OPS,
            )
        for op in rounding:
            _truncate(op)
        attributes = module.operation.attributes
        for name in list(attributes):
            del attributes[name]
        with destination.open("wb") as stream:
            module.operation.write_bytecode(stream)


def _truncate(cast: Any) -> None:
    """Makes a cast of floats to integers round towards zero."""
    from iree.compiler import ir

    (x,) = cast.operands
    source, target = (ir.ShapedType(value.type).element_type for value in (x, cast.results[0]))
    if isinstance(source, ir.IntegerType) or not isinstance(target, ir.IntegerType):
        return
    if target.width == 1:  # Anything but zero is true.
        return
    flags = ir.RankedTensorType.get(x.type.shape, ir.IntegerType.get_signless(1), loc=cast.location)

    def make(name: str, operands: list[Any], result: Any, **attributes: Any) -> Any:
        return ir.Operation.create(name, [result], operands, attributes).result

    with ir.InsertionPoint(cast), cast.location:
        zeros = ir.DenseElementsAttr.get_splat(x.type, ir.FloatAttr.get(source, 0.0))
        zero = make("tosa.const", [], x.type, values=zeros)
        positive = make("tosa.greater_equal", [x, zero], flags)
        below = make("tosa.floor", [x], x.type)
        above = make("tosa.ceil", [x], x.type)
        cast.operands[0] = make("tosa.select", [positive, below, above], x.type)


def _tensor(op: Any) -> str:
    """Returns the name of the tensor that the op made in the file."""
    found = _NAME.search(str(op.location))
    return _ESCAPE.sub(_unescaped, found[1].encode()).decode() if found else ""


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"\\" if match[1] == b"\\" else bytes.fromhex(match[1].decode())
