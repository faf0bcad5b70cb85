"""A call of an entry point: its recorder, its arguments, and the places of the states it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import DType
from bmc.host.program import Span, Storage, StorageKind, View
from bmc.host.recorder import EntryRecorder
from bmc.rewrites.model_context import States


@dataclass
class InputView:
    """A buffer view passed to an entry point, with the declared type until the program asserts another."""

    view: View


class Call:
    """One run of an entry point at build time.

    Attributes:
      name: name of the entry point.
      recorder: records what the entry point does.
      places: the permanent places of the states that it returns after its outputs.
      storage: the buffers into which it is told to put these states.
    """

    def __init__(self, signature: Signature, states: States) -> None:
        uses = states.of(signature.name)
        self.name = signature.name
        self.recorder = EntryRecorder()
        self.places = [_state(number, states).span for number in uses.written]
        self.storage = [self.recorder.allocate_for_ever(place.length) for place in self.places]
        self._inputs = [
            InputView(_input_tensor(i, info.dtype, info.shape))
            for i, info in enumerate(signature.inputs)
        ]
        read = [InputView(_state(number, states)) for number in uses.read]
        written = [
            InputView(replace(_state(number, states), span=span))
            for number, span in zip(uses.written, self.storage, strict=True)
        ]
        self.arguments = (*self._inputs, *read, *written)

    def inputs(self) -> tuple[View, ...]:
        """The inputs' views, with the types that the program asserted."""
        return tuple(item.view for item in self._inputs)


def returned(results: Sequence[Any]) -> tuple[View, ...]:
    """Returns the views that an entry point returned; some may be views of its arguments."""
    return tuple(item.view if isinstance(item, InputView) else item for item in results)


def _state(number: int, states: States) -> View:
    info = states.infos[number]
    storage = Storage(StorageKind.STATE, number, info.length)
    return View(Span(storage, 0, info.length), info.dtype, info.shape)


def _input_tensor(index: int, element: DType, shape: tuple[int, ...]) -> View:
    length = TensorInfo("", element, shape).byte_count
    return View(Span(Storage(StorageKind.INPUT, index, length), 0, length), element, shape)
