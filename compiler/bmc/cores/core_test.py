"""Tests the files of cores, and what is read from instructions."""

from __future__ import annotations

import dataclasses
import unittest

from bmc.cores import core as cores
from bmc.cores.instruction import Group, parsed
from bmc.errors import BmcError

# Kinds of instructions that every core has.
_KINDS = {
    "multiply", "widening", "alu", "divide", "compare", "merge", "slide", "gather", "extend", "narrow", "reduce",
    "load", "store", "strided", "segments", "indexed",
}  # fmt: skip


class CoreTest(unittest.TestCase):
    def test_every_number_has_a_source(self) -> None:
        self.assertLessEqual(
            {"x60", "c908", "x280", "ax45mpv", "saturn", "ara", "generic"}, set(cores.names())
        )
        for name in cores.names():
            core = cores.find(name)
            with self.subTest(core=name):
                self.assertTrue(core.name and core.source)
                self.assertEqual(set(core.rates), _KINDS)
                for kind, rate in core.rates.items():
                    self.assertTrue(rate.source, kind)
                    self.assertGreater(rate.cycles(1024, 32), 0, kind)

    def test_unknown(self) -> None:
        with self.assertRaisesRegex(BmcError, 'there is no core "../x60"; known are ara, .*x60'):
            cores.find("../x60")

    def test_what_is_assumed_may_be_wrong(self) -> None:
        """Only numbers that nobody measured change, and a core without such has no other way to be."""
        x60 = cores.find("x60")
        wrong = x60.otherwise()
        self.assertEqual(set(wrong), {"no waits", "halved"})
        self.assertEqual(
            wrong["no waits"], dataclasses.replace(x60, waits_for_readers=False, rates=x60.rates)
        )
        halved = wrong["halved"]
        self.assertEqual((halved.scalar, halved.issue), (2 * x60.scalar, x60.issue))
        for kind, rate in x60.rates.items():
            factor = 2 if rate.assumed else 1
            self.assertAlmostEqual(
                halved.rates[kind].cycles(1024, 32), factor * rate.cycles(1024, 32), msg=kind
            )
        self.assertEqual(cores.find("ara").otherwise(), {})


class InstructionTest(unittest.TestCase):
    def test_operands(self) -> None:
        one, half = 1.0, 0.5
        for line, kind, to, read in (
            ("vle32.v v8, (x11)", "load", Group(8, one), ()),
            ("vse8.v v8, (x11)", "store", None, (Group(8, one),)),
            ("vlse8.v v4, (x11), x12, v0.t", "strided", Group(4, one), ()),
            ("vlsseg3e8.v v4, (x11), x12", "segments", Group(4, 3.0), ()),
            ("vluxei32.v v4, (x11), v8", "indexed", Group(4, one), (Group(8, one),)),
            ("vfmacc.vf v8, f1, v0", "multiply", Group(8, one), (Group(0, one), Group(8, one))),
            (
                "vwmul.vv v8, v2, v4",
                "widening",
                Group(8, 2.0),
                (Group(2, one), Group(4, one)),
            ),
            (
                "vfwmaccbf16.vf v8, f1, v2",
                "widening",
                Group(8, 2.0),
                (Group(2, one), Group(8, 2.0)),
            ),
            ("vfwcvtbf16.f.f.v v8, v2", "extend", Group(8, 2.0), (Group(2, one),)),
            ("vfncvtbf16.f.f.w v8, v8", "narrow", Group(8, one), (Group(8, 2.0),)),
            ("vsext.vf2 v0, v4", "extend", Group(0, one), (Group(4, half),)),
            ("vnclip.wi v8, v8, 3", "narrow", Group(8, one), (Group(8, 2.0),)),
            ("vmflt.vf v0, v8, f0", "compare", Group(0, 0.0), (Group(8, one),)),
            (
                "vfmerge.vfm v8, v8, f0, v0",
                "merge",
                Group(8, one),
                (Group(8, one), Group(0, 0.0)),
            ),
            ("vmv.x.s x10, v8", "alu", None, (Group(8, one),)),
            ("vxor.vx v8, v4, x10", "alu", Group(8, one), (Group(4, one),)),
            ("vlm.v v0, (x11)", "load", Group(0, 0.0), ()),
            ("vsm.v v1, (x11)", "store", None, (Group(1, 0.0),)),
            ("flw f1, 4(x10)", "scalar", None, ()),
            ("vsetvli zero, x17, e32, m8, ta, ma", "vsetvli", None, ()),
        ):
            with self.subTest(line=line):
                found = parsed(line)
                self.assertEqual((found.kind, found.to, found.read), (kind, to, read))


if __name__ == "__main__":
    unittest.main()
