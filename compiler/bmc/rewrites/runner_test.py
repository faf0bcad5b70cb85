"""Tests the runner: order, intermediate files, and the error for a rewrite that fails."""

from __future__ import annotations

import unittest
from typing import Any

import support
from iree.compiler import ir

from bmc.errors import BmcError, InternalError
from bmc.ir import ir_util
from bmc.iree import phases
from bmc.iree.tool import IreeTool
from bmc.rewrites import model_pipeline, runner
from bmc.rewrites.model_context import ModelContext
from bmc.rewrites.rewrite import Rewrite
from bmc.rewrites.runner import Runner, Stopped


def _double(module: Any, _: ModelContext) -> None:
    """A trivial rewrite: additions become multiplications."""
    for op in ir_util.all_of(module, "stablehlo.add"):
        with ir.InsertionPoint(op):
            product = ir.Operation.create(
                "stablehlo.multiply", [op.results[0].type], list(op.operands)
            )
        op.results[0].replace_all_uses_with(product.results[0])
        op.erase()


def _break(module: Any, _: ModelContext) -> None:
    """Leaves invalid IR: a return that is not the last operation."""
    (function,) = ir_util.all_of(module, "func.func")
    first, *_, last = function.regions[0].blocks[0].operations
    last.operation.move_before(first.operation)


def _fail(_: Any, __: ModelContext) -> None:
    raise KeyError("a mistake in a rewrite")


def _refuse(_: Any, __: ModelContext) -> None:
    raise BmcError("refused", "this model is refused")


_TRIVIAL = Rewrite("double", phases.INPUT, "A test.", "Anywhere.", _double)


class RunnerTest(support.FolderTest):
    def run_only(
        self, *rewrites: Rewrite[ModelContext], stop_after: str = "", keep: bool = False
    ) -> str:
        """Runs rewrites of the first phase; returns the IR that IREE would receive."""
        self.write("source.mlir", support.ADD)
        tool = IreeTool(self.folder, self.folder / "reproducer")
        seen: list[str] = []

        def stop(module: Any) -> None:
            seen.append(str(module))
            raise Stopped("")

        runner = Runner(
            tool,
            rewrites,
            ModelContext(int8=False),
            lambda _: (),
            {phases.INPUT: stop},
            self.folder / "kept" if keep else None,
            stop_after,
        )
        with self.assertRaises(Stopped) as stopped:
            runner.run(self.folder / "source.mlir", phases.INPUT, phases.OPTIMIZED)
        return seen[0] if seen else stopped.exception.text

    def test_a_new_rewrite_is_one_line_in_the_tuple(self) -> None:
        self.assertIn("stablehlo.add", self.run_only(*model_pipeline.FOR_ALL))
        changed = self.run_only(*model_pipeline.FOR_ALL, _TRIVIAL)
        self.assertNotIn("stablehlo.add", changed)
        self.assertIn("stablehlo.multiply", changed)

    def test_a_rewrite_that_does_not_apply_is_left_out(self) -> None:
        never = Rewrite("never", phases.INPUT, "A test.", "Never.", _fail, lambda _: False)
        self.assertIn("stablehlo.add", self.run_only(never))

    def test_stops_after_a_rewrite(self) -> None:
        fails = Rewrite("fails", phases.INPUT, "A test.", "Last.", _fail)
        self.assertIn("multiply", self.run_only(_TRIVIAL, fails, stop_after="double"))

    def test_intermediates_are_kept_in_order(self) -> None:
        self.run_only(_TRIVIAL, keep=True)
        files = sorted(path.name for path in (self.folder / "kept").iterdir())
        self.assertEqual(files, ["1.00-input.mlir", "1.01-double.mlir"])
        texts = [(self.folder / "kept" / name).read_text(encoding="utf-8") for name in files]
        self.assertEqual(["stablehlo.multiply" in text for text in texts], [False, True])

    def test_a_rewrite_that_fails_is_named_and_its_input_kept(self) -> None:
        for rewrite, words in (
            (Rewrite("fails", phases.INPUT, "A test.", "Last.", _fail), "a mistake in a rewrite"),
            (
                Rewrite("breaks", phases.INPUT, "A test.", "Last.", _break),
                "must be the last operation",
            ),
        ):
            with self.subTest(rewrite.name):
                with self.assertRaises(InternalError) as caught:
                    self.run_only(_TRIVIAL, rewrite)
                self.assertIn(f"rewrite '{rewrite.name}' failed", str(caught.exception))
                self.assertIn(words, str(caught.exception))
                with ir.Context():
                    kept = ir_util.read(self.folder / "reproducer" / f"{rewrite.name}.mlirbc")
                    # The result of the rewrites before it.
                    self.assertIn("stablehlo.multiply", str(kept))

    def test_what_the_user_has_to_change_passes_through(self) -> None:
        refuses = Rewrite("refuses", phases.INPUT, "A test.", "Last.", _refuse)
        self.refuses("refused", "this model", call=lambda: self.run_only(refuses))
        self.assertFalse((self.folder / "reproducer").exists())

    def test_the_table_has_every_rewrite_under_its_phase(self) -> None:
        table = runner.describe((_TRIVIAL,)).splitlines()
        self.assertEqual(
            table[2:4],
            ["| **input** | | the model as imported | |", "| | `double` | A test. | Anywhere. |"],
        )


if __name__ == "__main__":
    unittest.main()
