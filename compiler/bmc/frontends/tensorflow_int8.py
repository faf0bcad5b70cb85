"""Turns a TensorFlow function into a TFLite file with int8 tensors throughout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bmc import factory, golden, spec
from bmc.artifacts import TensorInfo
from bmc.errors import BmcError
from bmc.frontends import quiet, tensorflow_export

_OP = re.compile(r"'(?:tf|tfl)\.(\w+)' op is neither|TF Select ops: (\w+)")


def convert(
    traced: Any,
    inputs: tuple[TensorInfo, ...],
    calibration: tuple[spec.Case, ...],
) -> bytes:
    """Returns the TFLite file. Float inputs and outputs become int8, others are unchanged.

    Args:
      traced: the result of tensorflow_export.trace().
      inputs: the inputs that it was traced for.
      calibration: inputs whose activations determine the scales.

    Raises:
      BmcError: there is no calibration data, it has the wrong shapes, or TFLite has no int8 form of an
        op; the error names the op.
    """
    import tensorflow as tf

    if not calibration:
        raise BmcError(
            "no-calibration",
            "int8 quantization needs calibration inputs, from which it takes the scales",
            hint="give ModelSpec.calibration or Cases.calibration",
        )
    golden.check_cases(calibration, inputs, "calibration")

    def representative() -> Iterator[list[Any]]:
        for case in calibration:
            yield list(case)

    _refuse_loops(traced)
    # A frozen function has no variables, so no object has to own them.
    frozen = tensorflow_export.freeze(traced)

    def numbered(*tensors: Any) -> dict[str, Any]:
        return {str(index): item for index, item in enumerate(tf.nest.flatten(frozen(*tensors)))}

    function = tensorflow_export.trace(numbered, inputs, Path())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], tf.Module())
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    try:
        with quiet.python():
            data: bytes = converter.convert()
    except Exception as error:
        op = _OP.search(str(error))
        what = f"op '{op[1] or op[2]}'" if op else f"the model: {factory.first_line(error)}"
        raise BmcError(
            "op-rejected",
            f"TFLite has no int8 form of {what}",
            hint="rewrite that part of the model with other ops, or leave out quantize",
        ) from error
    return _in_order(data)


def _in_order(data: bytes) -> bytes:
    """Returns the file with inputs and outputs sorted by their numbers, since TFLite loses their order."""
    import flatbuffers
    from tensorflow.lite.python.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    (signature,) = model.signatureDefs
    graph = model.subgraphs[signature.subgraphIndex]
    for tensors in (signature.inputs, signature.outputs):
        tensors.sort(key=lambda tensor: int(tensor.name.rpartition(b"_")[2]))
    graph.inputs = [tensor.tensorIndex for tensor in signature.inputs]
    graph.outputs = [tensor.tensorIndex for tensor in signature.outputs]
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _refuse_loops(traced: Any) -> None:
    """Raises BmcError for a model with a loop, whose calibration kills the process (TensorFlow 2.21)."""
    for op in tensorflow_export.ops(traced.graph):
        if op.type in ("While", "StatelessWhile"):
            raise BmcError(
                "op-rejected",
                f"TFLite has no int8 form of loop '{op.name}'",
                hint="unroll the loop, or leave out quantize",
            )
