"""Imports .mlir text and .mlirbc bytecode (StableHLO, linalg, TOSA and others) unchanged."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np

from bmc import artifacts, dtype, golden, intake, progress, reference, samples, tolerances
from bmc.artifacts import Golden, ImportedModel, Signature, TensorInfo
from bmc.errors import BmcError
from bmc.frontends import (
    doubles,
    mlir_dialects,
    mlir_locations,
    mlir_portable,
    user_cases,
)
from bmc.frontends.options import ImportOptions
from bmc.ir import ir_util
from bmc.iree.tool import IreeTool
from bmc.iree.version import installed_version

_BYTECODE = b"ML\xefR"


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports an MLIR file with the function `main`, which takes and returns tensors.

    Args:
      path: the .mlir or .mlirbc file.
      options: the user's options; without `cases`, samples.py makes up inputs and IREE's host runtime
        computes the expected outputs.
      out: import directory, which must exist.

    Raises:
      BmcError: the file is invalid, contains more than a model may, or does not match the cases.
    """
    if path.name.startswith(("-", "@")):
        raise BmcError(
            "bad-name",
            f"IREE would read the file name '{path.name}' as an option",
            hint="rename it",
        )
    with tempfile.TemporaryDirectory() as work:
        tool = IreeTool(Path(work), out / "reproducer")
        (Path(work) / path.name).write_bytes(_read(path, out / "reproducer"))
        # Two names, because iree-opt removes its output when it fails, and reproducers need the source.
        _parse(tool, path.name)
        parsed = Path(work) / f"imported_{path.name}"
        if mlir_portable.is_portable(parsed, path.name):
            mlir_portable.to_stablehlo(tool, parsed.name, out / artifacts.MODEL_FILE)
        else:
            shutil.copyfile(parsed, out / artifacts.MODEL_FILE)
    mlir_dialects.check(out / artifacts.MODEL_FILE, path.name, options.limits)
    inputs, outputs = signature(out / artifacts.MODEL_FILE, path.name)
    _check_weights(out / artifacts.MODEL_FILE)
    progress.begin(progress.GOLDEN)
    if options.cases and options.inputs is None:
        data, signatures = _given(options.cases, inputs, outputs)
    else:
        data, signatures = _computed(inputs, outputs, options.inputs, out)
    model = ImportedModel(
        mlir=out / artifacts.MODEL_FILE,
        source=path.name,
        frontend="mlir",
        versions={"iree-base-compiler": installed_version()},
        signatures=signatures,
        golden=data,
        parameters=(),
        in_f64=doubles.of_mlir(out / artifacts.MODEL_FILE),
    )
    return model if options.cases or options.inputs else samples.carry_few(model)


def _read(path: Path, reproducer: Path) -> bytes:
    """Returns the file with locations that name no other file."""
    data = path.read_bytes()
    if data.startswith(_BYTECODE):
        return mlir_locations.in_bytecode(data, reproducer)
    return mlir_locations.without_folders(data)


def _given(
    cases: str, inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...]
) -> tuple[Golden, tuple[Signature, ...]]:
    """Returns the user's cases, and the function with the shapes that they have."""
    given = intake.cases(cases)
    if len(given.expected) != len(given.cases):
        raise BmcError(
            "bad-spec",
            f"{len(given.cases)} cases have {len(given.expected)} expected outputs",
            hint="MLIR has no framework to ask: give Cases.expected",
        )
    input_infos = golden.infos(given.cases[0], (), "input") if given.cases else ()
    output_infos = golden.infos(given.expected[0], (), "output") if given.expected else ()
    _check_compatible("input", input_infos, inputs)
    _check_compatible("output", output_infos, outputs)
    data = golden.make(
        inputs=given.cases,
        outputs=given.expected,
        input_infos=input_infos,
        output_infos=output_infos,
        tolerance=given.tolerance,
        labels=None,
        source=artifacts.GOLDEN_FRAMEWORK,
    )
    return data, artifacts.main_signature(input_infos, output_infos)


