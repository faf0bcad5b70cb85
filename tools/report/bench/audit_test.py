"""The audit of kernels, on pieces of real disassemblies."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

from blank import blank

from bmc.report import Call, Command, Dispatch, Model
from tools.cli import UserError
from tools.report.bench import audit
from tools.report.bench.code_test import COPY, FLOAT, VECTOR

ISA = "rv64gcv_zvl256b"


def dispatch(op: str, address: int, macs: int) -> Dispatch:
    name = f"main_dispatch_0_{op}"
    return blank(Dispatch, name=name, op=op, macs=macs, address=address, source="model.py:12")


def command(op: str, layer: str) -> Command:
    return blank(Command, function=f"main_dispatch_0_{op}", layer=layer)


def each_with(**values: Any) -> Model:
    """The report with values in each dispatch."""
    dispatches = tuple(replace(each, **values) for each in REPORT.dispatches)
    return replace(REPORT, dispatches=dispatches)


REPORT = blank(
    Model,
    name="net",
    isa=ISA,
    dispatches=(
        dispatch("conv_4x4_f32", 0x160E, 589_824),
        dispatch("copy", 0x2822, 0),
        dispatch("matmul_i8", 0x4E7C, 131_072),
    ),
    commands=(
        command("conv_4x4_f32", "stage1.conv (Conv2d)"),
        command("conv_4x4_f32", "stage2.conv (Conv2d)"),
        command("matmul_i8", "fc (Linear)"),
    ),
)
KERNELS = audit.facts(REPORT, (FLOAT + COPY + VECTOR).splitlines())
KNOWN = audit.known(f"# why\nnet {ISA} conv_4x4_f32: grouped\n")


class AuditTest(unittest.TestCase):
    def test_a_scalar_kernel_is_named_with_layer_line_and_reason(self) -> None:
        (sentence,) = audit.check(REPORT, KERNELS, {})
        self.assertEqual(
            sentence,
            "layer 'stage1.conv (Conv2d)' and 1 more (model.py:12) did not vectorize for "
            "rv64gcv_zvl256b: 589,824 multiply-accumulates, and its loops multiply one number at a time "
            "(fmadd.s); kernel conv_4x4_f32",
        )

    def test_few_products_are_not_worth_the_words(self) -> None:
        self.assertEqual(audit.check(each_with(macs=1000), KERNELS, {}), [])
        # The copy has no products either way, but now it says that it has.
        self.assertEqual(len(audit.check(each_with(macs=1001), KERNELS, {})), 2)

    def test_what_a_library_computes_is_not_judged_by_the_kernel(self) -> None:
        taken = each_with(call=Call("//k:f", "f", ""))
        self.assertEqual(audit.check(taken, KERNELS, {}), [])

    def test_a_known_kernel_passes(self) -> None:
        self.assertEqual(audit.check(REPORT, KERNELS, KNOWN), [])

    def test_a_stale_line_fails(self) -> None:
        mended = {name: replace(facts, vectorized=True) for name, facts in KERNELS.items()}
        (problem,) = audit.check(REPORT, mended, KNOWN)
        self.assertEqual(problem, "kernel conv_4x4_f32 is vectorized now: remove its line")

    def test_lines_of_other_models_and_targets_say_nothing(self) -> None:
        for other in (f"other {ISA} x: y", "net rv64gcv_zvl128b x: y"):
            listed = {**KNOWN, **audit.known(other)}
            self.assertEqual(audit.check(REPORT, KERNELS, listed), [])

    def test_a_line_needs_a_reason(self) -> None:
        for line in (f"net {ISA} conv", f"net {ISA} conv:", "conv: slow"):
            with self.assertRaisesRegex(UserError, "line 1 is not"):
                audit.known(line)


if __name__ == "__main__":
    unittest.main()
