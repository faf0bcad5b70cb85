"""Prints, as JSON, this machine's pip configuration and which PyTorch build follows from it.

usage: cpu_builds.py FILE=SHA256...

pip prefers a file whose hash it knows in advance. A file in a plain folder (`find-links`)
has none, so of PyTorch's two builds pip would take the CUDA build from its index. On a
page of links each file can have a hash.
"""

from __future__ import annotations

import configparser
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

# How the address of an index of PyTorch's CPU builds ends, for PyTorch's own and its mirrors.
_CPU_INDEX_PATH = "/whl/cpu"

# The settings that decide where pip looks, as in its configuration. In the environment: PIP_INDEX_URL.
CHOICES = ("index-url", "extra-index-url", "find-links", "no-index")

NO_CPU_BUILD = (
    "No folder or index that pip is set up for is known to have PyTorch's CPU build for this Python "
    "(190 MB). Where none has it, the first model of PyTorch fetches the CUDA build: 530 MB, 1.1 GB "
    "unpacked, without NVIDIA's libraries, which would be 2.2 GB more. For the CPU build, now or "
    "later: PIP_EXTRA_INDEX_URL=PAGE, the index that PyTorch's installation page gives for pip and "
    "CPU, or PIP_FIND_LINKS=FOLDER_WITH_THE_WHEEL."
)


def config_files(env: Mapping[str, str]) -> list[Path]:
    """The possible places of pip's configuration, in the order pip reads them."""
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    shared = env.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    files = [Path(folder, "pip/pip.conf") for folder in shared.split(os.pathsep) if folder]
    files.append(Path("/etc/pip.conf"))
    if (home := env.get("HOME")) and not (named and Path(named).exists()):
        config = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        files += [Path(home, ".pip/pip.conf"), Path(config, "pip/pip.conf")]
    files.append(Path(sys.prefix, "pip.conf"))
    return files + ([Path(named)] if named else [])


def choices(env: Mapping[str, str]) -> dict[str, list[str]]:
    """Where pip is told to look: setting -> values from the environment and the files."""
    found: dict[str, list[str]] = {}
    for name in CHOICES:
        if value := env.get("PIP_" + name.upper().replace("-", "_")):
            found.setdefault(name, []).extend(value.split())
    for file in config_files(env):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file)
        except (OSError, ValueError, configparser.Error):
            continue  # pip itself reports what is wrong with it
        for section in parser.sections():
            for name, value in parser.items(section):
                if name.replace("_", "-") in CHOICES:
                    found.setdefault(name.replace("_", "-"), []).extend(value.split())
    return found


def link_folders(said: Mapping[str, list[str]]) -> list[Path]:
    """Local folders that pip looks into for files; pages on the network are left to pip."""
    folders = []
    for value in said.get("find-links", []):
        url = urlsplit(value)
        if url.scheme in ("", "file"):
            folders.append(Path(unquote(url.path)).expanduser())
    return list(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def names_cpu_index(said: Mapping[str, list[str]]) -> bool:
    """Whether pip has been given an index of PyTorch's CPU builds."""
    indexes = said.get("index-url", []) + said.get("extra-index-url", [])
    return any(urlsplit(index).path.rstrip("/").endswith(_CPU_INDEX_PATH) for index in indexes)


def page(wheels: list[Path], hashes: Mapping[str, str]) -> str:
    """Links to those of the files that exist."""
    links = [
        f'<a href="file://{quote(str(wheel))}#sha256={hashes[wheel.name]}">{wheel.name}</a><br>'
        for wheel in wheels
        if wheel.is_file()
    ]
    return "\n".join(["<!DOCTYPE html><html><body>", *links, "</body></html>", ""])


def answer(env: Mapping[str, str], hashes: Mapping[str, str], python: str) -> dict[str, object]:
    """The information for cpu_builds_repo.

    hashes: wheel -> sha256. python: this Python as wheels name it, cp311.
    page: links to wheels. choices: differs if pip might choose another build. watch: files that
    this information came from. note: a message for the user, or "".
    """
    said = choices(env)
    wheels = [folder / name for folder in link_folders(said) for name in hashes]
    ours = [name for name in hashes if f"-{python}-" in name]
    local = any(wheel.is_file() and wheel.name in ours for wheel in wheels)
    from_index = bool(ours) and names_cpu_index(said)
    return {
        "page": page(wheels, hashes),
        "choices": json.dumps([said, [str(wheel) for wheel in wheels if wheel.is_file()]]),
        "watch": [str(path) for path in (*config_files(env), *wheels)],
        "note": "" if local or from_index else NO_CPU_BUILD,
    }


if __name__ == "__main__":
    print(
        json.dumps(
            answer(
                os.environ,
                dict(argument.split("=") for argument in sys.argv[1:]),
                f"cp{sys.version_info.major}{sys.version_info.minor}",
            )
        )
    )
