"""This machine's pip configuration, also in the words of uv, which does not read it.

A package index, a proxy or a certificate that pip is set up for counts for uv, unless uv's own variables say otherwise.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Names of pip's options, as in its files. In the environment: PIP_INDEX_URL.
INDEXES = ("index-url", "extra-index-url", "find-links", "no-index")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
# Each is one file or folder, with spaces in its name perhaps.
_PATHS = ("cert", "client-cert")
_OTHERS = ("cert", "client-cert", "default-timeout", "proxy", "retries", "timeout", "trusted-host")


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


def settings(env: Mapping[str, str]) -> dict[str, list[str]]:
    """What pip is told: option -> words of its value. A later file wins, and the environment over all files."""
    found: dict[str, list[str]] = {}
    for file in config_files(env):
        parser = configparser.RawConfigParser()
        try:
            parser.read(file)
        except (OSError, ValueError, configparser.Error):
            continue  # pip itself reports what is wrong with it
        for section in parser.sections():
            for name, value in parser.items(section):
                option = name.replace("_", "-")
                found[option] = _words(option, value)
    for name in (*INDEXES, *_OTHERS):
        if given := env.get("PIP_" + name.upper().replace("-", "_")):
            found[name] = _words(name, given)
    return {name: found[name] for name in (*INDEXES, *_OTHERS) if found.get(name)}


def _words(option: str, value: str) -> list[str]:
    if option in _PATHS and value.strip():
        return [os.path.expanduser(value.strip())]
    return value.split()


def link_folders(said: Mapping[str, list[str]]) -> list[Path]:
    """Local folders of wheels; pages on the network are not among them."""
    urls = [urlsplit(value) for value in said.get("find-links", [])]
    folders = [Path(unquote(u.path)).expanduser() for u in urls if u.scheme in ("", "file")]
    return list(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def uv_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which uv asks whom pip would ask, in the same way."""
    said = settings(env)
    # What only pip and its library requests read.
    named = said.get("cert", []) + [
        env.get("REQUESTS_CA_BUNDLE", ""),
        env.get("CURL_CA_BUNDLE", ""),
    ]
    cert = [place for place in named if place][:1]
    found = {
        "SSL_CERT_DIR": [place for place in cert if os.path.isdir(place)],
        "SSL_CERT_FILE": [place for place in cert if not os.path.isdir(place)],
        "SSL_CLIENT_CERT": said.get("client-cert", []),
        "UV_DEFAULT_INDEX": said.get("index-url", [])[-1:],
        "UV_HTTP_RETRIES": said.get("retries", []),
        "UV_HTTP_TIMEOUT": said.get("timeout", []) or said.get("default-timeout", []),
        "UV_INDEX": said.get("extra-index-url", []),
        "UV_INSECURE_HOST": said.get("trusted-host", []),
        # As for all other programs, the machine's certificates count.
        "UV_SYSTEM_CERTS": ["1"],
    }
    found |= dict.fromkeys(_PROXIES, said.get("proxy", []))
    others = {name: value for name, value in env.items() if not name.startswith(("PIP_", "UV_"))}
    translated = {name: " ".join(words) for name, words in found.items() if words}
    return others | translated | {n: v for n, v in env.items() if n.startswith("UV_") and v}


def uv_flags(env: Mapping[str, str]) -> list[str]:
    """Where uv finds packages besides an index."""
    said = settings(env)
    flags = [f"--find-links={place}" for place in said.get("find-links", [])]
    no_index = said.get("no-index", ["0"])[-1].lower() not in ("0", "false", "no", "off", "n", "f")
    return [*flags, *(["--no-index"] if no_index else [])]
