"""Recognizes matrix products and convolutions, for every part of the compiler.

A contraction computes result[i...] = sum over k... of a[...] * b[...]. It may be a named linalg op or a
linalg.generic. This module answers two questions about an operation. accumulator() says whether it adds
up products of two inputs, whatever else it does. read() says whether it does only that, so a rewrite may
reorder its loops and the axes of its operands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import ir_util, names

_MULTIPLICATIONS = ("arith.mulf", "arith.muli")
_ADDITIONS = ("arith.addf", "arith.addi")
_CASTS = ("arith.extsi", "arith.extui", "arith.extf", "arith.sitofp", "arith.uitofp")
# Named operations that are products, though they have no body that shows it.
_NAMED = re.compile(
    r"linalg\.(\w*conv_|\w*matmul|\w*mmt4d|batch_matvec|batch_vecmat|contract|dot|matvec|vecmat)"
    r"|iree_linalg_ext\.(online_)?attention"
)


@dataclass(frozen=True, slots=True)
class Axis:
    """The index at which an operand's axis is read: loop * stride + tap * dilation.

    Attributes:
      loop: number of the loop over output pixels, or of the only loop.
      stride: the factor of `loop`.
      tap: number of the loop over the window, None if there is no window.
      dilation: the factor of `tap`, 1 if there is no window.
    """

    loop: int
    stride: int = 1
    tap: int | None = None
    dilation: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether the index is the loop itself."""
        return self.stride == 1 and self.tap is None


@dataclass(frozen=True)
class Contraction:
    """A pure product: its body is a multiply-add of its (possibly extended) inputs and nothing else.

    Attributes:
      a: axes of the first operand; for a convolution, the image.
      b: loops of the second operand's axes; for a convolution, the weight.
      result: loops of the result's axes.
    """

    a: tuple[Axis, ...]
    b: tuple[int, ...]
    result: tuple[int, ...]

    @property
    def windows(self) -> tuple[Axis, ...]:
        """The axes of `a` that a window slides along."""
        return tuple(axis for axis in self.a if axis.tap is not None)

    @property
    def counts_up(self) -> bool:
        """Whether the result's loops come first, in the order of its axes."""
        return self.result == tuple(range(len(self.result)))


def read(op: ir_util.Op) -> Contraction | None:
    """Returns the contraction that `op` computes, None if it is no linalg op or does anything else."""
    if not op.name.startswith("linalg.") or len(op.operands) != 3 or len(op.results) != 1:
        return None
    if not _is_multiply_add(op.regions[0].blocks[0]):
        return None
    a, b, result = (each.value for each in linalg.get_indexing_maps(op))
    written = loops(result)
    second = loops(b)
    if written is None or second is None or len(set(written)) != len(written):
        return None
    axes = [_axis(index, set(written)) for index in a.results]
    known = tuple(axis for axis in axes if axis is not None)
    if len(known) != len(axes):
        return None
    return Contraction(known, second, written)


def extents(op: ir_util.Op) -> dict[int, int]:
    """Returns how often each loop of a linalg operation runs that an operand has an axis of its own for."""
    found: dict[int, int] = {}
    for operand, map_ in zip(op.operands, linalg.get_indexing_maps(op), strict=True):
        axes = operand.type.shape if isinstance(operand.type, ir.ShapedType) else []
        for extent, index in zip(axes, map_.value.results, strict=True):
            if isinstance(index, ir.AffineDimExpr):
                found[index.position] = extent
    return found


def shape(op: ir_util.Op) -> tuple[int, ...]:
    """Returns the extents in ascending order, without loops that run once, so that layouts make no difference."""
    return tuple(sorted(extent for extent in extents(op).values() if extent > 1))


def reads_windows(op: ir_util.Op) -> bool:
    """Whether a linalg operation reads its first operand through windows, as pooling does."""
    indices = linalg.get_indexing_maps(op)[0].value.results
    return any(len(terms(index) or ()) == 2 for index in indices)


def accumulator(op: ir_util.Op) -> str:
    """Returns the element type in which `op` adds up products of two inputs, "" if it adds up none."""
    if _NAMED.match(op.name):
        return str(op.operands[len(op.operands) - 1].type.element_type)
    if op.name != names.GENERIC:
        return ""
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    reductions = {
        f"d{loop}"
        for loop, kind in enumerate(op.attributes["iterator_types"])
        if "reduction" in str(kind)
    }
    block = op.regions[0].blocks[0]
    summed = {
        argument
        for argument, indexing in zip(block.arguments, maps, strict=True)
        if reductions & set(re.findall(r"d\d+", " ".join(map(str, indexing.results))))
    }
    yielded = list(list(block.operations)[-1].operands)
    outputs = list(block.arguments)[-len(yielded) :]
    for value, output in zip(yielded, outputs, strict=True):
        if any(_multiplies(term, summed) for term in _added_to(value, output)):
            return str(value.type)
    return ""


