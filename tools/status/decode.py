#!/usr/bin/env python3
"""Runs tools/run/decode_status/decode.py, which had this path; until version 1.0."""

import runpy
from pathlib import Path

_NOW = Path(__file__).resolve().parents[1] / "run/decode_status/decode.py"

if __name__ == "__main__":
    runpy.run_path(str(_NOW), run_name="__main__")
