"""Tests concatenations of what loops compute with what they do not."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import concatenations

# The report's model joins a product that a loop computes, and one of the input.
_REPORT = Path("docs/upstream/iree-loop-before-operand.md")
_MODEL = _REPORT.read_text(encoding="utf-8").split("```mlir\n")[1].split("```")[0]
_PARTS = "%late, %early :"


def _joined(parts: str) -> str:
    return _MODEL.replace(_PARTS, f"{parts} :")


class ConcatenationsTest(support.FolderTest):
    def test_what_a_loop_computes_stands_first(self) -> None:
        rng = np.random.default_rng(1)
        x, w = (rng.standard_normal(size).astype(np.float32) for size in ((1, 8), (8, 8)))
        loop: Array = x
        for _ in range(3):
            loop = loop @ w + (x + x) @ w
        (result,) = self.on_host(_MODEL, x, w)
        np.testing.assert_allclose(result, np.hstack([loop @ w, x @ w]), rtol=1e-4, atol=1e-3)

    def test_it_compiles_for_the_target(self) -> None:
        support.compile_text(_MODEL, self.folder)

    def test_iree_refuses_it(self) -> None:
        # If this fails, IREE has mended what the report says, and the rewrite can go.
        with mock.patch.object(concatenations, "apply"):
            inputs = (np.zeros((1, 8), np.float32), np.zeros((8, 8), np.float32))
            self.refuses(
                "op-rejected", "does not dominate", call=lambda: self.on_host(_MODEL, *inputs)
            )

    def test_others_stay_as_they_are(self) -> None:
        for parts in ("%early, %x", "%early, %late", "%loop, %late"):
            text = support.rewritten(_joined(parts), concatenations.apply)
            self.assertIn("tensor.concat", text, parts)
        self.assertNotIn("tensor.concat", support.rewritten(_MODEL, concatenations.apply))


if __name__ == "__main__":
    unittest.main()
