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


if __name__ == "__main__":
    unittest.main()
