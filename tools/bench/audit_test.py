"""The audit of kernels, on pieces of real disassemblies."""

from __future__ import annotations

import unittest
from typing import Any

from tools.bench import audit
from tools.bench.code_test import COPY, FLOAT, VECTOR

ISA = "rv64gcv_zvl256b"


def dispatch(op: str, address: int, macs: int) -> dict[str, Any]:
    name = f"main_dispatch_0_{op}"
    where = {"address": address, "source": "model.py:12"}
    return {"name": name, "op": op, "macs": macs, "call": None, **where}


def command(op: str, layer: str) -> dict[str, Any]:
    return {"function": f"main_dispatch_0_{op}", "layer": layer}


REPORT: dict[str, Any] = {
    "name": "net",
    "isa": ISA,
    "dispatches": [
        dispatch("conv_4x4_f32", 0x160E, 589_824),
        dispatch("copy", 0x2822, 0),
        dispatch("matmul_i8", 0x4E7C, 131_072),
    ],
    "commands": [
        command("conv_4x4_f32", "stage1.conv (Conv2d)"),
        command("conv_4x4_f32", "stage2.conv (Conv2d)"),
        command("matmul_i8", "fc (Linear)"),
    ],
}
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
        few = {**REPORT, "dispatches": [{**d, "macs": 1000} for d in REPORT["dispatches"]]}
        self.assertEqual(audit.check(few, KERNELS, {}), [])
        more = {**REPORT, "dispatches": [{**d, "macs": 1001} for d in REPORT["dispatches"]]}
        # The copy has no products either way, but now it says that it has.
        self.assertEqual(len(audit.check(more, KERNELS, {})), 2)

    def test_what_a_library_computes_is_not_judged_by_the_kernel(self) -> None:
        call = {"function": "f", "library": "//k:f"}
        taken = {**REPORT, "dispatches": [{**d, "call": call} for d in REPORT["dispatches"]]}
        self.assertEqual(audit.check(taken, KERNELS, {}), [])

    def test_a_known_kernel_passes(self) -> None:
        self.assertEqual(audit.check(REPORT, KERNELS, KNOWN), [])

    def test_a_stale_line_fails(self) -> None:
        mended = {name: {**facts, "vectorized": True} for name, facts in KERNELS.items()}
        (problem,) = audit.check(REPORT, mended, KNOWN)
        self.assertEqual(problem, "kernel conv_4x4_f32 is vectorized now: remove its line")

    def test_lines_of_other_models_and_targets_say_nothing(self) -> None:
        for other in (f"other {ISA} x: y", "net rv64gcv_zvl128b x: y"):
            listed = {**KNOWN, **audit.known(other)}
            self.assertEqual(audit.check(REPORT, KERNELS, listed), [])

    def test_a_line_needs_a_reason(self) -> None:
        for line in (f"net {ISA} conv", f"net {ISA} conv:", "conv: slow"):
            with self.assertRaisesRegex(audit.AuditError, "line 1 is not"):
                audit.known(line)


if __name__ == "__main__":
    unittest.main()
