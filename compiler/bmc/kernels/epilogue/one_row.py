"""Computes what becomes of a row of sums, in groups of vector registers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bmc.kernels.dtypes import FLOATS
from bmc.kernels.epilogue.constants import Constants, bits_of, set_float
from bmc.kernels.epilogue.groups import Groups
from bmc.kernels.ops import OPS, Op
from bmc.kernels.problem.product import RESULT, Node, Unsupported, last_readers
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.lanes import Lanes, transfer

# Read from registers of their own.
_SCALARS = {"constant", "scalar"}


@functools.cache
def temporaries(nodes: tuple[Node, ...], lmul: int, stores: bool = True) -> int:
    """Returns how many groups of `lmul` registers an epilogue needs besides that of the sums; `stores` as in emit().

    Raises:
      Unsupported: it contains what no instruction computes.
    """
    groups = Groups(list(range(32)))
    Epilogue(Assembly(0), nodes, 0, groups, lambda _: "", Lanes(0, lmul, ""), {}).write(stores)
    return groups.most


def emit(
    out: Assembly,
    nodes: tuple[Node, ...],
    group: int,
    free: list[int],
    addresses: Callable[[int], str],
    lanes: Lanes,
    constants: Constants,
    stores: bool = True,
) -> None:
    """Emits the epilogue of one row and the store of its result. Elements have the bits of `lanes` before and
    after it.

    Args:
      out: receives the text.
      nodes: the epilogue.
      group: number of the sums' group.
      free: groups that may be overwritten, at least as many as temporaries() returns, the lowest among them.
      addresses: returns the register with an operand's address for this row; it may emit what loads it.
      lanes: the groups' shape.
      constants: registers with constants.
      stores: whether the result is stored; otherwise it is in the sums' group, if these are its first argument.
    """
    Epilogue(out, nodes, group, Groups(sorted(free)), addresses, lanes, constants).write(stores)


@dataclass
class Epilogue:
    """Writes the epilogue of one row; arguments are those of emit().

    Attributes:
      kept: numbers of the values that are also needed for other rows.
      ahead: bytes from an address to a scalar of this row, by its operand.
      held: the group of each value that is still needed.
    """

    out: Assembly
    nodes: tuple[Node, ...]
    group: int
    groups: Groups
    addresses: Callable[[int], str]
    lanes: Lanes
    constants: Constants
    kept: frozenset[int] = frozenset()
    ahead: Mapping[int, int] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)

    @functools.cached_property
    def _last(self) -> Mapping[int, int]:
        return last_readers(self.nodes)

    def write(self, stores: bool) -> None:
        for number in range(len(self.nodes)):
            self.compute(number)
        if stores:
            self.store()

    def store(self, ends: bool = True) -> None:
        """Emits the store of the result; `ends` is whether elements are as wide as before afterwards in any case."""
        result = replace(self.nodes[-1], operand=RESULT)
        self._store(len(self.nodes) - 1, result, keep=False, ends=ends or result.op != "requantize")

    def compute(self, number: int) -> None:
        """Emits one of the nodes."""
        node = self.nodes[number]
        if node.op == "store":
            (arg,) = node.args
            dies = self._last[arg] == number
            self._store(arg, node, keep=not dies)
            if dies:
                self.groups.give(self.held.pop(arg))
        elif node.op == "requantize":
            clip([self], number)
        elif node.args and (node.op != "lookup" or number < len(self.nodes) - 1):
            # The last lookup is loaded as it is stored.
            vectors, sources = self._sources(node)
            dying = self._dying(number, vectors)
            target = dying[0] if dying else self.groups.take()
            self._operate(node, target, sources, vectors)
            self._settle(number, vectors, target)

    def begin_clip(self, number: int) -> tuple[str, str]:
        """Returns the group that is clipped, and the one with its shifts, "" if they are no vector."""
        node = self.nodes[number]
        vectors, sources = self._sources(node)
        dying = self._dying(number, vectors)
        target = dying[0] if dying else self.groups.take()
        self._settle(number, vectors, target)
        return self._name(target), self._name(sources[-1]) if len(sources) > 1 else ""

    def _sources(self, node: Node) -> tuple[list[int], list[int]]:
        """Returns the arguments that an operation reads from vectors, and their groups."""
        vectors = self._in_vectors(node)
        return vectors, [self.vector(arg) for arg in vectors]

    def _dying(self, number: int, vectors: list[int]) -> list[int]:
        """Returns the groups that nothing needs after a node."""
        dying = [arg for arg in vectors if self._last[arg] == number and arg not in self.kept]
        return list(dict.fromkeys(self.held[arg] for arg in dying))

    def _settle(self, number: int, vectors: list[int], target: int) -> None:
        """Gives back the groups that nothing needs after a node, whose value is in another one."""
        dying = self._dying(number, vectors)
        for arg in vectors:
            if self._last[arg] == number and arg not in self.kept:
                self.held.pop(arg, None)
        for group in dying:
            if group != target:
                self.groups.give(group)
        self.held[number] = target

    def _in_vectors(self, node: Node) -> list[int]:
        """Returns which arguments an operation reads from vectors; one at least."""
        ops = {arg: self.nodes[arg].op for arg in node.args}
        vectors = [arg for arg in node.args if ops[arg] not in _SCALARS]
        if vectors:
            return vectors
        scalars = [arg for arg in node.args if ops[arg] == "scalar"]
        if not scalars:
            raise Unsupported(f"{node.op} of constants")
        return [arg for arg in node.args if arg == scalars[0]]

    def vector(self, number: int) -> int:
        """Returns the group of a value. It is loaded when its first reader comes."""
        if number not in self.held:
            node = self.nodes[number]
            if node.op == "sum":
                self.held[number] = self.group
            elif node.op == "load":
                self.held[number] = self.groups.take()
                self._load(node, self.held[number])
            elif node.op == "scalar":
                self.held[number] = self.groups.take()
                to, source = self._name(self.held[number]), self.scalar(node)
                self.out.emit(rvv.splat_number(node.dtype, to, source))
            else:
                raise Unsupported(f"a result that is a {node.op}")
        return self.held[number]

    def _name(self, group: int) -> str:
        return f"v{group * self.lanes.lmul}"

    def _operate(self, node: Node, target: int, sources: list[int], vectors: list[int]) -> None:
        to, first = self._name(target), self._name(sources[0])
        if node.op == "lookup":
            narrow = self.groups.take()
            self._look_up(node, sources[0], narrow)
            self.lanes.use(self.out, 32)
            self.out.emit(rvv.extend(4, to, self._name(narrow)))
            self.groups.give(narrow)
            return
        if node.op == "fma":
            self._multiply_add(node, target)
            return
        op = OPS[node.op]
        if op.mnemonic or op.limits:
            self._combine(op, node, target, sources, vectors)
            return
        if not op.lines:
            if target != sources[0]:
                self.out.emit(rvv.copy(to, first))
            return
        if len(sources) != op.arity:
            raise Unsupported(f"{op.name} of a constant")
        if op.uses_mask:
            self.groups.use_mask()
        names = [self._name(source) for source in sources]
        for line in op.lines:
            self.out.emit(line.format(*names, to=to))

    def _combine(
        self, op: Op, node: Node, target: int, sources: list[int], vectors: list[int]
    ) -> None:
        """Emits an operation of two vectors, or of a vector and a constant or scalar."""
        to, first = self._name(target), self._name(sources[0])
        places = [n for n, arg in enumerate(node.args) if arg not in vectors]
        if not places:
            if op.limits:
                self._choose(op.name, target, *sources)
            else:
                self.out.emit(rvv.binary(op.mnemonic, to, first, self._name(sources[-1])))
            return
        number = self.nodes[node.args[places[0]]]
        is_constant = number.op == "constant"
        if op.limits:
            if not is_constant or math.isnan(number.value):
                raise Unsupported(f"{op.name} with what may be a NaN")
            self.groups.use_mask()
            limit = self.scalar(number)
            self.out.emit(rvv.binary(op.limits, "v0", first, limit))
            self.out.emit(rvv.choose(to, first, limit))
            return
        mnemonic = op.mnemonic
        if places[0] == 0 and not op.commutes:
            if not op.reversed:
                raise Unsupported(f"{op.name} of a constant")
            mnemonic = op.reversed
        if is_constant and op.immediates and int(number.value) in op.immediates:
            self.out.emit(rvv.binary_immediate(mnemonic, to, first, int(number.value)))
        else:
            self.out.emit(rvv.binary(mnemonic, to, first, self.scalar(number)))

    def _choose(self, op: str, target: int, one: int, other: int) -> None:
        """Emits the larger or smaller one of two floats, or the NaN of the two."""
        if target == other:
            one, other = other, one
        to, x, y = (self._name(group) for group in (target, one, other))
        limits = (x, y) if op == "maximumf" else (y, x)
        self.groups.use_mask()
        self.out.emit(rvv.binary("vmfle", "v0", *limits))
        self.out.emit(rvv.choose(to, x, y))
        self.out.emit(rvv.binary("vmfne", "v0", y, y))
        self.out.emit(rvv.choose(to, to, y))

    def _multiply_add(self, node: Node, target: int) -> None:
        """Emits x * y + z, of which one factor is a constant, rounded once."""
        *factors, added = node.args
        vectors = [arg for arg in factors if self.nodes[arg].op not in _SCALARS]
        constants = [self.nodes[arg] for arg in factors if self.nodes[arg].op == "constant"]
        if len(vectors) != 1 or len(constants) != 1 or added not in self.held:
            raise Unsupported("fma of other operands than two vectors and a constant")
        to, number = self._name(target), self.scalar(constants[0])
        x, z = self.held[vectors[0]], self.held[added]
        if target == x:
            self.out.emit(rvv.multiply_add("vfmadd", to, number, self._name(z)))
            return
        if target != z:
            self.out.emit(rvv.copy(to, self._name(z)))
        self.out.emit(rvv.multiply_add("vfmacc", to, number, self._name(x)))

    def scalar(self, node: Node) -> str:
        """Returns a register with a constant or scalar, for the next instructions."""
        is_float, is_loaded = node.dtype in FLOATS, node.op == "scalar"
        if node.value == 0 and not is_float and not is_loaded:
            return "zero"
        bits = bits_of(node) if is_float else int(node.value)
        if not is_loaded and (node.dtype, bits) in self.constants:
            return self.constants[node.dtype, bits]
        if not is_float:
            with self.out.registers(1) as (register,):
                if is_loaded:
                    address = self.addresses(node.operand)
                    ahead = self.ahead.get(node.operand, 0)
                    self.out.emit(rvv.load_number(node.dtype, register, ahead, address))
                else:
                    self.out.set(register, bits)
                return register
        name = self.out.take_float()
        self.out.give_float(name)
        if is_loaded:
            ahead = self.ahead.get(node.operand, 0)
            address = self.addresses(node.operand)
            self.out.emit(rvv.load_number(node.dtype, name, ahead, address))
            if self._is_half(node):
                self.out.emit(rvv.half_to_float(name, name))
        else:
            set_float(self.out, name, node.dtype, bits)
        return name

    def _load(self, node: Node, group: int) -> None:
        lmul = self.lanes.lmul
        to = group * lmul
        is_half = self._is_half(node)
        if node.dtype != "i8" and not is_half:
            self._transfer(False, self.lanes.bits, to, node.operand)
            return
        parts = 2 if is_half else 4
        if lmul >= parts:
            # The narrow elements may be in the last part of the wide ones' group.
            narrow = to + lmul - lmul // parts
        else:
            other = self.groups.take()
            narrow = other * lmul
            self.groups.give(other)
        if is_half:
            self.lanes.use(self.out, 16)
        self._transfer(False, 32 // parts, narrow, node.operand)
        if is_half:
            self.out.emit(rvv.extend_float(f"v{to}", f"v{narrow}"))
            self.lanes.use(self.out, 32)
        else:
            self.out.emit(rvv.extend(4, f"v{to}", f"v{narrow}"))

    def _is_half(self, node: Node) -> bool:
        """Whether elements are f16 in memory, and f32 where they are computed with."""
        return node.dtype == "f16" and self.lanes.bits == 32

    def _look_up(self, node: Node, index: int, to: int) -> None:
        """Emits the load of a group of bytes from a table, which may be the lowest part of the index's group."""
        self.lanes.use(self.out, 8)
        address = self.addresses(node.operand)
        self.out.emit(rvv.look_up(self._name(to), address, self._name(index)))

    def _store(self, number: int, node: Node, keep: bool, ends: bool = True) -> None:
        """Emits the store of a value to a node's operand; `keep` says that the value is needed again."""
        if self.nodes[number].op == "lookup" and number not in self.held:
            group = self.vector(self.nodes[number].args[0])
            self._look_up(self.nodes[number], group, group)
            self._transfer(True, 8, group * self.lanes.lmul, node.operand)
            self.lanes.use(self.out, 32)
            return
        group = self.vector(number)
        is_half = self._is_half(node)
        if node.dtype != "i8" and not is_half:
            self._transfer(True, self.lanes.bits, group * self.lanes.lmul, node.operand)
            return
        narrow = self.groups.take() if keep else group
        source = self._name(group)
        if is_half:
            self.lanes.use(self.out, 16)
            self.out.emit(rvv.truncate_float(self._name(narrow), source))
        for bits in (16, 8) if not is_half and self.nodes[number].op != "requantize" else ():
            self.lanes.use(self.out, bits)
            self.out.emit(rvv.truncate(self._name(narrow), source))
            source = self._name(narrow)
        self._transfer(True, 16 if is_half else 8, narrow * self.lanes.lmul, node.operand)
        if ends:
            self.lanes.use(self.out, 32)
        if keep:
            self.groups.give(narrow)

    def _transfer(self, store: bool, bits: int, register: int, operand: int) -> None:
        address = self.addresses(operand)
        transfer(self.out, store, bits, register, operand, address, self.lanes)


