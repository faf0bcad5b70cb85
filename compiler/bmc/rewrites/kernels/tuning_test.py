"""Tests what tuning.json may say, and what happens to an entry that was made for something else."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import support

from bmc import target
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.rewrites.kernels import tuning

_OP = "matmul_4x64x32_f32"
_TURNED = """func.func @main(%x: tensor<40x64xf32>) -> tensor<64x40xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x64xf32>) -> tensor<64x40xf32>
  return %0 : tensor<64x40xf32>
}
"""
_ISA = target.find(support.ISA)


class ReadTest(support.FolderTest):
    def written(self, data: object) -> Path:
        text = data if isinstance(data, str) else json.dumps(data)
        return self.write("tuning.json", text)

    def rejects(self, data: object, *parts: str) -> None:
        path = self.written(data)
        self.refuses("bad-tuning", *parts, call=lambda: tuning.read(path, _ISA))

    def entry(self, data: object) -> tuning.Entry:
        found = tuning.read(self.written({support.ISA: {_OP: data}}), _ISA).of("f", _OP)
        assert found is not None
        return found

    def test_entries(self) -> None:
        sizes = self.entry({"vector_common_parallel": [2, 32, 0]})
        self.assertEqual(sizes.levels, {"vector_common_parallel": (2, 32, 0)})
        self.assertFalse(sizes.is_own)
        self.assertEqual(self.entry({"kernel": "iree"}), tuning.Entry({}, DEFAULT, ()))
        own = self.entry({"lmul": 4, "reuses": False, "instead_of": ["0123"]})
        self.assertEqual(own, tuning.Entry({}, Choice(lmul=4, reuses=False), ("0123",)))
        self.assertTrue(own.is_own)

    def test_entries_about_libraries(self) -> None:
        for library in ("f", None):
            found = self.entry({"library": library, "instead_of": ["0123"]})
            self.assertEqual(found, tuning.Entry({}, DEFAULT, ("0123",), library))
            self.assertFalse(found.is_own or found.is_iree)
        self.assertTrue(self.entry({"kernel": "iree"}).is_iree)

    def test_a_function_goes_before_its_op(self) -> None:
        data = {support.ISA: {_OP: {"lmul": 4}, "f": {"lmul": 2}, "layout": "hwc"}}
        read = tuning.read(self.written(data), _ISA)
        self.assertEqual([read.of(name, _OP).choice.lmul for name in ("f", "g")], [2, 4])  # type: ignore[union-attr]
        self.assertIsNone(read.of("f0", "other"))
        self.assertTrue(read.pixels)
        self.assertIsNone(read.wide_weights)
        wide = tuning.read(self.written({support.ISA: {"wide_weights": 0}}), _ISA)
        self.assertEqual((wide.wide_weights, wide.entries), (0, {}))
        other = tuning.read(self.written({"rv64gc": data[support.ISA]}), _ISA)
        self.assertEqual(other, tuning.Tuning("tuning.json"))

    def test_malformed_files(self) -> None:
        self.rejects('{"rv64gc": {', "'tuning.json' is not JSON")
        self.rejects([], "'tuning.json' is not a JSON object")
        self.rejects({"rv32": {}}, "'rv32' in 'tuning.json' is not an instruction set", "rv64gc")
        self.rejects({support.ISA: 3}, f"'{support.ISA}' in 'tuning.json' is not an object")
        self.rejects({support.ISA: {"layout": "pixels"}}, "'layout'", '"hwc"')
        self.rejects('{"rv64gc": ' + "[" * 200_000, "'tuning.json' is nested too deeply")
        for size in (-1, 1.5, True, "4096", 10**30):
            self.rejects({support.ISA: {"wide_weights": size}}, "'wide_weights'", "bytes")

    def test_malformed_entries(self) -> None:
        def rejects(data: object, *parts: str) -> None:
            self.rejects({support.ISA: {_OP: data}}, f"'{_OP}'", *parts)

        rejects(3, "is not an object")
        rejects({}, "chooses nothing")
        rejects({"instead_of": ["0123"]}, "chooses nothing")
        rejects({"kernel": "mine"}, "'kernel'", '"iree"')
        rejects({"lmul": 4, "instead_of": [3]}, "'instead_of'", "not a list of strings")
        for sizes in (
            3,
            [1, -1, 0],
            [1, 2**62, 0],
            [1, 10**40, 0],
            [1, 1.5, 0],
            [1, True, 0],
            ["1"],
        ):
            rejects({"vector_common_parallel": sizes}, "'vector_common_parallel'", "list of sizes")
        for name, value in (
            ("lmul", 3),
            ("lmul", True),
            ("lmul", 4.0),
            ("lmul", [4]),
            ("rows", 0),
            ("rows", 15),
            ("reuses", 1),
            ("spills", "no"),
            ("unroll", 0),
            ("lanes", -1),
        ):
            rejects({name: value}, f"'{name}'", "not one of its values")
        for old, new in (("shares", "reuses"), ("stages", "widens"), ("waits", "spills")):
            rejects({old: True}, f"'{old}'", f"is called '{new}' now")
        rejects({"rows": 4, "vector_common_parallel": [2, 32, 0]}, "'rows'", "has both")
        rejects({"rows": 4, "kernel": "iree"}, "'kernel'", "has both")
        rejects({"rows": 4, "library": None}, "'rows'", "has both")
        for library in ("", 3, True, "../../x", "f g", "1f"):
            rejects({"library": library}, "'library'", "nor null")


class EffectTest(support.FolderTest):
    def compiled(self, entry: object = None, isa: str = support.ISA) -> dict[str, Any]:
        """Returns the report's row of a product's kernel, and the kernels' hash as `elf`."""
        path = self.write("tuning.json", json.dumps({isa: {_OP: entry} if entry else {}}))
        report = support.compile_text(support.MATMUL, self.folder / "m", isa, path)
        (row,) = report["dispatches"]
        return {**row, "elf": report["sha256"]["kernels.elf"]}

    def test_each_entry_makes_another_kernel(self) -> None:
        entries = (
            None,
            {"lmul": 2},
            {"rows": 1},
            {"unroll": 2},
            {"spills": True},
            {"kernel": "iree"},
        )
        rows = [self.compiled(entry) for entry in entries]
        self.assertEqual(len({row["elf"] for row in rows}), len(rows))
        self.assertEqual([row["tuned"] for row in rows], [False, *[True] * (len(rows) - 1)])
        self.assertEqual([row["own_kernel"] for row in rows], [*[True] * (len(rows) - 1), False])
        self.assertEqual(len({row["digest"] for row in rows}), 1)

    def test_a_stale_entry_is_named(self) -> None:
        default = self.compiled()["digest"]
        for entry in ({"lmul": 2}, {"kernel": "iree"}, {"vector_common_parallel": [2, 32, 0]}):
            for made_for, stale in ((default, False), ("0123456789ab", True)):
                with self.subTest(entry=entry, stale=stale):
                    made = {**entry, "instead_of": [made_for]}
                    with (
                        self.assertLogs("bmc", "WARNING")
                        if stale
                        else self.assertNoLogs("bmc", "WARNING")
                    ):
                        self.assertEqual(self.compiled(made)["stale"], stale)

    def test_what_a_dispatch_does_not_have(self) -> None:
        self.refuses("bad-tuning", _OP, "lanes = 5", call=lambda: self.compiled({"lanes": 5}))
        self.refuses(
            "bad-tuning",
            _OP,
            "rv64gc does not have",
            call=lambda: self.compiled({"lmul": 2}, "rv64gc"),
        )

    def test_elementwise_operations_have_fewer_choices(self) -> None:
        def compiled(tuning: Path | None = None) -> dict[str, Any]:
            return support.compile_text(_TURNED, self.folder / "turned", tuning=tuning)

        def tuned(entry: dict[str, int]) -> Path:
            data = {support.ISA: {row["op"]: entry}}
            return self.write("tuning.json", json.dumps(data))

        default = compiled()
        (row,) = default["dispatches"]
        self.assertTrue(row["own_kernel"])
        path = tuned({"rows": 2})
        self.refuses("bad-tuning", row["op"], "no choice of 'rows'", call=lambda: compiled(path))
        other = compiled(tuned({"lmul": 1}))
        self.assertNotEqual(default["sha256"]["kernels.elf"], other["sha256"]["kernels.elf"])


if __name__ == "__main__":
    unittest.main()
