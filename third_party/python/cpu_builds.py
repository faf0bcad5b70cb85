"""PyTorch's CPU build: where this machine's pip configuration has it. Prints, as JSON, what decides that.

usage: cpu_builds.py FILE=SHA256...

It has the same version as the CUDA build on the index that pip and uv ask by default.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

sys.dont_write_bytecode = True  # keeps the work tree clean
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from third_party.python.pip_config import (  # noqa: E402
    INDEXES,
    config_files,
    link_folders,
    settings,
)

# How the address of an index of PyTorch's CPU builds ends, for PyTorch's own and its mirrors.
_CPU_INDEX_PATH = "/whl/cpu"

NO_CPU_BUILD = (
    "No folder or index that pip is set up for is known to have PyTorch's CPU build for this Python "
    "(190 MB). Where none has it, the first model of PyTorch fetches the CUDA build: 530 MB, 1.1 GB "
    "unpacked, without NVIDIA's libraries, which would be 2.2 GB more. For the CPU build, now or "
    "later: PIP_EXTRA_INDEX_URL=PAGE, the index that PyTorch's installation page gives for pip and "
    "CPU, or PIP_FIND_LINKS=FOLDER_WITH_THE_WHEEL."
)


def python_tag() -> str:
    """This Python as wheels name it: cp311."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def choice(env: Mapping[str, str], hashes: Mapping[str, str], python: str) -> str:
    """Differs if another build might be taken."""
    said = settings(env)
    return json.dumps(
        [[said.get(name) for name in INDEXES], *map(str, _wheels(said, hashes, python))]
    )


def requirements(
    env: Mapping[str, str], hashes: Mapping[str, str], python: str, package: str
) -> list[str]:
    """The requirements that name a CPU build of a package, best first.

    hashes: wheel -> sha256. python: as python_tag.
    """
    said = settings(env)
    ours = {name: sha256 for name, sha256 in hashes.items() if _is_for(name, python, package)}
    found = [
        f"{package} @ file://{quote(str(wheel))} --hash=sha256:{ours[wheel.name]}"
        for wheel in _wheels(said, ours, python)
    ]
    if _names_cpu_index(said):
        found += [
            f"{package}==={wheel.split('-')[1]} --hash=sha256:{sha256}"
            for wheel, sha256 in ours.items()
        ]
    return found


def answer(env: Mapping[str, str], hashes: Mapping[str, str], python: str) -> dict[str, object]:
    """The information for cpu_builds_repo.

    choice: as above. watch: files that this information came from. note: a message for the user, or "".
    """
    said = settings(env)
    packages = {name.split("-")[0] for name in hashes}
    known = any(requirements(env, hashes, python, package) for package in packages)
    wheels = [folder / name for folder in link_folders(said) for name in hashes]
    return {
        "choice": choice(env, hashes, python),
        "watch": [str(path) for path in (*config_files(env), *wheels)],
        "note": "" if known else NO_CPU_BUILD,
    }


def _wheels(said: Mapping[str, list[str]], hashes: Mapping[str, str], python: str) -> list[Path]:
    wheels = [
        folder / name for folder in link_folders(said) for name in hashes if f"-{python}-" in name
    ]
    return [wheel for wheel in wheels if wheel.is_file()]


def _is_for(wheel: str, python: str, package: str) -> bool:
    return wheel.split("-")[0] == package and f"-{python}-" in wheel


def _names_cpu_index(said: Mapping[str, list[str]]) -> bool:
    indexes = said.get("index-url", []) + said.get("extra-index-url", [])
    return any(urlsplit(index).path.rstrip("/").endswith(_CPU_INDEX_PATH) for index in indexes)


if __name__ == "__main__":
    table = dict(argument.split("=") for argument in sys.argv[1:])
    print(json.dumps(answer(os.environ, table, python_tag())))
