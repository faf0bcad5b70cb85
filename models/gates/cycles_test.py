"""What reports say of cycles in gates, beside a run that nobody profiles."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from typing import Any

from tools.run import judge


def measured(variable: str) -> Any:
    (model,) = json.loads(Path(os.environ[variable]).read_text())["run"]["models"]
    return model


class CyclesTest(unittest.TestCase):
    def test_dispatches_take_what_the_model_takes(self) -> None:
        ((_, records),) = judge.load(Path(os.environ["RUN"])).models().items()
        (stats,) = [record for record in records if record.kind == "STATS"]
        model = measured("REPORT")
        self.assertEqual(model["instructions"], stats.number("instret"))
        # Printing between dispatches leaves other lines in the caches.
        self.assertAlmostEqual(model["cycles"] / stats.number("cycles"), 1, delta=0.05)
        self.assertAlmostEqual(
            sum(row["cycles"] for row in model["commands"]) / model["cycles"], 1, delta=0.05
        )

    def test_flash_costs_cycles_and_no_instructions(self) -> None:
        fast, slow = measured("REPORT"), measured("IN_FLASH")
        self.assertEqual(fast["instructions"], slow["instructions"])
        self.assertGreater(slow["cycles"], 1.2 * fast["cycles"])

    def test_copies_of_weights_in_ram_save_cycles_in_flash(self) -> None:
        fast, slow = measured("COPIED"), measured("NOT_COPIED")
        self.assertLess(fast["cycles"], 0.9 * slow["cycles"])


if __name__ == "__main__":
    unittest.main()
