"""Tests all of `bmc compile`: the same bytes everywhere, tile sizes from tuning.json, bmc mutate."""

from __future__ import annotations

import json
import re
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import support

from bmc import artifacts, mutate, target
from bmc.artifacts import sha256
from bmc.rewrites import configs

_PRODUCT = """func.func @main(%x: tensor<4x32xf32>) -> tensor<4x64xf32> {
  %w = stablehlo.constant dense<WEIGHT> : tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
"""
_VALUES = np.random.default_rng(2).standard_normal((32, 64)).astype(np.float32)
_MATMUL = _PRODUCT.replace("WEIGHT", f'"0x{_VALUES.tobytes().hex()}"')
_OP = "matmul_4x64x32_f32"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class DeterminismTest(support.FolderTest):
    def test_output_does_not_depend_on_where_it_is_made(self) -> None:
        folders = (self.folder / "a", self.folder / "longer name" / "b")
        for folder in folders:
            support.compile_text(_MATMUL, folder)
        first, second = (files(folder / "out") for folder in folders)
        self.assertEqual(
            {name: sha256(data) for name, data in first.items()},
            {name: sha256(data) for name, data in second.items()},
        )
        self.assertIn("report.json", first)
        self.assertIn("kernels.elf", first)
        for name, data in first.items():
            if name not in ("weights.bin", "golden.bin"):
                for secret in (b"/tmp", b"/home", b"/root", b"site-packages", b"file://"):
                    self.assertNotIn(secret, data, name)
                self.assertIsNone(re.search(rb"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", data), name)

    def test_constants_do_not_depend_on_the_builders_cpu(self) -> None:
        a, b = np.random.default_rng(3).standard_normal((2, 16, 16)).astype(np.float32)
        text = f"""func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {{
  %a = stablehlo.constant dense<"0x{a.tobytes().hex()}"> : tensor<16x16xf32>
  %b = stablehlo.constant dense<"0x{b.tobytes().hex()}"> : tensor<16x16xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
    : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = stablehlo.add %x, %0 : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}}
"""
        support.compile_text(text, self.folder)
        weights = np.fromfile(self.folder / "out/weights.bin", np.float32).reshape(16, 16)
        rounded, fused = np.zeros((2, 16, 16), np.float32)
        for k in range(16):
            rounded = rounded + np.outer(a[k], b[k])
            # Most CPUs have fused multiply-add, which does not round products.
            fused = (fused + np.outer(a[k].astype(np.float64), b[k])).astype(np.float32)
        np.testing.assert_array_equal(weights, rounded)
        self.assertTrue((weights != fused).any())

    def test_other_model_gives_other_bytes(self) -> None:
        support.compile_text(_MATMUL, self.folder / "a")
        support.compile_text(_MATMUL.replace("<4x", "<5x"), self.folder / "b")
        first, second = (files(self.folder / name / "out") for name in "ab")
        for name in ("plan.c", "kernels.elf", "report.json"):
            self.assertNotEqual(first[name], second[name], name)
        self.assertEqual(first["weights.bin"], second["weights.bin"])

    def test_imports_are_the_same_everywhere(self) -> None:
        results = []
        for name in ("a", "other"):
            source = self.folder / name / "model.mlir"
            source.parent.mkdir()
            source.write_text(support.ADD, encoding="utf-8")
            out = source.parent / "out"
            self.assertEqual(support.bmc("import", source, "--out", out).status, 0)
            results.append(files(out))
        self.assertEqual(results[0], results[1])
        self.assertNotIn(str(self.folder).encode(), results[0][artifacts.MODEL_FILE])

    def test_report_states_the_hashes_of_the_files(self) -> None:
        report = support.compile_text(_MATMUL, self.folder)
        written = files(self.folder / "out")
        del written["report.json"]
        for name, data in written.items():
            self.assertEqual(report["sha256"][name], sha256(data), name)
        self.assertEqual(report["flash"]["weights_bytes"], len(written["weights.bin"]))


