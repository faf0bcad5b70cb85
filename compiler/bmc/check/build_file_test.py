"""Tests that BUILD lines are what Bazel would read: Starlark that is Python too."""

from __future__ import annotations

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bmc import target
from bmc.check.build_file import ModelLines

_RV64 = target.find("rv64gcv_zvl256b")


def rules(text: str) -> dict[str, dict[str, Any]]:
    """Evaluates the lines; returns the attributes of each rule by its name."""
    found: dict[str, dict[str, Any]] = {}
    loaded: list[str] = []

    def load(label: str, *names: str) -> None:
        assert label.startswith(("@pypi//:", "//tools/rules:")), label
        loaded.extend(names)

    def rule(kind: str) -> Any:
        return lambda **attributes: found.update({kind: attributes})

    namespace = {
        "bm_firmware": rule("bm_firmware"),
        "bm_model": rule("bm_model"),
        "filegroup": rule("filegroup"),
        "glob": lambda patterns: patterns,
        "load": load,
        "requirement": lambda name: name,
    }
    exec(text, namespace)
    used = {name for name in ("bm_firmware", "bm_model", "requirement") if f"{name}(" in text}
    assert used == set(loaded), loaded
    return found


class BuildFileTest(unittest.TestCase):
    def test_a_file(self) -> None:
        lines = ModelLines(
            "folder/silero_vad.onnx",
            "onnx",
            {"input": (1, 512), "state": (2, 1, 128)},
            {"sr": 16000, "gain": 0.5},
        )
        found = rules(lines.text(_RV64))
        self.assertEqual(
            found["bm_model"],
            {
                "name": "silero_vad",
                "src": "silero_vad.onnx",
                "constants": {"sr": 16000, "gain": 0.5},
                "shapes": {"input": [1, 512], "state": [2, 1, 128]},
            },
        )
        self.assertEqual(
            found["bm_firmware"],
            {
                "name": "silero_vad_firmware",
                "board": "//boards/qemu_virt_rv64",
                "isa": "rv64gcv_zvl256b",
                "models": [":silero_vad"],
                "run_env": "//boards/qemu_virt_rv64:vlen256",
            },
        )

    def test_a_language_model(self) -> None:
        found = rules(ModelLines("a.gguf", "gguf", {"tokens": (8,)}, context=64).text(_RV64))
        self.assertEqual(
            found["bm_model"],
            {"name": "a", "src": "a.gguf", "context": 64, "shapes": {"tokens": [8]}},
        )

    def test_a_factory_names_its_framework(self) -> None:
        tensorflow = ["ai-edge-litert", "keras", "tensorflow", "tosa-converter-for-tflite"]
        for frontend, quantize, deps in (
            ("jax", "", ["jax"]),
            ("keras", "", ["keras", "tensorflow"]),
            ("torch", "f16", ["torch", "torch-mlir"]),
            ("torch", "int8", ["torch", "torch-mlir", "torchao"]),
            # Of a Keras model: TensorFlow Lite quantizes it.
            ("tflite", "int8", tensorflow),
        ):
            text = ModelLines("model.py:make_net", frontend, quantize=quantize).text(_RV64)
            attributes = {"name": "make_net", "src": "model.py", "factory": "make_net"}
            if quantize:
                attributes["quantize"] = quantize
            self.assertEqual(rules(text)["bm_model"], {**attributes, "deps": deps})

    def test_a_folder_is_a_filegroup(self) -> None:
        with TemporaryDirectory() as folder:
            model = Path(folder) / "Saved-Model.v2"
            model.mkdir()
            found = rules(ModelLines(str(model), "keras").text(_RV64))
        self.assertEqual(found["bm_model"], {"name": "saved_model", "src": ":saved_model_files"})
        self.assertEqual(
            found["filegroup"], {"name": "saved_model_files", "srcs": ["Saved-Model.v2/**"]}
        )

    def test_names_are_c_prefixes(self) -> None:
        for file, name in (
            ("320n.onnx", "model_320n"),
            ("PP-OCRv4_det.infer.onnx", "pp_ocrv4_det_infer"),
            ("Ü.tflite", "model"),
        ):
            self.assertEqual(ModelLines(file, "onnx").name, name)

    def test_hostile_names_stay_text(self) -> None:
        name = 'x"], srcs = glob(["/**'
        found = rules(ModelLines("a.onnx", "onnx", {name: (1, 2)}).text(_RV64))
        self.assertEqual(found["bm_model"]["shapes"], {name: [1, 2]})

    def test_every_instruction_set_has_an_emulator(self) -> None:
        for isa, env in (
            ("rv64gc", "qemu_virt_rv64:scalar"),
            ("rv64gcp", "spike_rv64:packed"),
            ("rv64gcv_zfbfmin_zvfbfwma_zvl256b", "qemu_virt_rv64:vlen256_zfbfmin_zvfbfwma"),
            ("rv64gcv_zfh_zvfh_zvl512b", "qemu_virt_rv64:vlen512_zfh_zvfh"),
            ("rv64gcv_zvl256b_zvdot4a8i", "spike_rv64:zvdot4a8i_vlen256"),
            ("rv32imafc_zve32f_zvl128b", "qemu_virt_rv32:vlen128"),
            ("rv32imc", "qemu_virt_rv32:scalar"),
            ("x86_64", "host_x86_64:native"),
        ):
            text = ModelLines("a.onnx", "onnx").text(target.find(isa))
            self.assertEqual(rules(text)["bm_firmware"]["run_env"], f"//boards/{env}")


if __name__ == "__main__":
    unittest.main()
