"""Emits instructions, loops and branches into a tree, and allocates registers, for RV32 and RV64 with vectors."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from bmc.kernels.tree import rvv, tree
from bmc.kernels.tree.tree import Add, Node, Repeat, Skippable, Within
from bmc.kernels.tree.vectors import Lanes, Vectors
from bmc.kernels.unsupported import Unsupported

# Allocatable integer registers, in order: all but ra, those that the psABI reserves, and the frame pointer s0.
_INTEGERS = [*range(10, 18), *range(5, 8), *range(28, 32), 9, *range(18, 28)]
_MOST_ARGUMENTS = 16
# Caller-saved float registers come first: each callee-saved one costs two instructions to save and restore it.
_FLOATS = [*range(8), *range(10, 18), *range(28, 32)]
_SAVED_FLOATS = [8, 9, *range(18, 28)]

# Scalar register of each constant, by its dtype and bits.
Constants = dict[tuple[str, int], str]


class TooManyRegisters(Unsupported):
    """A kernel needs more scalar registers than there are."""

    def __init__(self) -> None:
        super().__init__("a kernel that needs too many registers")


@dataclass(frozen=True)
class Kernel:
    """A kernel as assembly text.

    Attributes:
      text: the instructions.
      arguments: registers that hold the arguments: addresses of the operands, then the address of `scratch` bytes if
        there are any, then the start offsets.
      clobbered: other registers that the kernel changes.
      scratch: bytes of scratch memory.
      executed: instructions that run. If this depends on an operand's indices or on start offsets, the maximum.
      in_memory: whether the only argument is the address of a table with the operands' addresses.
      start_offsets: which start offsets a piece of a kernel takes: numbers of padded edges, and LANES.
      nodes: the tree of instructions, loops and branches.
    """

    text: str
    arguments: tuple[str, ...]
    clobbered: tuple[str, ...]
    scratch: int
    executed: int
    in_memory: bool = False
    start_offsets: tuple[int, ...] = ()
    nodes: tuple[Node, ...] = field(default=(), compare=False, repr=False)


class Assembly:
    """Builds one kernel.

    Args:
      arguments: how many arguments there are.
      vectors: the vector registers.

    Attributes:
      arguments: registers that hold the arguments at the start. The kernel may change them.
      vectors: the vector registers.
    """

    def __init__(self, arguments: int, vectors: Vectors | None = None) -> None:
        self.vectors = vectors or Vectors()
        self._nodes: list[Node] = []
        self._free = list(_INTEGERS)
        self._floats = list(_FLOATS)
        self._saved_floats = list(_SAVED_FLOATS)
        self._labels = 0
        self._used: set[str] = set()
        if arguments > _MOST_ARGUMENTS:
            raise TooManyRegisters
        self.arguments: list[str] = []
        for _ in range(arguments):
            self.argument()

    def argument(self) -> str:
        """Adds an argument, and returns its register."""
        name = self.register()
        self.arguments.append(name)
        return name

    def text(self) -> str:
        """Returns the instructions emitted so far."""
        return tree.text(self._nodes, self._labels + 1)

    def kernel(
        self, scratch: int = 0, *, in_memory: bool = False, start_offsets: Iterable[int] = ()
    ) -> Kernel:
        """Returns the kernel; arguments as in Kernel."""
        _drop_additions(self._nodes, self._used)
        for node in tree.every(self._nodes):
            if isinstance(node, Add) and node.needs_temporary:
                if not node.temporary:
                    raise TooManyRegisters
                self._used.add(node.temporary)
        return Kernel(
            self.text(),
            tuple(self.arguments),
            tuple(sorted(self._used - set(self.arguments))),
            scratch,
            tree.executed(self._nodes),
            in_memory,
            tuple(start_offsets),
            tuple(self._nodes),
        )

    def emit(self, line: str) -> None:
        """Emits an instruction, which a function of rvv.py returns."""
        self._nodes.append(line)

    @property
    def left(self) -> int:
        """How many integer registers are free."""
        return len(self._free)

    @property
    def has_registers(self) -> bool:
        """Whether an integer register is free."""
        return bool(self._free)

    def register(self) -> str:
        """Takes an integer register."""
        if not self._free:
            raise TooManyRegisters
        name = f"x{self._free.pop(0)}"
        self._used.add(name)
        return name

    def release(self, *names: str) -> None:
        """Frees integer registers. Additions to them that nothing reads are dropped."""
        _drop_additions(self._nodes, names)
        self._free = [int(name[1:]) for name in names] + self._free

    @contextmanager
    def registers(self, count: int) -> Iterator[list[str]]:
        """Takes `count` integer registers, which the end of the context frees."""
        names = [self.register() for _ in range(count)]
        yield names
        self.release(*names)

    def take_float(self) -> str:
        """Takes a float register."""
        free = self._floats or self._saved_floats
        if not free:
            raise TooManyRegisters
        name = f"f{free.pop(0)}"
        self._used.add(name)
        return name

    def give_float(self, name: str) -> None:
        """Frees a float register."""
        number = int(name[1:])
        (self._saved_floats if number in _SAVED_FLOATS else self._floats).append(number)

    def set(self, register: str, value: int) -> None:
        self.emit(rvv.load_immediate(register, value))

    def set_float(self, register: str, dtype: str, bits: int) -> None:
        """Emits the float with the bits `bits` into a float register."""
        with self.registers(1) as (integer,):
            self.set(integer, bits)
            self.emit(rvv.float_of_bits(dtype, register, integer))

    def move(self, to: str, source: str) -> None:
        self.emit(rvv.move(to, source))

    def load(self, register: str, offset: int, address: str, bits: int) -> None:
        """Emits the load of a signed integer of 8, 16 or 32 bits."""
        self.emit(rvv.load_integer(bits, register, offset, address))

    def use(self, lanes: Lanes, bits: int, mask: str = "ma") -> None:
        """Emits the vsetvli for elements of `bits` bits, 8 to 32, with mask policy `mask`, "ma" or "mu"."""
        numerator = lanes.lmul * bits
        whole = numerator >= lanes.bits
        group = f"m{numerator // lanes.bits}" if whole else f"mf{lanes.bits // numerator}"
        self.emit(rvv.set_lanes(lanes.length, bits, group, mask))

    def transfer(
        self, store: bool, bits: int, group: str, operand: int, address: str, lanes: Lanes
    ) -> None:
        """Emits the load or store of a group: contiguous, strided or gathered, as `lanes` says.

        Args:
          store: whether to store.
          bits: bits of an element.
          group: the group of registers.
          operand: number of the operand.
          address: integer register with the address of the first lane.
          lanes: shape of the group.
        """
        if operand in lanes.offsets:
            self.emit(rvv.transfer_indexed(store, bits, group, address, lanes.offsets[operand]))
        elif operand in lanes.strided:
            with self.registers(1) as (stride,):
                self.set(stride, lanes.strided[operand])
                self.emit(rvv.transfer_strided(store, bits, group, address, stride))
        else:
            self.emit(rvv.transfer(store, bits, group, address))

    def extend(self, lanes: Lanes, dtype: str, to: str, source: str) -> None:
        """Emits the widening of floats of 16 bits, whose type is `dtype`, to f32."""
        self.use(lanes, 16)
        self.emit(rvv.extend_float(dtype, to, source))
        self.use(lanes, 32)

    def add(self, register: str, value: int, constants: Mapping[int, str] = {}) -> None:
        """Emits the addition of `value`; arguments as in tree.Add.

        Additions to one register become one if only other additions are between them.
        """
        position = len(self._nodes)
        for index in range(len(self._nodes) - 1, -1, -1):
            last = self._nodes[index]
            if not isinstance(last, Add):
                break
            if last.register == register:
                value += last.value
                position = index
                del self._nodes[index]
                break
        if value:
            temporary = f"x{self._free[0]}" if self._free else ""
            self._nodes.insert(position, Add(register, value, constants, temporary))

    def within(
        self, index: str, extent: str, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Emits a branch: `then` runs if 0 <= `index` < `extent`, both registers, and `otherwise` if not.

        The text of `otherwise`, which runs less often, is placed behind the rest of the kernel.
        """
        branch = Within(index, extent, self._label(), self._label())
        self._nodes.append(branch)
        self._emit_into(branch.then, then)
        self._emit_into(branch.otherwise, otherwise)

    def repeat(self, count: int, body: Callable[[], None]) -> None:
        """Emits a loop, or only its body if `count` is 1."""
        assert count > 0, "a loop that never runs"
        if count == 1:
            body()
            return
        label = self._label()
        with self.registers(1) as (counter,):
            self.set(counter, count)
            loop = Repeat(count, counter, label)
            self._nodes.append(loop)
            self._emit_into(loop.body, body)

    def skippable(self, body: Callable[[str], None]) -> None:
        """Emits `body`, which gets a label for forward branches to its end."""
        node = Skippable(self._label())
        self._nodes.append(node)
        self._emit_into(node.body, lambda: body(f"{node.label}f"))

    def _label(self) -> int:
        self._labels += 1
        return self._labels

    def _emit_into(self, nodes: list[Node], body: Callable[[], None]) -> None:
        """Runs `body` so that it emits into `nodes`."""
        outside, self._nodes = self._nodes, nodes
        body()
        self._nodes = outside


def _drop_additions(nodes: list[Node], registers: Container[str]) -> None:
    """Removes the additions to registers at the end of nodes, and of a branch there."""
    for index in range(len(nodes) - 1, -1, -1):
        match nodes[index]:
            case Add(register=register):
                if register in registers:
                    del nodes[index]
            case Within(then=then, otherwise=otherwise):
                _drop_additions(then, registers)
                _drop_additions(otherwise, registers)
                return
            case _:
                return
