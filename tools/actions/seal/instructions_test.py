"""Foreign instructions of every kind are found in what the build's own assembler writes, and nothing else is."""

from __future__ import annotations

import ast
import subprocess
import tempfile
import unittest
from pathlib import Path

from tools.actions.seal import instructions
from tools.cli import UserError

_TABLE = ast.parse(Path("compiler/bmc/isas.bzl").read_text(encoding="utf-8")).body[-1]
assert isinstance(_TABLE, ast.Assign)
_ISAS = ast.literal_eval(_TABLE.value)
_LLVM = next(Path("..").glob("*debian_llvm/root/usr/lib/llvm-*/bin")).absolute()
_VDOT4A, _VMADOT, _PM4ADDA = (
    ".insn 4, 0xb2002057",
    ".insn 4, 0xe200302b",
    ".insn r 0x3b, 5, 0x46, a0, a1, a2",
)
_E16, _E32 = "vsetivli zero, 4, e16, m1, ta, ma", "vsetivli zero, 4, e32, m1, ta, ma"


def _isa(name: str) -> instructions.Isa:
    facts = _ISAS[name]
    return instructions.Isa(name, facts["march"], tuple(facts.get("unnamed", ())))


class InstructionsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.object = Path(folder.name) / "code.o"

    def check(
        self, isa: str, *lines: str, more: str = "", march: str = "", function: str = "f"
    ) -> None:
        """Checks a function of these lines, in assembly that names `more` extensions by itself."""
        march = march or _ISAS[isa]["march"]
        is_riscv = march.startswith("rv")
        option = "".join(f", +{name}" for name in more.split())
        text = [f".globl {function}", f"{function}:", *lines, "ret"]
        if option:
            text.insert(0, f".option arch{option}")
        flags = [f"--target=riscv{march[2:4]}", f"-march={march}", "-mno-relax"]
        source = self.object.with_suffix(".s")
        source.write_text("\n".join(text) + "\n", encoding="utf-8")
        command: list[str | Path] = [
            _LLVM / "clang",
            *(flags if is_riscv else ["--target=x86_64-linux"]),
        ]
        subprocess.run([*command, "-c", source, "-o", self.object], check=True)
        instructions.check(self.object, str(_LLVM / "llvm-objdump"), _isa(isa))

    def refuses(
        self, isa: str, name: str, lacking: str, *lines: str, more: str = "", march: str = ""
    ) -> None:
        with self.assertRaises(UserError) as caught:
            self.check(isa, *lines, more=more, march=march)
        for part in ("'f' has", name, f"{isa} does not have {lacking}"):
            self.assertIn(part, str(caught.exception))

    def test_floats_of_16_bits(self) -> None:
        for isa in ("rv64gcv_zvl128b", "rv64gcv_zvl256b_zvdot4a8i", "rv64gcv_zvl1024b"):
            self.refuses(isa, "flh", "zfhmin", "flh ft0, 0(a0)", more="zfhmin")
        scalar, vector = "fadd.h ft0, ft0, ft0", "vfadd.vv v8, v8, v8"
        conversions = (
            "vfwcvt.f.f.v v8, v4",
            "vfncvt.f.f.w v4, v8",
            "vfncvt.f.x.w v4, v8",
            "vfwcvt.x.f.v v8, v4",
        )
        base = "rv64gcv_zvl256b"
        self.refuses(base, "fadd.h", "zfh", scalar, more="zfh")
        for line in (vector, *conversions):
            self.refuses(base, line.split()[0], "vectors of 16-bit floats", _E16, line)
        self.refuses(
            base,
            "vfwcvt.f.x.v",
            "vectors of 16-bit floats",
            "vsetivli zero, 4, e8, m1, ta, ma",
            conversions[3].replace("x.f", "f.x"),
        )
        has = "rv64gcv_zfh_zvfh_zvl256b"
        self.check(has, scalar, _E16, vector, *conversions)
        self.check(base, _E32, vector, *conversions, _E16, "vfwcvt.f.x.v v8, v4", "vfirst.m a0, v0")

    def test_bf16(self) -> None:
        converts, product = "vfwcvtbf16.f.f.v v8, v4", "vfwmaccbf16.vv v8, v4, v5"
        for isa in ("rv64gcv_zvl256b", "rv64gcv_zfh_zvfh_zvl256b"):
            self.refuses(isa, "vfwcvtbf16.f.f.v", "zvfbfmin", _E16, converts, more="zvfbfmin")
        isa = "rv64gcv_zfbfmin_zvfbfmin_zvl256b"
        self.check(isa, _E16, converts, "flh ft0, 0(a0)", "fcvt.s.bf16 ft0, ft0")
        self.refuses(isa, "vfwmaccbf16.vv", "zvfbfwma", _E16, product, more="zvfbfwma")
        self.refuses(isa, "vfadd.vv", "vectors of 16-bit floats", _E16, "vfadd.vv v8, v8, v8")
        self.check("rv64gcv_zfbfmin_zvfbfwma_zvl256b", _E16, converts, product)

    def test_the_width_is_followed_along_jumps(self) -> None:
        base, vector = "rv64gcv_zvl128b", "vfadd.vv v8, v8, v8"
        self.refuses(
            base, "vfadd.vv", "vectors of 16-bit floats", _E16, "j 1f", "ret", "1:", vector
        )
        # What is behind a jump is reached from elsewhere, and after a call anything may be set.
        self.check(base, _E32, "beqz a0, 1f", _E16, "j 2f", "1:", vector, "2: vadd.vv v8, v8, v8")
        self.check(base, _E16, "jal g", vector, "g:")
        # Nothing is known where a function begins.
        self.check(base, "beqz a0, 1f", vector, "1:", vector)
        # A jump backwards says nothing of what is behind it.
        self.check(base, _E32, "beqz a0, 2f", "1:", _E16, "j 1b", "2:", vector)

    def test_vectors(self) -> None:
        for isa in ("rv64gc", "rv64gcp", "rv32imac", "rv32imc"):
            self.refuses(isa, "vsetivli", "zve32f", _E32, more="zve32x")
        small = "rv32imafc_zve32f_zvl128b"
        wide = "vsetvli a0, a1, e64, m1, ta, ma"
        self.refuses(small, "vsetvli", "vectors of e64", wide, more="zve64x")
        self.refuses(small, "vle64.v", "v", "vle64.v v8, (a0)", more="zve64x")
        self.refuses(small, "vwadd.vv", "vectors of 64-bit elements", _E32, "vwadd.vv v8, v4, v5")
        self.refuses(
            small, "vfwcvt.f.f.v", "vectors of 64-bit elements", _E32, "vfwcvt.f.f.v v8, v4"
        )
        self.check(small, _E16, "vwadd.vv v8, v4, v5", _E32, "vfadd.vv v8, v8, v8")
        self.check("rv64gcv_zvl128b", wide, "vle64.v v8, (a0)", "vfadd.vv v8, v8, v8")

    def test_scalars(self) -> None:
        self.refuses("rv32imc", "lr.w", "a", "lr.w a0, (a1)", more="a")
        self.refuses("rv32imac", "fadd.s", "f", "fadd.s ft0, ft0, ft0", more="f")
        self.refuses("rv32imafc_zve32f_zvl128b", "fadd.d", "d", "fadd.d ft0, ft0, ft0", more="d")
        for isa in ("rv64gc", "rv64gcv_zfh_zvfh_zvl128b"):
            self.refuses(isa, "sh1add", "zba", "sh1add a0, a1, a2", more="zba")

    def test_what_an_object_says_of_itself_does_not_count(self) -> None:
        march = _ISAS["rv64gc"]["march"] + "_zba"
        self.refuses("rv64gc", "sh1add", "zba", "sh1add a0, a1, a2", march=march)

    def test_extensions_that_assemblers_do_not_know(self) -> None:
        lines = {
            "rv64gcp": _PM4ADDA,
            "rv64gcv_zvl256b_zvdot4a8i": _VDOT4A,
            "rv64gcv_zvl256b_xsmtvdot": _VMADOT,
        }
        for isa, line in lines.items():
            self.check(isa, line)
            for other in set(lines.values()) - {line}:
                with self.assertRaises(UserError, msg=(isa, other)):
                    self.check(isa, other)
        self.refuses("rv64gcv_zvl256b", "0xb2002057", "zvdot4a8i", _VDOT4A)
        self.refuses("rv64gc", "0xe200302b", "xsmtvdot", _VMADOT)

    def test_every_isa(self) -> None:
        for isa, facts in _ISAS.items():
            if facts["march"].startswith("rv"):
                self.refuses(isa, "clmul", "zbc", "clmul a0, a0, a1", more="zbc")
                self.check(isa, ".4byte 0xFFFFFFFF")

    def test_probes_try_what_the_hart_may_lack(self) -> None:
        self.check("rv64gcv_zvl128b", _E16, "vfadd.vv v8, v8, v8", _VDOT4A, function="try_zvfh")


if __name__ == "__main__":
    unittest.main()