def _computed(
    inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...], given: Path | None, out: Path
) -> tuple[Golden, tuple[Signature, ...]]:
    """Returns the user's inputs, or cases from samples.py, with outputs from IREE's host runtime, and the function."""
    signatures = artifacts.main_signature(inputs, outputs)
    host = reference.HostModel.compile(out / artifacts.MODEL_FILE, signatures, out / "reproducer")
    cases = user_cases.read(given) if given else samples.cases(inputs)
    golden.check_cases(cases, inputs)
    expected = tuple(map(host.run, cases))
    if given is None:
        cases, expected = samples.sensible(cases, expected)
    data = golden.make(
        inputs=cases,
        outputs=expected,
        input_infos=inputs,
        output_infos=outputs,
        tolerance=tolerances.default(outputs, expected),
        labels=None,
        source=artifacts.GOLDEN_IREE_HOST,
    )
    return data, signatures


def _parse(tool: IreeTool, name: str) -> None:
    """Verifies a file and writes it as the bytecode module `imported_<name>`."""
    try:
        tool.opt(name, f"imported_{name}", "--emit-bytecode")
    except BmcError as error:
        # Nothing is compiled yet, so the file itself must be wrong.
        hint = f"correct the file at that line; IREE {installed_version()} parses it"
        if "custom op" in error.message:
            hint = (
                "IREE's version of MLIR does not know this syntax: use .mlirbc, or print the module"
                " with --mlir-print-op-generic"
            )
        raise BmcError(error.kind, error.message, where=error.where, hint=hint) from None


def signature(path: Path, name: str) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Returns the inputs and outputs of `main`.

    Args:
      path: the module.
      name: the user's name for the file, for messages.

    Raises:
      BmcError: there is no `main`, or it takes or returns anything but tensors of static shape.
    """
    from iree.compiler import ir

    with ir.Context():
        module = ir.Module.parse(path.read_bytes())
        for op in module.body.operations:
            attributes = op.operation.attributes
            if (
                "function_type" in attributes
                and ir.StringAttr(attributes["sym_name"]).value == "main"
            ):
                function_type = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
                return (
                    tuple(_info(t, f"input{i}", name) for i, t in enumerate(function_type.inputs)),
                    tuple(
                        _info(t, f"output{i}", name) for i, t in enumerate(function_type.results)
                    ),
                )
    raise BmcError(
        "no-main",
        f"'{name}' has no function called main",
        hint="rename the function to be exported to main",
    )


def _check_weights(path: Path) -> None:
    """Refuses constants with NaN or Inf, except splats, such as the start value of a maximum."""
    from iree.compiler import ir

    with ir.Context():
        for op in ir_util.walk(ir_util.read(path).operation):
            for attribute in op.attributes.values():
                if isinstance(attribute, ir.DenseFPElementsAttr) and not attribute.is_splat:
                    golden.check_finite(f"{op.name} of {attribute.type}", np.array(attribute))


def _info(mlir_type: object, tensor: str, name: str) -> TensorInfo:
    from iree.compiler import ir

    if not isinstance(mlir_type, ir.RankedTensorType):
        raise BmcError(
            "bad-signature", f"{tensor} of main in '{name}' is {mlir_type}, not a tensor"
        )
    if not mlir_type.has_static_shape:
        raise BmcError(
            "dynamic-shape", f"{tensor} of main in '{name}' has the dynamic shape {mlir_type}"
        )
    return TensorInfo(tensor, dtype.from_mlir(str(mlir_type.element_type)), tuple(mlir_type.shape))


def _check_compatible(
    what: str, given: tuple[TensorInfo, ...], declared: tuple[TensorInfo, ...]
) -> None:
    """Requires the signatures to match, except that cases may have u8 for MLIR's signless i8."""

    def shape(infos: tuple[TensorInfo, ...]) -> list[tuple[tuple[int, ...], int, bool]]:
        return [(i.shape, i.dtype.byte_count, i.dtype.is_float) for i in infos]

    if shape(given) != shape(declared):
        raise BmcError(
            "bad-spec",
            f"the cases have {what}s ({', '.join(i.describe() for i in given)}) but main has"
            f" ({', '.join(i.describe() for i in declared)})",
        )
