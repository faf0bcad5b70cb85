"""SavedModels and .keras files that try to read, write or call something do none of it."""

from __future__ import annotations

import io
import json
import os
import unittest
import zipfile
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import support
import tensorflow as tf
from keras import layers
from tensorflow.python.saved_model import loader_impl

from bmc.errors import BmcError
from bmc.frontends import import_model, saved_model
from bmc.frontends.options import ImportOptions

_SPEC = [tf.TensorSpec([2], tf.float32)]


def read(marker: str, x: Any) -> Any:
    return x + tf.cast(tf.strings.length(tf.io.read_file(marker)), tf.float32)


def write(marker: str, x: Any) -> Any:
    tf.io.write_file(marker, "x")
    return x + 1


def python(marker: str, x: Any) -> Any:
    return tf.py_function(lambda y: y, [x], tf.float32) + 1


def printed(marker: str, x: Any) -> Any:
    tf.raw_ops.PrintV2(input="x", output_stream=f"file://{marker}")
    return x + 1


def mapped(marker: str, x: Any) -> Any:
    region = tf.raw_ops.ImmutableConst(dtype=tf.float32, shape=[2], memory_region_name=marker)
    return x + region


def nested(marker: str, x: Any) -> Any:
    return tf.cond(x[0] > 0, lambda: write(marker, x), lambda: x)


def dataset(marker: str, x: Any) -> Any:
    lines = tf.data.TextLineDataset(marker)
    return x + lines.reduce(0.0, lambda total, line: total + 1.0)


def double(_: str, x: Any) -> Any:
    return x + x


class SavedModelTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.marker = self.folder / "marker"

    def save(self, function: Any) -> Path:
        module = tf.Module()
        module.call = tf.function(lambda x: function(str(self.marker), x), input_signature=_SPEC)
        path: Path = self.folder / function.__name__
        tf.saved_model.save(module, path, signatures={"serving_default": module.call})
        return path

    def load(self, path: Path) -> Any:
        return import_model(str(path), ImportOptions(), self.folder / "out")

    def test_ops_that_do_not_compute(self) -> None:
        for function, op in (
            (read, "ReadFile"),
            (write, "WriteFile"),
            (python, "EagerPyFunc"),
            (printed, "PrintV2"),
            (mapped, "ImmutableConst"),
            (nested, "WriteFile"),
            (dataset, "Dataset"),
        ):
            path = self.save(function)
            with self.subTest(op):
                error = self.refuses(
                    "unsafe-file", f"in '{path.name}'", call=lambda p=path: self.load(p)
                )
                self.assertRegex(error.message, rf"\Aop '\w*{op}\w*' in")
                self.assertFalse(self.marker.exists())
        # TensorFlow itself would have written the file.
        tf.saved_model.load(self.folder / "write").signatures["serving_default"](tf.ones(2))
        self.assertTrue(self.marker.exists())

    def test_an_initializer(self) -> None:
        vocabulary = self.folder / "vocabulary.txt"
        vocabulary.write_text("1\n2\n", encoding="utf-8")
        module = tf.Module()
        initializer = tf.lookup.TextFileInitializer(
            str(vocabulary), tf.int64, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )  # fmt: skip
        module.table = tf.lookup.StaticHashTable(initializer, 0)
        module.call = tf.function(
            lambda x: x + tf.cast(module.table.lookup(tf.cast(x, tf.int64)), tf.float32),
            input_signature=_SPEC,
        )
        path = self.folder / "table"
        tf.saved_model.save(module, path, signatures={"serving_default": module.call})
        self.refuses("unsafe-file", "Table", "in 'table'", call=lambda: self.load(path))

    def test_functions_that_are_called_instead_of_others(self) -> None:
        network = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
        network.export(self.folder / "saved", verbose=False)
        saved_model.check(self.folder / "saved")
        file = self.folder / "saved" / saved_model.FILE
        graph = loader_impl.parse_saved_model(str(file.parent))
        library = graph.meta_graphs[0].graph_def.library
        saver = next(f for f in library.function if "traced_save" in f.signature.name)
        saver.attr["api_implements"].s = b"x"
        file.write_bytes(graph.SerializeToString())
        self.refuses("unsafe-file", "in 'saved'", call=lambda: saved_model.check(file.parent))
        del saver.attr["api_implements"]
        library.gradient.add(function_name="x", gradient_func=saver.signature.name)
        file.write_bytes(graph.SerializeToString())
        self.refuses("unsafe-file", "in 'saved'", call=lambda: saved_model.check(file.parent))

    def test_functions_of_jax(self) -> None:
        path = self.save(double)
        model = loader_impl.parse_saved_model(str(path))
        functions = model.meta_graphs[0].graph_def.library.function
        nodes = [f.node_def.add(name="n", op="XlaCallModule") for f in functions]
        for module, accepted in (
            (b"ML\xefR ... tanh_v1", True),
            (b"ML\xefR ... custom_call_v1", False),
            (b"module {}", False),
        ):
            for node in nodes:
                node.attr["module"].s = module
            (path / saved_model.FILE).write_bytes(model.SerializeToString())
            with self.subTest(module):
                if accepted:
                    saved_model.check(path)
                else:
                    self.refuses(
                        "unsafe-file", "XlaCallModule", call=lambda: saved_model.check(path)
                    )

    def test_files_of_tensorflow_1(self) -> None:
        """Their graph restores variables, and may read nothing else."""
        v1 = tf.compat.v1

        def save(name: str, change: Any = None) -> Path:
            with v1.Graph().as_default(), v1.Session() as session:
                x = v1.placeholder(tf.float32, [2], name="x")
                w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
                y = tf.tanh(x * w)
                session.run(v1.global_variables_initializer())
                init = tf.io.write_file(str(self.marker), "x") if change == "init" else None
                v1.saved_model.simple_save(
                    session, str(self.folder / name), {"x": x}, {"y": y}, legacy_init_op=init
                )
            return self.folder / name

        imported = self.load(save("honest"))
        np.testing.assert_allclose(
            imported.golden.outputs[0][0], np.tanh(imported.golden.inputs[0][0] * [1, 2]), rtol=1e-5
        )
        self.refuses("unsafe-file", "'WriteFile'", call=lambda: self.load(save("init", "init")))
        elsewhere = save("elsewhere")
        graph = loader_impl.parse_saved_model(str(elsewhere))
        nodes = {node.name: node for node in graph.meta_graphs[0].graph_def.node}
        nodes["save/RestoreV2"].input[0] = "save/RestoreV2/tensor_names"
        (elsewhere / saved_model.FILE).write_bytes(graph.SerializeToString())
        self.refuses("unsafe-file", "'RestoreV2'", call=lambda: self.load(elsewhere))
        self.assertFalse(self.marker.exists())

    def test_what_an_optimizer_keeps(self) -> None:
        module = tf.Module()
        module.weight = tf.Variable([2.0, 3.0])
        module.slot = tf.Variable([0.0, 0.0])
        module.call = tf.function(lambda x: x * module.weight, input_signature=_SPEC)
        path = self.folder / "trained"
        tf.saved_model.save(module, path, signatures={"serving_default": module.call})
        graph = loader_impl.parse_saved_model(str(path))
        objects = graph.meta_graphs[0].object_graph_def
        places = {child.local_name: child.node_id for child in objects.nodes[0].children}
        slot = objects.nodes[0].slot_variables.add()
        slot.slot_name, slot.original_variable_node_id = "m", places["weight"]
        slot.slot_variable_node_id = places["slot"]
        (path / saved_model.FILE).write_bytes(graph.SerializeToString())
        with self.assertRaisesRegex(AttributeError, "add_slot"):
            tf.saved_model.load(path)
        golden = self.load(path).golden
        (x,), (y,) = golden.inputs[0], golden.outputs[0]
        np.testing.assert_array_equal(y, x * np.array([2, 3], np.float32))

    def test_text(self) -> None:
        module = tf.Module()
        spec = [tf.TensorSpec([2], tf.string, "words")]
        module.call = tf.function(lambda x: tf.strings.length(x), input_signature=spec)
        path = self.folder / "text"
        tf.saved_model.save(module, path, signatures={"serving_default": module.call})
        self.refuses("unsupported-dtype", "input 'words' of 'text'", call=lambda: self.load(path))

    def test_links(self) -> None:
        network = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
        network.export(self.folder / "saved", verbose=False)
        weights = self.folder / "saved" / "variables" / "variables.data-00000-of-00001"
        weights.rename(self.folder / "elsewhere")
        weights.symlink_to(self.folder / "elsewhere")
        self.refuses(
            "unsafe-file",
            "'saved_model.pb' reads 'variables/variables.data-00000-of-00001'",
            call=lambda: self.load(self.folder / "saved"),
        )


