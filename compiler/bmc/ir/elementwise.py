"""The body of an elementwise linalg.generic: which of its values are constants, and more constant operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import arith, build, constant_arrays, ir_util, permute

_FOLDED: dict[str, Callable[..., Array]] = {
    "arith.addi": np.add,
    "arith.extsi": np.array,
    "arith.muli": np.multiply,
    "arith.select": np.where,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.subi": np.subtract,
    "arith.trunci": np.array,
}
# The signed predicates of arith.cmpi by number.
_COMPARED: dict[int, Callable[..., Array]] = {
    0: np.equal,
    1: np.not_equal,
    2: np.less,
    3: np.less_equal,
    4: np.greater,
    5: np.greater_equal,
}


class Elementwise:
    """A linalg.generic with one result and no reductions.

    Attributes:
      op: the operation.
      maps: its indexing maps.
      constant_map: the map of the constant operands with several elements that were read: they must share it.
    """

    def __init__(self, op: ir_util.Op, module: Any) -> None:
        self.op = op
        self.module = module
        self._block = op.regions[0].blocks[0]
        self.maps = permute.maps(op)
        self.constant_map: Any = None
        self._added: list[tuple[Any, Array]] = []
        # A long body may read a value in many places.
        self._known: dict[Any, Array | None] = {}

    @property
    def yielded(self) -> Any:
        """What the body computes."""
        return self._block.operations[len(self._block.operations) - 1].operands[0]

    def operand(self, value: ir_util.Value) -> int | None:
        """Returns the number of the input that `value` is an element of, None if it is none."""
        arguments = list(self._block.arguments)[:-1]
        return arguments.index(value) if value in arguments else None

    def is_in_order(self, number: int) -> bool:
        """Whether the loops count up the axes of an operand; -1 is the result."""
        map_ = self.maps[number]
        return bool(map_ == ir.AffineMap.get_identity(map_.n_dims))

    def constant(self, value: ir_util.Value) -> Array | None:
        """Returns a value of the body as int64, one for each element of the constant operands; None if computed."""
        if value not in self._known:
            self._known[value] = self._constant(value)
        return self._known[value]

    def _constant(self, value: ir_util.Value) -> Array | None:
        number = self.operand(value)
        if number is not None:
            return self._element(self.op.operands[number], self.maps[number])
        owner = ir_util.definition(value)
        if owner is None:
            return None
        if owner.name == "arith.constant":
            elements = constant_arrays.integers(value, self.module)
            return None if elements is None else elements.astype(np.int64)
        operands = [each for each in map(self.constant, owner.operands) if each is not None]
        return _folded(owner, operands) if len(operands) == len(owner.operands) else None

    def add(self, array: Array) -> Any:
        """Returns an i32 of the body that is `array`: a constant, or an element of a new operand."""
        first = array.flat[0]
        literal = build.number(int(first), _i32())
        if not np.all(array == first):
            # Stands for the operand until `rebuild`.
            self._added.append((literal, array))
        return literal

    def rebuild(self) -> None:
        """Gives the operation the operands that `add` has promised, and erases what its body does not use."""
        for op in reversed(list(self._block.operations)):
            if op.results and not any(list(result.uses) for result in op.results):
                op.operation.erase()
        if not self._added:
            return
        old = self.op
        *inputs, output = old.operands
        maps = [*self.maps[:-1], *[self.constant_map] * len(self._added), self.maps[-1]]
        with ir.InsertionPoint(old), old.location:
            inputs += [build.array(each.astype(np.int32), _i32()) for _, each in self._added]
            new = build.again(
                old,
                [old.results[0].type],
                [*inputs, output],
                indexing_maps=build.maps(maps),
                operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(inputs), 1]),
            )
        self._block.append_to(new.regions[0])
        self._give_arguments(new.regions[0].blocks[0])
        old.results[0].replace_all_uses_with(new.results[0])
        old.erase()
        self.op = new

    def _give_arguments(self, block: Any) -> None:
        """Adds the new operands' arguments. That of the result stays last."""
        output_number = len(block.arguments) - 1
        output = block.arguments[output_number]
        for literal, _ in self._added:
            argument = block.add_argument(literal.type, literal.owner.location)
            literal.replace_all_uses_with(argument)
            literal.owner.erase()
        output.replace_all_uses_with(block.add_argument(output.type, self.op.location))
        block.erase_argument(output_number)

    def _element(self, operand: ir_util.Value, map_: Any) -> Array | None:
        elements = constant_arrays.integers(operand, self.module)
        if elements is None:
            return None
        if elements.size == 1:
            return elements.astype(np.int64).reshape(())
        if self.constant_map is not None and self.constant_map != map_:
            return None
        self.constant_map = map_
        return elements.astype(np.int64)


def _folded(op: ir_util.Op, operands: list[Array]) -> Array | None:
    if op.name in ("arith.extui", "arith.shrui"):
        width = op.operands[0].type.width
        first = operands[0] & ((1 << width) - 1) if width < 64 else operands[0]
        if np.any(first < 0):
            return None
        operands = [first, *operands[1:]]
        result = first if op.name == "arith.extui" else np.right_shift(*operands)
    elif op.name == "arith.cmpi" and arith.predicate(op) in _COMPARED:
        return np.asarray(_COMPARED[arith.predicate(op)](*operands))
    elif op.name in _FOLDED:
        result = _FOLDED[op.name](*operands)
    else:
        return None
    return _wrapped(np.asarray(result), op.results[0].type.width)


def _wrapped(array: Array, width: int) -> Array:
    """The lowest `width` bits, with their sign."""
    unused = 64 - width
    return array.astype(np.int64) << unused >> unused


def _i32() -> Any:
    return ir.IntegerType.get_signless(32)
