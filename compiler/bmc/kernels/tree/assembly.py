"""Assembly text for RV32 and RV64 with vectors, and the registers it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bmc.kernels.problem.product import Unsupported
from bmc.kernels.tree import rvv, tree
from bmc.kernels.tree.tree import Node, Repeat, Skippable, Within, fits

# ra and the registers that the psABI reserves are left alone, and so is s0, a frame pointer.
_INTEGERS = [*range(10, 18), *range(5, 8), *range(28, 32), 9, *range(18, 28)]
_MOST_ARGUMENTS = 16
# The registers that a function may change come first: others take two more instructions, to save and restore them.
_FLOATS = [*range(8), *range(10, 18), *range(28, 32)]
_SAVED_FLOATS = [8, 9, *range(18, 28)]


class TooManyRegisters(Unsupported):
    """A kernel needs more registers than there are."""

    def __init__(self) -> None:
        super().__init__("a kernel that needs so many registers")


@dataclass(frozen=True)
class Kernel:
    """Assembly text.

    Attributes:
      text: the instructions.
      arguments: registers with the operands' addresses, one more for a buffer of `scratch` bytes, if it has any, and
        those with `start_offsets`.
      clobbered: other registers that it changes.
      scratch: bytes of memory that it needs.
      in_memory: whether there is one argument only, the address of a table with the operands' addresses.
      executed: instructions that it executes: the most, where that depends on indices or on `start_offsets`.
      nodes: its loops and branches.
      start_offsets: of a piece of a kernel, what it is told about where it begins: an edge of the product's padding, by
        its number, or LANES.
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
    """Builds the text of one kernel.

    Attributes:
      arguments: registers that hold the operands' addresses at the beginning; they may be changed.
    """

    def __init__(self, arguments: int) -> None:
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
        """Adds an argument."""
        name = self.register()
        self.arguments.append(name)
        return name

    def text(self) -> str:
        return tree.text(self._nodes, self._labels + 1)

    def kernel(
        self, scratch: int = 0, *, in_memory: bool = False, start_offsets: Iterable[int] = ()
    ) -> Kernel:
        """Returns what was emitted; arguments as the attributes of Kernel."""
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
        """Takes a free integer register."""
        if not self._free:
            raise TooManyRegisters
        name = f"x{self._free.pop(0)}"
        self._used.add(name)
        return name

    def release(self, *names: str) -> None:
        self._free = [int(name[1:]) for name in names] + self._free

    @contextmanager
    def registers(self, count: int) -> Iterator[list[str]]:
        """Takes registers for a while."""
        names = [self.register() for _ in range(count)]
        yield names
        self.release(*names)

    def take_float(self) -> str:
        """Takes a free float register."""
        free = self._floats or self._saved_floats
        if not free:
            raise TooManyRegisters
        name = f"f{free.pop(0)}"
        self._used.add(name)
        return name

    def give_float(self, name: str) -> None:
        number = int(name[1:])
        (self._saved_floats if number in _SAVED_FLOATS else self._floats).append(number)

    def set(self, register: str, value: int) -> None:
        self.emit(rvv.load_immediate(register, value))

    def move(self, to: str, source: str) -> None:
        self.emit(rvv.move(to, source))

    def load(self, register: str, offset: int, address: str, bits: int) -> None:
        """Loads an integer of 8, 16 or 32 bits, with its sign."""
        self.emit(rvv.load_integer(bits, register, offset, address))

    def add(self, register: str, value: int, constant: str = "") -> None:
        """Adds a constant; `constant` names a register that already holds it if it is large."""
        if value == 0:
            return
        if fits(value):
            self.emit(rvv.add_immediate(register, register, value))
        elif constant:
            self.emit(rvv.add(register, register, constant))
        else:
            with self.registers(1) as (temporary,):
                self.set(temporary, value)
                self.emit(rvv.add(register, register, temporary))

    def within(
        self, index: str, extent: str, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Emits two texts, of which one runs: the first if the number in `index` is at least 0 and less than `extent`.

        The second one, which runs less often, comes behind all others.
        """
        branch = Within(index, extent, self._label(), self._label())
        self._nodes.append(branch)
        self._inside(branch.then, then)
        self._inside(branch.otherwise, otherwise)

    def repeat(self, count: int, body: Callable[[], None]) -> None:
        """Emits a loop, or only its body if it runs once."""
        assert count > 0, "a loop that never runs"
        if count == 1:
            body()
            return
        label = self._label()
        with self.registers(1) as (counter,):
            self.set(counter, count)
            loop = Repeat(count, counter, label)
            self._nodes.append(loop)
            self._inside(loop.body, body)

    def skippable(self, body: Callable[[str], None]) -> None:
        """Emits what `body` does, which gets a label for branches to its end."""
        node = Skippable(self._label())
        self._nodes.append(node)
        self._inside(node.body, lambda: body(f"{node.label}f"))

    def _label(self) -> int:
        self._labels += 1
        return self._labels

    def _inside(self, nodes: list[Node], body: Callable[[], None]) -> None:
        """Runs something that emits into other nodes."""
        outside, self._nodes = self._nodes, nodes
        body()
        self._nodes = outside
