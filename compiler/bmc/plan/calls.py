"""Puts the calls of kernel libraries into the host program: packed weights, memory, and the bindings that they need."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bmc.errors import BmcError
from bmc.facts.operands import Kernel, Written
from bmc.facts.operands import Operand as Tensor
from bmc.facts.stored_weights import WeightType
from bmc.host.program import (
    ALIGNMENT,
    Constant,
    Dispatch,
    HalCommand,
    HostFunction,
    HostProgram,
    Slab,
    Span,
    Storage,
    StorageKind,
)
from bmc.libraries.call import Packed, Scratch, Sums
from bmc.libraries.dispatch import ARRAYS, Array, Operand, array_of
from bmc.libraries.library import Taken
from bmc.plan.weights import Contents

# f32 or i32.
_SUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class Place:
    """`offset` bytes into a binding."""

    binding: int
    offset: int


@dataclass(frozen=True)
class LinkedCall:
    """The call that a dispatch function has become.

    Attributes:
      function: the dispatch function.
      taken: what it was, and the call.
      arguments: of the call, in order: places, or numbers in the code.
      operands: where the epilogue finds the dispatch's operands; {} if the library computes it.
      sums: where the sums are that the epilogue begins with; None if there is none.
      binding_count: how many bindings its commands have.
    """

    function: str
    taken: Taken
    arguments: tuple[Place | Array, ...]
    operands: dict[int, Place | Array]
    sums: Place | None
    binding_count: int


@dataclass(frozen=True)
class Linked:
    """A program that calls kernel libraries.

    Attributes:
      program: the host program; its commands have the bindings that the calls need.
      contents: of its constants, with the packed ones.
      types: of its weights, with the packed ones.
      operands: of all dispatch functions, as the calls have them.
      calls: by dispatch function.
    """

    program: HostProgram
    contents: Contents
    types: dict[str, WeightType]
    operands: dict[str, Kernel]
    calls: dict[str, LinkedCall]


def not_constant(program: HostProgram, taken: dict[str, Taken]) -> frozenset[str]:
    """Returns the taken functions of which a command has no constant where a weight is to be packed.

    Those that set the initial value of a state are among them: nothing is packed for these.
    """
    wrong = {c.function for c in program.reset if isinstance(c, Dispatch) and c.function in taken}
    for command in program.commands:
        if isinstance(command, Dispatch) and command.function in taken:
            for argument in taken[command.function].call.arguments:
                if isinstance(argument, Packed) and not _is_known(argument.operand, command):
                    wrong.add(command.function)
    return frozenset(wrong)


def _is_known(operand: Operand, command: Dispatch) -> bool:
    if operand.values is not None:
        return True
    span = command.bindings[operand.binding]
    return span.storage.kind is StorageKind.CONSTANT and isinstance(span.offset, int)


def link(
    program: HostProgram,
    taken: dict[str, Taken],
    contents: Contents,
    types: dict[str, WeightType],
    operands: dict[str, Kernel],
) -> Linked:
    """Gives the commands of taken functions the bindings of their calls.

    Args:
      program: in which not_constant() finds none.
      taken: by dispatch function.
      contents, types: of the program's constants.
      operands: of all dispatch functions.

    Raises:
      BmcError: a function that packs a weight raised an exception, or returned no array of numbers, or arrays of
        different sizes for the same dispatch.
    """
    linker = _Linker(program, taken, contents, types)
    entries = tuple(map(linker.entry, program.entries))
    return Linked(
        replace(program, constants=tuple(linker.constants), entries=entries),
        Contents(tuple(linker.original), tuple(linker.final)),
        linker.types,
        operands | {name: linker.kernel(name, operands[name]) for name in linker.forms},
        {name: linker.call(name) for name in linker.forms},
    )


@dataclass(frozen=True)
class _Form:
    """How the bindings of a call follow from those of its dispatch function.

    Attributes:
      kept: bindings of the dispatch function.
      packed: weights, by the number of their argument.
      scratch: memory in bytes, by the number of its argument.
      in_place: whether the result holds the sums.
    """

    kept: tuple[int, ...]
    packed: tuple[int, ...]
    scratch: dict[int, int]
    in_place: bool

    @property
    def count(self) -> int:
        return len(self.kept) + len(self.packed) + len(self.scratch)


class _Linker:
    """Collects constants, and the form of each function's calls."""

    def __init__(
        self,
        program: HostProgram,
        taken: dict[str, Taken],
        contents: Contents,
        types: dict[str, WeightType],
    ) -> None:
        self.constants = list(program.constants)
        self.original, self.final = list(contents.original), list(contents.final)
        self.types = dict(types)
        self.forms: dict[str, _Form] = {}
        self._taken = taken
        # Packed weights by what they are made of: their storages, and the type and shape of each.
        self._packed: dict[tuple[str, int, int, int], Storage] = {}
        self._arrays: dict[tuple[str, int], WeightType] = {}

    def entry(self, entry: HostFunction) -> HostFunction:
        slabs = list(entry.slabs)
        commands: list[HalCommand] = []
        for position, command in enumerate(entry.commands):
            if isinstance(command, Dispatch) and command.function in self._taken:
                commands.append(self._command(command, position, slabs))
            else:
                commands.append(command)
        return replace(entry, slabs=tuple(slabs), commands=tuple(commands))

    def _command(self, command: Dispatch, position: int, slabs: list[Slab]) -> Dispatch:
        name = command.function
        taken = self._taken[name]
        form = self.forms.setdefault(name, _form(taken))
        spans = [command.bindings[number] for number in form.kept]
        spans += [self._weight(command, taken, number) for number in form.packed]
        for length in form.scratch.values():
            storage = Storage(StorageKind.SLAB, len(slabs), length)
            slabs.append(Slab(length, position, position + 1))
            spans.append(Span(storage, 0, length))
        return replace(command, workgroups=(1, 1, 1), bindings=tuple(spans))

    def _weight(self, command: Dispatch, taken: Taken, number: int) -> Span:
        """Returns the packed weight that is an argument of a call."""
        argument = taken.call.arguments[number]
        assert isinstance(argument, Packed)
        operand = argument.operand
        index, start = -1, operand.offset
        if operand.values is None:
            span = command.bindings[operand.binding]
            index, start = span.storage.index, span.start + operand.offset
        key = (command.function, number, index, start)
        if key not in self._packed:
            self._packed[key] = self._pack(command.function, taken, number, index, start)
        storage = self._packed[key]
        return Span(storage, 0, storage.length)

    def _pack(self, name: str, taken: Taken, number: int, index: int, start: int) -> Storage:
        argument = taken.call.arguments[number]
        assert isinstance(argument, Packed)
        operand, loops = argument.operand, taken.dispatch.loops
        data = operand.values.tobytes() if operand.values is not None else self.final[index][start:]
        array = _packed(argument, array_of(operand, loops, data), taken)
        type_ = WeightType(ARRAYS[array.dtype.name], array.shape, ())
        if self._arrays.setdefault((name, number), type_) != type_:
            raise _wrong(
                taken, "packs a weight into arrays of different shapes for the same dispatch"
            )
        source = self.constants[index] if index >= 0 else None
        key = f"{source.name if source else name}.{number}.{len(self.constants)}"
        where = (
            self.types[source.parameter].where if source and source.parameter in self.types else ""
        )
        self.types[key] = replace(type_, where=where)
        packed = array.tobytes()
        self.constants.append(Constant(source.name if source else name, len(packed), parameter=key))
        self.original.append(self.original[index] if source else packed)
        self.final.append(packed)
        return Storage(StorageKind.CONSTANT, len(self.constants) - 1, len(packed))

    def call(self, name: str) -> LinkedCall:
        """Returns the call of a dispatch function."""
        taken, form = self._taken[name], self.forms[name]
        call, dispatch = taken.call, taken.dispatch
        packed = {number: len(form.kept) + place for place, number in enumerate(form.packed)}
        scratch = {
            number: len(form.kept) + len(form.packed) + place
            for place, number in enumerate(form.scratch)
        }

        def place(operand: Operand) -> Place | Array:
            if operand.values is not None:
                return operand.values
            return Place(form.kept.index(operand.binding), operand.offset)

        sums: Place | None = None
        arguments: list[Place | Array] = []
        for number, argument in enumerate(call.arguments):
            if isinstance(argument, Operand):
                arguments.append(place(argument))
            elif isinstance(argument, Packed):
                arguments.append(Place(packed[number], 0))
            elif isinstance(argument, Scratch):
                arguments.append(Place(scratch[number], 0))
            elif isinstance(argument, Sums):
                found = place(dispatch.result) if form.in_place else Place(scratch[number], 0)
                assert isinstance(found, Place)
                sums = found
                arguments.append(found)
            else:
                arguments.append(argument)
        read = {} if call.finishes or sums is None else _after_sums(taken)
        return LinkedCall(
            name,
            taken,
            tuple(arguments),
            {number: place(operand) for number, operand in read.items()},
            sums,
            form.count,
        )

    def kernel(self, name: str, kernel: Kernel) -> Kernel:
        """Returns the facts of a dispatch function with the bindings of its calls."""
        form = self.forms[name]
        operands = [
            replace(operand, binding=form.kept.index(operand.binding))
            for operand in kernel.operands
            if operand.binding in form.kept
        ]
        for place, number in enumerate(form.packed, len(form.kept)):
            type_ = self._arrays[name, number]
            operands.append(
                Tensor(place, 0, type_.dtype, type_.shape, True, False, None, ALIGNMENT)
            )
        for place, length in enumerate(form.scratch.values(), len(form.kept) + len(form.packed)):
            whole = Written(length, length, 0, length)
            operands.append(Tensor(place, 0, "i8", (length,), False, True, whole, ALIGNMENT))
        return replace(kernel, operands=tuple(operands))


