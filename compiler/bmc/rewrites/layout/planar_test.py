"""Tests which images become planes, and that everything still reads what it did."""

from __future__ import annotations

import contextlib
import unittest
from unittest import mock

import support

from bmc import target
from bmc.kernels.schedule import gemm
from bmc.kernels.unsupported import Unsupported
from bmc.rewrites.context import Context
from bmc.rewrites.decisions import Decisions
from bmc.rewrites.layout import planar

_MAPS = """
#image = affine_map<(y, x, f, i, j, c) -> (y + i, x + j, c)>
#weight = affine_map<(y, x, f, i, j, c) -> (i, j, c, f)>
#result = affine_map<(y, x, f, i, j, c) -> (y, x, f)>
#same = affine_map<(y, x, f) -> (y, x, f)>
#channel = affine_map<(y, x, f) -> (f)>
"""
_WINDOW = """
  %{to} = linalg.generic {{indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
      ins(%{image}, %{weight} : tensor<{size}x{size}x{c}xf32>, tensor<3x3x{c}x{f}xf32>)
      outs(%{start} : tensor<{out}x{out}x{f}xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %product = arith.mulf %a, %b : f32
    %r = arith.addf %old, %product : f32
    linalg.yield %r : f32
  }} -> tensor<{out}x{out}x{f}xf32>
"""
_SIZES = {"size": 50, "out": 48}


def _network(between: str = "arith.negf %a : f32", more: str = "", n: int = 8) -> str:
    """Two convolutions to `n` channels with a padding and an operation between them, and one to 64."""
    first = _WINDOW.format(to="s", image="x", weight="w", start="bias", c=3, f=n, **_SIZES)
    second = _WINDOW.format(to="t", image="p", weight="v", start="zero", c=n, f=n, **_SIZES)
    third = _WINDOW.format(to="y", image="q", weight="u", start="wide", c=n, f=64, **_SIZES)
    pad = """
  %{to} = tensor.pad %{image} low[1, 1, 0] high[1, 1, 0] {{
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %c0 : f32
  }} : tensor<48x48x{n}xf32> to tensor<50x50x{n}xf32>
"""
    return f"""{_MAPS}
util.func @main(%argument: tensor<50x50x3xf32>, %w: tensor<3x3x3x{n}xf32>, %v: tensor<3x3x{n}x{n}xf32>,
                %u: tensor<3x3x{n}x64xf32>, %first: tensor<{n}xf32>) -> tensor<48x48x64xf32> {{
  %x = iree_tensor_ext.compute_barrier.start %argument : tensor<50x50x3xf32> -> tensor<50x50x3xf32>
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<48x48x{n}xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<48x48x{n}xf32>) -> tensor<48x48x{n}xf32>
  %bias = linalg.broadcast ins(%first : tensor<{n}xf32>) outs(%empty : tensor<48x48x{n}xf32>) dimensions = [0, 1]
  %large = tensor.empty() : tensor<48x48x64xf32>
  %wide = linalg.fill ins(%c0 : f32) outs(%large : tensor<48x48x64xf32>) -> tensor<48x48x64xf32>
{first}
  %n = linalg.generic {{
      indexing_maps = [#same, #channel, #same], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%s, %first : tensor<48x48x{n}xf32>, tensor<{n}xf32>) outs(%empty : tensor<48x48x{n}xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = {between}
    linalg.yield %r : f32
  }} -> tensor<48x48x{n}xf32>
{pad.format(to="p", image="n", n=n)}{second}{pad.format(to="q", image="t", n=n)}{third}{more}
  util.return %y : tensor<48x48x64xf32>
}}
"""


