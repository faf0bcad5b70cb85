"""Reads a dispatch with packed weights as a product (ir/grouped_product.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bmc.ir import grouped_product, ir_util
from bmc.ir.grouped_product import Form
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import RESULT, B, Loop, Packing, Product
from bmc.kernels.problem.roles import merged
from bmc.kernels.read.halves import typed
from bmc.kernels.read.product import Dispatch, Reader, extents
from bmc.kernels.read.views import View, dtype_of, maps_of, plain, source_of, terms_of
from bmc.kernels.unsupported import Unsupported

_SCALES, _MINS = 3, 4


def _step(loop: Loop) -> int:
    return loop.strides[B]


def read(function: ir_util.Op) -> Dispatch:
    """Returns the product of a dispatch function; raises Unsupported if it is none with packed weights."""
    return _Packed(function).dispatch()


class _Packed(Reader):
    """Reads such a product, and its epilogue."""

    def dispatch(self) -> Dispatch:
        root = self.only([op for op in self.ops if grouped_product.read(op)])
        form = grouped_product.read(root)
        assert form is not None
        maps = maps_of(root)
        *factors, start = root.operands
        x, weights, *scaling = (
            self._plain(value, map_) for value, map_ in zip(factors, maps, strict=False)
        )
        # A placeholder for the result, whose map is read last.
        self.views = [x, weights, x, *scaling]
        result_loops = plain(maps[-1])
        if self.initial(start, result_loops) is not None:
            raise Unsupported("sums of packed weights with an initial value for each")
        self.known.update(op.operation for op in root.regions[0].blocks[0].operations)
        self.finish(root, result_loops)
        return Dispatch(self._product(root, form), tuple(view.value for view in self.views))

    @staticmethod
    def _plain(value: Any, map_: Any) -> View:
        source, indices = source_of(value, list(map_.results))
        return View(source, type(map_).get(map_.n_dims, 0, indices), WIDTHS)

    def _product(self, root: Any, form: Form) -> Product:
        loops = [
            Loop(extent, tuple(view.stride(number) for view in self.views))
            for number, extent in enumerate(extents(root))
        ]
        written = {term for index in self.views[RESULT].map.results for term in terms_of(index)}
        results = [loop for number, loop in enumerate(loops) if number in written]
        summed = [loop for number, loop in enumerate(loops) if number not in written]
        # Of channels in several loops, such as heads, those that are neighbors are lanes.
        lanes = merged(
            sorted((loop for loop in results if loop.strides[B]), key=_step, reverse=True)
        )
        rows = merged([loop for loop in results if not loop.strides[B]])
        groups = [loop for loop in summed if loop.strides[_SCALES]]
        codes = [loop for loop in summed if not loop.strides[B]]
        inner = [loop for loop in summed if loop.strides[B] and not loop.strides[_SCALES]]
        product = Product(
            dtypes=tuple(dtype_of(view.value) for view in self.views),
            outer=(*lanes[:-1], *rows[:-1]),
            rows=(self._only(rows[-1:]),),
            lanes=self._only(lanes[-1:]),
            summed=(self._only(groups), self._only(codes), self._only(inner)),
            initial=None,
            epilogue=typed(tuple(self.operations.nodes)),
            packing=Packing(
                form.bits,
                form.zero,
                _SCALES,
                _MINS if form.has_mins else None,
                _MINS + form.has_mins if form.has_factors else None,
            ),
        )
        if product.summed[1].extent != form.codes or not product.is_contiguous:
            raise Unsupported("packed weights in another order")
        return product

    def _only(self, loops: Iterable[Loop]) -> Loop:
        """Returns the only loop of a role; IREE leaves out those that run once."""
        found = list(loops)
        if len(found) > 1:
            raise Unsupported("packed weights in several loops")
        return found[0] if found else Loop(1, (0,) * len(self.views))
