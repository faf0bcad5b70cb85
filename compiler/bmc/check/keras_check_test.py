"""Tests what `bmc check` says of Keras models with recurrent layers."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
from keras import layers

from bmc import check, target
from bmc.frontends.options import ImportOptions


class KerasCheckTest(unittest.TestCase):
    def check(self, *stack: Any, channels: int = 3) -> str:
        said: list[str] = []
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "net.keras"
        keras.utils.set_random_seed(0)
        keras.Sequential([keras.Input((None, channels), name="x"), *stack]).save(path)
        isa = target.find("rv64gcv_zvl256b")
        self.assertTrue(check.check(str(path), ImportOptions(), isa, said.append), said)
        return "\n".join(said)

    def test_few_steps_of_recurrent_layers(self) -> None:
        text = self.check(layers.Bidirectional(layers.GRU(4)), layers.Dense(2))
        self.assertIn('shapes = {"x": [1, 16, 3]},', text)
        self.assertIn("each step of a recurrent layer is written out", " ".join(text.split()))

    def test_more_steps_if_the_model_needs_them(self) -> None:
        text = self.check(layers.Conv1D(4, 32, strides=16), layers.GRU(4))
        self.assertIn('shapes = {"x": [1, 64, 3]},', text)

    def test_many_steps_of_others(self) -> None:
        text = self.check(layers.Conv1D(4, 3), layers.GlobalMaxPooling1D())
        self.assertIn('shapes = {"x": [1, 512, 3]},', text)
        self.assertNotIn("recurrent", text)


if __name__ == "__main__":
    unittest.main()
