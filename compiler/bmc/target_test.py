"""Tests the table of instruction sets: each row is consistent, and LLVM's flags come from it."""

from __future__ import annotations

import unittest

from bmc import target
from bmc.errors import BmcError
from bmc.target import PlanIsa


class TargetTest(unittest.TestCase):
    def test_what_llvm_is_told(self) -> None:
        for isa, features, abi in (
            ("rv64gc", "+m,+a,+f,+d,+c", "lp64d"),
            ("rv64gcv_zvl256b", "+m,+a,+f,+d,+c,+v,+zvl256b", "lp64d"),
            ("rv32imac", "+m,+a,+c", "ilp32"),
            ("rv32imc", "+m,+c", "ilp32"),
            ("rv32imafc_zve32f_zvl128b", "+m,+a,+f,+c,+zve32f,+zvl128b", "ilp32f"),
        ):
            flags = target.find(isa).iree_flags()
            self.assertIn(f"--iree-llvmcpu-target-cpu-features={features}", flags)
            self.assertIn(f"--iree-llvmcpu-target-abi={abi}", flags)
            self.assertNotIn(target.WHOLE_VECTORS, flags)
        flags = target.find("x86_64").iree_flags()
        self.assertIn("--iree-llvmcpu-target-cpu=x86-64-v2", flags)
        self.assertIn(target.WHOLE_VECTORS, flags)
        self.assertFalse([flag for flag in flags if "target-abi" in flag])

    def test_extensions_by_implication(self) -> None:
        scalar = target.find("rv64gc").extensions
        self.assertLessEqual({"zmmul", "zaamo", "zca", "zcd", "zicsr"}, scalar)
        vector = target.find("rv64gcv_zvl256b").extensions
        self.assertEqual(
            vector - scalar,
            {"v", "zve32x", "zve32f", "zve64x", "zve64f", "zve64d"}
            | {"zvl32b", "zvl64b", "zvl128b", "zvl256b"},
        )
        small = target.find("rv32imafc_zve32f_zvl128b").extensions
        self.assertIn("zcf", small)
        self.assertFalse(small & {"d", "zcd", "zve64x", "zvl256b"})

    def test_plan_bits_say_what_the_extensions_are(self) -> None:
        for isa in target.ISA_NAMES:
            with self.subTest(isa):
                found = target.find(isa)
                bits = PlanIsa.X86_64
                if found.is_riscv:
                    bits = PlanIsa.RV64 if found.xlen == 64 else PlanIsa.RV32
                vectors = 0
                if "zve32f" in found.extensions:
                    vectors = PlanIsa.V if "v" in found.extensions else PlanIsa.ZVE32F
                packed = PlanIsa.P if isa == "rv64gcp" else 0
                dots = PlanIsa.ZVDOT4A8I if isa.endswith("_zvdot4a8i") else 0
                halves = PlanIsa.ZVFH if {"zfh", "zvfh"} <= found.extensions else 0
                matrices = PlanIsa.XSMTVDOT if isa.endswith("_xsmtvdot") else 0
                brains = PlanIsa.ZVFBFMIN if "zvfbfmin" in found.extensions else 0
                products = PlanIsa.ZVFBFWMA if "zvfbfwma" in found.extensions else 0
                extensions = packed | dots | halves | matrices | brains | products
                self.assertEqual(found.isa_bits, bits | vectors | extensions)

    def test_the_name_says_the_vlen(self) -> None:
        for isa in target.ISA_NAMES:
            with self.subTest(isa):
                _, _, vlen = (
                    isa.removesuffix("_zvdot4a8i").removesuffix("_xsmtvdot").partition("_zvl")
                )
                self.assertEqual(vlen, f"{target.find(isa).vlen_bits}b" if vlen else "")
                self.assertEqual(bool(vlen), target.find(isa).vlen_bits > 0)

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with self.assertRaisesRegex(
            BmcError, "unknown instruction set 'rv64gcv_zvl333b'"
        ) as raised:
            target.find("rv64gcv_zvl333b")
        self.assertIn("rv64gcv_zvl256b", str(raised.exception.hint))


if __name__ == "__main__":
    unittest.main()
