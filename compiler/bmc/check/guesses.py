"""Sizes to try for dynamic dimensions, until the framework runs the model with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bmc.frontends.survey import Survey
from bmc.golden import Declared

# In the order in which they are tried, for the height and width of images, and for everything else.
_IMAGES = (224, 320, 640, 96, 48)
_SEQUENCES = (512, 128, 256, 16000, 64)
_SOUNDS = (16000, 512, 48000, 1024, 8000)
# Where each step is written out: an import of two bidirectional layers with 512 takes minutes.
_STEPS = (16, 64, 512, 128, 16000)
_ROUNDS = len(_SEQUENCES)
_BATCH = re.compile("batch", re.IGNORECASE)
_SOUND = re.compile(r"audio|pcm|samples|signal|sound|speech|wave", re.IGNORECASE)
_LENGTH = re.compile(r"len|num|size", re.IGNORECASE)
_IMAGE_RANK = 4


def needed(info: Declared) -> bool:
    """Whether the user has to say which shape an input has: bmc takes 1 for a dynamic batch."""
    return None in info.shape[1:]


def shapes(
    survey: Survey, given: Mapping[str, tuple[int, ...]]
) -> Iterator[dict[str, tuple[int, ...]]]:
    """Yields shapes to try for all inputs that need some; `given` are the user's own."""
    open_ = [info for info in survey.inputs if needed(info) and info.name not in given]
    for number in range(_ROUNDS if open_ else 1):
        yield {**given, **{info.name: _shape(info, survey, number) for info in open_}}


def _shape(info: Declared, survey: Survey, number: int) -> tuple[int, ...]:
    sizes = _SOUNDS if _SOUND.search(info.name) else _SEQUENCES
    if survey.written_out:
        sizes = _STEPS
    if len(info.shape) == _IMAGE_RANK:
        sizes = _IMAGES
    return tuple(
        dim if dim is not None else 1 if _is_batch(info, survey, axis) else sizes[number]
        for axis, dim in enumerate(info.shape)
    )


def _is_batch(info: Declared, survey: Survey, axis: int) -> bool:
    """Whether an axis is most likely the batch: the first one, or the second behind layers of a state."""
    if axis == 0 or _BATCH.search(survey.symbols.get((info.name, axis), "")):
        return True
    first = info.shape[0]
    return axis == 1 and len(info.shape) > 2 and first is not None and first > 1


def pins(survey: Survey, given: Mapping[str, float]) -> dict[str, float]:
    """Returns constants for inputs that select a branch, besides the user's own."""
    return {name: next(iter(values), 1) for name, values in survey.switches.items()} | dict(given)


def lengths(
    survey: Survey, chosen: Mapping[str, tuple[int, ...]], pinned: Mapping[str, float]
) -> dict[str, float]:
    """Returns constants for integers of one element that say how long another input is."""
    longest = max((max(shape) for shape in chosen.values()), default=1)
    return {
        info.name: longest
        for info in survey.inputs
        if info.name not in pinned
        and not info.dtype.is_float
        and all(dim in (None, 1) for dim in info.shape)
        and _LENGTH.search(info.name)
    }
