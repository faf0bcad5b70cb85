"""Writes the epilogue of one row: its nodes in order, from the accumulator to the store of the result."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bmc.kernels.dtypes import FLOATS, HALVES
from bmc.kernels.ops import OPS, Op
from bmc.kernels.problem.product import RESULT, Node, last_readers
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Constants
from bmc.kernels.tree.vectors import Lanes, Vectors, part
from bmc.kernels.unsupported import Unsupported

# Operations whose values are in scalar registers, not in vectors.
_SCALARS = {"constant", "scalar"}
# Operations that an instruction computes, so that each NaN among their values is the canonical one.
_CANONICAL = {"addf", "subf", "mulf", "divf", "fma"}
# The group whose first register holds masks.
_MASK = "v0"
# Registers of a hart that would have more than any epilogue needs.
_MANY = 256


@functools.cache
def temporaries(nodes: tuple[Node, ...], lmul: int, stores: bool = True) -> int:
    """Returns how many groups of `lmul` registers an epilogue needs besides the accumulator; `stores` as in emit()."""
    vectors = Vectors(_MANY)
    group = vectors.take(lmul)
    Epilogue(Assembly(0, vectors), nodes, group, lambda _: "", Lanes(0, lmul, ""), {}).write(stores)
    return vectors.peak // lmul - 1


def emit(
    out: Assembly,
    nodes: tuple[Node, ...],
    group: str,
    addresses: Callable[[int], str],
    lanes: Lanes,
    constants: Constants,
    stores: bool = True,
    multiplied: bool = True,
) -> None:
    """Emits the epilogue of one row and the store of its result. SEW is `lanes.bits` before and after it.

    Args:
      out, nodes: the receiver of the instructions, and the epilogue.
      group: the accumulator, which is free afterwards if the result is stored. As many groups as temporaries() returns
        must be free, with v0 for masks.
      addresses: returns the register with an operand's address for this row, and may emit the instructions for it.
      lanes: shape of the groups.
      constants: registers with constants.
      stores: whether to store the result. Otherwise it replaces the accumulator if that is the first argument.
      multiplied: whether the accumulator is a sum of products, and not of what was loaded.
    """
    epilogue = Epilogue(out, nodes, group, addresses, lanes, constants, multiplied=multiplied)
    epilogue.write(stores)


@dataclass
class Epilogue:
    """Writes the epilogue of one row.

    Attributes:
      out, nodes, group, addresses, lanes, constants, multiplied: as in emit().
      shared: nodes whose groups other rows need too.
      scalar_offsets: bytes from the address of an operand to the scalar of this row, by operand.
      held: the group of each live value, by node.
    """

    out: Assembly
    nodes: tuple[Node, ...]
    group: str
    addresses: Callable[[int], str]
    lanes: Lanes
    constants: Constants
    shared: frozenset[int] = frozenset()
    scalar_offsets: Mapping[int, int] = field(default_factory=dict)
    held: dict[int, str] = field(default_factory=dict)
    multiplied: bool = True

    @functools.cached_property
    def _last(self) -> Mapping[int, int]:
        return last_readers(self.nodes)

    def write(self, stores: bool) -> None:
        """Emits all nodes."""
        for number in range(len(self.nodes)):
            self.compute(number)
        if stores:
            self.store()

    def store(self, restores_width: bool = True) -> None:
        """Emits the store of the result. If not `restores_width`, SEW stays 8 after requantize."""
        result = replace(self.nodes[-1], operand=RESULT)
        restores = restores_width or result.op != "requantize"
        self._store(len(self.nodes) - 1, result, keep=False, restores_width=restores)
        self.out.vectors.give(*self.held.values())

    def compute(self, number: int) -> None:
        """Emits one of the nodes."""
        node = self.nodes[number]
        if node.op == "store":
            (arg,) = node.args
            is_last_use = self._last[arg] == number
            self._store(arg, node, keep=not is_last_use)
            if is_last_use:
                self.out.vectors.give(self.held.pop(arg))
        elif node.op == "requantize":
            requantize([self], number)
        elif node.args and (node.op != "lookup" or number < len(self.nodes) - 1):
            # _store() emits a lookup that is the result: the loaded bytes are stored as they are.
            vectors, sources, target = self._operands(number)
            self._operate(node, target, sources, vectors)
            self._settle(number, vectors, target)

    def begin_requantize(self, number: int) -> tuple[str, str]:
        """Prepares a requantize; returns the register it works on, and the one with shifts, "" if they are a scalar."""
        vectors, sources, target = self._operands(number)
        self._settle(number, vectors, target)
        return target, sources[-1] if len(sources) > 1 else ""

    def _operands(self, number: int) -> tuple[list[int], list[str], str]:
        """Returns the arguments of a node that are vectors, their groups, and the group for its value."""
        vectors = self._vector_args(self.nodes[number])
        sources = [self.vector(arg) for arg in vectors]
        # v0 is for masks, if it can be.
        dead = [self.held[arg] for arg in self._dead(number, vectors)]
        return (
            vectors,
            sources,
            min(dead, key=lambda group: group == _MASK) if dead else self._take(),
        )

    def _dead(self, number: int, vectors: list[int]) -> list[int]:
        """Returns the arguments that are dead after a node."""
        return [
            arg
            for arg in dict.fromkeys(vectors)
            if self._last[arg] == number and arg not in self.shared
        ]

    def _settle(self, number: int, vectors: list[int], target: str) -> None:
        """Frees the groups that are dead after a node, whose value is in the group `target`."""
        dead = dict.fromkeys(self.held.pop(arg) for arg in self._dead(number, vectors))
        self.out.vectors.give(*(group for group in dead if group != target))
        self.held[number] = target

    def _vector_args(self, node: Node) -> list[int]:
        """Returns the arguments of a node that are vectors; if there is none, a scalar that is splatted."""
        ops = {arg: self.nodes[arg].op for arg in node.args}
        vectors = [arg for arg in node.args if ops[arg] not in _SCALARS]
        if vectors:
            return vectors
        scalars = [arg for arg in node.args if ops[arg] == "scalar"]
        if not scalars:
            raise Unsupported(f"{node.op} of constants")
        return [arg for arg in node.args if arg == scalars[0]]

    def vector(self, number: int) -> str:
        """Returns the group of a value, which is loaded when it is first read."""
        if number not in self.held:
            node = self.nodes[number]
            if node.op == "sum":
                self.held[number] = self.group
            elif node.op == "load":
                self.held[number] = self._take()
                self._load(node, self.held[number])
            elif node.op == "scalar":
                self.held[number] = self._take()
                source = self.scalar(node)
                self.out.emit(rvv.splat(self.held[number], source))
            else:
                raise Unsupported(f"an epilogue whose result is a {node.op}")
        return self.held[number]

    def _take(self) -> str:
        return self.out.vectors.take(self.lanes.lmul)

    def _operate(self, node: Node, to: str, sources: list[str], vectors: list[int]) -> None:
        """Emits a node into the group `to`; `sources` are the groups of its arguments in `vectors`."""
        if node.op == "lookup":
            narrow = self._take()
            self._look_up(node, sources[0], narrow)
            self.out.use(self.lanes, 32)
            self.out.emit(rvv.extend(4, to, narrow))
            self.out.vectors.give(narrow)
            return
        if node.op == "fma":
            self._multiply_add(node, to)
            return
        op = OPS[node.op]
        if op.mnemonic or op.limits:
            self._binary(op, node, to, sources, vectors)
            return
        if not op.lines:
            if to != sources[0]:
                self.out.emit(rvv.copy(to, sources[0]))
            return
        if len(sources) != op.arity:
            raise Unsupported(f"{op.name} of a constant")
        if op.uses_mask:
            self.out.vectors.use_mask(self.lanes.lmul)
        for line in op.lines:
            self.out.emit(line.format(*sources, to=to))

    def _binary(self, op: Op, node: Node, to: str, sources: list[str], vectors: list[int]) -> None:
        """Emits an operation with two arguments: two vectors, or a vector and a constant or scalar."""
        first = sources[0]
        scalar_args = [n for n, arg in enumerate(node.args) if arg not in vectors]
        if not scalar_args:
            if op.limits:
                self._maximum(op.name, to, *sources)
            else:
                self.out.emit(rvv.binary(op.mnemonic, to, first, sources[-1]))
            return
        number = self.nodes[node.args[scalar_args[0]]]
        is_constant = number.op == "constant"
        if op.limits:
            if not is_constant or math.isnan(number.value):
                raise Unsupported(f"{op.name} with a scalar that may be a NaN")
            source = self.nodes[vectors[0]].op
            is_canonical = source in _CANONICAL or (source == "sum" and self.multiplied)
            if op.name == "maximumf" and number.value == 0 and is_canonical:
                # Bits of negative floats are negative integers. A NaN that an instruction computes is positive.
                self.out.emit(rvv.binary("vmax", to, first, "zero"))
                return
            self.out.vectors.use_mask(self.lanes.lmul)
            limit = self.scalar(number)
            self.out.emit(rvv.binary(op.limits, "v0", first, limit))
            self.out.emit(rvv.choose(to, first, limit))
            return
        mnemonic = op.mnemonic
        if scalar_args[0] == 0 and not op.commutes:
            if not op.reversed:
                raise Unsupported(f"{op.name} of a constant")
            mnemonic = op.reversed
        is_immediate = is_constant and op.immediates and int(number.value) in op.immediates
        other = int(number.value) if is_immediate else self.scalar(number)
        self.out.emit(rvv.binary(mnemonic, to, first, other))

    def _maximum(self, op: str, to: str, x: str, y: str) -> None:
        """Emits the larger or smaller of two floats, and a NaN if one of them is a NaN."""
        # y is read last, so it must not be the target.
        if to == y:
            x, y = y, x
        limits = (x, y) if op == "maximumf" else (y, x)
        self.out.vectors.use_mask(self.lanes.lmul)
        self.out.emit(rvv.binary("vmfle", "v0", *limits))
        self.out.emit(rvv.choose(to, x, y))
        self.out.emit(rvv.binary("vmfne", "v0", y, y))
        self.out.emit(rvv.choose(to, to, y))

    def _multiply_add(self, node: Node, to: str) -> None:
        """Emits a fused x * constant + z."""
        *factors, added = node.args
        vectors = [arg for arg in factors if self.nodes[arg].op not in _SCALARS]
        constants = [self.nodes[arg] for arg in factors if self.nodes[arg].op == "constant"]
        if len(vectors) != 1 or len(constants) != 1 or added not in self.held:
            raise Unsupported("fma of operands other than two vectors and a constant")
        number = self.scalar(constants[0])
        x, z = self.held[vectors[0]], self.held[added]
        if to == x:
            self.out.emit(rvv.multiply_add("vfmadd", to, number, z))
            return
        if to != z:
            self.out.emit(rvv.copy(to, z))
        self.out.emit(rvv.multiply_add("vfmacc", to, number, x))

    def scalar(self, node: Node) -> str:
        """Returns a register with a constant or scalar, which is valid until the next register is taken."""
        is_float, is_loaded = node.dtype in FLOATS, node.op == "scalar"
        if node.value == 0 and not is_float and not is_loaded:
            return "zero"
        if not is_loaded and (node.dtype, node.bits) in self.constants:
            return self.constants[node.dtype, node.bits]
        if not is_float:
            with self.out.registers(1) as (register,):
                if is_loaded:
                    address = self.addresses(node.operand)
                    offset = self.scalar_offsets.get(node.operand, 0)
                    self.out.emit(rvv.load_number(node.dtype, register, offset, address))
                else:
                    self.out.set(register, node.bits)
                return register
        name = self.out.take_float()
        self.out.give_float(name)
        if is_loaded:
            offset = self.scalar_offsets.get(node.operand, 0)
            address = self.addresses(node.operand)
            self.out.emit(rvv.load_number(node.dtype, name, offset, address))
            if self._is_half(node):
                self.out.emit(rvv.half_to_float(node.dtype, name, name))
        else:
            self.out.set_float(name, node.dtype, node.bits)
        return name

    def _load(self, node: Node, to: str) -> None:
        """Emits the load of a node's operand, widened to 32 bits if it is i8, or half of an f32."""
        lmul = self.lanes.lmul
        is_half = self._is_half(node)
        if node.dtype != "i8" and not is_half:
            self._transfer(False, self.lanes.bits, to, node.operand)
            return
        parts = 2 if is_half else 4
        if lmul >= parts:
            # RVV allows the source of a widening to overlap the highest part of the destination.
            narrow = part(to, lmul - lmul // parts)
        else:
            narrow = self._take()
            self.out.vectors.give(narrow)
        if is_half:
            self.out.use(self.lanes, 16)
        self._transfer(False, 32 // parts, narrow, node.operand)
        if is_half:
            self.out.emit(rvv.extend_float(node.dtype, to, narrow))
            self.out.use(self.lanes, 32)
        else:
            self.out.emit(rvv.extend(4, to, narrow))

    def _is_half(self, node: Node) -> bool:
        """Whether a node's elements are floats of 16 bits in memory and f32 in registers."""
        return node.dtype in HALVES and self.lanes.bits == 32

    def _look_up(self, node: Node, index: str, to: str) -> None:
        """Emits the load of bytes from a table at int32 indices; `to` may be the group of the indices."""
        self.out.use(self.lanes, 8)
        address = self.addresses(node.operand)
        self.out.emit(rvv.look_up(to, address, index))

    def _store(self, number: int, node: Node, keep: bool, restores_width: bool = True) -> None:
        """Emits the store of value `number` to the operand of `node`; `keep` is whether the value stays live."""
        if self.nodes[number].op == "lookup" and number not in self.held:
            group = self.vector(self.nodes[number].args[0])
            self._look_up(self.nodes[number], group, group)
            self._transfer(True, 8, group, node.operand)
            self.out.use(self.lanes, 32)
            return
        group = self.vector(number)
        is_half = self._is_half(node)
        if node.dtype != "i8" and not is_half:
            self._transfer(True, self.lanes.bits, group, node.operand)
            return
        narrow = self._take() if keep else group
        source = group
        if is_half:
            self.out.use(self.lanes, 16)
            self.out.emit(rvv.truncate_float(node.dtype, narrow, source))
        for bits in (16, 8) if not is_half and self.nodes[number].op != "requantize" else ():
            self.out.use(self.lanes, bits)
            self.out.emit(rvv.truncate(narrow, source))
            source = narrow
        self._transfer(True, 16 if is_half else 8, narrow, node.operand)
        if restores_width:
            self.out.use(self.lanes, 32)
        if keep:
            self.out.vectors.give(narrow)

    def _transfer(self, store: bool, bits: int, group: str, operand: int) -> None:
        self.out.transfer(store, bits, group, operand, self.addresses(operand), self.lanes)


def requantize(rows: list[Epilogue], number: int) -> None:
    """Emits a requantize node for several rows, which share the changes of SEW; SEW is 8 afterwards."""
    first = rows[0]
    out, lanes, nodes = first.out, first.lanes, first.nodes
    shift, zero, low, high = (nodes[arg] for arg in nodes[number].args[1:])
    registers = []
    for row in rows:
        register, shifts = row.begin_requantize(number)
        registers.append(register)
        if shifts:
            out.emit(rvv.binary("vssra", register, register, shifts))
            shift = Node("constant", "i32", value=0)
    out.use(lanes, 16)
    for row, register in zip(rows, registers, strict=True):
        bits = int(shift.value) if shift.op == "constant" else row.scalar(shift)
        out.emit(rvv.clip(register, register, bits))
    if zero.value:
        added = int(zero.value) if -16 <= zero.value < 16 else first.scalar(zero)
        for register in registers:
            out.emit(rvv.binary("vsadd", register, register, added))
    out.use(lanes, 8)
    for register in registers:
        out.emit(rvv.clip(register, register, 0))
    # vnclip has limited the values to the range of int8.
    for node, unlimited, mnemonic in ((low, -128, "vmax"), (high, 127, "vmin")):
        if node.value != unlimited:
            limit = first.scalar(node)
            for register in registers:
                out.emit(rvv.binary(mnemonic, register, register, limit))
