"""Tests which sizes are tried for dynamic dimensions."""

from __future__ import annotations

import unittest

from bmc.check import guesses
from bmc.dtype import DType
from bmc.frontends.survey import Survey
from bmc.golden import Declared


def _shapes(survey: Survey, **given: tuple[int, ...]) -> list[dict[str, tuple[int, ...]]]:
    return list(guesses.shapes(survey, given))


class GuessesTest(unittest.TestCase):
    def test_static_shapes_and_a_batch_need_nothing(self) -> None:
        survey = Survey((Declared("x", DType.F32, (None, 3)), Declared("y", DType.F32, ())))
        self.assertEqual(_shapes(survey), [{}])

    def test_images_and_sequences(self) -> None:
        image = Declared("image", DType.F32, (None, 3, None, None))
        text = Declared("ids", DType.I64, (None, None))
        first = _shapes(Survey((image, text)))[0]
        self.assertEqual(first, {"image": (1, 3, 224, 224), "ids": (1, 512)})

    def test_few_steps_where_each_is_written_out(self) -> None:
        inputs = (Declared("signal", DType.F32, (None, None, 8)), Declared("n", DType.F32, (2,)))
        first, *others = _shapes(Survey(inputs, written_out=True))
        self.assertEqual(first, {"signal": (1, 16, 8)})
        self.assertGreater(max(shapes["signal"][1] for shapes in others), 512)

    def test_later_tries_differ(self) -> None:
        tries = _shapes(Survey((Declared("x", DType.F32, (1, None)),)))
        self.assertEqual(len({shapes["x"] for shapes in tries}), len(tries))
        self.assertGreater(len(tries), 3)

    def test_states_of_layers_and_named_batches(self) -> None:
        state = Declared("state", DType.F32, (2, None, 128))
        mask = Declared("mask", DType.F32, (8, None, None))
        survey = Survey((state, mask), symbols={("mask", 2): "batch_size"})
        self.assertEqual(_shapes(survey)[0], {"state": (2, 1, 128), "mask": (8, 1, 1)})

    def test_the_users_shapes_stay(self) -> None:
        survey = Survey((Declared("x", DType.F32, (1, None)), Declared("y", DType.F32, (1, None))))
        for shapes in _shapes(survey, x=(1, 7)):
            self.assertEqual(shapes["x"], (1, 7))
        self.assertEqual(_shapes(survey, x=(1, 7), y=(1, 8)), [{"x": (1, 7), "y": (1, 8)}])

    def test_pins(self) -> None:
        survey = Survey(switches={"sr": (16000, 8000), "flag": ()})
        self.assertEqual(guesses.pins(survey, {}), {"sr": 16000, "flag": 1})
        self.assertEqual(guesses.pins(survey, {"sr": 8000}), {"sr": 8000, "flag": 1})

    def test_lengths(self) -> None:
        inputs = (
            Declared("wave", DType.F32, (1, None)),
            Declared("wave_lens", DType.I64, (None,)),
            Declared("speaker", DType.I64, (1,)),
        )
        found = guesses.lengths(Survey(inputs), {"wave": (1, 16000)}, {})
        self.assertEqual(found, {"wave_lens": 16000})


if __name__ == "__main__":
    unittest.main()
