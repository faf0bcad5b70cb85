"""Tests what `bmc check` says of .tflite files: several ops that block them, all at once."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

import tensorflow as tf
import tflite_kit

from bmc import check, target
from bmc.frontends import tflite_file, tflite_schema
from bmc.frontends.options import ImportOptions


class TfliteCheckTest(unittest.TestCase):
    def check(self, data: bytes) -> tuple[bool, str]:
        said: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "net.tflite"
            path.write_bytes(data)
            isa = target.find("rv64gcv_zvl256b")
            ok = check.check(str(path), ImportOptions(), isa, said.append)
        return ok, "\n".join(said)

    def test_a_model_that_runs(self) -> None:
        weight = tf.constant([[1.0, -2.0], [3.0, 4.0], [0.5, 6.0]])
        data = tflite_kit.convert(lambda x: tf.nn.relu(x @ weight), tflite_kit.tensor(1, 3))
        ok, text = self.check(data)
        self.assertTrue(ok, text)
        self.assertIn("multiply-accumulates", text)
        self.assertIn('src = "net.tflite",', text)

    def test_names_of_a_million_characters_are_cut(self) -> None:
        data = tflite_kit.convert(tf.nn.relu, tflite_kit.tensor(1, 3))

        def rename(model: Any) -> None:
            for tensor in model.subgraphs[0].tensors:
                tensor.name = tensor.name[:1] * 1_000_000 + tensor.name

        ok, text = self.check(tflite_kit.edit(data, rename))
        self.assertTrue(ok, text)
        self.assertLess(len(text), 5000)

    def test_all_ops_that_the_converter_leaves(self) -> None:
        def model(x: Any) -> Any:
            rest = tf.math.floormod(tf.cast(x, tf.int16), tf.constant(3, tf.int16))
            return rest, tf.random.categorical(tf.cumsum(x), 3)

        _, text = self.check(tflite_kit.convert(model, tflite_kit.tensor(2, 3)))
        self.assertIn("gets op 'FLOOR_MOD' wrong", text)
        self.assertIn("cannot convert op 'MULTINOMIAL'", text)
        self.assertNotIn("CUMSUM", text)

    def test_all_ops_on_int16_that_differ(self) -> None:
        ops = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        data = tflite_kit.convert(
            lambda x: tf.scatter_nd([[0], [2]], tf.math.squared_difference(tf.tanh(x), x), (4, 3)),
            tflite_kit.tensor(2, 3),
            io=tf.int16,
            ops=ops,
        )
        ok, text = self.check(data)
        self.assertFalse(ok)
        self.assertIn("op 'SCATTER_ND' on int16 is not computed as LiteRT does", text)
        self.assertIn("op 'SQUARED_DIFFERENCE' on int16 is not computed as LiteRT does", text)
        self.assertIn("way out: convert with int8 activations", text)
        self.assertNotIn("TANH", text)

    def test_an_op_of_somebody_elses(self) -> None:
        data = tflite_kit.convert(lambda x: tf.cumsum(tf.sin(x), axis=1), tflite_kit.tensor(1, 3))
        from ai_edge_litert.schema_py_generated import BuiltinOperator

        model = tflite_file.parse(data, "net.tflite").model
        for code in model.operatorCodes:
            code.builtinCode = code.deprecatedBuiltinCode = BuiltinOperator.CUSTOM
            code.customCode = f"Magic{code.version}".encode()
        ok, text = self.check(tflite_schema.pack(model, len(data)))
        self.assertFalse(ok)
        self.assertIn("op 'Magic1' in 'net.tflite' is not one of TFLite's own", text)
        self.assertIn("way out: use other ops there", text)
        # Both ops, by the tensors that they compute.
        self.assertRegex(text, "at: [^,]+ in net.tflite, [^,]+ in\\s+net.tflite")

    def test_a_damaged_file(self) -> None:
        ok, text = self.check(b"\0" * 100)
        self.assertFalse(ok)
        self.assertIn("[bad-file]", text)


if __name__ == "__main__":
    unittest.main()
