"""Tests which dispatch functions are read as products, and which are not."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import products
from read_case import (
    BYTES,
    FLOAT,
    HIGH,
    LANES,
    MATMUL,
    PARALLEL,
    ROWS,
    SIGNED,
    SUMS,
    TURNED,
    ReadCase,
    followed,
    stored,
)

from bmc.kernels.problem.product import Loop, Node


class ReadTest(ReadCase):
    def test_a_product_with_a_bias(self) -> None:
        text = FLOAT + followed("%r = arith.addf %a, %b : f32") + stored("result")
        product = self.read(text)
        self.assertEqual(product.dtypes, ("f32",) * 4)
        self.assertEqual(product.outer, ())
        self.assertEqual(product.rows, (Loop(4, (128, 0, 256, 0)),))
        self.assertEqual(product.lanes, Loop(64, (0, 4, 4, 4)))
        self.assertEqual(product.summed, (Loop(32, (4, 256, 0, 0)),))
        self.assertIsNone(product.initial)
        nodes = (Node("sum", "f32"), Node("load", "f32", operand=3), Node("addf", "f32", (0, 1)))
        self.assertEqual(product.epilogue, nodes)
        self.assertEqual(self.read(FLOAT + stored("sums")).epilogue, nodes[:1])

    def test_slopes_of_channels(self) -> None:
        body = """%s = arith.mulf %b, %a : f32
    %is = arith.cmpf ogt, %a, %c0 : f32
    %r = arith.select %is, %a, %s : f32"""
        product = self.read(FLOAT + followed(body) + stored("result"))
        self.assertEqual(product.dtypes, ("f32", "f32", "f32", "f32"))
        self.assertEqual(product.lanes, Loop(64, (0, 4, 4, 4)))
        self.assertEqual(
            product.epilogue,
            (
                Node("sum", "f32"),
                Node("load", "f32", operand=3),
                Node("mulf", "f32", (1, 0)),
                Node("if_positive", "f32", (0, 0, 2)),
            ),
        )
        quantized = f"""%f = arith.sitofp %a : i32 to f32
    %none = arith.constant 0.0 : f32
    %slope = arith.constant 0.5 : f32
    {body.replace("%b", "%slope").replace("%a", "%f").replace("%c0", "%none")}"""
        out = "%empty_f : tensor<4x64xf32>"
        text = "%empty_f = tensor.empty() : tensor<4x64xf32>" + SIGNED
        product = self.read(text + followed(quantized, "i32", out, "qbias") + stored("result"))
        self.assertEqual(product.dtypes, ("i8", "i8", "f32"))
        self.assertEqual(product.epilogue[-1], Node("if_positive", "f32", (1, 1, 3)))

    def test_factors_of_16_and_32_bits(self) -> None:
        for types in (("f16", "f32"), ("f32", "f16")):
            text = FLOAT
            for name, type_, shape in zip("xw", types, ("4x32", "32x64"), strict=True):
                if type_ == "f16":
                    constant = f"%h = arith.constant dense<1.0> : tensor<{shape}xf16>\n"
                    text = constant + text.replace(f"%{name},", "%h,").replace(f"%{name} :", "%h :")
                    text = text.replace(f"tensor<{shape}xf32>", f"tensor<{shape}xf16>")
            self.assertEqual(self.read(text + stored("sums")).dtypes, (*types, "f32"))

    def test_bytes(self) -> None:
        text = SIGNED + followed(HIGH.format(shift=32), "i32", BYTES, "qbias")
        product = self.read(text + stored("result", "qy"))
        self.assertEqual(product.dtypes, ("i8", "i8", "i8", "i32"))
        self.assertEqual(product.rows, (Loop(4, (32, 0, 64, 0)),))
        self.assertEqual(product.lanes, Loop(64, (0, 1, 1, 4)))
        self.assertEqual([node.op for node in product.epilogue], ["sum", "load", "mulhi", "trunci"])

    def test_sums_that_start_from_a_bias(self) -> None:
        text = f"""
  %empty = tensor.empty() : tensor<4x64xf32>
  %zero = linalg.generic {{indexing_maps = [{LANES}, {ROWS}], {PARALLEL}}}
      ins(%bias : tensor<64xf32>) outs(%empty : tensor<4x64xf32>) {{
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }} -> tensor<4x64xf32>
  %sums = {MATMUL}
