"""Implements the HAL for IREE's host program (vm.py) and records what the program requests.

One queue executes everything in the order of submission. Fences therefore carry no information, and one
token stands for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bmc import dtype
from bmc.errors import BmcError
from bmc.host.call import InputView
from bmc.host.initialization import Initialization
from bmc.host.program import (
    Copy,
    Dispatch,
    Fill,
    HalCommand,
    Integer,
    Span,
    StorageKind,
    Variable,
    View,
)
from bmc.host.recorder import EntryRecorder
from bmc.host.vm import FENCE, Choice, Import

_DENSE_ROW_MAJOR = 1


@dataclass(frozen=True, slots=True)
class _Slot:
    """A buffer that is bound at execution. The command buffer knows only its index in the table."""

    index: int
    offset: Integer
    length: int


_Place = Span | _Slot
# A recorded command whose places may still be slots. Given a resolver, makes the command.
_Recorded = Callable[[Callable[[_Place], Span]], HalCommand]


@dataclass
class _CommandBuffer:
    commands: list[_Recorded] = field(default_factory=list)


class Hal:
    """The HAL and parameter imports, and a record of every call to them."""

    def __init__(self) -> None:
        self.initial = Initialization()
        self._executables: list[bytes] = []
        self._functions: list[str] = []
        # None during initialization.
        self._recorder: EntryRecorder | None = None
        # Names the layer of the model that a call belongs to; the virtual machine knows.
        self.layer: Callable[[], str] = str

    def begin(self, recorder: EntryRecorder) -> None:
        """Starts an entry point: from now on commands go to `recorder`."""
        self._recorder = recorder

    def executable(self) -> bytes:
        """Returns the embedded ELF, b"" if the program has no kernels."""
        if len(self._executables) > 1:
            raise BmcError(
                "host-program",
                f"the model was compiled to {len(self._executables)} executables, not one",
            )
        return self._executables[0] if self._executables else b""

    def imports(self) -> dict[str, Import]:
        return {
            "hal.devices.count": lambda: (1,),
            "hal.devices.get": lambda index: ("device",),
            # The only device runs whatever format was compiled.
            "hal.device.query.i64": lambda device, category, key: (1, 1),
            "hal.device.allocator": lambda device: ("allocator",),
            "hal.executable.create": self._executable_create,
            "hal.executable.lookup.function": self._lookup_function,
            "hal.fence.create": lambda device, flags: (FENCE,),
            "hal.fence.join": lambda flags, fences: (FENCE,),
            "hal.fence.await": lambda timeout, flags, fences: (0,),
            "hal.allocator.import": self.initial.allocator_import,
            "io_parameters.load": self.initial.parameters_load,
            "hal.buffer.assert": lambda *arguments: (),
            "hal.buffer.subspan": lambda buffer, offset, length: (
                self._subspan(buffer, offset, length),
            ),
            "hal.buffer_view.assert": self._view_assert,
            "hal.buffer_view.buffer": self._view_buffer,
            "hal.buffer_view.create": self._view_create,
            "hal.command_buffer.create": lambda *arguments: (_CommandBuffer(),),
            "hal.command_buffer.finalize": lambda commands: (),
            # The plan finds out which commands wait for which (plan/barriers.py).
            "hal.command_buffer.execution_barrier": lambda *arguments: (),
            "hal.command_buffer.dispatch": self._dispatch,
            "hal.command_buffer.fill_buffer": self._fill,
            "hal.command_buffer.copy_buffer": self._copy,
            "hal.buffer.load": self._buffer_load,
            # The arguments in front are device, affinity and two fences; the last one is flags.
            "hal.device.queue.copy": lambda *arguments: self._queue_copy(*arguments[4:-1]),
            "hal.device.queue.fill": lambda *arguments: self._queue_fill(*arguments[4:-1]),
            "hal.device.queue.alloca": self._queue_alloca,
            "hal.device.queue.dealloca": self._queue_dealloca,
            "hal.device.queue.execute": self._execute,
            "hal.device.queue.execute.indirect": self._execute,
        }

    # Executables.

    def _executable_create(
        self,
        device: str,
        affinity: int,
        executable_format: bytes,
        data: bytes,
        constants: bytes | None,
    ) -> tuple[int]:
        if constants:
            raise BmcError(
                "unsupported-host-op",
                "the kernels take executable constants, which the plan cannot express",
            )
        self._executables.append(data)
        return (len(self._executables) - 1,)

    def _lookup_function(self, executable: int, name: bytes) -> tuple[int]:
        self._functions.append(name.decode())
        return (len(self._functions) - 1,)

    # Tensors at the model's boundary.

    def _view_assert(
        self, view: InputView, message: bytes, element_type: int, encoding: int, shape: list[int]
    ) -> tuple[()]:
        if encoding != _DENSE_ROW_MAJOR:
            raise BmcError(
                "unsupported-host-op", f"an input has encoding {encoding}, not dense row-major"
            )
        view.view = View(view.view.span, dtype.from_hal(element_type), tuple(shape))
        return ()

    def _view_buffer(self, view: InputView) -> tuple[Span]:
        return (view.view.span,)

    def _view_create(
        self,
        buffer: Span,
        offset: int,
        length: int,
        element_type: int,
        encoding: int,
        shape: list[int],
    ) -> tuple[View]:
        return (
            View(self._subspan(buffer, offset, length), dtype.from_hal(element_type), tuple(shape)),
        )

    # Command buffers.

    def _dispatch(
        self,
        commands: _CommandBuffer,
        executable: int,
        function: int,
        x: int,
        y: int,
        z: int,
        flags: int,
        constants: list[Integer],
        bindings: list[tuple[int, int, Span | None, int, int]],
    ) -> tuple[()]:
        places = [
            self._place(buffer, slot, offset, self._longest(buffer, offset, length))
            for _, slot, buffer, offset, length in bindings
        ]
        name = self._functions[function]
        if any(isinstance(count, Variable) for count in (x, y, z)):
            raise _dynamic(f"the number of workgroups of kernel {name}")
        words = tuple(w & 0xFFFFFFFF if isinstance(w, int) else w for w in constants)
        layer = self.layer()
        commands.commands.append(
            lambda resolve: Dispatch(name, (x, y, z), words, tuple(map(resolve, places)), layer)
        )
        return ()

    def _fill(
        self,
        commands: _CommandBuffer,
        target: Span | None,
        offset: int,
        length: int,
        slot: int,
        pattern: Integer,
        pattern_bytes: int,
        flags: int,
    ) -> tuple[()]:
        place = self._place(target, slot, offset, length)
        bits = _low(pattern, pattern_bytes)
        commands.commands.append(lambda resolve: Fill(resolve(place), bits, pattern_bytes))
        return ()

    def _copy(
        self,
        commands: _CommandBuffer,
        source_slot: int,
        target_slot: int,
        source: Span | None,
        source_offset: int,
        target: Span | None,
        target_offset: int,
        length: int,
        flags: int,
    ) -> tuple[()]:
        origin = self._place(source, source_slot, source_offset, length)
        goal = self._place(target, target_slot, target_offset, length)
        commands.commands.append(lambda resolve: Copy(resolve(origin), resolve(goal)))
        return ()

    # The queue.

    def _queue_alloca(
        self,
        device: str,
        affinity: int,
        wait: str,
        signal: str,
        pool: int,
        types: int,
        usage: int,
        size: int,
        flags: int,
    ) -> tuple[Span]:
        if isinstance(size, Variable):
            raise _dynamic("the model has a tensor whose size")
        if self._recorder is None:
            return (self.initial.allocate(size),)
        return (self._recorder.allocate(size),)

    def _queue_dealloca(
        self, device: str, affinity: int, wait: str, signal: str, buffer: Span, flags: int
    ) -> tuple[()]:
        if self._recorder and buffer.storage.kind is StorageKind.SLAB:
            self._recorder.free(buffer.storage)
        return ()

    def _queue_copy(
        self, source: Span, start: Integer, target: Span, offset: Integer, length: int
    ) -> tuple[()]:
        origin = self._subspan(source, start, length)
        self._submit(Copy(origin, self._subspan(target, offset, length)))
        return ()

    def _queue_fill(
        self, target: Span, offset: Integer, length: int, pattern: Integer, pattern_bytes: int
    ) -> tuple[()]:
        place = self._subspan(target, offset, length)
        self._submit(Fill(place, _low(pattern, pattern_bytes), pattern_bytes))
        return ()

    def _buffer_load(self, buffer: Span, offset: Integer, length: int) -> tuple[Variable]:
        """Loads an integer; no other import lets the program see what a kernel computed."""
        if self._recorder is None:
            raise BmcError("init-work", "the compiled model reads memory while it initializes")
        return (self._recorder.load(self._subspan(buffer, offset, length)),)

    def _execute(
        self,
        device: str,
        affinity: int,
        wait: str,
        signal: str,
        commands: _CommandBuffer | Choice,
        flags: int,
        table: Sequence[tuple[Span, int, int]] = (),
    ) -> tuple[()]:
        if isinstance(commands, Choice) and self._recorder:
            rest = (flags, table)
            self._recorder.branch(
                commands.condition,
                lambda: self._execute(device, affinity, wait, signal, commands.first, *rest),
                lambda: self._execute(device, affinity, wait, signal, commands.second, *rest),
            )
            return ()

        def resolve(place: _Place) -> Span:
            if isinstance(place, Span):
                return place
            buffer, offset, length = table[place.index]
            part = self._subspan(buffer, offset, length)
            return self._subspan(part, place.offset, place.length)

        assert isinstance(commands, _CommandBuffer)
        for recorded in commands.commands:
            self._submit(recorded(resolve))
        return ()

    def _submit(self, command: HalCommand) -> None:
        if self._recorder:
            self._recorder.add(command)
        else:
            self.initial.write(command)

    def _place(self, buffer: Span | None, slot: int, offset: Integer, length: int) -> _Place:
        if buffer is None:
            return _Slot(slot, offset, length)
        return self._subspan(buffer, offset, length)

    def _longest(self, buffer: Span | None, offset: int, length: int) -> int:
        """Returns the larger length if IREE gives a binding one of two, as two paths may pad a tensor differently.

        Kernels have fixed shapes and read the same elements of both.
        """
        longest = self._recorder.longest.get(length) if self._recorder else None
        if longest is None or buffer is None or not isinstance(offset, int):
            return length
        return min(longest, buffer.length - offset)

    def _subspan(self, buffer: Span, offset: Integer, length: int) -> Span:
        """Returns part of a buffer. Its offset may be a run-time value, its length may not."""
        if isinstance(length, Variable):
            raise _dynamic("the model has a tensor whose size")
        if isinstance(offset, int) and isinstance(buffer.offset, int):
            return _subspan(buffer, offset, length)
        if self._recorder is None:
            raise BmcError("init-work", "the compiled model computes while it initializes")
        start = buffer.offset
        if start != 0:
            offset = self._recorder.let("vm.add.i64", (start, offset), 64)
        # The driver checks this range against the whole storage.
        return Span(buffer.storage, offset, length)


def _dynamic(what: str) -> BmcError:
    return BmcError(
        "dynamic-shape",
        f"{what} is only known at run time",
        hint="give every tensor a fixed shape",
    )


def _low(pattern: Integer, count: int) -> Integer:
    """The low `count` bytes of a known pattern. The runtime ignores the others."""
    return pattern & ((1 << (8 * count)) - 1) if isinstance(pattern, int) else pattern


def _subspan(buffer: Span, offset: int, length: int) -> Span:
    assert isinstance(buffer.offset, int)
    if offset < 0 or length < 0 or offset + length > buffer.length:
        raise BmcError(
            "host-program",
            f"the host program uses bytes {offset}+{length} of a buffer of {buffer.length} bytes",
        )
    return Span(buffer.storage, buffer.offset + offset, length)
