"""Tests that harts without vectors compare signed bytes as what they are, by what LLVM makes of a kernel."""

from __future__ import annotations

import unittest
from pathlib import Path

import support

from bmc.iree import phases
from bmc.rewrites.iree import single_lanes

_REPORT = Path(__file__).parents[4] / "docs/upstream/llvm-single-lanes.md"
_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-triple=riscv64-unknown-elf",
    "--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c",
    "--iree-llvmcpu-target-abi=lp64d",
)
_LARGEST = """module {
  llvm.func @largest(%a: vector<1xi8>, %b: vector<1xi8>) -> vector<1xi8> {
    %g = llvm.icmp "sgt" %a, %b : vector<1xi8>
    %0 = llvm.select %g, %a, %b : vector<1xi1>, vector<1xi8>
    %1 = llvm.intr.smin(%0, %b) : (vector<1xi8>, vector<1xi8>) -> vector<1xi8>
    llvm.return %1 : vector<1xi8>
  }
}
"""


class SingleLanesTest(support.FolderTest):
    def assembly(self, text: str, *, scalar: bool) -> str:
        """Returns LLVM's text of the only kernel."""
        dumped = f"--iree-hal-dump-executable-intermediates-to={self.folder}/dumped"
        rewrite = single_lanes.apply if scalar else None
        self.compiled_apart(text, phases.TARGETS, (*_FLAGS, dumped), rewrite)
        (file,) = (self.folder / "dumped").glob("*.s")
        kernel = file.read_text(encoding="utf-8").partition("\nmain_dispatch_0")[2]
        return kernel.partition(".Lfunc_end")[0]

    def test_signed_bytes(self) -> None:
        """The fault is as reported, and the rewrite mends it."""
        text = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")[2].partition("```")[0]
        wrong = self.assembly(text, scalar=False)
        self.assertIn("\tlbu\t", wrong)
        self.assertNotIn("\tlb\t", wrong)
        right = self.assembly(text, scalar=True)
        self.assertIn("\tlb\t", right)
        self.assertNotIn("\tlbu\t", right)

    def test_which_operations(self) -> None:
        text = support.rewritten(_LARGEST, single_lanes.apply)
        self.assertIn('llvm.icmp "sgt" %', text)
        for made in (": i8\n", "(i8, i8) -> i8", ": i1, i8\n"):
            self.assertEqual(text.count(made), 1, made)
        for kind in ("2xi8", "1xi32"):
            other = _LARGEST.replace("1xi8", kind).replace("1xi1>", f"{kind[0]}xi1>")
            self.assertNotIn("extractelement", support.rewritten(other, single_lanes.apply))


if __name__ == "__main__":
    unittest.main()
