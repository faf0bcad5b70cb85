"""Turns the host program into a plan: gives everything a place in the arena, the weights or the state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.artifacts import ImportedModel, Signature
from bmc.elf.kernels import DispatchFunction, Kernels
from bmc.errors import BmcError, InternalError
from bmc.facts.operands import Kernel, Written
from bmc.host.program import (
    ALIGNMENT,
    Branch,
    Copy,
    Dispatch,
    HalCommand,
    HostFunction,
    HostProgram,
    Load,
    Span,
    Statement,
    Storage,
    StorageKind,
    Variable,
)
from bmc.plan import (
    barriers,
    check,
    contents,
    fast,
    order,
    pieces,
    placement,
    signatures,
    tables,
    tensors,
    views,
    waits,
)
from bmc.plan.calls import LinkedCall
from bmc.plan.fast import Memories
from bmc.plan.tables import (
    Access,
    Binding,
    BindingPatch,
    CommandKind,
    ConstantPatch,
    Plan,
    Region,
    Tensor,
)
from bmc.plan.weights import PackedWeights
from bmc.target import Target

_MAX_PATTERN_BYTES = 4
# Where a storage begins.
_Start = tuple[Region, int]


def plan(
    name: str,
    target: Target,
    model: ImportedModel,
    program: HostProgram,
    kernels: Kernels | None,
    weights: PackedWeights,
    operands: dict[str, Kernel],
    calls: dict[str, LinkedCall],
    *,
    has_budget: bool = False,
    memories: Memories | None = None,
) -> Plan:
    """Returns the plan; `kernels` is None for a program that launches none.

    `operands` say what each dispatch function reads and writes, `calls` which of them are calls of libraries. With a
    budget, copies that could be spared are, and tensors also share memory while only parts of them are alive. With
    `memories`, tensors and copies of weights lie in fast memory.

    Every entry point has the whole arena to itself. Tensors whose lives do not overlap share memory: an input
    lives until the last command that uses it, an output from the first one that writes it.
    """
    exports = kernels.exports if kernels else ()
    ordinals = {export.name: ordinal for ordinal, export in enumerate(exports)}
    state = _Stack()
    state_offsets = [state.append(item.length) for item in program.states]
    shared = _Places(weights, state_offsets, (), ())
    kinds = _Kinds(ordinals, operands)
    commands = [_command(command, kinds, shared) for command in program.reset]
    reset_count = len(commands)
    entries: list[tables.Entry] = []
    arena_bytes = ALIGNMENT  # C has no arrays of no bytes, as if all tensors are without elements.
    fast_bytes = 0
    for signature, packed in zip(model.signatures, program.entries, strict=True):
        signatures.check(signature, packed)
        entry = tensors.split(packed, kinds.written)
        if has_budget:
            entry = views.forward(entry, kinds.accesses, kinds.alignments)
        orders = order.reorder(entry, kinds.accesses, in_parts=has_budget)
        laid_out = (_laid_out(each, operands, memories, in_parts=has_budget) for each in orders)
        quick, blocks, arena, starts = min(laid_out, key=lambda each: each[2])
        entry = quick.entry
        count = len(entry.inputs)
        if (has_budget or memories is not None) and not entry.driver:
            # As if fast memory were behind the arena.
            ends = [arena * (region is Region.FAST) + offset for region, offset in starts]
            contents.check(entry, ends[:count], ends[count:], arena + quick.size, kinds.accesses)
        inputs_at = tuple(offset for _, offset in starts[:count])
        places = replace(shared, inputs=inputs_at, slabs=starts[count:])
        inputs = tuple(Tensor(*input_) for input_ in zip(signature.inputs, inputs_at, strict=True))
        lives = tuple(
            tables.Life(*start, block.length, block.first, block.end)
            for start, block in zip(starts, blocks, strict=True)
        )
        entries.append(_entry(entry, signature, inputs, lives, len(commands), places))
        commands += [_command(command, kinds, places) for command in entry.commands]
        arena_bytes = max(arena_bytes, arena)
        fast_bytes = max(fast_bytes, quick.size)
    result = Plan(
        name=name,
        isa_bits=target.isa_bits,
        vlen_bits=target.vlen_bits,
        arena_bytes=arena_bytes,
        weights_bytes=len(weights.data),
        exports=tuple(_export(export, calls.get(export.name)) for export in exports),
        commands=tuple(commands),
        entries=tuple(entries),
        state_bytes=state.size,
        fast_bytes=fast_bytes,
        reset_count=reset_count,
    )
    check.verify(result)
    return waits.with_waits(barriers.with_barriers(result))


def _export(function: DispatchFunction, call: LinkedCall | None) -> tables.Export:
    bindings = call.binding_count if call else function.binding_count
    return tables.Export(function.name, function.constant_count, bindings, call)


def _entry(
    entry: HostFunction,
    signature: Signature,
    inputs: tuple[Tensor, ...],
    lives: tuple[tables.Life, ...],
    first_command: int,
    places: _Places,
) -> tables.Entry:
    outputs = tuple(
        Tensor(info, places.bind(view.span, Access.READ, ALIGNMENT).offset)
        for info, view in zip(signature.outputs, entry.outputs, strict=True)
    )
    return tables.Entry(
        name=entry.name,
        first_command=first_command,
        command_count=len(entry.commands),
        inputs=inputs,
        outputs=outputs,
        lives=lives,
        driver=entry.driver,
        loads={load.target.index: places.load(load.source) for load in _loads(entry.driver)},
        variable_bits=entry.variable_bits,
    )


class _Stack:
    """Hands out aligned, exclusive places one after the other."""

    def __init__(self) -> None:
        self.size = 0

    def append(self, length: int) -> int:
        offset = self.size
        self.size = tables.align(self.size + length)
        return offset


@dataclass(frozen=True)
class _Places:
    """Where every storage begins in its region."""

    weights: PackedWeights
    states: list[int]
    inputs: tuple[int, ...]
    slabs: tuple[_Start, ...]

    def start(self, span: Span) -> _Start:
        index = span.storage.index
        match span.storage.kind:
            case StorageKind.CONSTANT:
                return Region.WEIGHTS, self.weights.table[index].offset
            case StorageKind.STATE:
                return Region.STATE, self.states[index]
            case StorageKind.INPUT:
                return Region.ARENA, self.inputs[index]
        return self.slabs[index]

    def bind(self, span: Span, access: Access, alignment: int) -> Binding:
        """A span at a run-time offset is bound to the start of its storage."""
        region, start = self.start(span)
        offset = span.offset if isinstance(span.offset, int) else 0
        return Binding(region, start + offset, span.length, access, alignment)

    def load(self, span: Span) -> tables.LoadPlace:
        region, start = self.start(span)
        return tables.LoadPlace(region, start, span.storage.length, span.offset, span.length)


def _loads(statements: tuple[Statement, ...]) -> Iterator[Load]:
    for statement in statements:
        if isinstance(statement, Load):
            yield statement
        elif isinstance(statement, Branch):
            yield from _loads((*statement.then, *statement.otherwise))


def _blocks(entry: HostFunction) -> list[placement.Block]:
    """Returns the lives of the inputs and then of the slabs. With a driver, inputs and outputs live for ever."""
    count = len(entry.commands) + 1
    returned = {view.span.storage for view in entry.outputs}
    lasts = {span.storage: i for i, command in enumerate(entry.commands) for span in command.spans}

    def input_end(storage: Storage) -> int:
        return count if entry.driver or storage in returned else lasts.get(storage, 0) + 1

    inputs = [view.span.storage for view in entry.inputs]
    blocks = [placement.Block(storage.length, 0, input_end(storage)) for storage in inputs]
    for index, slab in enumerate(entry.slabs):
        first, end = slab.first, slab.end
        if Storage(StorageKind.SLAB, index, slab.length) in returned:
            first, end = 0 if entry.driver else first, count
        blocks.append(placement.Block(slab.length, first, end))
    return blocks


def _laid_out(
    entry: HostFunction, kernels: dict[str, Kernel], memories: Memories | None, *, in_parts: bool
) -> tuple[fast.Placed, list[placement.Block], int, tuple[_Start, ...]]:
    """Returns what is in fast memory, the lives of inputs and slabs, the bytes of the arena, and where each begins."""
    quick = fast.Placed(entry, {}, 0)
    if memories is not None:
        quick = fast.place(entry, _blocks(entry), kernels, memories)
        entry = quick.entry
    blocks = _blocks(entry)
    if in_parts and not entry.driver:
        blocks = _in_parts(entry, blocks)
    count = len(entry.inputs)
    starts = {count + slab: (Region.FAST, offset) for slab, offset in quick.offsets.items()}
    slow = [i for i in range(len(blocks)) if i not in starts]
    arena = placement.place([blocks[i] for i in slow])
    starts |= {i: (Region.ARENA, offset) for i, offset in zip(slow, arena.offsets, strict=True)}
    return quick, blocks, arena.size, tuple(starts[i] for i in range(len(blocks)))


def _in_parts(entry: HostFunction, blocks: list[placement.Block]) -> list[placement.Block]:
    """Returns the blocks with parts that are alive only from the first command that uses them to the last."""
    storages = [view.span.storage for view in entry.inputs]
    storages += [Storage(StorageKind.SLAB, i, slab.length) for i, slab in enumerate(entry.slabs)]
    returned = {view.span.storage for view in entry.outputs}
    uses = pieces.uses(entry.commands)
    found = []
    for number, (storage, block) in enumerate(zip(storages, blocks, strict=True)):
        used = uses.get(storage, [])
        if storage in returned:
            # The caller reads it after the last command.
            used = [*used, pieces.Use(0, storage.length, len(entry.commands))]
        parts: list[placement.Part] = []
        for start, end, positions in pieces.cut(used):
            # An input is alive from the beginning.
            first = 0 if number < len(entry.inputs) else min(positions)
            until = max(positions) + 1
            if parts and (parts[-1].end, parts[-1].first, parts[-1].until) == (start, first, until):
                start = parts.pop().start
            parts.append(placement.Part(start, end, first, until))
        found.append(replace(block, parts=tuple(parts)) if len(parts) > 1 else block)
    return found


@dataclass(frozen=True)
class _Kinds:
    """What dispatch functions are: their ordinals, and their operands."""

    ordinals: dict[str, int]
    operands: dict[str, Kernel]

    def accesses(self, command: HalCommand) -> list[Access]:
        """Returns what a command does with each of its spans."""
        if isinstance(command, Copy):
            return [Access.READ, Access.WRITE]
        if not isinstance(command, Dispatch):
            return [Access.WRITE]
        found = [Access(0)] * len(command.spans)
        for operand in self.operands[command.function].operands:
            found[operand.binding] |= operand.reads * Access.READ | operand.writes * Access.WRITE
        return found

    def alignments(self, command: HalCommand) -> list[int]:
        """Returns what the place of each of a command's spans must be a multiple of."""
        if isinstance(command, Copy):
            return [1, 1]
        if not isinstance(command, Dispatch):
            return [min(command.pattern_bytes, _MAX_PATTERN_BYTES)]
        found = [1] * len(command.spans)
        for operand in self.operands[command.function].operands:
            found[operand.binding] = max(found[operand.binding], operand.alignment)
        return found

    def written(self, command: HalCommand) -> list[Written | None]:
        """Returns for each span what a command writes of it, if it reads none of it and is known to."""
        if not isinstance(command, Dispatch):
            whole = [Written(span.length, span.length, 0, span.length) for span in command.spans]
            return [None, whole[1]] if isinstance(command, Copy) else [*whole]
        operands = self.operands[command.function].operands
        found = [
            [o.overwrites for o in operands if o.binding == b] for b in range(len(command.spans))
        ]
        return [
            parts[0] if len(parts) == 1 and parts[0] and parts[0].length == span.length else None
            for parts, span in zip(found, command.spans, strict=True)
        ]


