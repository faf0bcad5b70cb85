"""Imports an .onnx model with IREE's ONNX importer. onnxruntime, or the standard's reference, computes the golden data.

The result is linalg and, for QDQ models, iree_linalg_ext.quantize_affine. Convolutions remain NCHW.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmc import artifacts, factory, golden, progress, spec, spread, tolerances
from bmc.artifacts import ImportedModel, TensorInfo
from bmc.errors import BmcError
from bmc.frontends import (
    doubles,
    imported,
    largest_sizes,
    mlir,
    onnx_bitcasts,
    onnx_clips,
    onnx_codes,
    onnx_counts,
    onnx_file,
    onnx_limits,
    onnx_pinned,
    onnx_refused,
    onnx_sparse,
    onnx_static,
    onnx_steps,
    quantized,
    quiet,
    user_cases,
)
from bmc.frontends.onnx_file import OnnxFile
from bmc.frontends.onnx_graph import Graph, node_name, nodes_within
from bmc.frontends.options import ImportOptions
from bmc.iree.tool import IreeTool

_PACKAGES = ("onnx", "onnxruntime")
_OP = re.compile(r"op '[^']+'")
_LOWERING = (
    "--pass-pipeline=builtin.module("
    "torch-onnx-to-torch-backend-pipeline,torch-to-iree{emit-async-entry-points=false})"
)


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports an .onnx file and the external data beside it.

    Args:
      path: the file.
      options: the user's options; without `cases`, samples.py makes up inputs.
      out: import directory, which must exist.

    Raises:
      BmcError: it is not an ONNX file, or IREE cannot import an op; the error names the op.
    """
    given = user_cases.of_file(options)
    model = spec.ModelSpec(
        None,
        given.cases,
        given.tolerance,
        given.labels,
        calibration=given.calibration,
        ranges=given.ranges,
    )
    return _import(model, onnx_file.load(path), options, out)


def import_spec(
    model: spec.ModelSpec, source: str, options: ImportOptions, out: Path
) -> ImportedModel:
    """Imports the ModelFile of a ModelSpec; raises the errors of import_file().

    Args:
      model: the factory's result.
      source: the file and its factory.
      options: the user's options.
      out: import directory, which must exist.
    """
    file = onnx_file.parse(model.module.data, Path(source).name)
    return _import(model, file, options, out)


def _import(
    model: spec.ModelSpec, file: OnnxFile, options: ImportOptions, out: Path
) -> ImportedModel:
    file = onnx_pinned.pinned(file, options.constants)
    onnx_limits.check(file.model, file.name, options.limits)
    onnx_sparse.densify(file.model, file.name, options.limits)
    whole = file.inlined()
    weights = whole.weights()
    bounds = whole.bounds()
    for name, array in weights.items():
        golden.check_finite(name, array, is_bound=name in bounds)
    onnx_refused.check(whole.model, file.name, weights)
    ends = file.model.graph
    model = onnx_codes.taken(model, file.inputs, ends.input)
    declared = golden.fix(
        golden.sized(file.inputs, options.shapes), model.cases[0] if model.cases else None
    )
    own = len(file.output_names)
    file = onnx_static.with_counts(file, declared)
    model = largest_sizes.judged(model, own, file.output_names)
    has_codes = quantized.has_codes(file.model.graph)
    cases = model.cases or onnx_codes.made_up(declared, ends.input, quantized=has_codes)
    golden.check_cases(cases, declared)
    notes = (*onnx_codes.notes(ends), *onnx_counts.notes(file.model))
    if options.quantize:
        from bmc.frontends import onnx_quantize

        golden.check_cases(model.calibration, declared)
        progress.begin(progress.QUANTIZE)
        file, more = onnx_quantize.quantize(file, declared, model.calibration)
        notes += more
    progress.begin(progress.GOLDEN)
    expected, computed_by = file.computed(cases)
    results = golden.infos(expected[0], file.output_names, "output")
    progress.begin(progress.CONVERT)
    in_f64 = _write(file, declared, results, out)
    inputs = golden.infos(cases[0], model.input_names or [i.name for i in declared], "input")
    outputs = golden.infos(expected[0], model.output_names or file.output_names, "output")
    kernels = spread.of("onnx", onnx_limits.ops(file.model))
    apart = onnx_steps.widened(kernels, file, cases, expected, is_ours=bool(options.quantize))
    wider, usual = (tolerances.default(results, expected, each) for each in (apart, kernels))
    if options.quantize and wider != usual and not model.tolerance:
        notes += (onnx_steps.note(apart),)
    result = imported.build(
        model,
        out=out,
        source=file.name,
        frontend="onnx",
        # Without onnxruntime, the expected outputs are those of the standard's reference.
        packages=_PACKAGES if computed_by == "onnxruntime" else ("onnx",),
        inputs=inputs,
        outputs=outputs,
        cases=cases,
        expected=expected,
        weights=weights,
        in_f64=in_f64,
        classes=file.classes,
        mixed=not options.quantize and quantized.has_float_products(file.model),
        apart=apart,
        answer=lambda case: file.run((case,))[0],
    )
    return replace(result, notes=notes)


