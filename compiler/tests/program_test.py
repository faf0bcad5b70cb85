"""The program //compiler has every framework, and its paths are relative to the user's folder."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

_MODEL = """
import numpy as np
import torch

from bmc.spec import ModelSpec, Tolerance


def doubled() -> ModelSpec:
    class Doubled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x

    return ModelSpec(Doubled().eval(), ((np.ones((1, 4), np.float32),),), Tolerance(0.0, 1e-6))
"""
# One package of each framework. Loading them would take seconds.
_PACKAGES = ("ai_edge_litert", "jax", "onnxruntime", "tensorflow", "torch_mlir", "torchao")


class ProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [os.environ["COMPILER"], *arguments],
            env=os.environ | {"BUILD_WORKING_DIRECTORY": str(self.folder)},
            capture_output=True,
            text=True,
        )

    def test_a_pytorch_model_of_the_users_folder_is_imported(self) -> None:
        (self.folder / "model.py").write_text(_MODEL)
        done = self.run_program("import", "model.py:doubled", "--out", "imported")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "imported/model.mlirbc").is_file())

    def test_every_framework_is_there(self) -> None:
        lines = ["from importlib.util import find_spec", "def missing():"]
        lines.append(
            f"    raise ValueError([n for n in {_PACKAGES + ('nowhere',)} if not find_spec(n)])"
        )
        (self.folder / "model.py").write_text("\n".join(lines))
        done = self.run_program("import", "model.py:missing", "--out", "imported")
        self.assertIn("ValueError: ['nowhere']", done.stderr)


if __name__ == "__main__":
    unittest.main()
