"""Tests that kernels learn of no alignment that the plan does not keep."""

from __future__ import annotations

import re
import unittest

import support

from bmc.host import program
from bmc.rewrites.iree import alignments

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


# Row after row is stored, or read, at a place that the host program computes.
_DISPATCHED = """
#layout = #hal.pipeline.layout<bindings = [
    #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
hal.executable private @e {
  hal.executable.variant public @v target(#hal.executable.target<"llvm-cpu", "embedded-elf-riscv_64">) {
    hal.executable.export public @f ordinal(0) layout(#layout)
    builtin.module {
      func.func @f() {
        %zero = arith.constant 0 : index
        %a = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%zero) : memref<5xf32>
        %b = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%zero) : memref<5xf32>
        memref.copy %a, %b : memref<5xf32> to memref<5xf32>
        return
      }
    }
  }
}
util.func public @main(%i: index, %x: !stream.resource<external>, %t: !stream.timepoint) -> !stream.timepoint {
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %row = arith.constant ROW : index
  %size = arith.constant 8192 : index
  %limited = arith.minui %i, %three : index
  %offset = arith.muli %limited, %row : index
  %done = stream.cmd.execute await(%t) => with(%x as %y: !stream.resource<external>{%size}) {
    stream.cmd.dispatch @e::@v::@f {
      ro %y[%zero for %row] : !stream.resource<external>{%size},
      wo %y[%offset for %row] : !stream.resource<external>{%size}
    }
  } => !stream.timepoint
  util.return %done : !stream.timepoint
}
"""


class AlignmentsTest(unittest.TestCase):
    def test_only_a_larger_alignment_is_lowered(self) -> None:
        text = support.rewritten(_BINDINGS, alignments.apply)
        self.assertIn("alignment(64)", text)
        self.assertIn("alignment(16)", text)
        self.assertIn("memref.assume_alignment %0, 64 :", text)
        self.assertNotIn("4096", text)

    def test_rows_are_aligned_as_their_size_is(self) -> None:
        for row, alignment in ((20, 4), (24, 8), (96, 32), (192, 64), (256, 64)):
            text = _DISPATCHED.replace("ROW", str(row))
            stated = re.findall(r"alignment\((\d+)\)", support.rewritten(text, alignments.apply))
            self.assertEqual(stated, ["64", str(alignment)], row)

    def test_a_place_that_is_not_understood(self) -> None:
        text = _DISPATCHED.replace("ROW", "64").replace("arith.muli", "arith.divui")
        stated = re.findall(r"alignment\((\d+)\)", support.rewritten(text, alignments.apply))
        self.assertEqual(stated, ["64", "1"])

    def test_it_is_the_plan_s(self) -> None:
        self.assertEqual(alignments.ALIGNMENT, program.ALIGNMENT)


if __name__ == "__main__":
    unittest.main()
