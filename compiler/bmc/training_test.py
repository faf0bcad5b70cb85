"""Weights are stored and read back as they were returned."""

from __future__ import annotations

import contextlib
import io
import unittest
from types import ModuleType

import numpy as np
import support

from bmc import training

_SOURCE = """
import numpy as np
def trained():
    return [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([-7], np.int8)]
def no_list():
    return np.zeros(3)
def no_arrays():
    return [np.zeros(3), 1.0]
def diverges():
    raise ValueError("loss is nan")
"""


class TrainingTest(support.FolderTest):
    def train(self, function: str) -> tuple[int, str]:
        source = self.write("training.py", _SOURCE)
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = training.main(f"{source}:{function}", str(self.folder / "training.npz"))
        return status, errors.getvalue()

    def module(self) -> ModuleType:
        module = ModuleType("training")
        module.__file__ = str(self.folder / "training.py")
        return module

    def test_the_same_arrays_in_order(self) -> None:
        self.assertEqual(self.train("trained"), (0, ""))
        matrix, vector = training.weights(self.module())
        np.testing.assert_array_equal(matrix, np.array([[0, 1, 2], [3, 4, 5]]))
        np.testing.assert_array_equal(vector, np.array([-7]))
        self.assertEqual((matrix.dtype, vector.dtype), (np.float32, np.int8))

    def test_the_same_bytes_again(self) -> None:
        self.train("trained")
        first = (self.folder / "training.npz").read_bytes()
        self.train("trained")
        self.assertEqual((self.folder / "training.npz").read_bytes(), first)

    def test_what_is_no_list_of_arrays_is_refused(self) -> None:
        for function in ("no_list", "no_arrays"):
            self.assertEqual(
                self.train(function),
                (
                    1,
                    f"bmc: error[bad-weights]: training.py:{function} returned something else than"
                    " a list of NumPy arrays\n",
                ),
            )
        self.assertFalse((self.folder / "training.npz").exists())

    def test_an_error_is_one_sentence(self) -> None:
        self.assertEqual(
            self.train("diverges"),
            (
                1,
                "bmc: error[model-failed]: training.py:diverges raised ValueError: loss is nan"
                " (at training.py:10)\n",
            ),
        )

    def test_weights_that_were_not_trained(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "training.npz is missing: name the bm_w"):
            training.weights(self.module())


if __name__ == "__main__":
    unittest.main()
