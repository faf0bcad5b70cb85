"""Tests that kernels learn of no alignment that the plan does not keep."""

from __future__ import annotations

import unittest

import support

from bmc.host import program
from bmc.rewrites import alignments

_BINDINGS = """func.func @f() {
  %zero = arith.constant 0 : index
  %a = hal.interface.binding.subspan layout(<bindings = [
      #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>) binding(0)
      alignment(4096) offset(%zero) : memref<16xf32>
  %b = hal.interface.binding.subspan layout(<bindings = [
      #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>) binding(1)
      alignment(16) offset(%zero) : memref<16xf32>
  %aligned = memref.assume_alignment %a, 2048 : memref<16xf32>
  memref.copy %aligned, %b : memref<16xf32> to memref<16xf32>
  return
}
"""


class AlignmentsTest(unittest.TestCase):
    def test_only_a_larger_alignment_is_lowered(self) -> None:
        text = support.rewritten(_BINDINGS, alignments.apply)
        self.assertIn("alignment(64)", text)
        self.assertIn("alignment(16)", text)
        self.assertIn("memref.assume_alignment %0, 64 :", text)
        self.assertNotIn("4096", text)

    def test_it_is_the_plan_s(self) -> None:
        self.assertEqual(alignments.ALIGNMENT, program.ALIGNMENT)


if __name__ == "__main__":
    unittest.main()
