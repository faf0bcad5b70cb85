"""Photographs of scikit-image as inputs."""

from __future__ import annotations

import numpy as np
from PIL import Image

from bmc.spec import Array, Cases
from models.world import package_data

_Box = tuple[int, int, int, int]
# Places in astronaut.png and page.png: left, top, right, bottom.
_WOMAN, _BUST, _HEAD, _FACE = (
    (0, 0, 512, 512),
    (98, 0, 354, 256),
    (148, 20, 308, 180),
    (170, 45, 280, 180),
)
_EYE, _PATCH, _HELMET = (175, 85, 223, 133), (130, 340, 218, 428), (270, 340, 512, 512)
_WORD, _LINE, _TEXT = (4, 6, 104, 40), (4, 42, 382, 62), (0, 0, 384, 191)


def _picture(file: str, box: _Box, width: int, height: int) -> Array:
    """Returns a part of a photograph in this size, [height, width, 3], from 0 to 255."""
    part = Image.open(package_data.path("skimage", f"data/{file}.png")).convert("RGB").crop(box)
    return np.asarray(part.resize((width, height), Image.Resampling.BILINEAR), np.float32)


def _woman(width: int, height: int, *boxes: _Box) -> list[Array]:
    return [_picture("astronaut", box, width, height)[None] for box in boxes]


def _page(width: int, height: int, *boxes: _Box) -> list[Array]:
    return [_picture("page", box, width, height)[None] for box in boxes]


def _cases(
    pictures: list[Array], *, low: float = 0, high: float = 1, channels_first: bool = False
) -> Cases:
    """Cases of pictures from `low` to `high`, with the tolerance of a file that has no cases."""
    scaled = [(each / 255 * (high - low) + low).astype(np.float32) for each in pictures]
    turned = [np.moveaxis(each, -1, 1) if channels_first else each for each in scaled]
    return Cases(tuple((np.ascontiguousarray(each),) for each in turned), ())


def _standard(pictures: list[Array]) -> Cases:
    """Pictures with the mean and deviation that networks for ImageNet expect, channels first."""
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    scaled = [np.moveaxis((each / 255 - mean) / deviation, -1, 1) for each in pictures]
    return Cases(tuple((np.ascontiguousarray(each, np.float32),) for each in scaled), ())


def face_24() -> Cases:
    return _cases(_woman(24, 24, _FACE, _PATCH), low=-1)


def face_48() -> Cases:
    return _cases(_woman(48, 48, _FACE, _PATCH), low=-1)


def face_128() -> Cases:
    return _cases(_woman(128, 128, _BUST, _HELMET), low=-1)


def face_192() -> Cases:
    return _cases(_woman(192, 192, _BUST, _HELMET), low=-1)


def face_256() -> Cases:
    return _cases(_woman(256, 256, _BUST, _HELMET), low=-1)


def head_192() -> Cases:
    return _cases(_woman(192, 192, _HEAD, _PATCH))


def eye_64() -> Cases:
    return _cases(_woman(64, 64, _EYE, _PATCH))


def gray_face_64() -> Cases:
    return _cases([each.mean(-1, keepdims=True) for each in _woman(64, 64, _FACE, _PATCH)], low=-1)


def person_224() -> Cases:
    return _cases(_woman(224, 224, _HELMET, _WOMAN))


def person_256() -> Cases:
    return _cases(_woman(256, 256, _WOMAN))


def person_256_144() -> Cases:
    return _cases(_woman(256, 144, _WOMAN))


def person_320() -> Cases:
    return _cases(_woman(320, 320, _WOMAN), channels_first=True)


def word_96_48() -> Cases:
    return _cases(_page(96, 48, _WORD), low=-1, channels_first=True)


def line_192_48() -> Cases:
    """A line, and the same upside down."""
    (line,) = _page(192, 48, _LINE)
    return _cases([line, line[:, ::-1, ::-1]], low=-1, channels_first=True)


def text_160() -> Cases:
    return _cases(_page(160, 160, _TEXT), low=-1, channels_first=True)


def page_224() -> Cases:
    """A page, and the same on its side."""
    (page,) = _page(224, 224, _TEXT)
    return _standard([page, page.swapaxes(1, 2)])


def page_608_800() -> Cases:
    return _standard(_page(608, 800, _TEXT))
