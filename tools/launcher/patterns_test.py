"""`//...:NAME` becomes labels; everything else stays as it is."""

from __future__ import annotations

import unittest

from tools.launcher.errors import LauncherError
from tools.launcher.patterns import expand, needs_expansion


class Patterns(unittest.TestCase):
    def setUp(self) -> None:
        self.asked: list[tuple[list[str], str]] = []
        self.labels = ["//models/mlp:qemu_test", "//models/bert:qemu_test"]

    def query(self, flags: list[str], expression: str) -> list[str]:
        self.asked.append((flags, expression))
        return self.labels

    def test_what_bazel_takes_is_left_alone(self) -> None:
        for pattern in (
            "//...",
            "//...:all",
            "//...:*",
            "//...:all-targets",
            "//models:qemu_test",
            "-//models/...",
            "--x=//...:y",
        ):
            self.assertFalse(needs_expansion("test", [pattern]), pattern)

    def test_what_bazel_refuses_is_seen(self) -> None:
        for pattern in (
            "//...:qemu_test",
            "//models/...:spike_test",
            "-//...:qemu_test",
            "@repo//...:x",
            "//...:bert_rv64.run",
            "//...:all_tests",
        ):
            self.assertTrue(needs_expansion("test", [pattern]), pattern)

    def test_commands_without_patterns_are_left_alone(self) -> None:
        self.assertFalse(needs_expansion("info", ["//...:qemu_test"]))

    def test_labels_in_place_of_the_pattern(self) -> None:
        args = expand(
            "test", ["--config=x", "//a:b", "//models/...:qemu_test", "--jobs=1"], self.query
        )
        self.assertEqual(
            args,
            [
                "--config=x",
                "//a:b",
                "//models/bert:qemu_test",
                "//models/mlp:qemu_test",
                "--jobs=1",
            ],
        )
        self.assertEqual(self.asked, [(["--config=x"], 'filter(":qemu_test$", //models/...)')])

    def test_exclusion_stays_exclusion(self) -> None:
        args = expand("test", ["--", "//...", "-//models/...:qemu_test"], self.query)
        self.assertEqual(
            args, ["--", "//...", "-//models/bert:qemu_test", "-//models/mlp:qemu_test"]
        )

    def test_a_name_is_not_a_regular_expression(self) -> None:
        expand("build", ["//...:bert.run"], self.query)
        self.assertEqual(self.asked[0][1], r'filter(":bert\.run$", //...)')

    def test_what_a_run_program_gets_is_left_alone(self) -> None:
        args = ["//tools:show", "--", "//...:qemu_test"]
        self.assertFalse(needs_expansion("run", args))
        self.assertEqual(expand("run", args, self.query), args)

    def test_nothing_of_that_name_is_an_error_that_says_so(self) -> None:
        self.labels = []
        with self.assertRaisesRegex(
            LauncherError, "No target named 'qemu_test' exists below //models/: correct the pattern"
        ):
            expand("test", ["//models/...:qemu_test"], self.query)


if __name__ == "__main__":
    unittest.main()
