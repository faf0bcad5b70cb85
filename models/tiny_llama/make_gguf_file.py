"""Writes a small language model as a .gguf file, with the formats of SmolLM2's."""

from __future__ import annotations

import sys
from pathlib import Path

import gguf_kit

gguf_kit.write(Path(sys.argv[1]), gguf_kit.Small(layers=2))
