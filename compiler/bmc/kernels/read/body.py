"""Reads the scalar operations of linalg's bodies as nodes of an epilogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import FLOATS, TYPES
from bmc.kernels.ops import OPS
from bmc.kernels.problem.product import Node
from bmc.kernels.read import functions, rescales
from bmc.kernels.read.nodes import Nodes
from bmc.kernels.read.views import View, dtype_of
from bmc.kernels.unsupported import Unsupported

# Operations whose low 8 bits depend on the low 8 bits of their operands only, and operations on signed integers.
_LAST_BITS = {"addi", "andi", "muli", "ori", "shli", "subi", "xori"}
_SIGNED = {"maxsi", "minsi", "shrsi"}
# Predicates of arith.cmpf for "greater" and "less", with or without "or equal". Those from _UNORDERED on hold for NaN.
_GREATER, _LESS, _UNORDERED = (2, 3, 9, 10), (4, 5, 11, 12), 8
_OR_EQUAL = (3, 5, 10, 12)
# Clamps with a constant on the same side, and those that keep a NaN.
_SAME_SIDE = {
    "maxnumf": ("maxnumf", "maximumf"),
    "minnumf": ("minnumf", "minimumf"),
}
_KEEP_NAN = ("maximumf", "minimumf")
# The range of an int32 about which nothing is known.
_ANY = (-(2**31), 2**31 - 1)


class Operations(Nodes):
    """Nodes for the operations of a body."""

    def __init__(self, table: Callable[[Any], int]) -> None:
        """`table` returns the number of an operand that is read at computed indices."""
        super().__init__()
        self._table = table

    def add(self, op: Any, known: dict[Any, int]) -> None:
        """Adds the nodes of an operation; `known` are the node numbers of values, and gets that of the result."""
        result = op.results[0]
        name = op.name.removeprefix("arith.").removeprefix("math.")
        operands = list(op.operands)
        if (rescale := rescales.read(op)) is not None:
            known[result] = self._rescale(rescale, known)
            return
        for name_, read in (
            ("fixed_multiply", rescales.scaled),
            ("rounding_shift", rescales.rounded),
        ):
            if (found := read(op)) is not None:
                known[result] = self.integer(name_, *(self.value(each, known) for each in found))
                return
        if op.name == "arith.constant" or str(result.type) in ("i1", "i64"):
            # value() adds constants when they are read. 64-bit operations are only supported as parts of a rescale.
            return
        if op.name == "tensor.extract":
            known[result] = self._lookup(op, known)
            return
        if dtype_of(result) == "index":
            known[result] = self._index(op, known)
            return
        if op.name in functions.OF_FLOATS and dtype_of(result) == "f32":
            known[result] = functions.OF_FLOATS[op.name](self.value(operands[0], known), self)
            return
        if name == "select":
            known[result] = self._selected(op, known)
            return
        if str(result.type) == "i16":
            known[result] = self._short(op, known)
            return
        if name not in OPS or dtype_of(result) not in TYPES:
            raise Unsupported(f"an epilogue with {op.name} to {result.type}")
        args = tuple(self.value(operand, known) for operand in operands)
        if dtype_of(result) == "i8" and name != "trunci":
            known[result] = self.node(Node("trunci", "i8", (self._wrapping(name, args),)))
            return
        if any(self.nodes[arg].op == "trunci" for arg in args):
            args = tuple(map(self._wide, args))
            if name == "extsi":
                (known[result],) = args
                return
        if name in _SAME_SIDE and self.nodes[args[1]].op == "constant":
            args = (self._without(args[0], name, self.nodes[args[1]].value), args[1])
        known[result] = self.node(Node(name, dtype_of(result), args))

    def _selected(self, op: Any, known: dict[Any, int]) -> int:
        """Adds the minimum, maximum or leaky ReLU that a compare and select are; returns its number."""
        condition, yes, no = op.operands
        comparison = ir_util.definition(condition)
        other = Unsupported(f"an epilogue with {op.name} to {op.results[0].type}")
        if comparison is None or comparison.name != "arith.cmpf" or dtype_of(yes) not in FLOATS:
            raise other
        predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
        left, right = (self.value(operand, known) for operand in comparison.operands)
        is_greater = predicate in _GREATER
        if self.nodes[left].op == "constant":
            left, right, is_greater = right, left, not is_greater
        chosen = [self.value(choice, known) for choice in (yes, no)]
        limit = self.nodes[right]
        if predicate not in (*_GREATER, *_LESS) or limit.op != "constant":
            raise other
        if limit.value == 0 and self._has_slope(chosen, left):
            if predicate in _OR_EQUAL:
                # The opposite comparison. A NaN may get either choice, because both are NaN.
                is_greater, chosen = not is_greater, chosen[::-1]
            return self.float_("if_positive" if is_greater else "if_negative", left, *chosen)
        if sorted(chosen) != sorted((left, right)):
            raise other
        side = "max" if is_greater == (chosen[0] == left) else "min"
        keeps_nan = (predicate >= _UNORDERED) == (chosen[0] == left)
        return self.float_(f"{side}imumf" if keeps_nan else f"{side}numf", left, right)

    def _has_slope(self, choices: list[int], x: int) -> bool:
        """Whether one choice is the node `x`, and the other one a multiple of it."""
        products = (self.nodes[each] for each in choices if self.nodes[each].op == "mulf")
        return x in choices and any(x in node.args for node in products)

    def _without(self, number: int, name: str, limit: float, removable: Any = None) -> int:
        """Returns the number of a value without the clamps that a later clamp makes redundant.

        Args:
          number: the value.
          name, limit: operation and constant of the later clamp, which replaces a NaN with the constant.
          removable: clamping operations that may be removed; those on the same side by default.
        """
        node, removable = self.nodes[number], removable or _SAME_SIDE[name]
        if node.op not in (*_KEEP_NAN, *_SAME_SIDE) or self.nodes[node.args[1]].op != "constant":
            return number
        inner, bound = node.args
        is_max, at = name == "maxnumf", self.nodes[bound].value
        if node.op in _SAME_SIDE[name]:
            is_weaker = at <= limit if is_max else at >= limit
            if node.op not in removable or not is_weaker:
                return number
            return self._without(inner, name, limit, removable)
        if not (at >= limit if is_max else at <= limit):
            return number
        if node.op not in _KEEP_NAN:
            # This clamp replaces a NaN, so an inner clamp that does the same is not redundant.
            removable = [op for op in removable if op in _KEEP_NAN]
        without = self._without(inner, name, limit, removable)
        return number if without == inner else self.float_(node.op, without, bound)

    def _short(self, op: Any, known: dict[Any, int]) -> int:
        """Adds an int16 operation on int8 values, which must not wrap; returns its number."""
        args = tuple(self._wide(self.value(operand, known)) for operand in op.operands)
        if op.name == "arith.extsi":
            return args[0]
        name = op.name.removeprefix("arith.")
        if name in ("addi", "subi"):
            number = self.integer(name, *args)
            least, most = self._range(number)
            if least >= -(2**15) and most < 2**15:
                return number
        raise Unsupported(f"an epilogue with {op.name} to i16")

    def _wrapping(self, name: str, args: tuple[int, ...]) -> int:
        """Adds an int8 operation; returns the number of an int32 whose low 8 bits are the result."""
        if name in _LAST_BITS:
            return self.integer(name, *map(self._before_truncation, args))
        if name in _SIGNED:
            return self.integer(name, *map(self._wide, args))
        raise Unsupported(f"an epilogue with arith.{name} to i8")

    def store(self, results: list[tuple[int, View]], add: Callable[[View], int]) -> View:
        """Adds store nodes for all results but the one that is computed last; returns the buffer of that one.

        Args:
          results: node number and buffer of each result.
          add: adds an operand; returns its number.
        """
        results = sorted(results, key=lambda each: each[0])
        numbers = [number for number, _ in results]
        if numbers[-1:] != [len(self.nodes) - 1]:
            raise Unsupported("a result that is not computed last")
        if numbers.count(numbers[-1]) > 1:
            # The last value is stored several times, e.g. in two layouts: the final store gets a copy of it.
            self.node(Node("bitcast", self.nodes[-1].dtype, (numbers[-1],)))
        last = self.nodes.pop()
        *others, (_, result) = results
        for number, view in others:
            self.node(Node("store", dtype_of(view.value), (number,), operand=add(view)))
        self.node(last)
        return result

    def _index(self, op: Any, known: dict[Any, int]) -> int:
        """Adds the computation of an index, which must not overflow 32 bits; returns its number."""
        args = [self._wide(self.value(operand, known)) for operand in op.operands]
        if op.name == "arith.index_cast":
            return args[0]
        result = self.integer("addi", *args) if op.name == "arith.addi" else -1
        if result < 0 or self._range(result) == _ANY:
            raise Unsupported(f"an epilogue with {op.name} to index")
        return result

    def _lookup(self, op: Any, known: dict[Any, int]) -> int:
        """Adds a lookup in a table of bytes, whose index must be in range; returns its number."""
        table, *indices = op.operands
        if dtype_of(table) != "i8" or len(indices) != 1:
            raise Unsupported(f"a lookup in {table.type}")
        index = self.value(indices[0], known)
        least, most = self._range(index)
        if least < 0 or most >= table.type.shape[0]:
            raise Unsupported("a lookup whose index may be out of range")
        return self.node(Node("lookup", "i8", (index,), operand=self._table(table)))

    def _rescale(self, rescale: rescales.Rescale, known: dict[Any, int]) -> int:
        """Adds the nodes of a rescale in 32 bits; returns the number of the last one."""
        x, y = (self.value(factor, known) for factor in rescale.factors)
        result = self.integer("mulhi", x, y)
        positive, negative = rescale.added
        if positive or negative:
            low = self.integer("muli", x, y)
            sign = 0
            if positive != negative:
                sign = self.integer("shrsi", x, self.constant(31))
            sums = self.integer("addi", low, self._choice(sign, positive, negative))
            result = self.integer("carried", result, sums, low)
            high = positive >> 32, negative >> 32
            if any(high):
                result = self.integer("addi", result, self._choice(sign, *high))
        if rescale.shift > 32:
            result = self.integer("shrsi", result, self.constant(rescale.shift - 32))
        return result

    def _choice(self, sign: int, positive: int, negative: int) -> int:
        """Adds `positive` where the node `sign` is 0 and `negative` where it is -1, modulo 2^32; returns its number."""
        first = self.constant(positive)
        if (positive - negative) % 2**32 == 0:
            return first
        return self.integer(
            "xori", self.integer("andi", sign, self.constant(positive ^ negative)), first
        )

    def value(self, value: Any, known: dict[Any, int]) -> int:
        """Returns the number of a value; adds it first if it is a constant without a node."""
        if value not in known:
            owner = ir_util.definition(value)
            if owner is None or owner.name != "arith.constant":
                raise Unsupported(f"an epilogue with a {value.type}")
            dtype = dtype_of(value) if dtype_of(value) in FLOATS else "i32"
            known[value] = self.node(Node("constant", dtype, value=rescales.number(owner)))
        return known[value]

    def _before_truncation(self, number: int) -> int:
        """Returns the number of an int32 whose low 8 bits are the int8 `number`."""
        node = self.nodes[number]
        return node.args[0] if node.op == "trunci" else number

    def _wide(self, number: int) -> int:
        """Returns the number of a value as int32; a truncated one is sign-extended unless it is known to fit int8."""
        before = self._before_truncation(number)
        if before == number:
            return number
        least, most = self._range(before)
        if least >= -128 and most <= 127:
            return before
        shift = self.constant(24)
        return self.integer("shrsi", self.integer("shli", before, shift), shift)

    def _range(self, number: int) -> tuple[float, float]:
        """Returns the smallest and the largest value that an integer may have."""
        node = self.nodes[number]
        if node.op == "constant":
            return node.value, node.value
        if node.dtype == "i8":
            return -128, 127
        if node.op in ("maxsi", "minsi"):
            choose = max if node.op == "maxsi" else min
            (a, b), (c, d) = (self._range(arg) for arg in node.args)
            return choose(a, c), choose(b, d)
        if node.op == "shrsi" and self.nodes[node.args[1]].op == "constant":
            bits = int(self.nodes[node.args[1]].value)
            return -(2**31) >> bits, (2**31 - 1) >> bits
        if node.op in ("addi", "subi"):
            (a, b), (c, d) = (self._range(arg) for arg in node.args)
            least, most = (a + c, b + d) if node.op == "addi" else (a - d, b - c)
            if least >= -(2**31) and most < 2**31:
                return least, most
        return self._range(node.args[0]) if node.op == "extsi" else _ANY
