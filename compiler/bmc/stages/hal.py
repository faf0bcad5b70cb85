"""Stage: the host program becomes a straight line of commands.

Plays the HAL to IREE's host program (see stages/vm.py) and writes down what it asks for. One queue
executes everything in submission order, so fences carry no information and are all one token.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc import dtype
from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.host_program import (
    Command,
    Constant,
    Copy,
    Dispatch,
    Fill,
    HostProgram,
    Slab,
    Span,
    Storage,
    StorageKind,
    View,
)
from bmc.stages import ir_util
from bmc.stages.vm import Import, VirtualMachine

_ENTRY = "main"
_DENSE_ROW_MAJOR = 1
_FENCE = "fence"


@dataclass(frozen=True, slots=True)
class _Slot:
    """A buffer that execute binds later: the command buffer only knows its place in the table."""

    index: int
    offset: int
    length: int


_Place = Span | _Slot
# A recorded command whose places may still be slots: finishes the command, given a resolver.
_Recorded = Callable[[Callable[[_Place], Span], bool], Command]


@dataclass
class _CommandBuffer:
    commands: list[tuple[_Recorded, bool]] = field(default_factory=list)
    barrier: bool = False

    def record(self, command: _Recorded) -> None:
        self.commands.append((command, self.barrier))
        self.barrier = False


@dataclass
class _InputView:
    """A buffer view passed to main, of the declared type until the program asserts another."""

    view: View


def run(vm_module: Path, inputs: tuple[TensorInfo, ...]) -> HostProgram:
    """Executes `__init` and `main` of a VM module.

    Args:
      vm_module: bytecode of a module in the VM dialect.
      inputs: the declared signature of `main`.

    Raises:
      BmcError: naming what the program does that tables cannot express.
    """
    with ir.Context():
        recorder = _Recorder()
        machine = VirtualMachine(ir_util.read(vm_module), recorder.imports())
        if machine.defines("__init"):  # a model that launches and loads nothing has none
            machine.call("__init", ())
        recorder.initialized = True
        machine.sealed = True
        views = [
            _InputView(_input_tensor(i, info.dtype, info.shape)) for i, info in enumerate(inputs)
        ]
        results = machine.call(_ENTRY, views)
        return recorder.finish(views, results)


class _Recorder:
    """The HAL and parameter imports, and everything they were asked to do."""

    def __init__(self) -> None:
        self.initialized = False
        self._executables: list[bytes] = []
        self._functions: list[str] = []
        self._constants: list[Constant] = []
        self._slabs: list[Slab] = []
        self._commands: list[Command] = []

    def imports(self) -> dict[str, Import]:
        return {
            "hal.devices.count": lambda: (1,),
            "hal.devices.get": lambda index: ("device",),
            # The one device runs whatever format was compiled.
            "hal.device.query.i64": lambda device, category, key: (1, 1),
            "hal.device.allocator": lambda device: ("allocator",),
            "hal.executable.create": self._executable_create,
            "hal.executable.lookup.function": self._lookup_function,
            "hal.fence.create": lambda device, flags: (_FENCE,),
            "hal.fence.join": lambda flags, fences: (_FENCE,),
            "hal.fence.await": lambda timeout, flags, fences: (0,),
            "hal.allocator.import": self._allocator_import,
            "io_parameters.load": self._parameters_load,
            "hal.buffer.assert": lambda *arguments: (),
            "hal.buffer.subspan": lambda buffer, offset, length: (
                _subspan(buffer, offset, length),
            ),
            "hal.buffer_view.assert": self._view_assert,
            "hal.buffer_view.buffer": self._view_buffer,
            "hal.buffer_view.create": self._view_create,
            "hal.command_buffer.create": lambda *arguments: (_CommandBuffer(),),
            "hal.command_buffer.finalize": lambda commands: (),
            "hal.command_buffer.execution_barrier": self._barrier,
            "hal.command_buffer.dispatch": self._dispatch,
            "hal.command_buffer.fill_buffer": self._fill,
            "hal.command_buffer.copy_buffer": self._copy,
            "hal.device.queue.alloca": self._queue_alloca,
            "hal.device.queue.dealloca": self._queue_dealloca,
            "hal.device.queue.execute": self._execute,
            "hal.device.queue.execute.indirect": self._execute,
        }

    def finish(self, inputs: list[_InputView], results: tuple[Any, ...]) -> HostProgram:
        if len(self._executables) > 1:
            raise BmcError(
                "host-program",
                f"the model was compiled to {len(self._executables)} executables, not one",
            )
        return HostProgram(
            executable=self._executables[0] if self._executables else b"",
            inputs=tuple(item.view for item in inputs),
            outputs=tuple(item.view if isinstance(item, _InputView) else item for item in results),
            constants=tuple(self._constants),
            slabs=tuple(
                replace(slab, end=len(self._commands)) if slab.end < 0 else slab
                for slab in self._slabs
            ),
            commands=tuple(self._commands),
        )

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
                "the kernels take executable constants, which the plan has no place for",
            )
        self._executables.append(data)
        return (len(self._executables) - 1,)

    def _lookup_function(self, executable: int, name: bytes) -> tuple[int]:
        self._functions.append(name.decode())
        return (len(self._functions) - 1,)

    # Constants.

    def _constant(self, constant: Constant) -> Span:
        self._constants.append(constant)
        storage = Storage(StorageKind.CONSTANT, len(self._constants) - 1, constant.length)
        return Span(storage, 0, constant.length)

    def _allocator_import(
        self,
        allocator: str,
        can_fail: int,
        affinity: int,
        types: int,
        usage: int,
        source: bytes,
        offset: int,
        length: int,
    ) -> tuple[Span]:
        data = source[offset : offset + length]
        return (self._constant(Constant(f"constant{len(self._constants)}", length, data=data)),)

    def _parameters_load(
        self,
        device: str,
        affinity: int,
        wait: str,
        signal: str,
        scope: bytes,
        target_affinity: int,
        types: int,
        usage: int,
        key_table: bytes,
        key_data: bytes,
        spans: bytes,
    ) -> tuple[list[Span]]:
        """key_table holds (offset, length) u32 pairs into key_data, spans (parameter offset, buffer offset,
        length) u64 triples; each key gives one buffer."""
        loaded: list[Span] = []
        for (offset, length), (source, target, size) in zip(
            struct.iter_unpack("<II", key_table), struct.iter_unpack("<QQQ", spans), strict=True
        ):
            if source or target:
                raise BmcError("unsupported-host-op", "the host program loads part of a parameter")
            key = key_data[offset : offset + length].decode()
            loaded.append(self._constant(Constant(key, size, parameter=key)))
        return (loaded,)

    # Tensors at the border.

    def _view_assert(
        self, view: _InputView, message: bytes, element_type: int, encoding: int, shape: list[int]
    ) -> tuple[()]:
        if encoding != _DENSE_ROW_MAJOR:
            raise BmcError(
                "unsupported-host-op", f"an input has encoding {encoding}, not dense row-major"
            )
        index = view.view.span.storage.index
        view.view = _input_tensor(index, dtype.from_hal(element_type), tuple(shape))
        return ()

    def _view_buffer(self, view: _InputView) -> tuple[Span]:
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
        return (View(_subspan(buffer, offset, length), dtype.from_hal(element_type), tuple(shape)),)

    # Command buffers.

    def _barrier(self, commands: _CommandBuffer, source: int, target: int, flags: int) -> tuple[()]:
        commands.barrier = True
        return ()

    def _dispatch(
        self,
        commands: _CommandBuffer,
        executable: int,
        function: int,
        x: int,
        y: int,
        z: int,
        flags: int,
        constants: list[int],
        bindings: list[tuple[int, int, Span | None, int, int]],
    ) -> tuple[()]:
        places = [
            _place(buffer, slot, offset, length) for _, slot, buffer, offset, length in bindings
        ]
        name = self._functions[function]
        words = tuple(word & 0xFFFFFFFF for word in constants)
        commands.record(
            lambda resolve, barrier: Dispatch(
                name, (x, y, z), words, tuple(map(resolve, places)), barrier
            )
        )
        return ()

    def _fill(
        self,
        commands: _CommandBuffer,
        target: Span | None,
        offset: int,
        length: int,
        slot: int,
        pattern: int,
        pattern_bytes: int,
        flags: int,
    ) -> tuple[()]:
        place = _place(target, slot, offset, length)
        bits = pattern & ((1 << (8 * pattern_bytes)) - 1)
        commands.record(lambda resolve, barrier: Fill(resolve(place), bits, pattern_bytes, barrier))
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
        origin = _place(source, source_slot, source_offset, length)
        goal = _place(target, target_slot, target_offset, length)
        commands.record(lambda resolve, barrier: Copy(resolve(origin), resolve(goal), barrier))
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
        if not self.initialized:
            return (self._constant(Constant(f"constant{len(self._constants)}", size)),)
        self._slabs.append(Slab(size, len(self._commands), -1))
        return (Span(Storage(StorageKind.SLAB, len(self._slabs) - 1, size), 0, size),)

    def _queue_dealloca(
        self, device: str, affinity: int, wait: str, signal: str, buffer: Span, flags: int
    ) -> tuple[()]:
        if buffer.storage.kind is StorageKind.CONSTANT:
            return ()
        index = buffer.storage.index
        self._slabs[index] = replace(self._slabs[index], end=len(self._commands))
        return ()

    def _execute(
        self,
        device: str,
        affinity: int,
        wait: str,
        signal: str,
        commands: _CommandBuffer,
        flags: int,
        table: Sequence[tuple[Span, int, int]] = (),
    ) -> tuple[()]:
        def resolve(place: _Place) -> Span:
            if isinstance(place, Span):
                return place
            buffer, offset, length = table[place.index]
            return _subspan(_subspan(buffer, offset, length), place.offset, place.length)

        # Submissions are in order: the first command of each waits for everything before.
        for index, (recorded, barrier) in enumerate(commands.commands):
            command = recorded(resolve, barrier or index == 0)
            if self.initialized:
                self._commands.append(command)
            else:
                self._write_constant(command)
        return ()

    def _write_constant(self, command: Command) -> None:
        """Initialization is done at build time, by stages/weights.py."""
        if isinstance(command, Dispatch):
            raise BmcError(
                "init-work",
                f"the compiled model runs kernel {command.function} while it initializes",
                hint="kernels run on the target only; please report the model",
            )
        index = command.target.storage.index
        constant = self._constants[index]
        self._constants[index] = replace(constant, writes=(*constant.writes, command))


def _place(buffer: Span | None, slot: int, offset: int, length: int) -> _Place:
    return _Slot(slot, offset, length) if buffer is None else _subspan(buffer, offset, length)


def _subspan(buffer: Span, offset: int, length: int) -> Span:
    if offset < 0 or length < 0 or offset + length > buffer.length:
        raise BmcError(
            "host-program",
            f"the host program uses bytes {offset}+{length} of a buffer of {buffer.length} bytes",
        )
    return Span(buffer.storage, buffer.offset + offset, length)


def _input_tensor(index: int, element: DType, shape: tuple[int, ...]) -> View:
    length = TensorInfo("", element, shape).byte_count
    return View(Span(Storage(StorageKind.INPUT, index, length), 0, length), element, shape)
