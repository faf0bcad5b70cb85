"""Reads a dispatch function on buffers as a product, if it is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import contraction, ir_util
from bmc.kernels import epilogue, functions, rescales
from bmc.kernels.product import RESULT, WIDTHS, Loop, Node, Product, Unsupported, arranged

# Operations whose last 8 bits depend on the last 8 bits of their operands only, and those that read signed numbers.
_LAST_BITS = {"addi", "andi", "muli", "ori", "shli", "subi", "xori"}
_SIGNED = {"maxsi", "minsi", "shrsi"}
_LOAD, _STORE = "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer"


@dataclass(frozen=True)
class Dispatch:
    """A product and its operands: buffers, or constant tensors."""

    product: Product
    operands: tuple[Any, ...]


def read(function: ir_util.Op) -> Dispatch:
    """Returns what a dispatch function computes.

    Raises:
      Unsupported: it is not one product with an epilogue that this package can write.
    """
    return _Reader(function).dispatch()


class _Reader:
    def __init__(self, function: ir_util.Op) -> None:
        self._ops = list(ir_util.walk(function))
        self._views: list[_View] = []
        self._nodes: list[Node] = []
        self._known: set[Any] = set()

    def dispatch(self) -> Dispatch:
        root = self._only([op for op in self._ops if contraction.read(op) is not None])
        store = self._only([op for op in self._ops if op.name == _STORE])
        maps = _maps(root)
        a, b, start = root.operands
        types = (_type(a), _type(b), _type(start))
        is_signed = all(op.name != "arith.extui" for op in ir_util.walk(root))
        if types != ("f32", "f32", "f32") and (types != ("i8", "i8", "i32") or not is_signed):
            raise Unsupported(f"a product of {' and '.join(types)}")
        self._known.add(root)
        self._views = [_View(_source(a), maps[0]), _View(_source(b), maps[1])]
        # Takes the place of the result, whose map is known at the end.
        self._views.append(self._views[0])
        written = _plain(maps[RESULT])
        initial = self._initial(start, written)
        self._nodes.append(Node("sum", _type(start)))
        written = self._elementwise(root.results[0], store.operands[0], written)
        self._views[RESULT] = _View(store.operands[1], self._map(written))
        for op in self._ops:
            if (
                op.name.startswith(("linalg.", "iree_linalg_ext."))
                and op.name != "linalg.yield"
                and op not in self._known
            ):
                raise Unsupported(f"a dispatch with {op.name}")
        return self._dispatch(root, initial)

    @staticmethod
    def _only(ops: list[Any]) -> Any:
        if len(ops) != 1 or ops[0].parent.name != "func.func":
            raise Unsupported("a dispatch that is not one product and one store")
        return ops[0]

    def _initial(self, start: Any, written: list[Any]) -> int | None:
        """Returns the operand with the sums' first values, None if they are zeros."""
        maker = ir_util.definition(start)
        if maker is not None and maker.name == "linalg.fill":
            value = ir_util.definition(maker.operands[0])
            if value is None or value.name != "arith.constant" or rescales.number(value) != 0:
                raise Unsupported("sums that start from a number")
            self._known.add(maker)
            return None
        if (
            maker is None
            or maker.name not in ("linalg.generic", "linalg.broadcast")
            or len(maker.operands) != 2
        ):
            raise Unsupported("sums that start from something computed")
        block = maker.regions[0].blocks[0]
        if len(block.operations) != 1 or block.operations[0].operands[0] != block.arguments[0]:
            raise Unsupported("sums that start from something computed")
        self._known.add(maker)
        source, result = _maps(maker)
        return self._operand(maker.operands[0], _substituted(source, _loops(result, written)))

    def _map(self, indices: list[Any]) -> Any:
        return ir.AffineMap.get(self._views[0].map.n_dims, 0, indices)

    def _operand(self, value: Any, indices: list[Any]) -> int:
        """Returns the number of an operand that is read at these functions of the root's loops."""
        view = _View(_source(value), self._map(indices))
        for number, known in enumerate(self._views):
            if number > RESULT and known.value == view.value and known.map == view.map:
                return number
        self._views.append(view)
        return len(self._views) - 1

    def _elementwise(self, value: Any, stored: Any, written: list[Any]) -> list[Any]:
        """Adds the nodes of what is between the sums and the store; returns the indices of what is stored."""
        number = 0
        while value != stored:
            readers = [op for op, _ in ir_util.uses(value)]
            if len(readers) != 1 or readers[0].name != "linalg.generic":
                raise Unsupported("sums that are read by something else")
            (op,) = readers
            if "reduction" in str(op.attributes["iterator_types"]) or len(op.results) != 1:
                raise Unsupported("sums that are summed again")
            maps = _maps(op)
            loops = _loops(maps[list(op.operands).index(value)], written)
            indices = [_substituted(map_, loops) for map_ in maps]
            number = self._body(op, value, number, indices)
            self._known.add(op)
            value, written = op.results[0], indices[-1]
        if number != len(self._nodes) - 1 or _type(stored) not in WIDTHS:
            raise Unsupported(f"results of type {_type(stored)}")
        return written

    def _body(self, op: Any, value: Any, number: int, indices: list[list[Any]]) -> int:
        """Adds the nodes of one operation; returns the number of its result."""
        *inputs, _ = op.operands
        block = op.regions[0].blocks[0]
        known: dict[Any, int] = {}
        for place, operand in enumerate(inputs):
            argument = block.arguments[place]
            if operand == value:
                known[argument] = number
            elif list(argument.uses):
                dtype = _type(operand)
                if dtype not in WIDTHS:
                    raise Unsupported(f"an epilogue that reads {dtype}")
                loaded = self._operand(operand, indices[place])
                known[argument] = self._node(Node("load", dtype, operand=loaded))
        *operations, end = [each.operation for each in block.operations]
        for each in operations:
            self._operation(each, known)
        return self._value(end.operands[0], known)

    def _operation(self, op: Any, known: dict[Any, int]) -> None:
        result = op.results[0]
        name = op.name.removeprefix("arith.")
        operands = list(op.operands)
        if (rescale := rescales.read(op)) is not None:
            known[result] = self._rescale(rescale, known)
            return
        if op.name == "arith.constant" or str(result.type) in ("i1", "i64"):
            # Constants belong to their readers. 64 bits are read as parts of a rescale, or not at all.
            return
        if op.name == "math.erf" and _type(result) == "f32":
            known[result] = functions.erf(
                self._value(operands[0], known), self._number, self._float
            )
            return
        if name not in epilogue.SUPPORTED or _type(result) not in WIDTHS:
            raise Unsupported(f"an epilogue with {op.name} to {result.type}")
        args = tuple(self._value(operand, known) for operand in operands)
        if _type(result) == "i8" and name != "trunci":
            known[result] = self._node(Node("trunci", "i8", (self._wrapping(name, args),)))
            return
        if any(self._nodes[arg].op == "trunci" for arg in args):
            args = tuple(map(self._wide, args))
            if name == "extsi":
                (known[result],) = args
                return
        known[result] = self._node(Node(name, _type(result), args))

    def _wrapping(self, name: str, args: tuple[int, ...]) -> int:
        """Adds an operation on int8; returns the number of 32 bits whose last 8 are its result."""
        if name in _LAST_BITS:
            return self._integer(name, *map(self._before_truncation, args))
        if name in _SIGNED:
            return self._integer(name, *map(self._wide, args))
        raise Unsupported(f"an epilogue with arith.{name} to i8")

    def _rescale(self, rescale: rescales.Rescale, known: dict[Any, int]) -> int:
        """Adds the nodes of a rescale in 32 bits; returns the number of the last one."""
        x, y = (self._value(factor, known) for factor in rescale.factors)
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
        return self._node(Node("constant", "i32", value=signed))

    def _integer(self, op: str, *args: int) -> int:
        return self._node(Node(op, "i32", args))

    def _number(self, value: float) -> int:
        return self._node(Node("constant", "f32", value=value))

    def _float(self, op: str, *args: int) -> int:
        return self._node(Node(op, "f32", args))

    def _value(self, value: Any, known: dict[Any, int]) -> int:
        """Returns the number of a value, which may be a constant that no node stands for yet."""
        if value not in known:
            owner = ir_util.definition(value)
            if owner is None or owner.name != "arith.constant":
                raise Unsupported(f"an epilogue with a {value.type}")
            dtype = "f32" if _type(value) == "f32" else "i32"
            known[value] = self._node(Node("constant", dtype, value=rescales.number(owner)))
        return known[value]

    def _node(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _before_truncation(self, number: int) -> int:
        """Returns the number of 32 bits whose last 8 are those of an int8."""
        node = self._nodes[number]
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
        node = self._nodes[number]
        if node.op == "constant":
            return node.value, node.value
        if node.op in ("maxsi", "minsi"):
            choose = max if node.op == "maxsi" else min
            (a, b), (c, d) = (self._range(arg) for arg in node.args)
            return choose(a, c), choose(b, d)
        return -(2**31), 2**31 - 1

    def _dispatch(self, root: Any, initial: int | None) -> Dispatch:
        loops = [
            Loop(extent, tuple(view.stride(number) for view in self._views))
            for number, extent in enumerate(_extents(root))
        ]
        written = {term for index in self._views[RESULT].map.results for term in _terms(index)}
        summed = set(range(len(loops))) - written
        dtypes = tuple(_type(view.value) for view in self._views)
        product, swapped = arranged(dtypes, loops, summed, initial, tuple(self._nodes))
        first, second, *others = (view.value for view in self._views)
        operands = (second, first, *others) if swapped else (first, second, *others)
        return Dispatch(product, operands)


class _View:
    """A buffer or constant that is indexed by the root's loops through a map."""

    def __init__(self, value: Any, map_: Any) -> None:
        self.value = value
        self.map = map_
        if isinstance(value.type, ir.MemRefType):
            strides, _ = value.type.get_strides_and_offset()
        else:
            strides, inner = [], 1
            for extent in reversed(value.type.shape):
                strides.insert(0, inner)
                inner *= extent
        width = WIDTHS.get(_type(value))
        if width is None or any(stride < 0 for stride in strides):
            raise Unsupported(f"an operand of type {value.type}")
        self._terms = [
            (stride * width, _terms(index))
            for stride, index in zip(strides, map_.results, strict=True)
        ]

    def stride(self, loop: int) -> int:
        """Bytes from one iteration of a loop to the next."""
        return int(sum(stride * terms.get(loop, 0) for stride, terms in self._terms))


def _extents(root: Any) -> list[int]:
    """How often each loop runs."""
    extents = contraction.extents(root)
    count = _maps(root)[0].n_dims
    if sorted(extents) != list(range(count)) or any(extent < 1 for extent in extents.values()):
        raise Unsupported("loops of unknown extents")
    return [extents[loop] for loop in range(count)]


def _maps(op: Any) -> list[Any]:
    return [each.value for each in linalg.get_indexing_maps(op)]


def _terms(index: Any) -> dict[int, int]:
    """The factor of each loop in an index."""
    if isinstance(index, ir.AffineConstantExpr) and ir.AffineConstantExpr(index).value == 0:
        return {}
    found = contraction.terms(index)
    if found is None:
        raise Unsupported(f"the index {index}")
    return found


def _plain(map_: Any) -> list[Any]:
    """The results of a map that are loops, each a different one."""
    loops = [ir.AffineDimExpr(each) for each in map_.results if isinstance(each, ir.AffineDimExpr)]
    if len({loop.position for loop in loops}) != len(list(map_.results)):
        raise Unsupported(f"the map {map_}")
    return loops


def _loops(map_: Any, indices: list[Any]) -> list[Any]:
    """Returns the loops of an operation that accesses a tensor through a permutation, at these indices."""
    if len(indices) != map_.n_dims:
        raise Unsupported(f"the map {map_}")
    loops: list[Any] = [None] * map_.n_dims
    for loop, index in zip(_plain(map_), indices, strict=True):
        loops[loop.position] = index
    return loops


def _substituted(map_: Any, loops: list[Any]) -> list[Any]:
    """The results of a map in terms of what its loops are."""

    def one(index: Any) -> Any:
        if isinstance(index, ir.AffineDimExpr):
            return loops[ir.AffineDimExpr(index).position]
        if isinstance(index, ir.AffineConstantExpr):
            return index
        raise Unsupported(f"the index {index}")

    return [one(index) for index in map_.results]


def _source(value: Any) -> Any:
    """The buffer that holds a tensor, or the tensor itself if it is a constant."""
    owner = ir_util.definition(value)
    if owner is not None and owner.name == "arith.constant":
        return value
    if owner is None or owner.name != _LOAD:
        raise Unsupported("an operand that is computed first")
    return owner.operands[0]


def _type(value: Any) -> str:
    type_ = value.type
    return str(type_.element_type) if isinstance(type_, ir.ShapedType) else str(type_)
