"""Names and callers of run-time-loaded kernels in a backtrace.

Runs inside gdb, which knows nothing about these kernels: their ELF has no names, and the image has only
an array at their place.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Iterator

import gdb
from gdb.FrameDecorator import FrameDecorator
from gdb.unwinder import Unwinder, register_unwinder

# A kernel has set up its frame pointer by then.
_PROLOGUE_BYTES = 16
_SAVED = [f"s{number}" for number in range(1, 12)]


class Kernels:
    """The kernels that have been loaded."""

    def __init__(self) -> None:
        self._starts: list[tuple[int, str]] = []
        self._end = 0

    def add(self, functions: list[tuple[int, str]], code_bytes: int) -> None:
        """Adds kernels by address and name; the last one extends up to `code_bytes`."""
        self._starts = sorted([*self._starts, *functions])
        self._end = max(self._end, max(functions)[0] + code_bytes)

    def at(self, pc: int) -> tuple[int, str] | None:
        """Returns the start and name of the kernel that contains `pc`."""
        index = bisect.bisect_right(self._starts, pc, key=lambda kernel: kernel[0])
        return self._starts[index - 1] if index and pc < self._end else None


@dataclasses.dataclass(frozen=True)
class _FrameId:
    sp: gdb.Value
    pc: gdb.Value


class _Callers(Unwinder):
    """Callers on RISC-V: in the return address at a kernel's start, later below its frame pointer."""

    def __init__(self, kernels: Kernels) -> None:
        super().__init__("ironcast")
        self._kernels = kernels

    def __call__(self, frame: gdb.PendingFrame) -> gdb.UnwindInfo | None:
        pc = frame.read_register("pc")
        kernel = self._kernels.at(int(pc))
        if kernel is None or "riscv" not in frame.architecture().name():
            return None
        sp, fp, ra = (frame.read_register(name) for name in ("sp", "fp", "ra"))
        if int(pc) == kernel[0]:
            caller = {"pc": ra, "sp": sp, "fp": fp}
        elif int(pc) >= kernel[0] + _PROLOGUE_BYTES:
            saved = fp.cast(ra.type.pointer())
            caller = {"pc": saved[-1], "sp": fp, "fp": saved[-2]}
        else:
            return None
        # The other registers that a caller relies on. Where the kernel saved them is unknown; most are unchanged.
        for name in _SAVED:
            caller[name] = frame.read_register(name)
        info = frame.create_unwind_info(_FrameId(caller["sp"], gdb.Value(kernel[0]).cast(pc.type)))
        for name, value in caller.items():
            info.add_saved_register(name, value.cast(frame.read_register(name).type))
        return info


class _Named(FrameDecorator):
    def __init__(self, frame: gdb.Frame, name: str) -> None:
        super().__init__(frame)
        self._name = name

    def function(self) -> str:
        return self._name


class _Names:
    """A frame filter."""

    name, priority, enabled = "ironcast", 100, True

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels

    def filter(self, frames: Iterator[FrameDecorator]) -> Iterator[FrameDecorator]:
        for frame in frames:
            kernel = self._kernels.at(frame.inferior_frame().pc())
            yield frame if kernel is None else _Named(frame, kernel[1])


def register(kernels: Kernels) -> None:
    """Makes gdb look up kernels here once they have been added."""
    register_unwinder(None, _Callers(kernels), replace=True)
    gdb.frame_filters["ironcast"] = _Names(kernels)
