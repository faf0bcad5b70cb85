"""examples/consumer as its users have it: a repository that fetches Ironcast's release archive."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tools.dev.inner_bazel import inner_bazel

RUNFILES = Path.cwd()
ARCHIVE = (RUNFILES / "examples/ironcast.tar.gz").resolve()
# Ironcast's options for `--config=worker`.
_AS_A_WORKER = re.compile(r"build:worker .*\n")


class Consumer:
    """A checkout of the example, and a Bazel that serves it."""

    def __init__(self, root: Path) -> None:
        """Creates the checkout in the folder `root`; what Bazel writes is in a folder beside it."""
        self.root = root
        unpacked = root.with_suffix(".archive")
        with tarfile.open(ARCHIVE) as tar:
            tar.extractall(unpacked)
        (unpacked / "examples/consumer").rename(root)
        (root / "tools").mkdir()
        shutil.copy(RUNFILES / "tools/launcher/bazel", root / "tools/bazel")
        workspace = root / "WORKSPACE"
        workspace.write_text(_with_archive(workspace.read_text()))
        with (root / ".bazelrc").open("a") as options:
            options.writelines(_AS_A_WORKER.findall((unpacked / ".bazelrc").read_text()))

    def configure(self, *options: str) -> None:
        """Gives Bazel options."""
        inner_bazel.configure(self.root, self.root.with_suffix(".bazel"), *options)

    def bazel(self, command: str, *arguments: str) -> str:
        """Runs `tools/bazel`; returns what it printed. Raises AssertionError, with that."""
        done = subprocess.run(
            self.line(command, *arguments),
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return done.stdout

    def line(self, *arguments: str) -> list[str]:
        """The command that is `tools/bazel` with these arguments."""
        return [sys.executable, str(self.root / "tools/bazel"), *arguments]

    def built(self, path: str) -> bytes:
        """A file of the build, which Bazel keeps in a folder of its configuration's."""
        (found,) = self.root.glob(f"bazel-out/*/bin/{path}")
        return found.read_bytes()

    def use_modules(self) -> list[str]:
        """Fills in the example's MODULE.bazel; returns Bazel's options to use it."""
        file = self.root / "MODULE.bazel"
        text = file.read_text()
        digest = base64.b64encode(hashlib.sha256(ARCHIVE.read_bytes()).digest()).decode()
        for empty, value in (
            ('integrity = ""', f'integrity = "sha256-{digest}"'),
            ('urls = [""]', f'urls = ["{ARCHIVE.as_uri()}"]'),
        ):
            assert text.count(empty) == 1
            text = text.replace(empty, value)
        file.write_text(text)
        packages = {
            _canonical(name): path
            for name, path in inner_bazel.shared().items()
            if re.match("pypi_|debian_|spike", name)
        }
        modules = _modules(inner_bazel.external(), self.root.with_suffix(".modules"))
        return [
            "--enable_bzlmod",
            "--noenable_workspace",
            *overrides(packages),
            *(f"--override_module={name}={path}" for name, path in modules.items()),
        ]


def overrides(repositories: dict[str, Path]) -> list[str]:
    """Options that show Bazel these folders instead of repositories to fetch."""
    return [f"--override_repository={name}={path}" for name, path in repositories.items()]


def _with_archive(workspace: str) -> str:
    """The example's WORKSPACE with the release's own words about its archive."""
    block = re.compile(r"http_archive\(\n(?:    .*\n)*\)\n")
    found = block.search((RUNFILES / "examples/ironcast.snippet").read_text())
    assert found
    url = f'url = "{ARCHIVE.as_uri()}"'
    text, changed = block.subn(re.sub('url = ".*"', url, found[0]), workspace)
    assert changed == 1
    return text


def _canonical(repository: str) -> str:
    """The name of a repository if it comes from a module extension."""
    if repository.startswith("pypi__"):
        return f"rules_python~~internal_deps~{repository}"
    if repository.startswith("pypi_"):
        return f"ironcast~~packages~{repository}"
    return f"ironcast~~ironcast~{repository}"


def _modules(external: Path, work: Path) -> dict[str, Path]:
    """The modules that Bazel and Ironcast name, if the launcher takes the rulesets from Debian's packages.

    That is where Bazel's registry cannot be reached. Debian has those that are used; the others may be empty.
    """
    if not (external / "rules_cc").is_symlink():
        return {}
    debian = (external / "rules_cc").resolve().parents[1]
    found = {f"rules_{folder.name}": folder for folder in (debian / "rules").iterdir()}
    tools = debian / "tools"
    found |= {f"bazel_{name}": tools / name for name in ("features", "skylib")}
    found |= {"platforms": tools / "platforms"}
    for name in ("apple_support", "buildozer", "protobuf", "zlib"):
        found[name] = work / name
        found[name].mkdir(parents=True)
        (found[name] / "MODULE.bazel").write_text(f'module(name = "{name}")\n')
        (found[name] / "WORKSPACE").touch()
    # Bazel loads it, and no more.
    (work / "buildozer/BUILD.bazel").touch()
    (work / "buildozer/buildozer_binary.bzl").write_text(
        "buildozer_binary = module_extension(lambda _: None)\n"
    )
    return found
