"""Where pip may look for PyTorch's CPU build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from third_party.python.cpu_builds import CPU_INDEX, choices
from tools.launcher.answers import kept_answer, reachable


def cpu_index(env: Mapping[str, str], cache: Path) -> dict[str, str]:
    """What to add to the environment so that pip sees PyTorch's own index of CPU builds.

    Nothing where the user has told pip where to look, or where that index cannot be reached:
    pip then takes the CUDA build, which is larger and is made to work without CUDA
    (third_party/python/without_cuda.py).
    """
    if choices(env):
        return {}
    # Asking can take seconds where something swallows the question, so a no is kept for an hour.
    if not kept_answer(cache, "pytorch-index", lambda: reachable(CPU_INDEX), no_lasts=3600):
        return {}
    return {"PIP_EXTRA_INDEX_URL": CPU_INDEX}
