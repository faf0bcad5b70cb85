"""With a budget, tensors share memory while only parts of them are alive, and the caller still finds what it reads."""

from __future__ import annotations

import unittest
from pathlib import Path

import support

from bmc import artifacts, target
from bmc.artifacts import TensorInfo
from bmc.dtype import DType
from bmc.host.program import Copy, HostFunction, HostProgram, Slab, Span, Storage, StorageKind, View
from bmc.plan import build, tables
from bmc.plan.weights import PackedWeights

_LONG, _SHORT = (64,), (16,)
_INPUT = Storage(StorageKind.INPUT, 0, 256)
_BETWEEN, _RESULT = (Storage(StorageKind.SLAB, i, size) for i, size in enumerate((64, 256)))


def view(storage: Storage) -> View:
    return View(Span(storage, 0, storage.length), DType.F32, (storage.length // 4,))


def planned(*copies: Copy, outputs: tuple[Storage, ...]) -> tables.Plan:
    slabs = (Slab(64, 0, 2), Slab(256, 0, len(copies)))
    entry = HostFunction("main", (view(_INPUT),), tuple(map(view, outputs)), slabs, copies)
    signature = artifacts.Signature(
        "main",
        (TensorInfo("x", DType.F32, _LONG),),
        tuple(TensorInfo(f"y{i}", DType.F32, view(each).shape) for i, each in enumerate(outputs)),
    )
    golden = artifacts.Golden((), (), (), None, 0, artifacts.GOLDEN_IREE_HOST)
    model = artifacts.ImportedModel(Path(), "", "mlir", {}, (signature,), golden, ())
    program = HostProgram(b"", (), (), (), (entry,))
    isa, none = target.find(support.ISA), PackedWeights(b"", {})
    return build.plan("m", isa, model, program, None, none, {}, {}, has_budget=True)


class BudgetLayoutTest(unittest.TestCase):
    def test_a_result_grows_where_the_input_is_read_for_the_last_time(self) -> None:
        rows = [Copy(Span(_INPUT, 64 * i, 64), Span(_BETWEEN, 0, 64)) for i in range(4)]
        back = [Copy(Span(_BETWEEN, 0, 64), Span(_RESULT, 64 * i, 64)) for i in range(4)]
        steps = [step for pair in zip(rows, back, strict=True) for step in pair]
        self.assertEqual(planned(*steps, outputs=(_RESULT,)).arena_bytes, 256 + 64)

    def test_an_input_that_is_returned_stays_whole_also_where_no_command_reads_it(self) -> None:
        steps = (
            Copy(Span(_INPUT, 0, 64), Span(_BETWEEN, 0, 64)),
            Copy(Span(_INPUT, 192, 64), Span(_RESULT, 0, 64)),
            Copy(Span(_BETWEEN, 0, 64), Span(_RESULT, 64, 64)),
        )
        plan = planned(*steps, outputs=(_INPUT, _RESULT))
        ((x,), (same, _)) = plan.inputs, plan.outputs
        self.assertEqual(same.offset, x.offset)
        for command in plan.commands:
            written = command.bindings[1]
            self.assertTrue(written.offset + 64 <= x.offset or x.offset + 256 <= written.offset)


if __name__ == "__main__":
    unittest.main()
