"""The file with all that Bazel said of a failure."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from tools.launcher import failures


class Report(unittest.TestCase):
    def test_a_link_in_the_place_of_the_details_is_not_followed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            details, victim = Path(folder, "last-failure.txt"), Path(folder, "victim")
            victim.write_text("precious")
            details.symlink_to(victim)
            said = failures.report([failures.Failure("It is wrong.", "all of it")], details)
            self.assertEqual(said, f"(All that Bazel says: {details})\nIt is wrong.")
            self.assertEqual(details.read_text(), "all of it\n")
            self.assertEqual(victim.read_text(), "precious")


class Sentences(unittest.TestCase):
    def test_processors_that_differ(self) -> None:
        said = (
            "INFO: Analyzed\n"
            "ERROR: Target //gate:app is incompatible and cannot be built, but was explicitly requested.\n"
            "Dependency chain:\n"
            "    //gate:app (62cbe3)\n"
            "    //boards/tiny:hal (62cbe3)   <-- target platform (@@ironcast//boards:rv32_none) didn't satisfy"
            " constraint @@platforms//cpu:riscv64\n"
            "INFO: Elapsed time: 0.6s\n"
            "ERROR: Build did NOT complete successfully\n"
        )
        (failure,) = failures.in_output(said, Path("/w"))
        self.assertEqual(
            failure.sentence,
            "//gate:app is built for ironcast//boards:rv32_none, and //boards/tiny:hal is only for"
            " platforms//cpu:riscv64: give both the same platform (target_compatible_with)",
        )
        said = (
            "ERROR: /w/tools/rules/BUILD.bazel:28:19: in flag_values attribute of config_setting rule"
            " //tools/rules:board_has_rv64gc: error while parsing user-defined configuration values: flag_values"
            " keys must be build settings or feature flags and //tools/rules:chosen_board is not\n"
        )
        (failure,) = failures.in_output(said, Path("/w"))
        self.assertRegex(failure.sentence, "^the board of --board has another processor")
        self.assertNotIn("flag_values", failure.sentence)


if __name__ == "__main__":
    unittest.main()
