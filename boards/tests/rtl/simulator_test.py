"""Tests how the simulator of a design ends, with images that it cannot run."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

SIMULATOR = Path(os.environ["SIMULATOR"]).absolute()
IMAGE = Path(os.environ["IMAGE"]).absolute()
CANNOT_RUN = 2


class SimulatorTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(os.environ["TEST_TMPDIR"])

    def run_image(self, image: Path, cycles: str = "10000000") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SIMULATOR, cycles, image],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def refused(self, image: Path, message: str, cycles: str = "10000000") -> None:
        done = self.run_image(image, cycles)
        self.assertEqual(done.returncode, CANNOT_RUN, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_image_ends_with_its_own_status(self) -> None:
        done = self.run_image(IMAGE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("BM1 PASS", done.stdout)

    def test_too_few_cycles(self) -> None:
        self.refused(IMAGE, "the image did not end within 5000 cycles", "5000")

    def test_output_without_end(self) -> None:
        done = self.run_image(Path(os.environ["CHATTER"]), "1000000000")
        self.assertEqual(done.returncode, CANNOT_RUN)
        self.assertEqual(done.stderr, "simulator: the image printed 1 MB: stopped\n")
        self.assertEqual(len(done.stdout), 1 << 20)

    def test_an_image_for_another_board(self) -> None:
        self.refused(Path(os.environ["OTHER"]), "outside the ROM (2097152 bytes at 0x0)")

    def test_files_that_are_no_images(self) -> None:
        whole = IMAGE.read_bytes()
        for name, content, message in (
            ("empty", b"", "is not an ELF file"),
            ("text", b"hello, this is no image", "is not an ELF file"),
            ("header", whole[:20], "the image's ELF header is cut off"),
            ("headers", whole[:60], "the image's program headers are cut off"),
            ("segment", whole[:6000], "a segment of the image is cut off"),
        ):
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(content)
                self.refused(path, message)
        self.refused(self.folder / "missing", "cannot read")

    def test_usage(self) -> None:
        for cycles in ("0", "many", ""):
            done = self.run_image(IMAGE, cycles)
            self.assertEqual(done.returncode, CANNOT_RUN)
            self.assertIn("usage: ", done.stderr)
        for wait in ("256", "-1", "slow"):
            done = subprocess.run(
                [SIMULATOR, "5000", IMAGE, wait], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, CANNOT_RUN)
            self.assertIn("ROM_WAIT (0 to 255)", done.stderr)


if __name__ == "__main__":
    unittest.main()
