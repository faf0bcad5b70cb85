"""A repository that fetches Ironcast's release archive: examples/consumer, built and tested by a Bazel of its own.

Once with its WORKSPACE, also by ironcast.Session, and once, only its application, with its MODULE.bazel. The inner
Bazel fetches the archive, and the Python package that the example adds. Whatever else this workspace has fetched
already, it is shown with --override_repository instead of fetching it again.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import ironcast
from tools.inner_bazel import inner_bazel

RUNFILES = Path.cwd()


def canonical(repository: str) -> str:
    """The name of a repository if it comes from a module extension."""
    if repository.startswith("pypi__"):
        return f"rules_python~~internal_deps~{repository}"
    if repository.startswith("pypi_"):
        return f"ironcast~~packages~{repository}"
    return f"ironcast~~ironcast~{repository}"


def modules(external: Path, work: Path) -> dict[str, Path]:
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
        found[name].mkdir()
        (found[name] / "MODULE.bazel").write_text(f'module(name = "{name}")\n')
        (found[name] / "WORKSPACE").touch()
    # Bazel loads it, and no more.
    (work / "buildozer/BUILD.bazel").touch()
    (work / "buildozer/buildozer_binary.bzl").write_text(
        "buildozer_binary = module_extension(lambda _: None)\n"
    )
    return found


class ConsumerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(inner_bazel.remove, self.work)
        unpacked = self.work / "unpacked"
        with tarfile.open(RUNFILES / "ironcast.tar.gz") as tar:
            tar.extractall(unpacked)
        self.root = self.work / "consumer"
        (unpacked / "examples/consumer").rename(self.root)
        (self.root / "tools").mkdir()
        shutil.copy(RUNFILES / "tools/launcher/bazel", self.root / "tools/bazel")
        self.archive = (RUNFILES / "ironcast.tar.gz").resolve()
        workspace = self.root / "WORKSPACE"
        workspace.write_text(self.with_archive(workspace.read_text()))
        self.enterContext(mock.patch.dict(os.environ, inner_bazel.environment(), clear=True))

    def with_archive(self, workspace: str) -> str:
        """The example's WORKSPACE with the release's own words about its archive."""
        block = re.compile(r"http_archive\(\n(?:    .*\n)*\)\n")
        found = block.search((RUNFILES / "ironcast.snippet").read_text())
        assert found
        url = f'url = "{self.archive.as_uri()}"'
        text, changed = block.subn(re.sub('url = ".*"', url, found[0]), workspace)
        self.assertEqual(changed, 1)
        return text

    def configure(self, *options: str) -> None:
        inner_bazel.configure(self.root, self.work / "root", *options)

    def bazel_test(self, *targets: str) -> None:
        """Runs `tools/bazel test` in the example; fails with everything it printed."""
        command = [sys.executable, self.root / "tools/bazel", "test", "--test_output=errors"]
        done = subprocess.run(
            [*command, "--board=//boards/sensor_node", *targets],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_builds_runs_and_prepares_to_flash_what_is_in_it(self) -> None:
        self.configure(
            *(
                f"--override_repository={name}={path}"
                for name, path in inner_bazel.shared(Path(os.environ["EXTERNAL"])).items()
            )
        )
        self.bazel_test("//...", "//bands:bands_rv64.flash")
        for name in ("app/tone_sensor_node_qemu_test", "bands/bands_rv64_agreement_test"):
            self.assert_ran(name)
        # Cosines of different frequencies are orthogonal.
        frame = np.cos(np.pi / 32 * (np.arange(32) + 0.5) * 3)[None].astype(np.float32)
        with ironcast.Session("//bands:bands_rv64", checkout=self.root) as session:
            (bands,) = session.run(None, {session.get_inputs()[0].name: frame})
        np.testing.assert_allclose(bands, [[0, 0, 16, 0, 0, 0, 0, 0]], atol=0.01)

    def test_with_modules_the_application_runs_too(self) -> None:
        file = self.root / "MODULE.bazel"
        text = file.read_text()
        digest = base64.b64encode(hashlib.sha256(self.archive.read_bytes()).digest()).decode()
        for empty, value in (
            ('integrity = ""', f'integrity = "sha256-{digest}"'),
            ('urls = [""]', f'urls = ["{self.archive.as_uri()}"]'),
        ):
            self.assertEqual(text.count(empty), 1)
            text = text.replace(empty, value)
        file.write_text(text)
        external = Path(os.environ["EXTERNAL"])
        overrides = [
            f"--override_repository={canonical(name)}={path}"
            for name, path in inner_bazel.shared(external).items()
            if re.match("pypi_|debian_|spike", name)
        ]
        overrides += [
            f"--override_module={name}={path}"
            for name, path in modules(external, self.work).items()
        ]
        test = "app/tone_sensor_node_qemu_test"
        self.configure("--enable_bzlmod", "--noenable_workspace", *overrides)
        self.bazel_test(f"//{test.replace('/', ':')}")
        self.assert_ran(test)

    def assert_ran(self, test: str) -> None:
        log = self.root / "bazel-testlogs" / test / "test.log"
        self.assertTrue(log.is_file(), f"{test} did not run")


if __name__ == "__main__":
    unittest.main()
