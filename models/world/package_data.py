"""Files that packages bring."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def path(package: str, file: str) -> Path:
    """Returns where a file of a package is, without what the package imports."""
    parts = package.split(".")
    spec = importlib.util.find_spec(parts[0])
    for folder in spec.submodule_search_locations if spec else ():
        found = Path(folder, *parts[1:]) / file
        if found.exists():
            return found
    raise FileNotFoundError(f"package {package} has no {file}")