class TuningTest(support.FolderTest):
    def written(self, tuning: object) -> Path:
        text = tuning if isinstance(tuning, str) else json.dumps(tuning)
        return self.write("tuning.json", text)

    def tuned(self, tuning: object) -> dict[str, Any]:
        path = self.written(tuning)
        return support.compile_text(_MATMUL, self.folder / "tuned", tuning=path)

    def rejects(self, tuning: object, *parts: str) -> None:
        self.refuses("bad-tuning", *parts, call=lambda: self.tuned(tuning))

    def test_override_changes_the_kernel(self) -> None:
        tiles = {"vector_common_parallel": [2, 32, 0]}
        tuned = self.tuned({support.ISA: {_OP: tiles}})
        default = support.compile_text(_MATMUL, self.folder / "default")
        (before,), (after,) = default["dispatches"], tuned["dispatches"]
        self.assertEqual(after["tiles_by"], "tuning")
        self.assertEqual(tuple(after["tiles"]["vector_common_parallel"]), (2, 32, 0))
        self.assertNotEqual(before["tiles_by"], "tuning")
        self.assertNotEqual(before["tiles"], after["tiles"])
        self.assertNotEqual(default["sha256"]["kernels.elf"], tuned["sha256"]["kernels.elf"])

    def test_full_name_and_other_instruction_sets(self) -> None:
        name = f"main_dispatch_0_{_OP}"
        report = self.tuned({support.ISA: {name: {"vector_common_parallel": [2, 32, 0]}}})
        self.assertEqual(report["dispatches"][0]["tiles_by"], "tuning")
        report = self.tuned({"rv64gc": {name: {"vector_common_parallel": [2, 32, 0]}}})
        self.assertNotEqual(report["dispatches"][0]["tiles_by"], "tuning")

    def test_a_malformed_file_is_refused_by_the_compiler(self) -> None:
        self.rejects([], "'tuning.json' is not a JSON object")

    def test_malformed_files(self) -> None:
        isa = target.find(support.ISA)

        def rejects(tuning: object, *parts: str) -> None:
            path = self.written(tuning)
            self.refuses("bad-tuning", *parts, call=lambda: configs._read_tuning(path, isa))

        rejects('{"rv64gc": {', "'tuning.json' is not JSON")
        rejects({"rv32": {}}, "'rv32' in 'tuning.json' is not an instruction set", "rv64gc")
        rejects({support.ISA: 3}, f"'{support.ISA}' in 'tuning.json' is not an object")
        rejects({support.ISA: {_OP: 3}}, f"'{_OP}' in 'tuning.json' is not an object")
        for sizes in (3, [1, -1, 0], [1, 1.5, 0], [1, True, 0], ["1"]):
            tuning = {support.ISA: {_OP: {"vector_common_parallel": sizes}}}
            rejects(tuning, "'vector_common_parallel'", "not a list of sizes")

    def test_what_the_model_does_not_have(self) -> None:
        tiles = {"vector_common_parallel": [2, 32, 0]}
        self.rejects({support.ISA: {"matmul_9x9x9_f32": tiles}}, "'matmul_9x9x9_f32'")
        tuning = {support.ISA: {_OP: {"vectors": [2, 32, 0]}}}
        self.rejects(tuning, "no tiling level 'vectors'", "vector_common_parallel")
        tuning = {support.ISA: {_OP: {"vector_common_parallel": [2, 32]}}}
        self.rejects(tuning, "'vector_common_parallel'", "needs 3 sizes, not 2")

    def test_missing_file(self) -> None:
        missing = self.folder / "none.json"
        self.refuses(
            "file-missing",
            "none.json",
            call=lambda: support.compile_text(_MATMUL, self.folder / "m", tuning=missing),
        )


class MutateTest(support.FolderTest):
    def test_one_element_of_a_real_model_changes(self) -> None:
        support.compile_text(_MATMUL, self.folder)
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
