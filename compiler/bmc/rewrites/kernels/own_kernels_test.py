"""Tests which dispatches get a kernel of bmc's own, and that everything else about them stays."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import support

from bmc import target
from bmc.compile import CompileOptions, rewrite_until
from bmc.ir import ir_util
from bmc.rewrites.context import Context
from bmc.rewrites.kernels import own_kernels

# A matrix of long lines times a vector, whose lanes could be the lines, far from each other.
_LINES = """
func.func @f(%to_w: memref<8x128xf32>, %to_x: memref<128xf32>, %to_y: memref<8xf32>) {
  %c0 = arith.constant 0.0 : f32
  %w = iree_codegen.load_from_buffer %to_w : memref<8x128xf32> -> tensor<8x128xf32>
  %x = iree_codegen.load_from_buffer %to_x : memref<128xf32> -> tensor<128xf32>
  %empty = tensor.empty() : tensor<8xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.matvec ins(%w, %x : tensor<8x128xf32>, tensor<128xf32>) outs(%zero : tensor<8xf32>)
    -> tensor<8xf32>
  iree_codegen.store_to_buffer %y, %to_y : tensor<8xf32> into memref<8xf32>
  return
}
"""
_OP = "matmul_4x64x32_f32"
_REWRITE = "own_kernels"
_VALUES = ", ".join(f"{number}.0" for number in range(64))
_FUNCTION = f"""
func.func @f(%image: memref<8x32xf32>, %to_w: memref<32x64xf32>, %to_y: memref<4x64xf32>) {{
  %c0 = arith.constant 0.0 : f32
  %bias = arith.constant dense<[{_VALUES}]> : tensor<64xf32>
  %to_x = memref.subview %image[3, 0] [4, 32] [1, 1]
    : memref<8x32xf32> to memref<4x32xf32, strided<[32, 1], offset: 96>>
  %x = iree_codegen.load_from_buffer %to_x : memref<4x32xf32, strided<[32, 1], offset: 96>> -> tensor<4x32xf32>
  %w = iree_codegen.load_from_buffer %to_w : memref<32x64xf32> -> tensor<32x64xf32>
  %empty = tensor.empty() : tensor<4x64xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x64xf32>) -> tensor<4x64xf32>
  %sums = linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x64xf32>)
    outs(%zero : tensor<4x64xf32>) -> tensor<4x64xf32>
  %y = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %bias : tensor<4x64xf32>, tensor<64xf32>) outs(%empty : tensor<4x64xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  }} -> tensor<4x64xf32>
  iree_codegen.store_to_buffer %y, %to_y : tensor<4x64xf32> into memref<4x64xf32>
  return
}}
"""
# A function as IREE has it then, with the number of its workgroups beside it.
_EXECUTABLE = """
hal.executable private @e {{
  hal.executable.variant public @v target(<"llvm-cpu", "embedded-elf-riscv_64">) {{
    hal.executable.export public @f ordinal(0) layout(#hal.pipeline.layout<bindings = []>)
        count(%device: !hal.device) -> (index, index, index) {{
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      hal.return %x, %y, %z : index, index, index
    }}
    builtin.module {{
{function}
    }}
  }}
}}
"""


class OwnKernelsTest(support.FolderTest):
    def after(self, isa: str = support.ISA, tuning: Path | None = None, plain: bool = False) -> str:
        """Compiles a product until the rewrite; returns the IR."""
        model = support.import_text(support.MATMUL, self.folder / "model")
        options = CompileOptions(
            "m", target.find(isa), self.folder / "out", tuning, stop_after=_REWRITE, plain=plain
        )
        return rewrite_until(model, options).read_text(encoding="utf-8")

    def test_a_product_becomes_assembly(self) -> None:
        for isa in (support.ISA, "rv32imafc_zve32f_zvl128b"):
            with self.subTest(isa=isa):
                text = self.after(isa)
                self.assertEqual(text.count("llvm.inline_asm has_side_effects"), 1)
                self.assertIn("vfmacc.vf", text)
                self.assertNotIn("linalg.", text)

    def test_products_of_bf16(self) -> None:
        """Harts multiply them, or extend them to f32; others have IREE's kernel."""
        text = _FUNCTION.replace("f32", "bf16")
        for isa, names in (
            ("rv64gcv_zfbfmin_zvfbfwma_zvl256b", ("vfwmaccbf16.vf",)),
            ("rv64gcv_zfbfmin_zvfbfmin_zvl256b", ("vfwcvtbf16.f.f.v", "vfmacc.vf")),
            ("rv64gcv_zfh_zvfh_zvl256b", ()),
        ):
            with self.subTest(isa):
                context = Context(target.find(isa))
                found = support.rewritten(text, own_kernels.apply, context=context)
                self.assertEqual(found.count("llvm.inline_asm"), bool(names))
                for name in ("vfwmaccbf16.vf", "vfwcvtbf16.f.f.v", "vfmacc.vf"):
                    # The second one also reads the bias.
                    used = name in names or (bool(names) and name == "vfwcvtbf16.f.f.v")
                    self.assertEqual(name in found, used, name)
                if names:
                    # The bits of 0 to 63: IREE converts buffers of bf16, and not such globals.
                    self.assertRegex(found, r"memref<64xi16> = dense<\[0, 16256, 16384, 16448")

    def test_tile_sizes_of_the_user_keep_the_kernel(self) -> None:
        def after(name: str) -> str:
            tuning = {support.ISA: {name: {"vector_common_parallel": [2, 32, 0]}}}
            return self.after(tuning=self.write("tuning.json", json.dumps(tuning)))

        for name in (_OP, f"main_dispatch_0_{_OP}"):
            text = after(name)
            self.assertNotIn("inline_asm", text)
            self.assertIn("linalg.matmul", text)
            self.assertIn("vector_common_parallel = [2, 32, 0]", text)

    def test_it_needs_vectors_and_may_be_left_out(self) -> None:
        self.refuses("not-rewritten", _REWRITE, "rv64gc", call=lambda: self.after("rv64gc"))
        self.refuses("not-rewritten", _REWRITE, call=lambda: self.after(plain=True))

    def test_what_is_reported_stays(self) -> None:
        own = support.compile_text(support.MATMUL, self.folder / "own")
        with support.without(_REWRITE):
            iree = support.compile_text(support.MATMUL, self.folder / "iree")
        self.assertNotEqual(own["sha256"]["kernels.elf"], iree["sha256"]["kernels.elf"])
        self.assertEqual(own["macs"], iree["macs"])
        (mine,), (theirs,) = own["dispatches"], iree["dispatches"]
        for key in ("name", "operands", "macs"):
            self.assertEqual(mine.get(key), theirs.get(key), key)
        self.assertEqual((mine["own_kernel"], theirs["own_kernel"]), (True, False))
        # 8,192 products of f32, of which no core in the blend does 16 a cycle; nothing is known of IREE's kernel.
        self.assertGreater(mine["modeled_cycles"], 8192 / 16)
        self.assertIsNone(theirs.get("modeled_cycles"))

    def test_views_and_constants(self) -> None:
        text = support.rewritten(_FUNCTION, own_kernels.apply)
        self.assertEqual(text.count("llvm.inline_asm"), 1)
        self.assertRegex(
            text, r"memref.global \"private\" constant @\w+ : memref<64xf32> = dense<\[0"
        )
        self.assertIn("memref.get_global", text)
        # The image begins at its fourth row, so many numbers of four bytes behind the buffer's beginning.
        self.assertIn("memref.extract_strided_metadata", text)
        self.assertIn("arith.constant 4 : index", text)
        self.assertNotIn("linalg.", text)
        self.assertNotIn("store_to_buffer", text)
        self.assertIn("no_pipeline", text)

    def test_registers_are_declared(self) -> None:
        text = support.rewritten(_FUNCTION, own_kernels.apply)
        (line,) = [each for each in text.splitlines() if "llvm.inline_asm" in each]
        # Four addresses go in and come out changed; f0 is used, and the frame pointer is not.
        for part in (
            "=&{x10},=&{x11},=&{x12},=&{x13},0,1,2,3,",
            "~{f0}",
            "~{v31}",
            "~{vl}",
            "~{memory}",
        ):
            self.assertIn(part, line)
        for part in ("{x1}", "{x2}", "{x3}", "{x4}", "{x8}"):
            self.assertNotIn(part, line)

    def test_a_product_of_few_columns_adds_up_lanes(self) -> None:
        few = _FUNCTION.replace("64xf32", "4xf32")
        few = few.replace("dense<[" + _VALUES + "]>", "dense<[0.0, 1.0, 2.0, 3.0]>")
        self.assertIn("vfredusum.vs", support.rewritten(few, own_kernels.apply))
        self.assertNotIn("vfredusum.vs", support.rewritten(_FUNCTION, own_kernels.apply))

    def test_long_lines_are_added_up(self) -> None:
        self.assertIn("vfredusum.vs", support.rewritten(_LINES, own_kernels.apply))
        # Strided loads take as many instructions where lines are short.
        short = _LINES.replace("128", "7").replace("tensor<8x", "tensor<16x")
        short = short.replace("memref<8x", "memref<16x").replace("<8xf32", "<16xf32")
        self.assertNotIn("vfredusum.vs", support.rewritten(short, own_kernels.apply))

    def test_harts_share_the_rows(self) -> None:
        def shared(harts: int, rows: int) -> str:
            function = _FUNCTION.replace("<4x", f"<{rows}x").replace("[4, 32]", f"[{rows}, 32]")
            text = _EXECUTABLE.format(function=function.replace("<8x", f"<{rows + 4}x"))
            context = Context(target.find(support.ISA), harts=harts)
            return support.rewritten(text, own_kernels.apply, context=context)

        alone = shared(1, 12)
        self.assertIn("workgroup_count_from_slice", alone)
        self.assertNotIn("hal.interface.workgroup.id", alone)
        even = shared(4, 12)
        self.assertEqual(even.count("hal.interface.workgroup.id[0]"), 1)
        self.assertEqual((even.count("llvm.inline_asm"), even.count("scf.if")), (1, 0))
        self.assertRegex(even, r"(%\w+) = arith.constant 4 : index\n(.*\n)+ *hal.return \1,")
        # Some pieces have a row more: there are two kernels.
        uneven = shared(4, 13)
        self.assertEqual((uneven.count("llvm.inline_asm"), uneven.count("scf.if")), (2, 1))
        # Four, three, three and three rows.
        self.assertRegex(
            uneven, r"(%\w+) = arith.muli %\w+, %c3\b.*\n.*\n.*= arith.minui %\w+, %c1\w* :"
        )
        # A few instructions are not worth it.
        self.assertNotIn("workgroup.id", shared(4, 1))

    def test_the_cost_is_that_of_the_largest_piece(self) -> None:
        costs: dict[int, list[int]] = {1: [], 4: []}

        def note(module: Any, context: Context) -> None:
            (function,) = ir_util.all_of(module, "func.func")
            costs[context.harts].append(own_kernels.cost(function, context))

        for harts in (1, 4):
            context = Context(target.find(support.ISA), harts=harts)
            for text in (_FUNCTION, _LINES):
                support.rewritten(text, note, context=context)
        for one, four in zip(costs[1], costs[4], strict=True):
            self.assertLess(four, 0.5 * one)

    def test_others_are_left_alone(self) -> None:
        text = _FUNCTION.replace("arith.addf %a, %b", "math.powf %a, %b")
        self.assertNotIn("inline_asm", support.rewritten(text, own_kernels.apply))
        isa = Context(target.find("rv64gc"))
        self.assertFalse(own_kernels.applies(isa))
        self.assertTrue(own_kernels.applies(Context(target.find(support.ISA))))


if __name__ == "__main__":
    unittest.main()
