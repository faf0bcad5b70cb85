"""Wake words, said: what the models of openWakeWord hand on to each other."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from bmc.spec import Array, Cases
from models.world import package_data
from models.world.speech import spoken

# Rows of mel spectra that make an embedding, the step between two, and embeddings that make an answer.
_MELS, _STEP, _EMBEDDINGS = 76, 8, 16


def _model(name: str) -> Path:
    return package_data.path("pyopen_wakeword", f"models/{name}.tflite")


def _run(name: str, given: Array) -> Array:
    interpreter = Interpreter(str(_model(name)), num_threads=1)
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, given.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, given)
    interpreter.invoke()
    answer: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return answer


def _wave(text: str) -> Array:
    """Two seconds of silence and a sentence, as integers of 16 bits in f32, [1, samples]."""
    return np.rint(np.pad(spoken(text), (32_000, 0)) * 32767).astype(np.float32)[None]


@functools.cache
def _mels(text: str) -> Array:
    rows = _run("melspectrogram", _wave(text)).reshape(-1, 32) / 10 + 2
    return rows.astype(np.float32)


def _embeddings(text: str) -> Array:
    """The last embeddings of a sentence, [1, 16, 96]."""
    rows = _mels(text)
    ends = [rows.shape[0] - _STEP * back for back in reversed(range(_EMBEDDINGS))]
    found = [_run("embedding_model", rows[None, end - _MELS : end, :, None]) for end in ends]
    return np.stack(found).reshape(1, _EMBEDDINGS, -1)


def _said(word: str) -> Cases:
    """The word, and something else."""
    texts = (word, "The birch canoe slid on the smooth planks.")
    return Cases(tuple((_embeddings(text),) for text in texts), ())


def alexa() -> Cases:
    return _said("Alexa")


def hey_jarvis() -> Cases:
    return _said("Hey, Jarvis!")


def hey_mycroft() -> Cases:
    return _said("Hey my croft")  # "Mycroft" is too short, as eSpeak NG says it.


def hey_rhasspy() -> Cases:
    return _said("Hey Rhasspy")


def okay_nabu() -> Cases:
    return _said("Okay Nabu")


def spectra() -> Cases:
    """Samples of a word, [1, 1760]."""
    wave = _wave("Alexa")
    return Cases(((wave[:, 34_000:35_760],), (wave[:, 36_000:37_760],)), ())


def embedding() -> Cases:
    """Mel spectra of a word, [1, 76, 32, 1]."""
    rows = _mels("Alexa")
    return Cases(
        tuple((rows[None, -_MELS - back : len(rows) - back, :, None],) for back in (0, 40)), ()
    )