def _command(command: HalCommand, kinds: _Kinds, places: _Places) -> tables.Command:
    spans = zip(command.spans, kinds.accesses(command), kinds.alignments(command), strict=True)
    bindings = tuple(places.bind(*span) for span in spans)
    patches: list[ConstantPatch | BindingPatch] = []
    for index, span in enumerate(command.spans):
        if isinstance(span.offset, Variable):
            start = places.start(span)[1]
            patches.append(BindingPatch(index, span.offset.index, start, span.storage.length))
    if isinstance(command, Dispatch):
        if command.function not in kinds.ordinals:
            raise InternalError(f"the kernels do not export {command.function}")
        words: list[int] = []
        for word in command.constants:
            if isinstance(word, Variable):
                patches.append(ConstantPatch(len(words), word.index))
            words.append(word if isinstance(word, int) else 0)
        return tables.Command(
            CommandKind.DISPATCH,
            True,
            kinds.ordinals[command.function],
            command.workgroups,
            tuple(words),
            bindings,
            tuple(patches),
            command.layer,
        )
    if isinstance(command, Copy):
        bindings = _apart(command, *bindings)
        return tables.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), bindings, tuple(patches))
    pattern, pattern_bytes = command.pattern, command.pattern_bytes
    if isinstance(pattern, Variable):
        patches.append(ConstantPatch(0, pattern.index))
        pattern = 0
    if pattern_bytes > _MAX_PATTERN_BYTES:
        if isinstance(command.pattern, Variable) or pattern >> 32 != pattern & 0xFFFFFFFF:
            raise BmcError(
                "unsupported-host-op", "the host program fills memory with an 8-byte pattern"
            )
        pattern, pattern_bytes = pattern & 0xFFFFFFFF, _MAX_PATTERN_BYTES
    return tables.Command(
        CommandKind.FILL,
        True,
        0,
        (0, 0, 0),
        (pattern, pattern_bytes),
        bindings,
        tuple(patches),
    )


def _apart(copy: Copy, source: Binding, target: Binding) -> tuple[Binding, Binding]:
    """Places a copy whose offset is known only at run time, until a driver moves it.

    The runtime refuses overlapping copies. If the start of the storage overlaps the other side, the bytes
    behind that side are free: otherwise the driver could find no place either.
    """
    if copy.source.storage == copy.target.storage:
        if isinstance(copy.target.offset, Variable) and check.overlap(source, target):
            target = replace(target, offset=source.offset + source.length)
        elif isinstance(copy.source.offset, Variable) and check.overlap(source, target):
            source = replace(source, offset=target.offset + target.length)
    return source, target