def _write(
    file: OnnxFile, inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...], out: Path
) -> str:
    """Writes model.mlirbc; returns the first node that computes in f64, "" if there is none.

    If IREE rejects the model, tries again with onnxruntime's constant folding.

    Folding does not come first, because it changes weights and the rounding of sums.
    """
    try:
        static = onnx_static.make(file, inputs, outputs)
        convert(file, static, out)
    except BmcError as rejected:
        # Report the first error, because it names ops that are in the file.
        with contextlib.suppress(Exception):  # onnxruntime has no base class of its own.
            static = onnx_static.make(file, inputs, outputs, fold=True)
            convert(file, static, out)
            return doubles.of_onnx(static)
        raise rejected
    return doubles.of_onnx(static)


def convert(file: OnnxFile, static: Any, out: Path) -> None:
    """Writes model.mlirbc; `static` is the ModelProto with static shapes. An error names the node, if that is known."""
    from iree.compiler import ir
    from iree.compiler.extras import onnx_importer

    static.graph.name = "main"
    nodes = list(nodes_within(static.graph.node))
    for node in nodes:
        # The name becomes the op's location, so diagnostics name the node.
        node.name = node_name(node)
    with tempfile.TemporaryDirectory() as work:
        try:
            info = onnx_importer.ModelInfo(static)
            with ir.Context() as context, quiet.python():
                module = info.create_module(context=context).operation
                onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
                onnx_bitcasts.lower(module)
                with (Path(work) / "onnx.mlirbc").open("wb") as stream:
                    module.write_bytecode(stream)
        except Exception as error:  # The importer raises all kinds for what it does not know.
            raise BmcError(
                "op-rejected",
                f"IREE's importer rejects '{file.name}': {factory.first_line(error)[:300]}",
                hint="export the model with other ops, or import it from its own framework",
            ) from None
        tool = IreeTool(Path(work), out / "reproducer")
        try:
            tool.lower_torch("onnx.mlirbc", "model.mlirbc", _LOWERING)
        except BmcError as error:
            raise _in_terms_of_the_file(error, static) from None
        (out / artifacts.MODEL_FILE).write_bytes((Path(work) / "model.mlirbc").read_bytes())
    clips = (node.name for node in nodes if node.op_type == "Clip")
    onnx_clips.keep_nan(out / artifacts.MODEL_FILE, clips)
    mlir.signature(out / artifacts.MODEL_FILE, file.name)


def _in_terms_of_the_file(error: BmcError, model: Any) -> BmcError:
    """Names the op in the file, where IREE names one of the ops or constants that it became."""
    graph = Graph(model.graph)
    foreign = None
    for node in model.graph.node:
        op = f"{node.domain}.{node.op_type}".lstrip(".")
        if node.name == error.where:
            message = _OP.sub(f"op '{op}'", error.message, count=1)
            if foreign:
                message = (
                    f"{message}, because ONNX does not know the shapes that op"
                    f" '{foreign.domain}.{foreign.op_type}' before it returns"
                )
            return BmcError(error.kind, message, where=error.where, hint=error.hint)
        unknown = any(name and graph.shape(name) is None for name in node.output)
        if unknown and node.domain not in ("", "ai.onnx"):
            foreign = foreign or node
    return error
