"""Prints a page of links to CPU builds that this machine's pip has in a local folder.

usage: cpu_builds.py FILE=SHA256...

pip prefers a file whose hash it knows before it has it. A file in a plain folder
(`find-links`) has none, so of PyTorch's two builds pip would take the CUDA build from
its index, gigabytes with what it needs. On a page of links each file can have its hash.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit


def config_files(env: Mapping[str, str]) -> list[Path]:
    """Where pip's configuration may lie, in the order pip reads it."""
    if env.get("PIP_CONFIG_FILE"):
        return [Path(env["PIP_CONFIG_FILE"])]
    files = [Path("/etc/pip.conf")]
    if home := env.get("HOME"):
        config = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        files += [Path(home, ".pip/pip.conf"), Path(config, "pip/pip.conf")]
    return files


def link_folders(env: Mapping[str, str]) -> list[Path]:
    """Local folders that pip looks into for files; pages on the network are left to pip."""
    values = [env.get("PIP_FIND_LINKS", "")]
    for file in config_files(env):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file)
        except configparser.Error:
            continue
        values += [parser.get(section, "find-links", fallback="") for section in parser.sections()]
    folders = []
    for value in " ".join(values).split():
        url = urlsplit(value)
        if url.scheme in ("", "file"):
            folders.append(Path(unquote(url.path)).expanduser())
    return list(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def page(folders: list[Path], hashes: Mapping[str, str]) -> str:
    """Links to those of the files that are there."""
    links = [
        f'<a href="file://{quote(str(folder / name))}#sha256={sha256}">{name}</a><br>'
        for name, sha256 in hashes.items()
        for folder in folders
        if (folder / name).is_file()
    ]
    return "\n".join(["<!DOCTYPE html><html><body>", *links, "</body></html>", ""])


if __name__ == "__main__":
    print(
        page(link_folders(os.environ), dict(argument.split("=") for argument in sys.argv[1:])),
        end="",
    )
