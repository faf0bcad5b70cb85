"""The launcher with a real Bazel: a cache that two checkouts share, whose settings win, and collections."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from tools.dev.inner_bazel import inner_bazel
from tools.launcher.cache import cache_dir
from tools.launcher.choose import choose

REPO = Path(__file__).absolute().parents[2]
_BUILD = """\
genrule(
    name = "slow",
    outs = ["slow.txt"],
    cmd = "echo begun > {begun}; while [ ! -e {go} ]; do sleep 0.1; done; echo made > $@",
    local = True,
)

genrule(
    name = "large",
    srcs = ["size"],
    outs = ["large.bin"],
    cmd = "head -c $$(cat $<) /dev/zero > $@",
)

genrule(
    name = "larger",
    srcs = [":large", "more"],
    outs = ["larger.bin"],
    cmd = "cat $(SRCS) > $@",
)
"""


class WithBazel(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(inner_bazel.remove, self.work)
        env = inner_bazel.environment()
        bazel = choose(REPO, REPO, cache_dir(), env)
        self.env = env | {
            "BAZEL_REAL": str(bazel.program),
            "HOME": str(self.work / "home"),
            "XDG_CACHE_HOME": str(self.work / "cache"),
        }
        (self.work / "home").mkdir()
        self.disk = self.work / "cache/ironcast/disk"
        # Where it would be by itself, but for its name.
        self.output_user_root = self.work / "cache/bazel/root"
        self.checkout = self.make_checkout("first")

    def make_checkout(self, name: str) -> Path:
        root = self.work / name
        (root / "tools").mkdir(parents=True)
        shutil.copy(REPO / "tools/launcher/bazel", root / "tools/bazel")
        (root / "WORKSPACE").touch()
        (root / "size").write_text("1000000")
        (root / "more").touch()
        begun, go = self.work / "begun", self.work / "go"
        (root / "BUILD.bazel").write_text(_BUILD.format(begun=begun, go=go))
        # A startup option too: without it, Bazel would write elsewhere.
        rc = [f"startup --output_user_root={self.output_user_root}", "common --noenable_bzlmod"]
        rc += ["common --enable_workspace", "try-import %workspace%/user.bazelrc"]
        (root / ".bazelrc").write_text("\n".join(rc) + "\n")
        self.addCleanup(self.bazel, "shutdown", root=root)
        return root

    def start(self, *args: str, root: Path | None = None, **env: str) -> subprocess.Popen[str]:
        root = root or self.checkout
        return subprocess.Popen(
            [sys.executable, root / "tools/bazel", *args],
            cwd=root,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def bazel(self, *args: str, root: Path | None = None, **env: str) -> str:
        """Runs Bazel to its end; returns what it said."""
        process = self.start(*args, root=root, **env)
        said = process.communicate()[0]
        self.assertEqual(process.returncode, 0, said)
        return said

    def kept(self, folder: Path) -> int:
        """How many results of actions are in a cache."""
        return len([path for path in folder.glob("ac/*/*") if path.is_file()])

    def size_of_cache(self) -> int:
        return sum(path.stat().st_size for path in self.disk.rglob("*") if path.is_file())

    def test_checkouts_share_results_and_need_the_cache_no_more(self) -> None:
        self.bazel("build", ":larger")
        self.assertTrue(self.output_user_root.is_dir(), "startup options of the workspace apply")
        other = self.make_checkout("other")
        self.assertIn("2 disk cache hit", self.bazel("build", ":larger", root=other))
        self.bazel("shutdown", IRONCAST_CACHE_GIGABYTES="0.0001")
        self.assertEqual(self.kept(self.disk), 0)
        # The server of the other checkout is still there, and knows where it had the large file from.
        (other / "more").write_text("more")
        self.bazel("build", ":larger", root=other)

    def test_others_cannot_read_the_log_of_the_server(self) -> None:
        above = self.output_user_root.parent
        above.mkdir(parents=True)
        above.chmod(0o755)
        self.bazel("info", PIP_INDEX_URL="https://me:secret@index.invalid/simple")
        logs = self.output_user_root.glob("*/java.log*")
        self.assertTrue(any("me:secret@" in log.read_text(errors="replace") for log in logs))
        self.assertEqual(stat.S_IMODE(above.stat().st_mode), 0o700)

    def test_a_users_own_cache_wins_wherever_it_is_set(self) -> None:
        self.bazel("build", ":large", IRONCAST_CACHE_GIGABYTES="0")
        self.assertFalse(self.disk.exists())
        for number, (name, command) in enumerate(
            (
                (self.checkout / "user.bazelrc", "common"),
                (self.work / "home/.bazelrc", "build"),
                (self.work / "home/.bazelrc", "common"),
            )
        ):
            own = self.work / f"own{number}"
            name.write_text(f"{command} --disk_cache={own}\n")
            (self.checkout / "size").write_text(str(number))
            self.bazel("build", ":large")
            self.assertEqual(self.kept(own), 1)
            name.unlink()
        self.assertEqual(self.kept(self.disk), 0)

    def test_nothing_is_collected_under_a_build(self) -> None:
        self.bazel("build", ":large")
        other = self.make_checkout("other")
        build = self.start("build", ":slow")
        self.addCleanup((self.work / "go").touch)  # or it would wait for ever
        while not (self.work / "begun").exists():
            self.assertIsNone(build.poll())
            time.sleep(0.1)
        self.bazel("shutdown", root=other, IRONCAST_CACHE_GIGABYTES="0.001")
        self.assertGreater(self.size_of_cache(), 1_000_000)
        (self.work / "go").touch()
        self.assertNotIn("ERROR", build.communicate()[0])
        self.bazel("shutdown", root=other, IRONCAST_CACHE_GIGABYTES="0.001")
        self.assertLess(self.size_of_cache(), 1_000_000)


if __name__ == "__main__":
    unittest.main()
