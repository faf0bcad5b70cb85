"""Texts, and bytes of files, as inputs."""

from __future__ import annotations

import json

import numpy as np

from bmc.spec import Array, Cases
from models.world import package_data

# Without marks, 32 letters and spaces each. "In the name of God, ..." and "The boy went to the school ...".
_SENTENCES = ("بسم الله الرحمن الرحيم الحمد لله", "ذهب الولد الى المدرسة في الصباح ")
# Numbers that bilstm gives characters; each line begins with its first number. 1 is any other.
_LETTERS = {
    4: "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوي",
    41: " .,،؛:؟!()-\"'\n",
}
# Magika reads so many bytes at both ends of a file, and this in place of those that a shorter file lacks.
_END, _NO_BYTE = 1024, 256


def _numbers(numbers: dict[str, int]) -> Cases:
    rows = [[numbers.get(letter, 1) for letter in text] for text in _SENTENCES]
    return Cases(tuple((np.array([row], np.int64),) for row in rows), ())


def bilstm() -> Cases:
    pairs = ((first + n, c) for first, line in _LETTERS.items() for n, c in enumerate(line))
    return _numbers({letter: number for number, letter in pairs})


def _rawi(file: str) -> Cases:
    vocabulary = package_data.path("text2tashkeel", f"models/{file}.vocab.json")
    return _numbers(json.loads(vocabulary.read_text(encoding="utf-8"))["char_to_idx"])


def rawi() -> Cases:
    return _rawi("rawi")


def rawi_v2() -> Cases:
    return _rawi("rawi_v2")


def _ends(data: bytes) -> Array:
    first, last = data[:_END], data[-_END:]
    row = [*first, *[_NO_BYTE] * (_END - len(first)), *[_NO_BYTE] * (_END - len(last)), *last]
    return np.array([row], np.int32)


def files() -> Cases:
    """The first and last bytes of a Python program, of a JSON and of a picture."""
    data = (
        package_data.path("magika", "magika.py").read_bytes().strip(),
        b'{"name": "magika", "numbers": [1, 2, 3], "nested": {"empty": null}}',
        package_data.path("skimage", "data/page.png").read_bytes(),
    )
    return Cases(tuple((_ends(each),) for each in data), ())
