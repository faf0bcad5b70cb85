"""Where pip may look for PyTorch's CPU build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from third_party.python.cpu_builds import config_files
from tools.launcher import github
from tools.launcher.choose import kept_answer

CPU_INDEX = "https://download.pytorch.org/whl/cpu/"
_CHOICES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX")


def cpu_index(env: Mapping[str, str], cache: Path) -> dict[str, str]:
    """What to add to the environment so that pip sees PyTorch's own index of CPU builds.

    Nothing where the user has told pip where to look, or where that index cannot be reached:
    pip then takes the CUDA build, which works as well and is gigabytes larger.
    """
    if any(env.get(name) for name in _CHOICES) or any(file.is_file() for file in config_files(env)):
        return {}
    if not kept_answer(cache, "pytorch-index", lambda: github.reachable(CPU_INDEX)):
        return {}
    return {"PIP_EXTRA_INDEX_URL": CPU_INDEX}
