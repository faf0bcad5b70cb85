"""torchvision, also next to a PyTorch without CUDA, where its compiled operators cannot be loaded.

No model here calls them, but importing torchvision describes two of them to PyTorch, which must exist.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch

_found = find_spec("torchvision")
assert _found is not None and _found.origin is not None
try:
    torch.ops.load_library(Path(_found.origin).parent / "_C.so")
except OSError:
    _missing = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _missing.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision  # noqa: E402

models = torchvision.models