def _is_multiply_add(block: Any) -> bool:
    """Whether a body yields out + cast(a) * cast(b) and contains no other operation."""
    a, b, output = block.arguments
    operations = [op.operation for op in block.operations]
    (total,) = operations[-1].operands
    terms = _added_to(total, output)
    product = ir_util.definition(terms[0]) if len(terms) == 1 else None
    if product is None or product.name not in _MULTIPLICATIONS:
        return False
    factors = [_uncast(operand) for operand in product.operands]
    casts = sum(count for _, count in factors)
    sources = [source for source, _ in factors]
    # The product, the sum and the yield. A linalg.index, for example, would depend on the order of loops.
    return len(operations) == 3 + casts and sources in ([a, b], [b, a])


def _uncast(value: Any) -> tuple[Any, int]:
    """Returns the value before any extensions, and how many operations extended it."""
    definition = ir_util.definition(value)
    if definition is None or definition.name not in _CASTS:
        return value, 0
    source, count = _uncast(definition.operands[0])
    return source, count + 1


def loops(indexing: Any) -> tuple[int, ...] | None:
    """Returns the loops of a map whose results are all plain loops; None for any other map."""
    if not all(isinstance(index, ir.AffineDimExpr) for index in indexing.results):
        return None
    return tuple(index.position for index in indexing.results)


def _axis(index: Any, written: set[int]) -> Axis | None:
    """Returns the axis that an expression reads; None unless it is one loop or a window."""
    factors = terms(index)
    if factors is None or not 1 <= len(factors) <= 2:
        return None
    if len(factors) == 1:
        ((loop, stride),) = factors.items()
        return Axis(loop, stride)
    pixels = [loop for loop in factors if loop in written]
    taps = [loop for loop in factors if loop not in written]
    if len(pixels) != 1:
        return None
    return Axis(pixels[0], factors[pixels[0]], taps[0], factors[taps[0]])


def terms(index: Any) -> dict[int, int] | None:
    """Returns the factor of each loop in a sum of multiples of loops; None for anything else."""
    if isinstance(index, ir.AffineDimExpr):
        return {index.position: 1}
    if isinstance(index, ir.AffineAddExpr):
        left, right = terms(index.lhs), terms(index.rhs)
        if left is None or right is None or left.keys() & right.keys():
            return None
        return left | right
    if isinstance(index, ir.AffineMulExpr):
        factors = terms(index.lhs)
        if factors is None or not isinstance(index.rhs, ir.AffineConstantExpr):
            return None
        return {loop: factor * index.rhs.value for loop, factor in factors.items()}
    return None


def _added_to(value: Any, output: Any) -> list[Any]:
    """Returns what `value` adds to the accumulator `output`."""
    definition = ir_util.definition(value)
    if definition is None or definition.name not in _ADDITIONS or output not in definition.operands:
        return []
    return [operand for operand in definition.operands if operand != output]


def _multiplies(value: Any, summed: set[Any]) -> bool:
    """Whether `value` contains a product of two different inputs that both vary along the sum.

    A square, as in a variance, is not a product of two inputs. Neither is an int32 times its scale, as in
    requantization: the int32 is itself a sum of products.
    """
    found: dict[Any, set[Any]] = {}
    _find_inputs(value, summed, found)
    for definition in map(ir_util.definition, found):
        if definition is not None and definition.name in _MULTIPLICATIONS:
            left, right = (found[operand] for operand in definition.operands)
            if left and right and left != right:
                return True
    return False


def _find_inputs(value: Any, summed: set[Any], found: dict[Any, set[Any]]) -> None:
    """Finds the inputs that `value` and each value before it depend on; a long body may read one in many places."""
    if value in found:
        return
    definition = ir_util.definition(value)
    if definition is None:
        found[value] = {value} & summed if str(value.type) != "i32" else set()
        return
    for operand in definition.operands:
        _find_inputs(operand, summed, found)
    found[value] = set().union(*(found[operand] for operand in definition.operands))
