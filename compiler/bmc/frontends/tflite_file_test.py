""".tflite files that point outside themselves are refused without a crash or a traceback."""

from __future__ import annotations

import random
import unittest
from typing import Any

import numpy as np
import support
import tensorflow as tf
import tflite_graph
import tflite_kit

from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.frontends import tflite_file


def _network(x: Any) -> Any:
    weights = tf.constant([[0.5, -1.0, 2.0]] * 8)
    return tf.nn.relu(x @ weights)


class TfliteFileTest(support.ModelFileTest):
    SUFFIX = ".tflite"
    data: bytes

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.data = tflite_kit.convert(_network, tflite_kit.tensor(1, 8))

    def test_ops_of_tensorflow(self) -> None:
        def write(model: Any) -> None:
            model.operatorCodes[0].customCode = b"FlexWriteFile"
            model.operatorCodes[0].builtinCode = 32
            model.operatorCodes[0].deprecatedBuiltinCode = 32

        data = tflite_kit.edit(self.data, write)
        self.rejects("op-rejected", "'FlexWriteFile'", "not one of TFLite's own", data=data)

    def test_data_outside_the_file(self) -> None:
        def elsewhere(model: Any) -> None:
            for buffer in model.buffers:
                if buffer.data is not None:
                    buffer.data, buffer.offset, buffer.size = None, 1 << 40, 96

        self.rejects("bad-file", "LiteRT rejects", data=tflite_kit.edit(self.data, elsewhere))

    def test_weights_of_another_size(self) -> None:
        def scalar(model: Any) -> None:
            for item in model.subgraphs[0].tensors:
                if model.buffers[item.buffer].data is not None:
                    item.shape = item.shapeSignature = None

        self.rejects("bad-file", "has 96 bytes for", data=tflite_kit.edit(self.data, scalar))

    def test_a_tensor_that_no_memory_holds(self) -> None:
        graph = tflite_graph.Graph()
        sizes = graph.constant("sizes", np.array([2**31 - 1, 2**31 - 1], np.int32))
        one, filled = graph.constant("one", np.array(1, np.float32)), graph.tensor("filled", [])
        graph.op("FILL", [sizes, one], [filled])
        self.rejects("model-failed", "a tensor may be too large", data=graph.file([], [filled]))

    def test_shapes_that_no_machine_has(self) -> None:
        def huge(model: Any) -> None:
            item = model.subgraphs[0].tensors[model.subgraphs[0].inputs[0]]
            item.shape = [(1 << 31) - 1, (1 << 31) - 1]
            item.shapeSignature = None

        self.rejects("too-large", "no machine has a tensor", data=tflite_kit.edit(self.data, huge))

    def test_offsets_that_are_wrong(self) -> None:
        """LiteRT's verifier finds them before anything else uses them."""
        rng = random.Random(0)
        refused = 0
        for _ in range(300):
            data = bytearray(self.data)
            place = rng.randrange(8, len(data)) & ~3
            data[place : place + 4] = rng.choice((b"\xff" * 4, b"\0\0\0\x80", rng.randbytes(4)))
            try:
                tflite_file.read(bytes(data), "model.tflite")
            except BmcError:
                refused += 1
        self.assertGreater(refused, 50)

    def test_floats_are_quantized_with_ties_away_from_zero(self) -> None:
        floats = np.array([-0.25, 0.25, -0.75, 0.2, 100.0, -100.0], np.float32)
        quantized = tflite_file.Quantization(0.5, 1).quantize(floats, DType.I8)
        self.assertEqual(quantized.tolist(), [0, 2, -1, 1, 127, -128])


if __name__ == "__main__":
    unittest.main()
