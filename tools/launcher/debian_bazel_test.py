"""The parts of unpacking Debian's Bazel that need no mirror."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

from third_party.debian.errors import AptError
from tools.launcher import debian_bazel


class Versions(unittest.TestCase):
    def test_the_exact_version_wins_over_the_preferred_suite(self) -> None:
        self.assertEqual(
            debian_bazel.choose_version({"forky": "7.8.0+ds-1", "sid": "7.7.1+ds-8+b1"}, "7.7.1"),
            ("sid", None),
        )

    def test_another_minor_version_is_used_and_reported(self) -> None:
        suite, drift = debian_bazel.choose_version({"forky": "7.8.0+ds-1"}, "7.7.1")
        self.assertEqual(suite, "forky")
        self.assertIn("has Bazel 7.8.0+ds-1 and this project was made with 7.7.1", drift or "")

    def test_another_major_version_is_refused(self) -> None:
        with self.assertRaisesRegex(
            AptError, "no longer has Bazel 7.7.1 .forky has 8.0.0-1.*set BAZEL_REAL"
        ):
            debian_bazel.choose_version({"forky": "8.0.0-1"}, "7.7.1")


class Unused(unittest.TestCase):
    def test_it_leaves_out_what_is_never_run_and_keeps_what_is(self) -> None:
        unused = re.compile("|".join(debian_bazel.UNUSED))
        for name in (
            "gcc-16",
            "g++-16-x86-64-linux-gnu",
            "libgcc-16-dev",
            "openjdk-25-jdk-headless",
            "perl-base",
            "make",
            "python3.14",
            "liblog4j1.2-java",
            "libmaven3-core-java",
        ):
            self.assertTrue(unused.fullmatch(name), name)
        for name in (
            "libgcc-s1",
            "libstdc++6",
            "libc6",
            "openjdk-25-jre-headless",
            "bazel-rules-python",
            "libgrpc++1.51t64",
            "libguava-java",
            "zlib1g",
        ):
            self.assertFalse(unused.fullmatch(name), name)


class Classpath(unittest.TestCase):
    def test_jars_lie_in_the_final_place_and_the_missing_one_is_added_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            listing = work / "usr/share/bazel/bazel_classpath_debian_depends.txt"
            listing.parent.mkdir(parents=True)
            listing.write_text("/usr/share/java/guava.jar\n")
            debian_bazel.mend_classpath(work, Path("/final"))
            self.assertEqual(
                listing.read_text().splitlines(),
                ["/final/usr/share/java/guava.jar", "/final/usr/share/java/perfmark-api.jar"],
            )


if __name__ == "__main__":
    unittest.main()
