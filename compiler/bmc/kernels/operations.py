"""Reads the scalar operations of linalg's bodies as nodes of an epilogue."""

from __future__ import annotations

from typing import Any

from bmc.ir import ir_util
from bmc.kernels import epilogue, functions, rescales
from bmc.kernels.product import WIDTHS, Node, Unsupported
from bmc.kernels.views import dtype_of

# Operations whose last 8 bits depend on the last 8 bits of their operands only, and those that read signed numbers.
_LAST_BITS = {"addi", "andi", "muli", "ori", "shli", "subi", "xori"}
_SIGNED = {"maxsi", "minsi", "shrsi"}


class Operations:
    """Collects nodes. Everything has 32 bits between loads, which extend, and the store, which truncates."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, op: Any, known: dict[Any, int]) -> None:
        """Adds the nodes of an operation, and the number of its result to `known`."""
        result = op.results[0]
        name = op.name.removeprefix("arith.").removeprefix("math.")
        operands = list(op.operands)
        if (rescale := rescales.read(op)) is not None:
            known[result] = self._rescale(rescale, known)
            return
        for name_, read in (("scaled", rescales.scaled), ("rounded", rescales.rounded)):
            if (found := read(op)) is not None:
                known[result] = self._integer(name_, *(self.value(each, known) for each in found))
                return
        if op.name == "arith.constant" or str(result.type) in ("i1", "i64"):
            # Constants belong to their readers. 64 bits are read as parts of a rescale, or not at all.
            return
        if op.name == "math.erf" and dtype_of(result) == "f32":
            known[result] = functions.erf(self.value(operands[0], known), self._number, self._float)
            return
        if name not in epilogue.SUPPORTED or dtype_of(result) not in WIDTHS:
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
        known[result] = self.node(Node(name, dtype_of(result), args))

    def _wrapping(self, name: str, args: tuple[int, ...]) -> int:
        """Adds an operation on int8; returns the number of 32 bits whose last 8 are its result."""
        if name in _LAST_BITS:
            return self._integer(name, *map(self._before_truncation, args))
        if name in _SIGNED:
            return self._integer(name, *map(self._wide, args))
        raise Unsupported(f"an epilogue with arith.{name} to i8")

    def _rescale(self, rescale: rescales.Rescale, known: dict[Any, int]) -> int:
        """Adds the nodes of a rescale in 32 bits; returns the number of the last one."""
        x, y = (self.value(factor, known) for factor in rescale.factors)
        result = self._integer("mulhi", x, y)
        positive, negative = rescale.added
        if positive or negative:
            low = self._integer("muli", x, y)
            sign = 0
            if positive != negative:
                sign = self._integer("shrsi", x, self._constant(31))
            sums = self._integer("addi", low, self._choice(sign, positive, negative))
            result = self._integer("carried", result, sums, low)
            high = positive >> 32, negative >> 32
            if any(high):
                result = self._integer("addi", result, self._choice(sign, *high))
        if rescale.shift > 32:
            result = self._integer("shrsi", result, self._constant(rescale.shift - 32))
        return result

    def _choice(self, sign: int, positive: int, negative: int) -> int:
        """Returns one constant where the node `sign` is 0, and the other where it is -1; their low 32 bits."""
        first = self._constant(positive)
        if (positive - negative) % 2**32 == 0:
            return first
        return self._integer(
            "xori", self._integer("andi", sign, self._constant(positive ^ negative)), first
        )

    def _constant(self, value: int) -> int:
        signed = (value + 2**31) % 2**32 - 2**31
        return self.node(Node("constant", "i32", value=signed))

    def _integer(self, op: str, *args: int) -> int:
        return self.node(Node(op, "i32", args))

    def _number(self, value: float) -> int:
        return self.node(Node("constant", "f32", value=value))

    def _float(self, op: str, *args: int) -> int:
        return self.node(Node(op, "f32", args))

    def value(self, value: Any, known: dict[Any, int]) -> int:
        """Returns the number of a value, which may be a constant that no node stands for yet."""
        if value not in known:
            owner = ir_util.definition(value)
            if owner is None or owner.name != "arith.constant":
                raise Unsupported(f"an epilogue with a {value.type}")
            dtype = "f32" if dtype_of(value) == "f32" else "i32"
            known[value] = self.node(Node("constant", dtype, value=rescales.number(owner)))
        return known[value]

    def node(self, node: Node) -> int:
        """Adds a node; returns its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _before_truncation(self, number: int) -> int:
        """Returns the number of 32 bits whose last 8 are those of an int8."""
        node = self.nodes[number]
        return node.args[0] if node.op == "trunci" else number

    def _wide(self, number: int) -> int:
        """Returns the number of an int8 in 32 bits; what is not truncated has them."""
        before = self._before_truncation(number)
        if before == number:
            return number
        least, most = self._range(before)
        if least >= -128 and most <= 127:
            return before
        shift = self._constant(24)
        return self._integer("shrsi", self._integer("shli", before, shift), shift)

    def _range(self, number: int) -> tuple[float, float]:
        """The smallest and the largest value that an integer may have."""
        node = self.nodes[number]
        if node.op == "constant":
            return node.value, node.value
        if node.op in ("maxsi", "minsi"):
            choose = max if node.op == "maxsi" else min
            (a, b), (c, d) = (self._range(arg) for arg in node.args)
            return choose(a, c), choose(b, d)
        return -(2**31), 2**31 - 1
