"""Tests how the maps of an operation are combined."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.kernels.read import views


class ViewsTest(unittest.TestCase):
    def test_a_map_of_a_map(self) -> None:
        with ir.Context():
            outer, inner, wanted = (
                ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<{text}>")).value
                for text in (
                    "(d0, d1) -> (d1, 0, d0 + d1 * 2)",
                    "(d0, d1, d2) -> (d2, d0 * 3)",
                    "(d0, d1, d2) -> (d0 * 3, 0, d2 + d0 * 6)",
                )
            )
            found = views.substituted(outer, list(inner.results))
            self.assertEqual(found, list(wanted.results))


if __name__ == "__main__":
    unittest.main()
