"""Tests `bmc mutate`, which changes one weight so that the self-check must fail."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support

from bmc import mutate


class MutateTest(support.FolderTest):
    def test_one_element_of_a_real_model_changes(self) -> None:
        support.compile_text(support.MATMUL, self.folder)
        out = self.folder / "out"
        changed = self.folder / "changed.bin"
        result = support.bmc(
            "mutate",
            *("--report", out / "report.json"),
            *("--weights", out / "weights.bin"),
            *("--out", changed),
        )
        self.assertEqual(result.status, 0, result.err)
        before = np.frombuffer((out / "weights.bin").read_bytes(), np.float32)
        after = np.frombuffer(changed.read_bytes(), np.float32)
        (place,) = np.flatnonzero(before != after)
        self.assertEqual(place, np.argmax(np.abs(before)))
        self.assertEqual(after[place], -before[place])
        self.assertIn(f"[{place}]", result.out)

    def test_model_without_weights(self) -> None:
        report = support.compile_text(support.ADD, self.folder)
        self.refuses("no-weights", "m has no weights", call=lambda: mutate.mutate(b"", report))

    def test_last_matrix_is_taken_and_only_there(self) -> None:
        data = np.arange(48, dtype=np.float32).tobytes()
        entries = [((4, 4), 0), ((4, 4), 64), ((16,), 128)]
        report = self.report(*((shape, offset, 64, "f32") for shape, offset in entries))
        mutated, change = mutate.mutate(data, report)
        self.assertEqual(change.offset, 124)
        self.assertEqual((change.before, change.after, change.count), (31.0, -31.0, 1))
        self.assertEqual(mutated[:124] + mutated[128:], data[:124] + data[128:])

    def test_integers(self) -> None:
        for values, wanted in (
            ([1, -100, 3], [1, 100, 3]),
            ([5, -128], [5, 1]),
            ([0, 0], [1, 1]),
            ([9, 2, -9], [-9, 2, 9]),
        ):
            array = np.array(values, np.int8)
            report = self.report(((1, len(values)), 0, len(values), "i8"))
            mutated, _ = mutate.mutate(array.tobytes(), report)
            self.assertEqual(np.frombuffer(mutated, np.int8).tolist(), wanted)

    def test_booleans(self) -> None:
        array = np.array([False, True, True])
        mutated, _ = mutate.mutate(array.tobytes(), self.report(((1, 3), 0, 3, "i1")))
        self.assertEqual(mutated, bytes((0, 0, 0)))

    def test_values_without_an_opposite(self) -> None:
        for value in (0.0, np.inf, np.nan):
            array = np.full((1, 2), value, np.float32)
            mutated, _ = mutate.mutate(array.tobytes(), self.report(((1, 2), 0, 8, "f32")))
            changed = np.frombuffer(mutated, np.uint32) != array.view(np.uint32).ravel()
            self.assertEqual(changed.tolist(), [True, True], value)

    def report(self, *weights: tuple[tuple[int, ...], int, int, str]) -> dict[str, Any]:
        fields = ("shape", "offset", "length", "dtype")
        table = [dict(zip(fields, weight, strict=True)) for weight in weights]
        return {
            "name": "m",
            "weights": [{"name": "w", "framework_name": "", **row} for row in table],
        }


if __name__ == "__main__":
    unittest.main()
