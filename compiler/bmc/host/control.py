"""Turns an entry point's control flow into a driver.

Follows the basic blocks of a function of the host program, each once. A branch with a known condition is
taken at build time. That leaves branches on values that the program reads back from its own results, and
loops over them. Where paths meet, integers that differ become variables. Buffers that differ get one slab
that each path copies into, so memory remains static at the price of one copy of every tensor that a loop
carries. Where each path has commands of its own for the block that follows, variables say whose commands run:
IREE makes one block of all branches of a switch that are alike. A function without such branches is a straight
line and needs no driver.

To find these blocks and arguments, the function runs again whenever an assumption was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bmc.errors import BmcError
from bmc.host import vm
from bmc.host.call import Call, returned
from bmc.host.program import (
    ALIGNMENT,
    Assign,
    Branch,
    Goto,
    HostFunction,
    Integer,
    Label,
    Return,
    Run,
    Span,
    Statement,
    StorageKind,
    Variable,
    View,
)
from bmc.host.vm import FENCE, VirtualMachine

# What helps if paths of a program that meet again have other things than buffers and numbers apart.
_ALIKE = "compute the branches of a condition one after the other, and choose among their results"


@dataclass
class _Assumptions:
    """Facts that earlier attempts found.

    Attributes:
      merged: (block, argument) that differs between paths -> bytes of its slab, 0 for an integer.
      chosen: (block, argument) that is another command buffer on each path -> all of these.
      returns: number of returns that can be reached.
    """

    merged: dict[tuple[int, int], int] = field(default_factory=dict)
    chosen: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    returns: int = 1


def trace(machine: VirtualMachine, begin: Callable[[], Call]) -> tuple[HostFunction, Call]:
    """Runs an entry point until all assumptions hold.

    Args:
      machine: an initialized virtual machine.
      begin: makes a new call for each attempt.

    Returns:
      The entry, and the call of the last attempt.

    Raises:
      BmcError: the host program does something that tables and C cannot express.
    """
    assumptions = _Assumptions()
    while True:
        call = begin()
        attempt = _Attempt(machine, call, assumptions)
        machine.host = attempt
        attempt.run()
        machine.host = None
        if not attempt.surprised:
            return attempt.entry(), call


class _Attempt:
    """One run over the blocks of a function. Implements vm.Host."""

    def __init__(
        self,
        machine: VirtualMachine,
        call: Call,
        assumptions: _Assumptions,
    ) -> None:
        self.surprised = False
        self._machine = machine
        self._call = call
        self._recorder = call.recorder
        self._assumptions = assumptions
        self._blocks = machine.blocks(call.name)
        self._order = _reverse_postorder(self._blocks)
        # Block -> the arguments with which it was first reached.
        self._reached: dict[int, list[Any]] = {}
        self._edges: list[tuple[int, int]] = []
        self._results: tuple[View, ...] | None = None
        self._returns = 0

    def run(self) -> None:
        self._reached[0] = list(self._call.arguments)
        values: dict[Any, Any] = {}
        for block in self._order:
            if block in self._reached:
                self._recorder.block = block
                self._recorder.statements.append(Label(block))
                values.update(zip(self._blocks[block].arguments, self._reached[block], strict=True))
                self._run_block(block, values)
        if self._returns == 0:
            # A loop that counts up from a known number ends once the count is a variable.
            if not self.surprised:
                raise BmcError("host-program", "the model has a loop that never ends")
        elif self._returns != self._assumptions.returns:
            self._assumptions.returns = self._returns
            self.surprised = True

    def entry(self) -> HostFunction:
        recorder = self._recorder
        position = {block: place for place, block in enumerate(self._order)}
        loops = any(position[target] <= position[source] for source, target in self._edges)
        driver = _tidy(recorder.statements)
        straight = all(isinstance(statement, (Run, Return)) for statement in driver)
        return HostFunction(
            name=self._call.name,
            inputs=self._call.inputs(),
            outputs=self._results or (),
            slabs=recorder.finished_slabs(loops),
            commands=tuple(recorder.commands),
            driver=() if straight else driver,
            variable_bits=tuple(recorder.variable_bits),
        )

    # vm.Host

    def compute(self, operation: str, operands: Sequence[Integer]) -> Variable:
        if not all(isinstance(operand, Integer) for operand in operands):
            raise vm.unsupported(f"{operation} of a reference, decided at run time", _ALIKE)
        narrow = ".cmp." in operation or operation == "vm.trunc.i64.i32"
        bits = 64 if ".i64" in operation and not narrow else 32
        return self._recorder.let(operation, tuple(operands), bits)

    def select(self, condition: Variable, first: Any, second: Any) -> Any:
        """Returns one of two references. Buffers are copied to one that serves both cases."""
        if first == second:
            return first
        if not isinstance(first, Span) or not isinstance(second, Span):
            return vm.Choice(condition, first, second)
        chosen = self._recorder.allocate_for_ever(max(first.length, second.length))

        def copy(source: Span) -> None:
            self._recorder.copy(source, Span(chosen.storage, 0, source.length))

        self._recorder.branch(condition, lambda: copy(first), lambda: copy(second))
        return chosen

    # Blocks.

    def _run_block(self, block: int, values: dict[Any, Any]) -> None:
        recorder = self._recorder
        for op_view in self._blocks[block]:
            op = op_view.operation
            operands = [values[operand] for operand in op.operands]
            if op.name == "vm.return":
                self._return(operands)
            elif op.name == "vm.fail":
                raise vm.gave_up(op)
            elif op.name == "vm.cond_br" and isinstance(operands[0], Variable):
                recorder.flush()
                then, otherwise = (
                    self._edge(block, target, arguments)
                    for target, arguments in vm.branch_targets(op, operands)
                )
                recorder.statements.append(Branch(operands[0], then, otherwise))
            else:
                results = self._machine.evaluate(op, operands)
                if op.successors:
                    recorder.flush()
                    recorder.statements += self._edge(block, *vm.branch(op, operands, results))
                else:
                    values.update(zip(op.results, results, strict=True))

    def _edge(self, source: int, target: Any, arguments: Sequence[Any]) -> tuple[Statement, ...]:
        """Returns the statements that run on the way to a block."""
        block = self._blocks.index(target)
        self._edges.append((source, block))
        # There is only one queue, so all fences are equal.
        arguments = [
            FENCE if "hal.fence" in str(parameter.type) else argument
            for parameter, argument in zip(target.arguments, arguments, strict=True)
        ]
        if block not in self._reached:
            self._reached[block] = [
                self._merged_argument(block, index, argument)
                for index, argument in enumerate(arguments)
            ]
        targets: list[Variable] = []
        sources: list[Integer] = []
        copies: list[tuple[Span, Span]] = []
        for index, (argument, merged) in enumerate(
            zip(arguments, self._reached[block], strict=True)
        ):
            if (block, index) in self._assumptions.chosen:
                self._expect_known(block, index, argument)
                for choice in _choices(merged):
                    targets.append(choice.condition)
                    sources.append(self._is(argument, choice.first))
            elif (block, index) not in self._assumptions.merged:
                self._expect_same(block, index, argument, merged)
            elif isinstance(merged, Span):
                copies.append((argument, self._reach(block, index, argument, merged)))
            elif argument != merged:
                targets.append(merged)
                sources.append(argument)
        self._recorder.copy_all(copies)
        assign = (Assign(tuple(targets), tuple(sources)),) if targets else ()
        return (*self._recorder.new_commands(), *assign, Goto(block))

    def _merged_argument(self, block: int, index: int, argument: Any) -> Any:
        if found := self._assumptions.chosen.get((block, index)):
            chosen = found[-1]
            for each in found[-2::-1]:
                chosen = vm.Choice(self._recorder.variable(32), each, chosen)
            return chosen
        length = self._assumptions.merged.get((block, index))
        if length is None:
            return argument
        if isinstance(argument, Span):
            return self._recorder.allocate_for_ever(length)
        bits = 64 if "i64" in str(self._blocks[block].arguments[index].type) else 32
        return self._recorder.variable(bits)

    def _expect_same(self, block: int, index: int, argument: Any, merged: Any) -> None:
        if argument == merged:
            return
        self.surprised = True
        if isinstance(argument, Span) and isinstance(merged, Span):
            self._assumptions.merged[block, index] = max(argument.length, merged.length)
        elif isinstance(argument, Integer) and isinstance(merged, Integer):
            self._assumptions.merged[block, index] = 0
        elif "hal.command_buffer" in str(self._blocks[block].arguments[index].type):
            self._assumptions.chosen[block, index] = []
            for each in (merged, argument):
                self._expect_known(block, index, each)
        else:
            raise vm.unsupported("a reference that depends on a run-time value", _ALIKE)

    def _expect_known(self, block: int, index: int, argument: Any) -> None:
        found = self._assumptions.chosen[block, index]
        for each in _possible(argument):
            if each not in found:
                found.append(each)
                self.surprised = True

    def _is(self, argument: Any, wanted: Any) -> Integer:
        """Whether an argument is one of the command buffers that it may be."""
        if not isinstance(argument, vm.Choice):
            return int(argument == wanted)
        first, second = (self._is(part, wanted) for part in (argument.first, argument.second))
        if first == second:
            return first
        return self._recorder.let("vm.select.i32", (argument.condition, first, second), 32)

    def _reach(self, block: int, index: int, argument: Span, merged: Span) -> Span:
        """Returns the part of a slab to which `argument` is copied."""
        if argument.length > merged.length:
            self.surprised = True
            self._assumptions.merged[block, index] = argument.length
            return merged
        return Span(merged.storage, 0, argument.length)

    def _return(self, operands: list[Any]) -> None:
        """Puts every result into a place of its own that is the same on all paths and aligned."""
        recorder = self._recorder
        self._returns += 1
        results: list[View] = []
        views = returned(operands)
        output_count = len(views) - len(self._call.places)
        for index, view in enumerate(views[:output_count]):
            if self._assumptions.returns == 1:
                in_place = _is_in_place(view.span, [result.span for result in results])
                span = view.span if in_place else recorder.allocate_for_ever(view.span.length)
            elif self._results:
                span = self._results[index].span
            else:
                span = recorder.allocate_for_ever(view.span.length)
            if span is not view.span:
                recorder.copy(view.span, span)
            results.append(View(span, view.dtype, view.shape))
        self._results = tuple(results)
        new_states = (view.span for view in views[output_count:])
        recorder.copy_all(list(zip(new_states, self._call.places, strict=True)))
        recorder.flush()
        recorder.statements.append(Return())


def _choices(value: Any) -> Iterator[vm.Choice]:
    """Yields a choice, and those among what it may be otherwise."""
    while isinstance(value, vm.Choice):
        yield value
        value = value.second


def _possible(value: Any) -> list[Any]:
    """Returns all that a value may be."""
    if isinstance(value, vm.Choice):
        return [*_possible(value.first), *_possible(value.second)]
    return [value]


def _is_in_place(span: Span, taken: list[Span]) -> bool:
    return (
        span.storage.kind is StorageKind.SLAB
        and isinstance(span.offset, int)
        and span.offset % ALIGNMENT == 0
        and span not in taken
    )


def _reverse_postorder(blocks: list[Any]) -> list[int]:
    """Returns the blocks' indices, each block before its successors except in loops."""
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(_successors(blocks, 0)))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(blocks, following))))
    return order[::-1]


def _successors(blocks: list[Any], block: int) -> list[int]:
    last = list(blocks[block])[-1].operation
    return [blocks.index(successor) for successor in last.successors]


def _tidy(statements: list[Statement]) -> tuple[Statement, ...]:
    """Drops jumps to the next statement, then labels without a jump.

    The C compiler removes values that are never used.
    """
    kept: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Label) and kept and kept[-1] == Goto(statement.block):
            kept.pop()
        kept.append(statement)
    wanted = {block for statement in kept for block in _jumps(statement)}
    return tuple(s for s in kept if not isinstance(s, Label) or s.block in wanted)


def _jumps(statement: Statement) -> set[int]:
    if isinstance(statement, Goto):
        return {statement.block}
    if isinstance(statement, Branch):
        return {b for part in (*statement.then, *statement.otherwise) for b in _jumps(part)}
    return set()
