"""Records what one entry point does while its host program runs at build time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bmc.host.program import (
    Branch,
    Copy,
    HalCommand,
    Integer,
    Let,
    Load,
    Run,
    Slab,
    Span,
    Statement,
    Storage,
    StorageKind,
    Variable,
)


@dataclass
class EntryRecorder:
    """Commands, allocations and the statements between them, in the order of the host program.

    Attributes:
      commands: the commands so far.
      slabs: the allocations so far; `end` is -1 until they are freed.
      statements: the driver so far. flush() adds a statement for the latest commands.
      variable_bits: the width of each Variable so far.
      block: the basic block that is running.
      uses: every span that is read or written, with the block that does so.
      longest: the larger number, for each Variable that is one of two.
    """

    commands: list[HalCommand] = field(default_factory=list)
    slabs: list[Slab] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    variable_bits: list[int] = field(default_factory=list)
    block: int = 0
    uses: list[tuple[Span, int]] = field(default_factory=list)
    longest: dict[Integer, int] = field(default_factory=dict)
    _flushed: int = 0
    # For each slab, the block that allocates it and the block that frees it, -1 for none.
    _blocks: list[tuple[int, int]] = field(default_factory=list)

    def variable(self, bits: int) -> Variable:
        self.variable_bits.append(bits)
        return Variable(len(self.variable_bits) - 1, bits)

    def let(self, operation: str, operands: tuple[Integer, ...], bits: int) -> Variable:
        target = self.variable(bits)
        self.statements.append(Let(target, operation, operands))
        if operation == "vm.select.i64" and all(isinstance(value, int) for value in operands[1:]):
            self.longest[target] = max(value for value in operands[1:] if isinstance(value, int))
        return target

    def add(self, command: HalCommand) -> None:
        if not any(span.length for span in command.spans):
            return  # Of tensors without elements.
        if isinstance(command, Copy) and _overlap(command.source, command.target):
            # Part of a tensor moves within it (x[1:] = x[:-1]). The runtime copies in no fixed order.
            aside = self.allocate(command.source.length)
            self.add(Copy(command.source, aside))
            self.add(Copy(aside, command.target))
            self.free(aside.storage)
            return
        self.commands.append(command)
        self.uses += ((span, self.block) for span in command.spans)

    def load(self, source: Span) -> Variable:
        self.flush()
        self.uses.append((source, self.block))
        target = self.variable(32)
        self.statements.append(Load(target, source))
        return target

    def flush(self) -> None:
        """Makes the commands so far run before the next statement."""
        self.statements += self.new_commands()

    def branch(
        self, condition: Variable, then: Callable[[], object], otherwise: Callable[[], object]
    ) -> None:
        """Records both functions as the two sides of a branch."""
        self.flush()
        before = self.statements
        parts = []
        for part in (then, otherwise):
            self.statements = []
            part()
            self.flush()
            parts.append(tuple(self.statements))
        self.statements = before
        self.statements.append(Branch(condition, parts[0], parts[1]))

    def new_commands(self) -> tuple[Run, ...]:
        """Returns the statement that runs the commands since the last flush."""
        first, self._flushed = self._flushed, len(self.commands)
        return (Run(first, self._flushed),) if first != self._flushed else ()

    def allocate(self, length: int) -> Span:
        """Returns a slab that is alive from here until free()."""
        self.slabs.append(Slab(length, len(self.commands), -1))
        self._blocks.append((self.block, -1))
        return Span(Storage(StorageKind.SLAB, len(self.slabs) - 1, length), 0, length)

    def allocate_for_ever(self, length: int) -> Span:
        span = self.allocate(length)
        self.slabs[-1] = Slab(length, 0, -1)
        return span

    def free(self, storage: Storage) -> None:
        self.slabs[storage.index] = replace(self.slabs[storage.index], end=len(self.commands))
        self._blocks[storage.index] = (self._blocks[storage.index][0], self.block)

    def copy(self, source: Span, target: Span) -> None:
        self.add(Copy(source, target))

    def copy_all(self, copies: Sequence[tuple[Span, Span]]) -> None:
        """Copies sources to targets as if all at once. A source that is also a target is saved first."""
        moved = [(source, target) for source, target in copies if source != target]
        written = [target.storage for _, target in moved]
        staged = []
        for source, target in moved:
            if source.storage in written:
                aside = self.allocate_for_ever(source.length)
                self.copy(source, aside)
                source = aside
            staged.append((source, target))
        for source, target in staged:
            self.copy(source, target)

    def finished_slabs(self, loops: bool) -> tuple[Slab, ...]:
        """Returns the slabs with their lifetimes.

        Without loops, commands run in the order of the table, so a lifetime is a range of it. With loops,
        that is true only within one block.
        """
        count = len(self.commands)
        finished = []
        for slab, (first, last) in zip(self.slabs, self._blocks, strict=True):
            if slab.end < 0 or (loops and first != last):
                slab = Slab(slab.length, 0 if loops else slab.first, count)
            finished.append(slab)
        return tuple(finished)


def _overlap(a: Span, b: Span) -> bool:
    """Whether two spans certainly share a byte. The driver checks spans at run-time offsets."""
    known = isinstance(a.offset, int) and isinstance(b.offset, int) and a.storage == b.storage
    return known and a.start < b.start + b.length and b.start < a.start + a.length
