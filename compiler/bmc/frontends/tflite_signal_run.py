"""What a file with ops on sound computes: these in TensorFlow Lite for Microcontrollers, and the others in LiteRT."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bmc import dtype, factory, installing, spec
from bmc.artifacts import TensorInfo
from bmc.errors import BmcError
from bmc.frontends import tflite_file, tflite_schema, tflite_signal_ops
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_signal_ops import Part

PACKAGE = "tflite-micro"
# What the interpreter may take beside what the file takes: room for a spectrum and the tensors.
_ARENA = 1 << 22


class Runner:
    """Runs a model with ops on sound; methods are those of tflite_file.Runner."""

    def __init__(self, file: TfliteFile, inputs: tuple[TensorInfo, ...], part: Part) -> None:
        self._file, self._part = file, part
        self._first = _first(file, part)
        rest, places = _rest(file, part)
        self._place = places.index(part.made)
        shape = tflite_schema.shape(file.model.subgraphs[0].tensors[part.made])
        made = TensorInfo("features", dtype.DType.I16, shape)
        given = tuple(made if index == self._place else info for index, info in enumerate(inputs))
        self._rest = tflite_file.Runner(rest, given)
        self.reset()

    def reset(self) -> None:
        """Gives what ops keep its initial values."""
        try:
            from tflite_micro.python.tflite_micro import runtime
        except ImportError:
            raise BmcError(
                "tflite-missing",
                f"importing a .tflite model with ops on sound needs the package {PACKAGE}",
                hint=installing.hint(PACKAGE),
            ) from None
        try:
            self._interpreter: Any = runtime.Interpreter.from_bytes(
                self._first, arena_size=_ARENA + 10 * len(self._first)
            )
        except (RuntimeError, ValueError) as error:
            raise self._failed(error) from None

    def run(self, case: spec.Case) -> spec.Case:
        """Returns one array per output."""
        try:
            self._interpreter.set_input(case[self._place], 0)
            self._interpreter.invoke()
            features = np.array(self._interpreter.get_output(0), np.int16)
        except (RuntimeError, ValueError) as error:
            raise self._failed(error) from None
        given = [features if index == self._place else each for index, each in enumerate(case)]
        return self._rest.run(tuple(given))

    def static(self) -> TfliteFile:
        """Returns the file, whose shapes are static; a tensor without dimensions is a number."""
        from ai_edge_litert.schema_py_generated import ModelT

        model = ModelT.InitFromPackedBuf(self._file.data, 0)
        for graph in model.subgraphs:
            for tensor in graph.tensors:
                tensor.hasRank = True
        return replace(
            self._file, data=tflite_schema.pack(model, len(self._file.data)), model=model
        )

    def _failed(self, error: Exception) -> BmcError:
        return BmcError(
            "model-failed",
            f"TensorFlow Lite for Microcontrollers cannot run '{self._file.name}': {factory.first_line(error)}",
        )


def _first(file: TfliteFile, part: Part) -> bytes:
    """Returns a file of the ops on sound alone."""
    model, graph = _copied(file)
    graph.operators = graph.operators[: len(part.ops)]
    for made, op in zip(graph.operators, part.ops, strict=True):
        if op.kind in tflite_signal_ops.KINDS:
            made.customOptions = np.frombuffer(tflite_signal_ops.packed(op), np.uint8)
    graph.inputs, graph.outputs = [part.given], [part.made]
    return tflite_schema.pack(model, len(file.data))


def _rest(file: TfliteFile, part: Part) -> tuple[TfliteFile, list[int]]:
    """Returns a file of the other ops, and its inputs."""
    model, graph = _copied(file)
    graph.operators = graph.operators[len(part.ops) :]
    graph.inputs = [part.made if index == part.given else int(index) for index in graph.inputs]
    data = tflite_schema.pack(model, len(file.data))
    return replace(file, data=data, model=model), graph.inputs


def _copied(file: TfliteFile) -> tuple[Any, Any]:
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(file.data, 0)
    model.signatureDefs = None
    return model, model.subgraphs[0]
