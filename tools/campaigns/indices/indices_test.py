"""The campaign's short form, and that it notices what it looks for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import campaign
import indices
import numpy as np
import sanitized

# A program of its own, in which the rewrite that keeps indices inside does nothing. It calls each operation with the
# indices next to both ends, each time in a process that may die.
_WITHOUT = """
import os, tempfile
from pathlib import Path
import indices, numpy
from bmc.rewrites.meaning import index_bounds as rewrite
rewrite.apply = lambda module: None
with tempfile.TemporaryDirectory() as folder:
    calls = indices.host(Path(folder))
for name, operation in indices.OPERATIONS.items():
    for at in (-1, 6):
        child = os.fork()
        if not child:
            index = numpy.zeros(operation.index, operation.dtype)
            index[..., 0] = at
            update = [numpy.ones(operation.update, numpy.float32)] if operation.update else []
            calls[name]((numpy.ones((6, 5), numpy.float32), index, *update))
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print(f"{name}:{at}", flush=True)
"""
_FEW = campaign.Budget(seed=1, first=0, count=20)


class IndicesTest(unittest.TestCase):
    def test_a_few_are_right(self) -> None:
        found = Counter(result.outcome for result in indices.results(_FEW))
        self.assertEqual(found, {"right": 20})

    def test_a_wrong_one_is_found(self) -> None:
        calls = dict.fromkeys(indices.OPERATIONS, lambda case: (np.zeros(1, np.float32),))
        (first, *_) = indices.inside(calls, _FEW)
        self.assertEqual(first.outcome, "wrong")
        self.assertIn("gather_rows at", first.find or "")

    def test_an_access_right_beside_a_tensor_is_noticed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "without.py"
            program.write_text(_WITHOUT)
            environment = {**sanitized.environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(
                [sys.executable, program], env=environment, capture_output=True, text=True
            )
        noticed = set(done.stdout.split())
        # IREE itself keeps these inside.
        own = {"gather_columns", "gather_elements", "slice", "update"}
        self.assertEqual(
            noticed,
            {f"{name}:{at}" for name in indices.OPERATIONS.keys() - own for at in (-1, 6)},
            done.stderr,
        )
        self.assertIn("AddressSanitizer: use-after-poison", done.stderr)

    def test_a_trial_that_ends_its_process_is_a_find(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "ends.py"
            program.write_text("import sys\nsys.exit('said why')\n")
            (result,) = indices.results(campaign.Budget(seed=1, first=0, count=1), str(program))
        self.assertEqual((result.outcome, result.find), ("stopped", "said why\n"))


if __name__ == "__main__":
    unittest.main()
