"""The campaign's short form, and that it notices what it looks for."""

from __future__ import annotations

import os
import random
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

import bytes as bytes_campaign
import damage
import fuzzers
import model_files
import properties
from hypothesis import strategies as st

from bmc import cli

_INPUTS = 60
_ADD = (
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %y = stablehlo.add %x, %x : tensor<4xf32>\n"
    "  return %y : tensor<4xf32>\n}\n"
)


def _attacked(*models: str) -> bytes_campaign.Attacked:
    return bytes_campaign.Attacked({}, Path("k"), tuple(map(Path, models)), Path("bmc"))


class PropertiesTest(unittest.TestCase):
    def test_any_input_gives_a_value_or_a_sentence(self) -> None:
        (kernels,) = (name for name in os.environ["COMPILED"].split() if "kernels.elf" in name)
        held = properties.of(Path(kernels).read_bytes())
        self.assertEqual(tuple(held), properties.NAMES)
        outcomes: Counter[bool] = Counter()
        for name, one in held.items():
            with self.subTest(name):
                counts = properties.run(one, 1, _INPUTS)
                self.assertGreaterEqual(counts.values + counts.sentences, _INPUTS)
                outcomes.update({True: counts.values, False: counts.sentences})
        self.assertGreater(min(outcomes.values()), 50)

    def test_any_other_exception_is_found(self) -> None:
        fields = properties.Property(st.text(), lambda text: {}[text], (ValueError,))
        with self.assertRaises(KeyError):
            properties.run(fields, 1, 10)

    def test_a_sentence_without_words_is_found(self) -> None:
        def refuse(_text: str) -> None:
            raise ValueError

        with self.assertRaisesRegex(AssertionError, "an empty sentence"):
            properties.run(properties.Property(st.text(), refuse, (ValueError,)), 1, 10)


class DamageTest(unittest.TestCase):
    def test_the_same_seed_does_the_same_damage(self) -> None:
        good = bytes(range(100))
        first, again, other = (
            damage.apply(good, damage.choose(good, random.Random(seed))) for seed in (1, 1, 2)
        )
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertNotEqual(first, good)

    def test_edits(self) -> None:
        half = 1 << 31
        self.assertEqual(damage.apply(b"abc", [damage.Edit(half, 1, b"X")]), b"abX")
        self.assertEqual(damage.apply(b"abc", [damage.Edit(half, 9, b"")]), b"ab")
        self.assertEqual(damage.apply(b"abc", [damage.Edit(0, 0, b"X")]), b"Xabc")

    def test_a_folder_is_damaged_in_one_file(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            good = Path(name, "model")
            (good / "variables").mkdir(parents=True)
            (good / "saved_model.pb").write_bytes(bytes(100))
            (good / "variables/index").write_bytes(bytes(50))
            copy = model_files.damaged(good, Path(name, "copy"), random.Random(1))
            changed = [
                path
                for path in ("saved_model.pb", "variables/index")
                if (copy / path).read_bytes() != (good / path).read_bytes()
            ]
        self.assertEqual(len(changed), 1)


class ModelFilesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self._model = Path(folder.name, "model.mlir")
        model_files.load(self._model.suffix)

    def _read(self, text: str) -> model_files.Outcome:
        self._model.write_text(text)
        return model_files.read(self._model)

    def test_what_is_read_and_what_is_refused(self) -> None:
        self.assertEqual(self._read(_ADD), model_files.Outcome("read", ""))
        self.assertEqual(self._read(_ADD[:-2]), model_files.Outcome("sentence", ""))

    def test_a_traceback_is_found(self) -> None:
        with mock.patch.object(cli, "main", side_effect=KeyError("key")):
            outcome = self._read(_ADD)
        self.assertEqual(outcome.word, "traceback")
        self.assertIn("KeyError: 'key'", outcome.fault)

    def test_what_is_no_sentence_is_found(self) -> None:
        for status, said, word in (
            (1, "bmc: a reason", "sentence"),
            (1, "note: more\nbmc: a reason", "sentence"),
            (1, "bmc: the package x crashed with SIGSEGV", "crash with a sentence"),
            (1, "", "no sentence"),
            (70, "bmc: internal error", "no sentence"),
            (-11, "", "no sentence"),
            (None, "", "hang"),
            (1, "bmc: the package x crashed with SIGXCPU", "hang"),
        ):
            outcome = model_files.judge(status, said)
            self.assertEqual(outcome.word, word)
            self.assertEqual(bool(outcome.fault), word in ("no sentence", "hang"))


class FuzzersTest(unittest.TestCase):
    LOG = (
        "#2\tINITED cov: 3 ft: 4 corp: 1/1b\n#9\tDONE   cov: 45 ft: 80 corp: 46/619b\n"
        "Done 9 runs in 0 second(s)\n"
    )

    def test_what_libfuzzer_says(self) -> None:
        self.assertEqual(fuzzers.summary(0, self.LOG), fuzzers.Fuzzed(9, 45, 80, ""))

    def test_a_crash_or_no_end_is_a_find(self) -> None:
        self.assertTrue(fuzzers.summary(77, self.LOG).find)
        self.assertTrue(fuzzers.summary(0, "#2\tINITED cov: 3 ft: 4").find)


class CampaignTest(unittest.TestCase):
    def test_full_length(self) -> None:
        models = ("a.gguf", "a.keras", "a.mlir", "a.onnx", "a.pt2", "a.tflite", "folder")
        trials = bytes_campaign.schedule(_attacked(*models))
        self.assertEqual(len(trials), bytes_campaign.FULL_LENGTH)
        self.assertGreaterEqual(sum(trial.inputs for trial in trials), 10**8)
        self.assertEqual(
            {trial.kind for trial in trials[:4]}, {"property", "read", "command", "fuzz"}
        )

    def test_totals(self) -> None:
        totals = bytes_campaign.Totals()
        for edges in (5, 3):
            totals.add("fuzz a", bytes_campaign.Done(Counter(run=1000), (edges, 7)))
        totals.add("property b", bytes_campaign.Done(Counter(value=1, sentence=2)))
        self.assertEqual(
            totals.lines(),
            [
                "fuzz a: 2,000 inputs: 2,000 run; 5 edges, 7 features",
                "property b: 3 inputs: 2 sentence, 1 value",
                "2,003 inputs in all",
            ],
        )


if __name__ == "__main__":
    unittest.main()