class KerasFileTest(support.FolderTest):
    """Keras itself refuses these files, and bmc relies on that."""

    def setUp(self) -> None:
        super().setUp()
        self.marker = self.folder / "marker"
        self.path = self.folder / "net.keras"
        keras.Sequential([keras.Input((4,)), layers.Dense(3, name="d")]).save(self.path)
        with zipfile.ZipFile(self.path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}

    def rejects(self, **members: bytes) -> None:
        with zipfile.ZipFile(self.path, "w") as archive:
            for name, data in (self.members | members).items():
                archive.writestr(name, data)
        with self.assertRaises(BmcError) as caught:
            import_model(str(self.path), ImportOptions(), self.folder / "out")
        self.assertEqual(caught.exception.kind, "bad-file", caught.exception)
        self.assertFalse(self.marker.exists())

    def test_classes_and_functions(self) -> None:
        saved = self.folder / "saved"
        module = tf.Module()
        module.call = tf.function(lambda x: write(str(self.marker), x), input_signature=_SPEC)
        tf.saved_model.save(module, saved, signatures={"serving_default": module.call})
        lines = self.folder / "vocabulary.txt"
        lines.write_text("1\n", encoding="utf-8")
        endpoint = {"filepath": str(saved), "call_endpoint": "serving_default", "name": "t"}
        fetched = {"origin": lines.as_uri(), "fname": str(self.marker)}
        for module_name, class_name, config in (
            ("os", "mkdir", {"path": str(self.marker)}),
            ("subprocess", "Popen", {"args": ["mkdir", str(self.marker)]}),
            ("keras.utils", "get_file", fetched),
            ("keras.layers", "TFSMLayer", endpoint),
            ("keras.layers", "IntegerLookup", {"vocabulary": str(lines), "name": "t"}),
        ):
            document = json.loads(self.members["config.json"])
            document["config"]["layers"][1] = {
                "module": module_name,
                "class_name": class_name,
                "config": config,
                "registered_name": None,
            }
            with self.subTest(class_name):
                self.rejects(**{"config.json": json.dumps(document).encode()})
        for module_name, name in (
            ("os", "mkdir"),
            ("keras.utils", "get_file"),
            ("builtins", "eval"),
        ):
            document = json.loads(self.members["config.json"])
            document["config"]["layers"][1]["config"]["activation"] = {
                "module": module_name,
                "class_name": "function",
                "config": name,
                "registered_name": name,
            }
            with self.subTest(name):
                self.rejects(**{"config.json": json.dumps(document).encode()})

    def test_weights_in_other_files(self) -> None:
        other = self.folder / "other.h5"
        with h5py.File(other, "w") as file:
            file["vars/0"] = np.ones((4, 3), np.float32)
        layout = h5py.VirtualLayout((4, 3), "f4")
        layout[...] = h5py.VirtualSource(str(other), "vars/0", shape=(4, 3))

        def changed(change: Any) -> bytes:
            buffer = io.BytesIO(self.members["model.weights.h5"])
            with h5py.File(buffer, "r+") as file:
                change(file["layers/dense"], file["layers/dense/vars"])
            return buffer.getvalue()

        def dataset(group: Any, variables: Any) -> None:
            del variables["0"]
            variables["0"] = h5py.ExternalLink(str(other), "/vars/0")

        def folder(group: Any, variables: Any) -> None:
            del group["vars"]
            group["vars"] = h5py.ExternalLink(str(other), "/vars")

        def virtual(group: Any, variables: Any) -> None:
            del variables["0"]
            variables.create_virtual_dataset("0", layout)

        def external(group: Any, variables: Any) -> None:
            del variables["0"]
            variables.create_dataset("0", (4, 3), "f4", external=[(str(other), 0, 48)])

        for change in (dataset, folder, virtual, external):
            with self.subTest(change.__name__):
                self.rejects(**{"model.weights.h5": changed(change)})

    def test_hdf5_of_old_is_no_model(self) -> None:
        file = self.folder / "net.h5"
        file.write_bytes(b"")
        with self.assertRaises(BmcError) as caught:
            import_model(str(file), ImportOptions(), self.folder / "out")
        self.assertEqual(caught.exception.kind, "unknown-kind")


if __name__ == "__main__":
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    unittest.main()
