"""The short form: some dozens of flips in a small image, and what the campaign says where there is no check."""

from __future__ import annotations

import dataclasses
import os
import struct
import tempfile
import unittest
from pathlib import Path

import flips
import machines
import parts
from campaign import Budget
from parts import Region

from tools.actions.seal import seal
from tools.run import result
from tools.run.kit import Kit

_IMAGE = Path(os.environ["IMAGE"])


def ended(*lines: str, status: int | None = 2) -> str:
    """How a run with these records ends, if HASH 1 is that of an undamaged image."""
    return flips.outcome(
        result.Outcome(tuple(f"BM1 {line}" for line in lines), status), ("HASH 1",)
    )


class OutcomeTest(unittest.TestCase):
    def test_every_end_has_its_name(self) -> None:
        self.assertEqual(ended("HASH 1", "PASS cases=1", status=0), flips.UNCHANGED)
        self.assertEqual(ended("HASH 2", "PASS cases=1", status=0), flips.CHANGED)
        self.assertEqual(ended("ERROR status=0a01e010 its tables"), flips.REFUSED)
        self.assertEqual(ended("ERROR status=0301e00f its tables"), flips.OTHERWISE)
        self.assertEqual(ended("ERROR status=M1 its"), flips.OTHERWISE)
        self.assertEqual(ended("TRAP cause=2 epc=0", status=3), "trapped")
        self.assertEqual(ended("FAIL cases=1 bad=1", status=1), "failed its golden data")
        self.assertEqual(ended("BOOT isa=any", status=None), flips.HUNG)
        self.assertEqual(ended("BOOT isa=any", status=1), flips.SILENT)

    def test_a_pass_that_ends_badly_is_none(self) -> None:
        self.assertEqual(ended("HASH 1", "PASS cases=1", status=1), flips.SILENT)


class PlaceTest(unittest.TestCase):
    def test_every_bit_has_one_place(self) -> None:
        regions = (Region(100, 1), Region(200, 2))
        found = {flips.place(regions, number) for number in range(24)}
        self.assertEqual({flip.offset for flip in found}, {100, 200, 201})
        self.assertEqual(len(found), 24)
        with self.assertRaises(IndexError):
            flips.place(regions, 24)

    def test_a_flip_changes_one_bit(self) -> None:
        self.assertEqual(flips.Flip(1, 7).apply(b"\0\1\0"), b"\0\x81\0")


class FlipsTest(unittest.TestCase):
    kit: Kit
    target: flips.Target

    @classmethod
    def setUpClass(cls) -> None:
        root = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.kit = Kit.load(machines.KIT, Path(root))
        machine, run = machines.spike(cls.kit, _IMAGE)
        cls.target = flips.Target(_IMAGE, parts.find(_IMAGE), machine, flips.hashes(run))

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name) / "copy.elf"

    def end(self, image: bytes, *, sealed_again: bool = False) -> str:
        self.copy.write_bytes(image)
        if sealed_again:
            seal.seal_file(self.copy, self.copy)
        return flips.outcome(self.target.machine.boot(self.copy), self.target.hashes)

    def test_the_parts_are_those_of_the_model(self) -> None:
        image = _IMAGE.read_bytes()
        sizes = {name: sum(r.size for r in found) for name, found in self.target.parts.items()}
        self.assertEqual(set(sizes), {*parts.MODEL, parts.RUNTIME})
        # The header of the plan states how long it is, and how long the weights are.
        headers = [
            struct.unpack_from("<6I", image, region.offset)
            for region in self.target.parts["plan"]
            if region.size >= 128
        ]
        self.assertEqual([header[5] for header in headers], [sizes["weights"]])
        self.assertIn(headers[0][1], [region.size for region in self.target.parts["plan"]])
        self.assertTrue(all(size > 0 for size in sizes.values()))

    def test_no_flip_in_a_model_is_missed(self) -> None:
        budget = Budget(seed=1, first=0, count=30)
        results = [
            flips.trial(number, budget, [self.target], list(parts.MODEL))
            for number in budget.trials()
        ]
        self.assertEqual([found.find for found in results], [None] * budget.count)
        self.assertEqual(
            {found.outcome for found in results},
            {f"{part}: {flips.REFUSED}" for part in parts.MODEL},
        )

    def test_damage_that_the_checks_include_is_a_find(self) -> None:
        image = _IMAGE.read_bytes()
        weights = self.target.parts["weights"][0]
        # The least bit of a float: the tolerance cannot see it.
        damaged = flips.Flip(weights.offset, 0).apply(image)
        self.assertEqual(self.end(damaged), flips.REFUSED)
        self.assertIn(self.end(damaged, sealed_again=True), (flips.UNCHANGED, flips.CHANGED))

    def test_an_image_that_does_not_end_hangs(self) -> None:
        machine = self.target.machine
        assert isinstance(machine, machines.Spike)
        soon = dataclasses.replace(machine, instructions=100_000)
        self.assertEqual(flips.outcome(soon.boot(_IMAGE), self.target.hashes), flips.HUNG)

    def test_a_damaged_image_sets_no_limit(self) -> None:
        weights = self.target.parts["weights"][0]
        self.copy.write_bytes(flips.Flip(weights.offset, 0).apply(_IMAGE.read_bytes()))
        with self.assertRaisesRegex(machines.Unfit, "its weights were damaged"):
            machines.spike(self.kit, self.copy)


if __name__ == "__main__":
    unittest.main()
