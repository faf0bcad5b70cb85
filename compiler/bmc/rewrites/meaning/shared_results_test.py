"""Tests that what a kernel without inputs computes is not overwritten while others read it."""

from __future__ import annotations

import unittest
from pathlib import Path

import numpy as np
import support

from bmc import reference
from bmc.dtype import Array
from bmc.iree import phases
from bmc.rewrites.meaning import shared_results

_REPORT = Path(__file__).parents[4] / "docs/upstream/iree-shared-results.md"
_KEYS = np.arange(12, dtype=np.float32)[::-1].copy(), np.arange(12, dtype=np.float32) * 5 % 12
_FLOW = """flow.executable private @d {{
  flow.executable.export public @d
}}
util.func public @main(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {{
  %c0 = arith.constant 0 : index
  %n = flow.dispatch @d::@d({0}) : ({1}) -> tensor<1x4xf32>
  %r = flow.tensor.reshape %n : tensor<1x4xf32> -> tensor<4xf32>
  {2}
  util.return %n, %y : tensor<1x4xf32>, tensor<1x4xf32>
}}
"""
_IN_PLACE = "%y = flow.dispatch @d::@d(%x, %n) : (tensor<1x4xf32>, tensor<1x4xf32>) -> %n"
_RESHAPED = """%z = flow.dispatch @d::@d(%r) : (tensor<4xf32>) -> %r
  %y = flow.tensor.reshape %z : tensor<4xf32> -> tensor<1x4xf32>"""
_UPDATE = "%y = flow.tensor.update %x, %n[%c0, %c0] : tensor<1x4xf32> -> %n as tensor<1x4xf32>"
_AGAIN = """%m = flow.dispatch @d::@d() : () -> tensor<1x4xf32>
  %y = flow.dispatch @d::@d(%x, %m) : (tensor<1x4xf32>, tensor<1x4xf32>) -> %m"""
_APART = "%y = flow.dispatch @d::@d(%n) : (tensor<1x4xf32>) -> tensor<1x4xf32>"


class ResultsTest(support.FolderTest):
    def answers(self, *, apart: bool) -> list[Array]:
        from iree import runtime

        text = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")[2].partition("```")[0]
        flags = (*reference.HOST_FLAGS, "--iree-opt-const-expr-hoisting=false")
        rewrite = shared_results.apply if apart else None
        data = self.compiled_apart(text, phases.FLOW, flags, rewrite)
        loaded = runtime.load_vm_flatbuffer(data, driver="local-sync")
        return [np.asarray(order) for order in loaded["main"](*_KEYS)]

    def test_orders(self) -> None:
        """The fault is as reported, and the rewrite mends it."""
        wanted = [np.argsort(keys) for keys in _KEYS]
        np.testing.assert_array_equal(self.answers(apart=True), wanted)
        self.assertFalse(np.array_equal(self.answers(apart=False), wanted))

    def test_which_are_copied(self) -> None:
        for user, given, kinds, is_copied in (
            (_IN_PLACE, "", "", True),
            (_RESHAPED, "", "", True),
            (_UPDATE, "", "", True),
            (_AGAIN, "", "", True),
            (_APART, "", "", False),
            (_IN_PLACE, "%x", "tensor<1x4xf32>", False),
        ):
            text = support.rewritten(_FLOW.format(given, kinds, user), shared_results.apply)
            self.assertEqual(text.count("flow.tensor.slice"), 2 * is_copied, text)
            self.assertEqual("tensor<1x3xf32>" in text, is_copied and user != _RESHAPED)


if __name__ == "__main__":
    unittest.main()