"""
        self.assertEqual(self.read(text + stored("sums")).initial, 3)

    def test_sums_that_start_from_a_constant(self) -> None:
        """As with the bias of a single channel, which IREE makes of it."""
        product = self.read(FLOAT.replace("constant 0.0", "constant 1.5") + stored("sums"))
        self.assertIsNone(product.initial)
        self.assertEqual(
            product.epilogue,
            (
                Node("sum", "f32"),
                Node("constant", "f32", value=1.5),
                Node("addf", "f32", (0, 1)),
            ),
        )

    def test_a_convolution_that_is_stored_with_other_axes_first(self) -> None:
        text = """
  %to_image = memref.alloc() : memref<1x7x9x3xf32>
  %to_taps = memref.alloc() : memref<3x3x3x16xf32>
  %to_result = memref.alloc() : memref<7x5x1x16xf32>
  %image = iree_codegen.load_from_buffer %to_image : memref<1x7x9x3xf32> -> tensor<1x7x9x3xf32>
  %taps = iree_codegen.load_from_buffer %to_taps : memref<3x3x3x16xf32> -> tensor<3x3x3x16xf32>
  %empty = tensor.empty() : tensor<1x5x7x16xf32>
  %c0 = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<1x5x7x16xf32>) -> tensor<1x5x7x16xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %taps : tensor<1x7x9x3xf32>, tensor<3x3x3x16xf32>)
    outs(%zero : tensor<1x5x7x16xf32>) -> tensor<1x5x7x16xf32>
  %other = tensor.empty() : tensor<7x5x1x16xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
                       affine_map<(d0, d1, d2, d3) -> (d2, d1, d0, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sums : tensor<1x5x7x16xf32>) outs(%other : tensor<7x5x1x16xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<7x5x1x16xf32>
  iree_codegen.store_to_buffer %result, %to_result : tensor<7x5x1x16xf32> into memref<7x5x1x16xf32>
"""
        product = self.read(text)
        self.assertEqual(product.rows, (Loop(5, (108, 0, 64)), Loop(7, (12, 0, 320))))
        self.assertEqual([loop.extent for loop in product.summed], [3, 3, 3])

    def test_pixels_as_lanes(self) -> None:
        def planes(channels: int) -> str:
            """A convolution of pixels to planes, with a bias for each of 16 output channels."""
            image, result = f"12x42x{channels}xf32", "16x10x40xf32"
            return f"""
  %to_image = memref.alloc() : memref<{image}>
  %to_result = memref.alloc() : memref<{result}>
  %image = iree_codegen.load_from_buffer %to_image : memref<{image}> -> tensor<{image}>
  %taps = arith.constant dense<2.0> : tensor<3x3x{channels}x16xf32>
  %first = arith.constant dense<1.0> : tensor<16xf32>
  %empty = tensor.empty() : tensor<{result}>
  %start = linalg.broadcast ins(%first : tensor<16xf32>) outs(%empty : tensor<{result}>) dimensions = [1, 2]
  %sums = linalg.generic {{
      indexing_maps = [affine_map<(f, y, x, i, j, c) -> (y + i, x + j, c)>,
                       affine_map<(f, y, x, i, j, c) -> (i, j, c, f)>,
                       affine_map<(f, y, x, i, j, c) -> (f, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%image, %taps : tensor<{image}>, tensor<3x3x{channels}x16xf32>) outs(%start : tensor<{result}>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %product = arith.mulf %a, %b : f32
    %r = arith.addf %old, %product : f32
    linalg.yield %r : f32
  }} -> tensor<{result}>
  %result = linalg.generic {{
      indexing_maps = [affine_map<(f, y, x) -> (f, y, x)>, affine_map<(f, y, x) -> (f)>,
                       affine_map<(f, y, x) -> (f, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%sums, %first : tensor<{result}>, tensor<16xf32>) outs(%empty : tensor<{result}>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.subf %b, %a : f32
    linalg.yield %r : f32
  }} -> tensor<{result}>
  iree_codegen.store_to_buffer %result, %to_result : tensor<{result}> into memref<{result}>
"""

        product = self.read(planes(3))
        # The weights, the image, the result and the bias.
        self.assertEqual(product.rows, (Loop(16, (4, 0, 1600, 4)),))
        self.assertEqual(product.lanes, Loop(40, (0, 12, 4, 0)))
        self.assertEqual(product.outer, (Loop(10, (0, 504, 160, 0)),))
        self.assertEqual(
            [loop.strides[:2] for loop in product.summed], [(576, 504), (192, 12), (64, 4)]
        )
        self.assertEqual(product.initial, 3)
        nodes = (Node("sum", "f32"), Node("scalar", "f32", operand=3), Node("subf", "f32", (1, 0)))
        self.assertEqual(product.epilogue, nodes)
        # Pixels of eight channels are too far apart. Output channels are stored apart instead.
        self.assertEqual(self.read(planes(8)).lanes, Loop(16, (0, 4, 1600, 4)))

    def test_rounding_by_sign(self) -> None:
        """A rescale in 64 bits, as TFLite rounds twice."""

        def body(shift: int, right: str, predicate: str = "sge", low: str = "-1073741824") -> str:
            return f"""%wide = arith.extsi %a : i32 to i64
    %m = arith.constant 1946220608 : i64
    %product = arith.muli %wide, %m : i64
    %half = arith.constant {1 << (shift - 1)} : i64
    %rounded = arith.addi %product, %half : i64
    %none = arith.constant 0 : i32
    %sign = arith.cmpi {predicate}, %a, %none : i32
    %up = arith.constant 1073741824 : i64
    %down = arith.constant {low} : i64
    %nudge = arith.select %sign, %up, %down : i64
    %both = arith.addi %nudge, %rounded : i64
    %bits = arith.constant {shift} : i64
    %high = arith.{right} %both, %bits : i64
    %i = arith.trunci %high : i64 to i32
    %r = arith.trunci %i : i32 to i8"""

        def text(*arguments: Any) -> str:
            epilogue = followed(body(*arguments), "i32", BYTES, "qbias")
            return SIGNED + epilogue + stored("result", "qy")

        for shift, right in ((32, "shrui"), (32, "shrsi"), (49, "shrsi")):
            with self.subTest(shift=shift, right=right):
                values = np.array(
                    [0, 1, -1, 7 << 20, -(3 << 20), 2**31 - 1, -(2**31), 123456789, -987654321]
                )
                found: list[Any] = []
                for node in self.read(text(shift, right)).epilogue:
                    if node.op == "sum":
                        found.append(values.astype(np.int32))
                    elif node.op == "constant":
                        found.append(np.int32(int(node.value)))
                    else:
                        found.append(
                            products.OPERATIONS[node.op](node, *(found[n] for n in node.args))
                        )
                nudge = np.where(values >= 0, 2**30, -(2**30))
                wide = values * 1946220608 + nudge + (1 << (shift - 1))
                np.testing.assert_array_equal(found[-1], (wide >> shift).astype(np.int8))
        # "Less than" has the two values in the other order; other comparisons are unknown.
        first, other = (self.read(text(32, "shrsi", op)).epilogue for op in ("sge", "slt"))
        self.assertNotEqual(first, other)
        for arguments in ((32, "shrsi", "sgt"), (33, "shrui"), (64, "shrsi"), (31, "shrsi")):
            with self.subTest(arguments=arguments):
                self.declines("an epilogue with", text(*arguments))
        for old, new in (
            ("%down = arith.constant -1073741824 : i64", "%down = arith.extsi %a : i32 to i64"),
            ("arith.cmpi sge, %a, %none : i32", "arith.constant true"),
        ):
            self.declines("an epilogue with", text(32, "shrsi").replace(old, new))
        unsigned = text(32, "shrsi").replace("arith.extsi %a", "arith.extui %a")
        self.declines("an epilogue with", unsigned)

    def test_rounding_instructions(self) -> None:
        """What rewrites/rescales makes of a rescale of |v| < 2^29, where it says that nothing wraps around."""

        def body(flags: str, low: int = -128, high: int = 127, zero: int = -100) -> str:
            numbers = {1: 1, 2: 2, 32: 32, 8: 8, 128: 128, "z": zero, "l": low, "h": high}
            constants = [f"%c{name} = arith.constant {n} : i32" for name, n in numbers.items()]
            return (
                "\n".join(constants)
                + f"""
    %m = arith.constant 1946220608 : i64
    %bits = arith.constant 32 : i64
    %four = arith.shli %a, %c2{flags} : i32
    %wide = arith.extsi %four : i32 to i64
    %product = arith.muli %wide, %m : i64
    %upper = arith.shrsi %product, %bits : i64
    %high = arith.trunci %upper : i64 to i32
    %first = arith.addi %high, %c1{flags} : i32
    %scaled = arith.shrsi %first, %c1 : i32
    %second = arith.addi %scaled, %c128{flags} : i32
    %rounded = arith.shrsi %second, %c8 : i32
    %moved = arith.addi %rounded, %cz : i32
    %least = arith.maxsi %moved, %cl : i32
    %most = arith.minsi %least, %ch : i32
    %r = arith.trunci %most : i32 to i8"""
            )

        def epilogue(*arguments: Any) -> tuple[Node, ...]:
            text = followed(body(*arguments), "i32", BYTES, "qbias")
            return self.read(SIGNED + text + stored("result", "qy")).epilogue

        nodes = epilogue(" overflow<nsw>")
        self.assertEqual(
            [node.op for node in nodes if node.op != "constant"],
            ["sum", "fixed_multiply", "requantize"],
        )
        values = np.array([0, 1, -1, 9991, -70_000, 2**29 - 1, 1 - 2**29, 123_456], np.int32)
        found: list[Any] = []
        for node in nodes:
            if node.op == "sum":
                found.append(values)
            elif node.op == "constant":
                found.append(np.int32(int(node.value)))
            else:
                found.append(products.OPERATIONS[node.op](node, *(found[n] for n in node.args)))
        # TFLite rounds negative numbers like this before the zero point hides what they were.
        wide = values.astype(np.int64) * 1946220608 + 2**30 + 2**38 >> 39
        np.testing.assert_array_equal(found[-1], np.clip(wide - 100, -128, 127))
        for arguments in (
            ("",),
            (" overflow<nsw>", -129, 127),
            (" overflow<nsw>", -128, 128),
            (" overflow<nsw>", -128, 127, 2**15),
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(epilogue(*arguments)[-1].op, "trunci")
        wraps = {node.op for node in epilogue("")}
        self.assertFalse(wraps & {"fixed_multiply", "rounding_shift", "requantize"})

    def test_dispatches_that_do_more(self) -> None:
        result = followed("%r = arith.addf %a, %b : f32") + stored("result")
        unknown = "  %more = tensor.empty() : tensor<4x64xf32>\n"
        self.declines("a store of a tensor", FLOAT + unknown + result + stored("more"))
        unread = followed("%r = arith.addf %a, %b : f32").replace("%result", "%more")
        self.declines("not computed last", FLOAT + result + unread)
        cast = "  %more = tensor.cast %sums : tensor<4x64xf32> to tensor<?x64xf32>\n"
        self.declines("sums that tensor.cast reads", FLOAT + cast + result)
        second = MATMUL.replace("%zero", "%sums")
        self.declines(
            "single product or reduction", FLOAT + f"  %more = {second}\n" + stored("more")
        )
        other = "  %unused = linalg.fill ins(%c0 : f32) outs(%bias : tensor<64xf32>) -> tensor<64xf32>\n"
        self.declines("linalg.fill", FLOAT + other + result)

    def test_several_results(self) -> None:
        """The sums, too, and what is computed from both them and the first result."""
        second = f"""
  %second = linalg.generic {{indexing_maps = [{ROWS}, {ROWS}, {ROWS}], {PARALLEL}}}
      ins(%result, %sums : tensor<4x64xf32>, tensor<4x64xf32>) outs(%empty : tensor<4x64xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }} -> tensor<4x64xf32>
"""
        text = FLOAT + followed("%r = arith.addf %a, %b : f32") + second
        product = self.read(text + stored("second") + stored("sums", "x2") + stored("result", "y2"))
        self.assertEqual(product.lanes, Loop(64, (0, 4, 4, 4, 4, 4)))
        self.assertEqual(product.rows, (Loop(4, (128, 0, 256, 0, 256, 256)),))
        nodes = (
            Node("sum", "f32"),
            Node("load", "f32", operand=3),
            Node("addf", "f32", (0, 1)),
            Node("store", "f32", (0,), operand=4),
            Node("store", "f32", (2,), operand=5),
            Node("mulf", "f32", (2, 0)),
        )
        self.assertEqual(product.epilogue, nodes)
        twice = FLOAT + followed("%r = arith.addf %a, %b : f32")
        product = self.read(twice + stored("result") + stored("result", "y2"))
        ends = (Node("store", "f32", (2,), operand=4), Node("bitcast", "f32", (2,)))
        self.assertEqual(product.epilogue, (*nodes[:3], *ends))
        turned = second.replace(f"[{ROWS}, {ROWS}, {ROWS}]", f"[{ROWS}, {TURNED}, {ROWS}]")
        turned = (FLOAT + followed("%r = arith.addf %a, %b : f32") + turned).replace(
            "4x64", "64x64"
        )
        turned = turned.replace("%x, %w : tensor<4x32", "%t, %w : tensor<64x32")
        self.declines("read at other indices", turned + stored("second", "z"))

    def test_layouts(self) -> None:
        transposed = """linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %t : tensor<4x32xf32>, tensor<64x32xf32>) outs(%zero : tensor<4x64xf32>) -> tensor<4x64xf32>"""
        self.declines("lanes", SUMS.format(product=transposed) + stored("sums"))

        def few(pixels: int, channels: int) -> str:
            """Four output channels, and a result as the image is: channel by channel of each pixel."""
            image, weights = f"{pixels}x{channels}xf32", f"{channels}x4xf32"
            text = "".join(
                f"  %to_{name} = memref.alloc() : memref<{type_}>\n"
                f"  %{name} = iree_codegen.load_from_buffer %to_{name} : memref<{type_}> -> tensor<{type_}>\n"
                for name, type_ in (("image", image), ("taps", weights), ("out", f"{pixels}x4xf32"))
            )
            product = MATMUL.replace("4x64", f"{pixels}x4").replace("4x32xf32", image)
            product = product.replace("%x, %w", "%image, %taps").replace("32x64xf32", weights)
            sums = SUMS.format(product=product).replace("4x64", f"{pixels}x4")
            store = stored("sums").replace("4x64", f"{pixels}x4").replace("%to_y", "%to_out")
            return text + sums + store

        self.assertEqual(self.read(few(12, 16)).lanes, Loop(12, (0, 64, 16)))
        self.assertEqual(self.read(few(12, 100)).lanes, Loop(12, (0, 400, 16)))
        self.declines("lanes", few(4, 16))


if __name__ == "__main__":
    unittest.main()