# A convolution of an image that is made of planes or of pixels.
_MADE = f"""{_MAPS}
#planes = affine_map<(y, x, f) -> (f, y, x)>
util.func @main(%argument: tensor<SHAPExf32>, %w: tensor<3x3x8x8xf32>) -> tensor<48x48x8xf32> {{
  %c0 = arith.constant 0.0 : f32
  %whole = tensor.empty() : tensor<50x50x8xf32>
  %empty = tensor.empty() : tensor<48x48x8xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<48x48x8xf32>) -> tensor<48x48x8xf32>
  %x = linalg.generic {{indexing_maps = [MAP, #same], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%argument : tensor<SHAPExf32>) outs(%whole : tensor<50x50x8xf32>) {{
  ^bb0(%a: f32, %old: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  }} -> tensor<50x50x8xf32>
{_WINDOW.format(to="y", image="x", weight="w", start="zero", c=8, f=8, **_SIZES)}
  util.return %y : tensor<48x48x8xf32>
}}
"""


def _after(text: str, context: Context | None = None) -> str:
    return support.rewritten(text, planar.apply, context=context)


class PlanarTest(unittest.TestCase):
    def test_few_channels_become_planes(self) -> None:
        context = Context(target.find(support.ISA))
        text = _after(_network(), context)
        self.assertNotIn("tensor<50x50x8xf32>", text)
        self.assertEqual(text.count("low[0, 1, 1] high[0, 1, 1]"), 2)
        # The input stays, and so does what has many channels. Nothing is turned on the way.
        self.assertIn("tensor<50x50x3xf32>", text)
        self.assertIn("-> tensor<48x48x64xf32>", text)
        self.assertEqual(text.count("compute_barrier.start"), 1)
        # The last convolution reads planes: its image is (c, y + i, x + j).
        self.assertIn("-> (d5, d0 + d3, d1 + d4)>", text)
        # The first one writes planes from pixels, and its sums start from a value for each channel.
        self.assertIn("-> (d1 + d3, d2 + d4, d5)>", text)
        self.assertIn("affine_map<(d0, d1, d2) -> (d0)>", text)
        self.assertEqual(len(context.planes), 2)

    def test_quantizations_and_limits_compute_planes(self) -> None:
        limit = "arith.select %more, %a, %c0 : f32"
        network = _network(limit)
        condition = "%more = arith.cmpf ogt, %a, %c0 : f32\n    "
        network = network.replace(f"%r = {limit}", f"{condition}%r = {limit}")
        for text in (_network("math.roundeven %a : f32"), network):
            self.assertNotIn("tensor<50x50x8xf32>", _after(text))

    def test_slices_are_cut_from_planes(self) -> None:
        cut = """
  %whole = tensor.expand_shape %t [[0, 1], [2], [3]] output_shape [1, 48, 48, 8]
    : tensor<48x48x8xf32> into tensor<1x48x48x8xf32>
  %half = tensor.extract_slice %whole[0, 1, 0, 0] [1, 24, 24, 8] [1, 2, 2, 1]
    : tensor<1x48x48x8xf32> to tensor<24x24x8xf32>
  %end = util.optimization_barrier %half : tensor<24x24x8xf32>
"""
        text = _after(_network(more=cut))
        self.assertIn("[0, 1, 0] [8, 24, 24] [1, 2, 2]", text)
        self.assertNotIn("expand_shape", text)

    def test_joins_are_pieces_of_planes(self) -> None:
        join = """
  %none = tensor.empty() : tensor<1x48x48x24xf32>
  %part = tensor.insert_slice %t into %none[0, 0, 0, 0] [1, 48, 48, 8] [1, 1, 1, 1]
    : tensor<48x48x8xf32> into tensor<1x48x48x24xf32>
  %both = tensor.insert_slice %n into %part[0, 0, 0, 16] [1, 48, 48, 8] [1, 1, 1, 1]
    : tensor<48x48x8xf32> into tensor<1x48x48x24xf32>
  %joined = tensor.collapse_shape %both [[0, 1], [2], [3]]
    : tensor<1x48x48x24xf32> into tensor<48x48x24xf32>
  %piece = tensor.extract_slice %joined[0, 0, 0] [46, 46, 24] [1, 1, 1]
    : tensor<48x48x24xf32> to tensor<46x46x24xf32>
  %end = util.optimization_barrier %piece : tensor<46x46x24xf32>
"""
        text = _after(_network(more=join))
        self.assertIn("[0, 0, 0] [8, 48, 48] [1, 1, 1]", text)
        self.assertIn("[16, 0, 0] [8, 48, 48] [1, 1, 1]", text)
        self.assertIn("tensor.empty() : tensor<24x48x48xf32>", text)
        self.assertNotIn("into tensor<1x48x48x24xf32>", text)
        # Some of the pixels are no piece, and are inserted among pixels.
        other = join.replace("%n into", "%moved into").replace(
            "  %none =",
            """  %moved = tensor.extract_slice %n[0, 0, 0] [47, 48, 8] [1, 1, 1]
    : tensor<48x48x8xf32> to tensor<47x48x8xf32>
  %none =""",
        )
        other = other.replace(
            "0, 16] [1, 48, 48, 8] [1, 1, 1, 1]\n    : tensor<48x",
            "0, 16] [1, 47, 48, 8] [1, 1, 1, 1]\n    : tensor<47x",
        )
        self.assertIn("[0, 0, 16] [47, 48, 8] [1, 1, 1]", _after(_network(more=other)))

    def test_phases_become_planes(self) -> None:
        more = """
  %half = tensor.extract_slice %t[0, 0, 0] [24, 24, 8] [2, 2, 1]
    : tensor<48x48x8xf32> to tensor<24x24x8xf32>
  %five = tensor.empty() : tensor<24x2x24x2x8xf32>
  %nothing = linalg.fill ins(%c0 : f32) outs(%five : tensor<24x2x24x2x8xf32>) -> tensor<24x2x24x2x8xf32>
  %phases = linalg.generic {indexing_maps = [
      affine_map<(y, p, x, q, f, c) -> (y, x, c)>, affine_map<(y, p, x, q, f, c) -> (c, p, q, f)>,
      affine_map<(y, p, x, q, f, c) -> (y, p, x, q, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%half, %m : tensor<24x24x8xf32>, tensor<8x2x2x8xf32>) outs(%nothing : tensor<24x2x24x2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %ab = arith.mulf %a, %b : f32
    %sum = arith.addf %old, %ab : f32
    linalg.yield %sum : f32
  } -> tensor<24x2x24x2x8xf32>
  %image = tensor.collapse_shape %phases [[0, 1], [2, 3], [4]]
    : tensor<24x2x24x2x8xf32> into tensor<48x48x8xf32>
  %added = linalg.generic {
      indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %image : tensor<48x48x8xf32>, tensor<48x48x8xf32>) outs(%empty : tensor<48x48x8xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<48x48x8xf32>
  %end = util.optimization_barrier %added : tensor<48x48x8xf32>
"""
        network = _network(more=more)
        network = network.replace(
            "%first: tensor<8xf32>)", "%first: tensor<8xf32>, %m: tensor<8x2x2x8xf32>)"
        )
        context = Context(target.find(support.ISA))
        text = _after(network, context)
        self.assertIn(
            "[[0], [1, 2], [3, 4]] : tensor<8x24x2x24x2xf32> into tensor<8x48x48xf32>", text
        )
        # The image of the product is planes as well; nothing is turned.
        self.assertIn("(d0, d1, d2, d3, d4, d5) -> (d5, d1, d3)>", text)
        self.assertNotIn("tensor<24x2x24x2x8xf32> into", text)
        self.assertIn((2, 2, 8, 8, 24, 24), context.planes)
        # What else is collapsed stays, and is read as it is.
        other = network.replace("%old, %ab", "%ab, %ab")
        text = _after(other)
        self.assertIn("tensor<24x2x24x2x8xf32> into tensor<48x48x8xf32>", text)
        self.assertIn("tensor<8x48x48xf32>, tensor<48x48x8xf32>) outs(%", text)

    def test_others_get_pixels(self) -> None:
        text = _after(
            _network(more="  %end = util.optimization_barrier %t : tensor<48x48x8xf32>\n")
        )
        self.assertIn("tensor<8x48x48xf32>", text)
        # The planes are finished, then turned in a kernel of their own, then read.
        self.assertEqual(text.count("compute_barrier.start"), 3)
        self.assertRegex(text, r"util.optimization_barrier %\w+ : tensor<48x48x8xf32>")
        self.assertIn("affine_map<(d0, d1, d2) -> (d2, d0, d1)>", text)

    def test_sums_may_start_from_planes(self) -> None:
        """A convolution adds to the result of another one, whose layout it has or has not."""
        again = _WINDOW.format(to="z", image="x", weight="w", start="t", c=3, f=8, **_SIZES)
        text = _after(
            _network(more=again + "  util.optimization_barrier %z : tensor<48x48x8xf32>\n")
        )
        self.assertEqual(text.count("-> (d1 + d3, d2 + d4, d5)>"), 1)
        self.assertEqual(text.count("tensor<8x48x48xf32>) outs"), 1)
        wide = _WINDOW.format(to="z", image="k", weight="m", start="t", c=64, f=8, **_SIZES)
        image = "  %k = util.optimization_barrier %l : tensor<50x50x64xf32>\n"
        weights = "  %m = util.optimization_barrier %o : tensor<3x3x64x8xf32>\n"
        empty = "  %l = tensor.empty() : tensor<50x50x64xf32>\n  %o = tensor.empty() : tensor<3x3x64x8xf32>\n"
        end = "  util.optimization_barrier %z : tensor<48x48x8xf32>\n"
        text = _after(_network(more=empty + image + weights + wide + end))
        # The image of 64 channels is too far apart: this convolution gets pixels to start from.
        self.assertEqual(text.count("compute_barrier.start"), 3)

    def test_a_number_for_each_line(self) -> None:
        """Only numbers for channels are the same for all lanes."""
        lines = """  %lines = arith.constant dense<1.0> : tensor<48xf32>
  %bias = linalg.broadcast ins(%lines : tensor<48xf32>)"""
        text = _network().replace("  %bias = linalg.broadcast ins(%first : tensor<8xf32>)", lines)
        text = _after(text.replace("dimensions = [0, 1]", "dimensions = [1, 2]"))
        self.assertRegex(text, r"broadcast .*tensor<8x48x48xf32>\) dimensions = \[0, 2\]")

    def test_an_operation_with_a_number(self) -> None:
        """One that reads a number that is no tensor."""
        text = _network().replace("[#same, #channel, #same]", "[#same, #number, #same]")
        text = text.replace(
            "ins(%s, %first : tensor<48x48x8xf32>, tensor<8xf32>)",
            "ins(%s, %c0 : tensor<48x48x8xf32>, f32)",
        )
        text = text.replace("#channel =", "#number = affine_map<(y, x, f) -> ()>\n#channel =")
        self.assertEqual(_after(text).count("low[0, 1, 1] high[0, 1, 1]"), 2)

    def test_padding_of_what_is_all_the_same(self) -> None:
        more = """
  %z = tensor.pad %zero low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %c0 : f32
  } : tensor<48x48x8xf32> to tensor<50x50x8xf32>
  %e = tensor.empty() : tensor<50x50x8xf32>
  %k = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q, %z : tensor<50x50x8xf32>, tensor<50x50x8xf32>) outs(%e : tensor<50x50x8xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<50x50x8xf32>
  util.optimization_barrier %k : tensor<50x50x8xf32>
"""
        self.assertEqual(_after(_network(more=more)).count("low[0, 1, 1] high[0, 1, 1]"), 3)

    def test_where_pixels_stay(self) -> None:
        unknown = _after(_network(between="math.exp %a : f32"))
        # Only the first convolution makes planes; the second one's image would be too far apart.
        self.assertEqual(unknown.count("low[1, 1, 0]"), 2)
        self.assertEqual(unknown.count("-> (d1 + d3, d2 + d4, d5)>"), 1)
        shapes = frozenset({(3, 3, 3, 8, 48, 48), (3, 3, 8, 8, 48, 48)})
        kept = Context(target.find(support.ISA), decisions=Decisions(pixels=shapes))
        self.assertEqual(_after(_network(), kept), support.rewritten(_network()))
        self.assertEqual(kept.planes, frozenset())

    def test_rows_that_stay_pixels_may_be_computed_as_planes(self) -> None:
        rows = """
  %none = tensor.empty() : tensor<48x48x8xf32>
  %cut = tensor.extract_slice %t[0, 0, 0] [24, 48, 8] [1, 1, 1] : tensor<48x48x8xf32> to tensor<24x48x8xf32>
  %part = tensor.insert_slice %cut into %none[0, 0, 0] [24, 48, 8] [1, 1, 1]
    : tensor<24x48x8xf32> into tensor<48x48x8xf32>
  %rows = "iree_tensor_ext.compute_barrier.start"(%part) {bm.strip = MARK}
    : (tensor<48x48x8xf32>) -> tensor<48x48x8xf32>
  %end = util.optimization_barrier %rows : tensor<48x48x8xf32>
"""
        planes = "into tensor<8x48x48xf32>"
        self.assertIn(planes, _after(_network(more=rows.replace("MARK", "0"))))
        text = _after(_network(more=rows.replace("MARK", "1")))
        self.assertNotIn(planes, text)
        self.assertIn("tensor<8x24x48xf32> -> tensor<8x24x48xf32>", text)

    def test_what_is_made_of_planes_stays_planes(self) -> None:
        made = _MADE.replace("SHAPE", "8x50x50").replace("MAP", "#planes")
        reads_planes = "-> (d5, d1 + d3, d2 + d4)>"
        self.assertIn(reads_planes, _after(made))
        made = _MADE.replace("SHAPE", "50x50x8").replace("MAP", "#same")
        self.assertNotIn(reads_planes, _after(made))

    def test_many_channels_stay(self) -> None:
        many = _network(n=64)
        self.assertEqual(_after(many), support.rewritten(many))