def clip(rows: list[Epilogue], number: int) -> None:
    """Emits the divisions, additions and limits of a node that is "requantize", for several rows at a time.

    The elements are as narrow as the result's afterwards.
    """
    first = rows[0]
    out, lanes, nodes = first.out, first.lanes, first.nodes
    shift, zero, low, high = (nodes[arg] for arg in nodes[number].args[1:])
    registers = []
    for row in rows:
        register, shifts = row.begin_clip(number)
        registers.append(register)
        if shifts:
            out.emit(rvv.binary("vssra", register, register, shifts))
            shift = Node("constant", "i32", value=0)

    def all_rows(line: Callable[[str, str], str]) -> None:
        for register in registers:
            out.emit(line(register, register))

    lanes.use(out, 16)
    if shift.op == "constant":
        bits = int(shift.value)
        all_rows(lambda to, source: rvv.clip(to, source, bits))
    else:
        for row, register in zip(rows, registers, strict=True):
            out.emit(rvv.clip(register, register, row.scalar(shift)))
    if -16 <= zero.value < 16:
        if zero.value:
            added = int(zero.value)
            all_rows(lambda to, source: rvv.binary_immediate("vsadd", to, source, added))
    else:
        number_ = first.scalar(zero)
        all_rows(lambda to, source: rvv.binary("vsadd", to, source, number_))
    lanes.use(out, 8)
    all_rows(lambda to, source: rvv.clip(to, source, 0))
    # The ends of an int8 are limits already.
    if low.value > -128:
        least = first.scalar(low)
        all_rows(lambda to, source: rvv.binary("vmax", to, source, least))
    if high.value < 127:
        most = first.scalar(high)
        all_rows(lambda to, source: rvv.binary("vmin", to, source, most))
