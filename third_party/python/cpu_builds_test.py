"""Which build of PyTorch follows from pip's configuration, and what the user is told beforehand."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from third_party.python.cpu_builds import NO_CPU_BUILD, answer, requirements

WHEEL = "torch-2.13.0+cpu-cp311-cp311-linux.whl"
HASHES = {WHEEL: "12ab", "torch-2.13.0+cpu-cp312-cp312-linux.whl": "34cd"}
INDEX = "https://other.invalid https://index.invalid/whl/cpu/"


class CpuBuilds(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "a b"
        self.folder.mkdir()
        self.file = self.folder / "pip.conf"
        only = mock.patch("third_party.python.pip_config.config_files", return_value=[self.file])
        watched = mock.patch("third_party.python.cpu_builds.config_files", return_value=[self.file])
        for patch in (only, watched):  # ignores this machine's own settings
            patch.start()
            self.addCleanup(patch.stop)
        self.env = {
            "PIP_FIND_LINKS": f"file://{self.folder}/gone file://{self.folder}".replace(
                " b", "%20b"
            )
        }

    def test_a_wheel_in_a_folder_is_the_best(self) -> None:
        env = self.env | {"PIP_EXTRA_INDEX_URL": INDEX}
        from_index = "torch===2.13.0+cpu --hash=sha256:12ab"
        self.assertEqual(requirements(env, HASHES, "cp311", "torch"), [from_index])
        (self.folder / WHEEL).touch()
        self.assertEqual(
            requirements(env, HASHES, "cp311", "torch"),
            [
                f"torch @ file://{self.folder}/{WHEEL} --hash=sha256:12ab".replace(
                    "a b", "a%20b"
                ).replace("+", "%2B"),
                from_index,
            ],
        )
        self.assertEqual(requirements(self.env, HASHES, "cp312", "torch"), [])
        self.assertEqual(requirements(self.env, HASHES, "cp311", "numpy"), [])

    def test_without_a_known_cpu_build_for_this_python_it_is_said_beforehand(self) -> None:
        self.file.write_text("[global]\ncert = /ca.pem\n")
        self.assertEqual(answer({}, HASHES, "cp311")["note"], NO_CPU_BUILD)
        env = {"PIP_EXTRA_INDEX_URL": INDEX}
        self.assertEqual(answer(env, HASHES, "cp311")["note"], "")
        cuda = {"PIP_EXTRA_INDEX_URL": "https://index.invalid/whl/cu130"}
        self.assertEqual(answer(cuda, HASHES, "cp311")["note"], NO_CPU_BUILD)
        self.assertEqual(
            answer(env, HASHES, "cp313")["note"], NO_CPU_BUILD, "its hash is not known"
        )

    def test_every_change_that_matters_is_noticed_and_no_other(self) -> None:
        self.file.write_text("[global]\ntimeout = 9\n")
        before = answer(self.env, HASHES, "cp311")
        self.assertEqual(answer({**self.env, "PIP_TIMEOUT": "8"}, HASHES, "cp311"), before)
        self.file.write_text("[global]\ntimeout = 10\n")
        self.assertEqual(answer(self.env, HASHES, "cp311"), before)
        self.assertIn(str(self.file), before["watch"])
        self.assertIn(str(self.folder / WHEEL), before["watch"])
        seen = [before["choice"]]
        self.file.write_text("[global]\nextra-index-url = https://index.invalid\n")
        seen.append(answer(self.env, HASHES, "cp311")["choice"])
        (self.folder / WHEEL).touch()
        seen.append(answer(self.env, HASHES, "cp311")["choice"])
        seen.append(answer({**self.env, "PIP_NO_INDEX": "1"}, HASHES, "cp311")["choice"])
        self.assertEqual(len(set(map(str, seen))), 4, seen)


if __name__ == "__main__":
    unittest.main()
