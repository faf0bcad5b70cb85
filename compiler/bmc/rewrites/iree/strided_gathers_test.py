"""Tests gathers from slices: IREE's IR, the rewritten IR, and the errors."""

from __future__ import annotations

import itertools
import re
import unittest
from pathlib import Path

import numpy as np
import support

from bmc import target
from bmc.iree import phases
from bmc.iree.tool import IreeTool
from bmc.rewrites.iree import strided_gathers

_REPORT = Path(__file__).parents[4] / "docs/upstream/iree-strided-gather.md"
_KERNEL = """
#line = loc("model.py":7:1)
func.func @kernel(%buffer: memref<{shape}xf32, {layout}>) -> vector<{count}xf32> {{
  %begin = arith.constant {begin} : index
  %which = arith.constant dense<{which}> : vector<{count}xindex>
  %all = arith.constant dense<true> : vector<{count}xi1>
  %zeros = arith.constant dense<0.0> : vector<{count}xf32>
  {op}
}}
"""
_TYPES = (
    "memref<{shape}xf32, {layout}>, vector<{count}xindex>, vector<{count}xi1>, vector<{count}xf32>"
)
_GATHER = f"""%read = vector.gather %buffer[{{indices}}] [%which], %all, %zeros
      : {_TYPES} into vector<{{count}}xf32> loc(#line)
  return %read : vector<{{count}}xf32>"""
_LOAD = """%read = vector.load %buffer[{indices}]
      : memref<{shape}xf32, {layout}>, vector<{count}xf32> loc(#line)
  return %read : vector<{count}xf32>"""
_SCATTER = f"""vector.scatter %buffer[{{indices}}] [%which], %all, %zeros : {_TYPES} loc(#line)
  return %zeros : vector<{{count}}xf32>"""


def _kernel(
    shape: tuple[int, ...], strides: tuple[int | str, ...], op: str = _GATHER, begin: int = 0
) -> str:
    """Returns a kernel that gathers all elements of a buffer in order."""
    count = int(np.prod(shape))
    values = {
        "shape": "x".join(map(str, shape)),
        "layout": f"strided<[{', '.join(map(str, strides))}], offset: ?>",
        "indices": ", ".join(["%begin"] * len(shape)),
        "count": count,
        "begin": begin,
        "which": list(range(count)),
    }
    return _KERNEL.format(**values, op=op.format(**values))


class GathersTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.tool = IreeTool(self.folder, self.folder / "reproducer")

    def text(self, name: str, *flags: str) -> str:
        self.tool.opt(name, "text.mlir", *flags)
        return (self.folder / "text.mlir").read_text(encoding="utf-8")

    def rewritten(self, kernel: str, *flags: str) -> str:
        self.write("output.mlir", support.rewritten(kernel, strided_gathers.apply))
        return self.text("output.mlir", *flags)

    def test_numbers_are_distances_in_memory(self) -> None:
        for shape, strides in (
            ((2, 2), (4, 1)),
            ((3, 4, 5), (99, 7, 1)),
            ((3, 4, 5), (30, 5, 1)),
            ((1, 3, 1, 4), (1000, 6, 500, 1)),
            ((4, 3), (77, 1)),
        ):
            text = self.rewritten(_kernel(shape, strides), "--canonicalize")
            everywhere = itertools.product(*map(range, shape))
            expected = [int(np.dot(index, strides)) for index in everywhere]
            with self.subTest(shape=shape, strides=strides):
                self.assertIn(f"dense<{expected}> : vector<{len(expected)}xindex>", text)
                row = f"memref<{shape[-1]}xf32, strided<[1], offset: ?>>, vector<"
                self.assertIn(f"vector.gather %subview[%c0] [%cst], %cst_0, %cst_1 : {row}", text)

    def test_dense_buffers_stay(self) -> None:
        for shape, strides in (((3, 4), (4, 1)), ((2, 1, 3), (3, 77, 1)), ((5,), (1,))):
            text = self.rewritten(_kernel(shape, strides))
            self.assertIn("vector.gather %arg0[", text)
        self.assertIn("vector.load %arg0[", self.rewritten(_kernel((2, 2), (2, 1), _LOAD)))

    def test_what_is_not_understood_is_refused(self) -> None:
        for kernel, words in (
            (_kernel((2, 2), ("?", 1)), "vector.gather on memref<2x2xf32, strided<[?, 1]"),
            (_kernel((2, 2), (4, 2)), "vector.gather on memref<2x2xf32, strided<[4, 2]"),
            (_kernel((2, 2), (4, 1), begin=1), "vector.gather on memref<2x2xf32, strided<[4, 1]"),
            # This may be a slice that begins here and has shorter rows.
            (_kernel((2, 2), (2, 1), begin=1), "vector.gather on memref<2x2xf32, strided<[2, 1]"),
            (_kernel((2, 2), (4, 1), _SCATTER), "vector.scatter on memref<2x2xf32"),
            (_kernel((2, 2), (4, 1), _LOAD), "vector.load on memref<2x2xf32"),
        ):
            self.refuses(
                "strided-gather",
                words,
                "(at model.py:7)",
                call=lambda k=kernel: self.rewritten(k),
            )

    def test_the_report_to_iree(self) -> None:
        """IREE miscompiles the module in the report. With the rewrite it is correct."""
        (module,) = re.findall(
            r"^```mlir\n(.*?)^```", _REPORT.read_text(encoding="utf-8"), re.M | re.S
        )
        self.write("slice.mlir", module)
        phase = ("--compile-to=executable-configurations", "--emit-mlir-bytecode")
        flags = target.find("rv64gcv_zvl128b").iree_flags()
        self.tool.compile("slice.mlir", "configured.mlirbc", *flags, *phase)
        passes = f"--pass-pipeline={phases.VECTORIZED.passes}"
        self.tool.opt("configured.mlirbc", "lowered.mlir", passes)
        wrong = r"vector\.gather .* memref<2x2xf32, strided<\[4, 1\]"
        self.assertRegex(
            self.text("lowered.mlir"),
            wrong,
            "IREE has fixed this: drop rewrites/iree/strided_gathers.py",
        )
        mended = self.rewritten((self.folder / "lowered.mlir").read_text(encoding="utf-8"))
        self.assertNotRegex(mended, wrong)
        self.assertRegex(
            mended,
            r"vector\.gather .* memref<2xf32, strided<\[1\], offset: 1>",
        )


if __name__ == "__main__":
    unittest.main()
