"""Reads a dispatch function on buffers as a product, if it is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import contraction, ir_util
from bmc.kernels import epilogue
from bmc.kernels.product import RESULT, Loop, Node, Product, Unsupported, merged

_LOAD, _STORE = "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer"
_WIDTHS = {"f32": 4, "i32": 4, "i8": 1}
# Fewer lanes than this are not worth a group of registers.
_FEWEST_LANES = 8


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
        self._views = [_View(_buffer(a), maps[0]), _View(_buffer(b), maps[1])]
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
            if value is None or value.name != "arith.constant" or _number(value) != 0:
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
        maker = ir_util.definition(value)
        is_constant = maker is not None and maker.name == "arith.constant"
        view = _View(value if is_constant else _buffer(value), self._map(indices))
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
        if number != len(self._nodes) - 1 or _type(stored) not in _WIDTHS:
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
                if dtype not in _WIDTHS:
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
        if (factors := _high_product(op)) is not None:
            name, operands = "mulhi", factors
        elif op.name == "arith.constant" or str(result.type) == "i64":
            # Constants belong to their readers. 64 bits are read as parts of a high product, or not at all.
            return
        if (
            name == "extsi"
            and (wide := self._before_truncation(known.get(operands[0]))) is not None
        ):
            known[result] = wide
            return
        if name not in epilogue.SUPPORTED or _type(result) not in _WIDTHS:
            raise Unsupported(f"an epilogue with {op.name} to {result.type}")
        args = tuple(self._value(operand, known) for operand in operands)
        read = [self._nodes[arg] for arg in args]
        # Everything has 32 bits between a load, which extends, and the store, which truncates.
        is_narrowed = any(node.dtype == "i8" and node.op != "load" for node in read)
        if is_narrowed or (_type(result) == "i8") != (name == "trunci"):
            raise Unsupported(f"an epilogue with {op.name} to {result.type}")
        known[result] = self._node(Node(name, _type(result), args))

    def _value(self, value: Any, known: dict[Any, int]) -> int:
        """Returns the number of a value, which may be a constant that no node stands for yet."""
        if value not in known:
            owner = ir_util.definition(value)
            if owner is None or owner.name != "arith.constant":
                raise Unsupported(f"an epilogue with a {value.type}")
            dtype = "f32" if _type(value) == "f32" else "i32"
            known[value] = self._node(Node("constant", dtype, value=_number(owner)))
        return known[value]

    def _node(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _before_truncation(self, number: int | None) -> int | None:
        """Returns the number of what a node truncated to an int8, if it was in an int8's range before."""
        if number is None or self._nodes[number].op != "trunci":
            return None
        (before,) = self._nodes[number].args
        limits = {}
        place = before
        for op in ("minsi", "maxsi"):
            node = self._nodes[place]
            if node.op != op or self._nodes[node.args[1]].op != "constant":
                return None
            limits[op] = self._nodes[node.args[1]].value
            place = node.args[0]
        is_byte = -128 <= limits["minsi"] <= 127 and limits["maxsi"] >= -128
        return before if is_byte else None

    def _dispatch(self, root: Any, initial: int | None) -> Dispatch:
        outer: list[Loop] = []
        rows: list[Loop] = []
        lanes: list[Loop] = []
        pairs: list[Loop] = []
        sums: list[Loop] = []
        indices = [term for index in self._views[RESULT].map.results for term in _terms(index)]
        width = _WIDTHS[_type(root.operands[1])]
        for number, extent in enumerate(_extents(root)):
            loop = Loop(extent, tuple(view.stride(number) for view in self._views))
            a, b, *_ = loop.strides
            if number not in indices:
                sums.append(loop)
            elif b == 0:
                rows.append(loop)
            elif b == width and a in (0, width):
                (pairs if a else lanes).append(loop)
            else:
                outer.append(loop)
        if lanes:
            outer += pairs
        found = merged(lanes or pairs)
        if len(found) != 1 or found[0].extent < _FEWEST_LANES:
            raise Unsupported("a result without enough neighboring lanes")
        dtypes = tuple(_type(view.value) for view in self._views)
        for number, dtype in enumerate(dtypes):
            if number >= RESULT and found[0].strides[number] != _WIDTHS[dtype]:
                raise Unsupported("an operand whose lanes are not neighbors")
        if initial is not None and any(loop.strides[initial] for loop in rows):
            raise Unsupported("sums that start from different values for each row")
        product = Product(
            dtypes=dtypes,
            outer=merged(outer),
            rows=merged(rows),
            lanes=found[0],
            sums=tuple(sums),
            initial=initial,
            epilogue=tuple(self._nodes),
        )
        return Dispatch(product, tuple(view.value for view in self._views))


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
        width = _WIDTHS.get(_type(value))
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
    extents: dict[int, int] = {}
    for operand, map_ in zip(root.operands, _maps(root), strict=True):
        for extent, index in zip(operand.type.shape, map_.results, strict=True):
            if isinstance(index, ir.AffineDimExpr):
                extents[ir.AffineDimExpr(index).position] = extent
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


def _buffer(value: Any) -> Any:
    owner = ir_util.definition(value)
    if owner is None or owner.name != _LOAD:
        raise Unsupported("an operand that is computed first")
    return owner.operands[0]


def _type(value: Any) -> str:
    type_ = value.type
    return str(type_.element_type) if isinstance(type_, ir.ShapedType) else str(type_)


def _number(constant: Any) -> float:
    attribute = constant.attributes["value"]
    if isinstance(attribute, ir.IntegerAttr):
        return int(ir.IntegerAttr(attribute).value)
    if isinstance(attribute, ir.FloatAttr):
        return float(ir.FloatAttr(attribute).value)
    raise Unsupported("a constant that is no number")


def _high_product(op: Any) -> list[Any] | None:
    """The factors of trunc((ext(a) * ext(b)) >> 32), None for anything else."""
    if op.name != "arith.trunci" or str(op.operands[0].type) != "i64":
        return None
    shift = ir_util.definition(op.operands[0])
    if shift is None or shift.name not in ("arith.shrui", "arith.shrsi"):
        return None
    product = ir_util.definition(shift.operands[0])
    if product is None or product.name != "arith.muli":
        return None
    if ir_util.constant(shift.operands[1]) != 32:
        return None
    factors = [_narrow(operand) for operand in product.operands]
    return None if any(factor is None for factor in factors) else factors


def _narrow(value: Any) -> Any:
    """The i32 that was extended to an i64, or a constant that is one; None for anything else."""
    owner = ir_util.definition(value)
    if owner is not None and owner.name == "arith.extsi" and _type(owner.operands[0]) == "i32":
        return owner.operands[0]
    if owner is not None and owner.name == "arith.constant" and -(2**31) <= _number(owner) < 2**31:
        return value
    return None
