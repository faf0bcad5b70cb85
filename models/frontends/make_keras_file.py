"""Writes keras_model.py's network as a .keras file or, for saved_model.pb, as a SavedModel folder."""

from __future__ import annotations

import sys
from pathlib import Path

from models.frontends.keras_model import network

out = Path(sys.argv[1])
if out.suffix == ".keras":
    network().save(out)
else:
    network().export(out.parent, verbose=False)