_TWO = """func.func @main(%x: tensor<1x50x50x3xf32>) -> tensor<1x48x48x8xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<3x3x3x8xf32>
  %v = stablehlo.constant dense<2.5> : tensor<3x3x3x8xf32>
  %0 = CONVOLUTION(%x, %w) WINDOW
  %1 = CONVOLUTION(%x, %v) WINDOW
  %2 = stablehlo.add %0, %1 : tensor<1x48x48x8xf32>
  %3 = stablehlo.add %2, %1 : tensor<1x48x48x8xf32>
  return %3 : tensor<1x48x48x8xf32>
}
""".replace("CONVOLUTION", "stablehlo.convolution").replace(
    "WINDOW",
    """dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x50x50x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x48x48x8xf32>""",
)


class AgainTest(support.FolderTest):
    def test_what_gets_no_kernel_of_our_own_is_compiled_with_pixels(self) -> None:
        refuse = mock.patch.object(gemm, "chosen", side_effect=Unsupported("any product"))
        for shape, patch in (("8x48x48", contextlib.nullcontext()), ("48x48x8", refuse)):
            with self.subTest(shape=shape), patch:
                lowered = support.lower_text(_TWO, self.folder / shape).lowered
                names = [config.op for config in lowered.configs if "conv" in config.op]
                self.assertEqual(names, [f"conv_{shape}x3x3x3_f32"] * 2)


if __name__ == "__main__":
    unittest.main()
