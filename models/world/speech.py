"""Spoken sentences as inputs: eSpeak NG says them."""

from __future__ import annotations

import ctypes
import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import espeakng_loader
import numpy as np

from bmc.spec import Array, Cases, Exact, Tolerance

RATE = 16_000
_SENTENCE = "Alexa, what is the weather like? The birch canoe slid on the smooth planks."
# Of speak_lib.h: results go to a callback, positions count characters, and texts are UTF-8. The other mode with a
# callback (1) has threads that crash or wait for each other now and then.
_SYNCHRONOUS, _CHARACTERS, _UTF8 = 2, 1, 1
# Returns an error instead of ending the process.
_STAY = 0x8000
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


@functools.cache
def spoken(text: str = _SENTENCE) -> Array:
    """Returns a sentence, from -1 to 1, at RATE samples a second."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    # It takes no path of more than 160 characters, which those in a build are.
    with tempfile.TemporaryDirectory() as home:
        Path(home, "espeak-ng-data").symlink_to(Path(espeakng_loader.get_data_path()).resolve())
        own_rate = library.espeak_Initialize(_SYNCHRONOUS, 0, home.encode(), _STAY)
        if own_rate <= 0:
            raise RuntimeError(f"eSpeak NG does not start: {own_rate}")
        parts: list[Array] = []

        @_CALLBACK
        def take(samples: Any, count: int, events: int) -> int:
            if samples and count > 0:
                parts.append(np.ctypeslib.as_array(samples, (count,)).copy())
            return 0

        library.espeak_SetSynthCallback(take)
        library.espeak_SetVoiceByName(b"en-us")
        said = text.encode()
        library.espeak_Synth(said, len(said) + 1, 0, _CHARACTERS, 0, _UTF8, None, None)
    wave = np.concatenate(parts) / 32768.0
    times = np.arange(int(wave.size * RATE / own_rate)) / RATE
    return np.interp(times, np.arange(wave.size) / own_rate, wave).astype(np.float32)


def noisy(count: int, loudness: float) -> Array:
    """Returns so many samples of the sentence, said again and again in noise."""
    noise = np.random.default_rng(0).standard_normal(count) * loudness
    return (np.resize(spoken(), count) + noise).clip(-1, 1).astype(np.float32)


def spectra(wave: Array, size: int, hop: int, count: int) -> Array:
    """Returns the amplitudes of `count` windows of `size` samples, [count, size // 2 + 1]."""
    padded = np.pad(wave, (0, max(0, size + hop * count - wave.size)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop][:count]
    return np.abs(np.fft.rfft(windows * np.hanning(size)))


def _mels(power: Array, bands: int) -> Array:
    """Returns decibels below the largest of `bands` triangles on the mel scale, as librosa makes them, about 0."""
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, bands + 2) / 2595) - 1)
    bins = np.linspace(0, RATE / 2, power.shape[1])
    rise = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    mel = power @ np.maximum(0, np.minimum(rise, fall)).T
    decibels = 10 * np.log10(np.maximum(mel, 1e-10) / mel.max())
    return (np.maximum(decibels, -80) + 40) / 40


def _cases(*cases: tuple[Array, ...]) -> Cases:
    """Cases in f32, with the tolerance of a file that has none."""
    return Cases(tuple(tuple(each.astype(np.float32) for each in case) for case in cases), ())


def seconds() -> Cases:
    """Two seconds of speech, each [1, 16000]."""
    wave = spoken()[None]
    return _cases((wave[:, :RATE],), (wave[:, RATE : 2 * RATE],))


def logarithms() -> Cases:
    """The same, for features that are logarithms of energies down to 1e-9.

    Near there, onnxruntime's own rounding errors are 0.018, against sums in f64.
    """
    return replace(seconds(), tolerance=(Tolerance(0.04, 0), Exact()))


def thirty_seconds() -> Cases:
    """The same, for features of 30 s that are cut off 8 decades below the largest.

    Just above that, onnxruntime's own rounding errors are 2.5e-3, against sums in f64.
    """
    return replace(seconds(), tolerance=(Tolerance(6e-3, 0), Exact()))


def mos_wave() -> Cases:
    """Nine seconds in noise, [1, 144160]."""
    return _cases((noisy(144_160, 0.02)[None],))


def mos_spectra() -> Cases:
    """The logarithms of their powers, [1, 901, 161]."""
    power = spectra(noisy(144_160, 0.02), 320, 160, 901) ** 2
    return _cases((np.log10(np.maximum(power, 1e-12))[None],))


def mos_mels() -> Cases:
    """Their decibels, [1, 900, 120], in noise and without."""
    windows = [spectra(noisy(144_160, loudness), 321, 160, 900) for loudness in (0.02, 0)]
    return _cases(*((_mels(each**2, 120)[None],) for each in windows))


def echo_mels(hidden: int) -> Cases:
    """Decibels of what a loudspeaker says, a microphone hears and an echo canceller makes of it, [1, 3, 100, 160]."""
    far = np.resize(spoken("Please leave a message after the tone."), 60_000)
    near = noisy(60_000, 0.01)
    heard = near + 0.5 * np.roll(far, 400)
    case = [_mels(spectra(each, 513, 256, 100) ** 2, 160) for each in (far, heard, near)]
    return _cases((np.stack(case)[None], np.zeros((4, 1, hidden))))


def echo_64() -> Cases:
    return echo_mels(64)


def echo_96() -> Cases:
    return echo_mels(96)


def lost_packets() -> Cases:
    """Logarithms of powers with gaps of 20 ms, [1, 1, 100, 257], and what stands for a listener, [1, 64]."""
    wave = noisy(27_000, 0.001)
    wave[np.arange(wave.size) // 320 % 9 == 4] = 0
    power = spectra(wave, 512, 256, 100) ** 2
    listener = np.random.default_rng(0).standard_normal((1, 64))
    return _cases((np.log(np.maximum(power, 1e-12))[None, None], listener))
