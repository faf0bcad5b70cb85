"""npy.py writes what numpy reads."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np

from tools.run.debug import npy


class NpyTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "a.npy"

    def test_numpy_reads_it(self) -> None:
        for dtype, name, shape in (
            ("f32", "float32", (2, 3)),
            ("i8", "int8", (7,)),
            ("i64", "int64", ()),
            ("f16", "float16", (1, 1, 5, 300, 2, 1, 1, 4)),
        ):
            want = np.arange(int(np.prod(shape)), dtype=name).reshape(shape)
            npy.write(self.path, dtype, shape, want.tobytes())
            got = np.load(self.path)
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
            np.testing.assert_array_equal(got, want)
            # In this format data must begin at a multiple of 64.
            self.assertEqual((self.path.stat().st_size - want.nbytes) % 64, 0)

    def test_data_of_another_size_is_a_bug(self) -> None:
        with self.assertRaises(AssertionError):
            npy.write(self.path, "f32", (2, 3), bytes(20))

    def test_unknown_type_has_no_size(self) -> None:
        self.assertEqual(npy.item_bytes("f8E4M3FN"), 0)


if __name__ == "__main__":
    unittest.main()