def _form(taken: Taken) -> _Form:
    call, dispatch = taken.call, taken.dispatch
    packed = tuple(n for n, a in enumerate(call.arguments) if isinstance(a, Packed))
    used = [a for a in call.arguments if isinstance(a, Operand)]
    scratch: dict[int, int] = {}
    in_place = False
    for number, argument in enumerate(call.arguments):
        if isinstance(argument, Scratch):
            scratch[number] = argument.byte_count
        elif isinstance(argument, Sums):
            after = _after_sums(taken)
            used += after.values()
            in_place = dispatch.holds_sums
            if not in_place:
                extents = [loop.extent for loop in dispatch.loops if not loop.is_summed]
                scratch[number] = _SUM_BYTES * math.prod(extents)
    if not call.finishes and dispatch.result not in used:
        used.append(dispatch.result)
    kept = dict.fromkeys(operand.binding for operand in used if operand.values is None)
    return _Form(tuple(sorted(kept)), packed, scratch, in_place)


def _after_sums(taken: Taken) -> dict[int, Operand]:
    """Returns the operands that are used once there are sums, by their number."""
    dispatch = taken.dispatch
    read = {node.operand for node in dispatch.epilogue if node.op in ("load", "lookup", "store")}
    found = {number: dispatch.operands[number] for number in sorted({2, *read})}
    for number, operand in enumerate(dispatch.operands):
        if operand is dispatch.initial:
            found[number] = operand
    return found


def _packed(argument: Packed, array: Array, taken: Taken) -> Array:
    try:
        found = argument.pack(array)
    except Exception as error:
        raise _wrong(
            taken, f"raised {type(error).__name__} when it packed a weight: {error}"
        ) from error
    is_array = isinstance(found, np.ndarray)
    if not is_array or found.dtype.name not in ARRAYS or not found.size:
        what = f"an array of {found.size} {found.dtype.name}" if is_array else type(found).__name__
        raise _wrong(taken, f"packed a weight into {what}: return an array of {', '.join(ARRAYS)}")
    return np.ascontiguousarray(found)


def _wrong(taken: Taken, what: str) -> BmcError:
    return BmcError(
        "bad-kernel-library",
        f"the matcher of {taken.library.name}, which takes '{taken.dispatch.name}', {what}",
        where=str(taken.library.file),
    )
