"""Cuts kernels into pieces, runs each on a model of a hart, and compares all of them together with the whole."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product as every
from typing import Any

import numpy as np
import products
import riscv
from iree.compiler import ir
from products import Array, convolution, matmul, padded, padded_planes, planes

from bmc.ir import ir_util
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import LANES, RESULT, Loop
from bmc.kernels.read import reduction
from bmc.kernels.read.elementwise import read as read_elementwise
from bmc.kernels.schedule import elementwise, fastest, reduce, workgroups
from bmc.kernels.schedule.workgroups import Split, Workgroups
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

_VLEN = 128
_SUMS = """
func.func @f(%to_x: memref<6x11x5xf32>, %to_y: memref<6x5xf32>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<6x11x5xf32> -> tensor<6x11x5xf32>
  %empty = tensor.empty() : tensor<6x5xf32>
  %c0 = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<6x11x5xf32>) outs(%zero : tensor<6x5xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.addf %old, %a : f32
    linalg.yield %r : f32
  } -> tensor<6x5xf32>
  iree_codegen.store_to_buffer %y, %to_y : tensor<6x5xf32> into memref<6x5xf32>
  return
}
"""
_TURNED = """
func.func @f(%to_x: memref<6x20xf32>, %to_y: memref<20x6xf32>) {
  %x = iree_codegen.load_from_buffer %to_x : memref<6x20xf32> -> tensor<6x20xf32>
  %empty = tensor.empty() : tensor<20x6xf32>
  %y = linalg.transpose ins(%x : tensor<6x20xf32>) outs(%empty : tensor<20x6xf32>) permutation = [1, 0]
  iree_codegen.store_to_buffer %y, %to_y : tensor<20x6xf32> into memref<20x6xf32>
  return
}
"""


_FASTEST = partial(fastest.best, vlen=_VLEN, core=None)


def _fewest(kernels: Sequence[Kernel]) -> Kernel:
    return min(kernels, key=lambda kernel: kernel.executed)


def cut(
    whole: Any,
    harts: int,
    best: Callable[[Sequence[Kernel]], Kernel] = _FASTEST,
    parts: list[Any] | None = None,
    refused: Any = None,
) -> Workgroups | None:
    """Cuts a product, but into no piece that is `refused`; appends the pieces that are written to `parts`."""

    def write(part: Any) -> Kernel:
        if part == refused:
            raise Unsupported("such a piece")
        if parts is not None:
            parts.append(part)
        return fastest.write(part, _VLEN)

    return workgroups.cut(whole, fastest.write(whole, _VLEN), harts, write, best)


class SharesTest(unittest.TestCase):
    def run_pieces(self, cut: Workgroups, data: list[Array], skipped: int) -> list[Array]:
        """Returns the operands after all workgroups, which run in an order of their own."""
        data = [array.copy() for array in data]
        numbers = list(every(*(range(each.pieces) for each in cut.cuts)))
        self.assertEqual(len(numbers), cut.workgroups)
        for pieces in reversed(numbers):
            start_offsets = [
                piece * each.least + min(piece, each.more)
                for piece, each in zip(pieces, cut.cuts, strict=True)
            ]
            small = any(
                each.more and piece >= each.more
                for piece, each in zip(pieces, cut.cuts, strict=True)
            )
            kernel = cut.smaller if small and cut.smaller else cut.kernel
            begun = list(zip(start_offsets, [each.loop for each in cut.cuts], strict=True))
            moved = [
                sum(first * loop.strides[number + skipped] for first, loop in begun)
                for number in range(len(data))
            ]
            self.run_piece(kernel, data, moved, begun, skipped)
        return data

    def run_piece(
        self,
        kernel: Kernel,
        data: list[Array],
        moved: list[int],
        begun: list[tuple[int, Loop]],
        skipped: int,
    ) -> None:
        told = [
            begun[-1][0] if edge == LANES else sum(n * loop.steps[edge] for n, loop in begun)
            for edge in kernel.start_offsets
        ]
        scratch = [np.full(kernel.scratch, 0x77, np.uint8)] if kernel.scratch else []
        result = RESULT - skipped
        machine = riscv.Machine(_VLEN, [*data, *scratch], writable={result, len(data)})
        if kernel.in_memory:
            machine.pass_in_memory(8)
        machine.run(kernel.text, kernel.arguments, moved, told)
        self.assertLessEqual(machine.executed, kernel.executed)
        if not told:
            self.assertEqual(machine.executed, kernel.executed)

    def agrees(
        self,
        whole: workgroups.Whole,
        write: Callable[[Any], Kernel],
        data: list[Array],
        skipped: int = 0,
    ) -> int:
        """Asserts that pieces write what the whole writes, for all ways to cut; returns how many there are."""
        right = [array.copy() for array in data]
        result = RESULT - skipped
        self.run_piece(write(whole), right, [], [], skipped)
        self.assertFalse(np.array_equal(right[result], data[result]))
        found = 0
        for harts in (3, 8):
            for cuts in workgroups.ways(whole.loops, harts):
                try:
                    cut = workgroups.written(whole, cuts, write)
                except Unsupported:
                    continue
                with self.subTest(harts=harts, cuts=cuts):
                    self.assertLessEqual(cut.workgroups, harts)
                    np.testing.assert_array_equal(
                        self.run_pieces(cut, data, skipped)[result], right[result]
                    )
                found += 1
        return found

    def agrees_on_products(self, *wholes: Any) -> None:
        for whole in wholes:
            with self.subTest(whole=whole):
                data = products.operands(whole)
                found = self.agrees(whole, lambda part: fastest.write(part, _VLEN), data)
                self.assertGreater(found, 1)

    def test_rows_and_lanes(self) -> None:
        self.agrees_on_products(
            matmul(5, 40, 7), matmul(1, 90, 3), matmul(13, 10, 5, "i8"), convolution(5, 24, 3)
        )

    def test_lines_of_a_padded_image(self) -> None:
        """A piece is told how far its lines are from the image's border."""
        self.agrees_on_products(
            padded((7, 6), 24, 3),
            padded((9, 5), 16, 1, "i8", value=-7, depthwise=True, stride=2),
            padded((6, 6), 12, 2, low=(2, 0), high=(1, 2)),
        )

    def test_pixels_of_planes(self) -> None:
        """A piece begins in the middle of a line, or at a later line."""
        self.agrees_on_products(
            planes(40, 16, 3),
            planes(24, 9, 3, "i8", 3),
            padded_planes((8, 12), 4, 2),
            padded_planes((9, 24), 3, 2, "i8", value=-3, stride=2),
            padded_planes((8, 10), 4, 1, depthwise=True),
        )

    def test_reductions_and_elements(self) -> None:
        with ir.Context(), ir.Location.unknown():
            modules = [ir.Module.parse(text) for text in (_SUMS, _TURNED)]
            sums, turns = (ir_util.all_of(module, "func.func")[0] for module in modules)
            reduced, turned = reduction.read(sums)[0], read_elementwise(turns)[0]
        for whole, write in (
            (reduced, lambda part: reduce.write(part, _VLEN)),
            (turned, lambda part: elementwise.write(part, _VLEN, 64)),
        ):
            with self.subTest(whole=whole):
                loops = [
                    *(getattr(whole, "grid", ()) or whole.loops),
                    *getattr(whole, "summed", ()),
                ]
                generator = np.random.default_rng(3)
                data = []
                for number in range(RESULT, len(whole.dtypes)):
                    reach = sum((loop.extent - 1) * loop.strides[number] for loop in loops)
                    size = reach // WIDTHS[whole.dtypes[number]] + 1
                    data.append(generator.integers(-100, 100, size).astype(np.float32))
                self.assertGreater(self.agrees(whole, write, data, skipped=RESULT), 1)

    def test_the_largest_piece_takes_the_fewest_cycles(self) -> None:
        whole = convolution(7, 64, 64)
        short, fast = cut(whole, 4, _fewest), cut(whole, 4)
        assert short is not None and fast is not None
        self.assertLess(short.kernel.executed, fast.kernel.executed)
        self.assertLessEqual(fast.kernel.executed, 1.15 * short.kernel.executed)
        taken = [fastest.cycles_of(each.kernel, _VLEN, None) for each in (short, fast)]
        self.assertLess(taken[1], 0.85 * taken[0])

    def test_without_smaller_pieces_another_way_is_taken(self) -> None:
        whole = convolution(7, 64, 64)
        parts: list[Any] = []
        first = cut(whole, 4, _fewest, parts)
        assert first is not None and first.smaller is not None
        # The one that is written last.
        found = cut(whole, 4, _fewest, [], refused=parts[-1])
        assert found is not None
        self.assertNotEqual(found.cuts, first.cuts)

    def test_the_largest_piece_is_as_small_as_can_be(self) -> None:
        whole = matmul(96, 64, 64)
        found = cut(whole, 4)
        assert found is not None
        self.assertEqual((found.workgroups, found.smaller), (4, None))
        self.assertLess(found.kernel.executed, 0.27 * fastest.write(whole, _VLEN).executed)
        # Seven lines are no four pieces: two loops are cut instead.
        found = cut(convolution(7, 64, 64), 4, _fewest)
        assert found is not None
        self.assertLess(
            found.kernel.executed, 0.3 * fastest.write(convolution(7, 64, 64), _VLEN).executed
        )
        # What takes few instructions is not worth it.
        self.assertIsNone(cut(matmul(2, 8, 3), 4))

    def test_pieces_of_two_sizes(self) -> None:
        loop = Loop(17, (4, 0, 4))
        cut = Split(0, loop, 4)
        self.assertEqual((cut.least, cut.more, cut.largest), (4, 1, 5))
        ways = workgroups.ways((loop, Loop(6, (0, 4, 4))), 4)
        for way in ways:
            self.assertLessEqual(sum(bool(each.more) for each in way), 1)
        # Six in two pieces, and seventeen in two.
        self.assertIn((2, 2), [tuple(each.pieces for each in way) for way in ways])


if __name__ == "__main__":
    unittest.main()
