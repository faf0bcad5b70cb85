"""Tests the sentence that IREE's messages become."""

from __future__ import annotations

import signal
import unittest
from pathlib import Path

from bmc.errors import BmcError
from bmc.iree import diagnostics


def rejection(*messages: str, status: int = 1, source: bytes = b"") -> BmcError:
    text = "\n".join(messages)
    return diagnostics.rejection("iree-compile", text, status, Path("reproducer"), source)


class RejectedTest(unittest.TestCase):
    def rejects(self, message: str, where: str, *messages: str) -> None:
        error = rejection(*messages)
        self.assertEqual((error.kind, error.message), ("op-rejected", f"iree-compile {message}"))
        self.assertEqual(error.where, where)
        self.assertIn("reproducer: reproducer", error.hint)

    def test_the_op_and_the_line_of_the_model(self) -> None:
        self.rejects(
            "cannot compile op 'stablehlo.cholesky'",
            "model.mlir:3",
            "model.mlir:3:8: error: failed to legalize operation 'stablehlo.cholesky'",
            'model.mlir:3:8: note: see current operation: %0 = "stablehlo.cholesky"(%arg0)',
        )

    def test_the_reason_is_kept_and_the_printed_op_is_not(self) -> None:
        self.rejects(
            "cannot compile op 'tosa.clamp': 'tosa.clamp' op requires attribute 'min_val'",
            "model.mlir:2",
            "model.mlir:2:8: error: 'tosa.clamp' op requires attribute 'min_val': %0 = tosa.clamp %x",
        )
        self.rejects(
            "rejects the model: expected '->'",
            "a b.mlir:1",
            "\"a b.mlir\":1:2: error: expected '->'",
        )

    def test_an_op_of_iree_is_no_op_of_the_model(self) -> None:
        said = "error: 'vector.contract' op invalid accumulator/result vector shape"
        self.rejects("cannot compile this part of the model", "model.py:3", f"model.py:3:8: {said}")
        self.rejects("cannot compile a part of the model", "", f"<unknown>:0: {said}")
        self.assertIn("IREE's reason: 'vector.contract' op", rejection(f"m:3:8: {said}").hint)
        own = rejection(f"m:3:8: {said}", source=b"%1 = vector.contract %0")
        self.assertIn("cannot compile op 'vector.contract': 'vector.contract' op", own.message)

    def test_a_line_of_the_model_is_better_than_one_of_a_library(self) -> None:
        error = "error: failed to legalize operation 'x.y'"
        self.rejects(
            "cannot compile op 'x.y'",
            "model.py:12",
            f'loc("<python>/torch/nn.py":7:1): {error}',
            'loc("model.py":12:3): note: called from',
        )
        self.rejects("cannot compile op 'x.y'", "", f'loc("<python>/torch/nn.py":7:1): {error}')

    def test_a_node_without_a_file(self) -> None:
        self.rejects(
            "cannot compile op 'aten.frob'",
            "fold",
            "<unknown>:0: error: loc(\"fold\"): failed to legalize operation 'torch.aten.frob'",
        )
        self.rejects(
            "cannot compile op 'aten.frob'",
            "fold",
            '<unknown>:0: error: loc(callsite("fold" at callsite("a" at "main"))):'
            " failed to legalize operation 'torch.aten.frob'",
        )
        self.rejects(
            "cannot compile op 'onnx.Col2Im'",
            "fold",
            "<unknown>:0: error: loc(\"fold\"): failed to legalize operation 'torch.operator'"
            ' that was explicitly marked illegal: "torch.operator"(%0) <{name = "onnx.Col2Im"}>',
        )

    def test_the_op_that_reads_a_constant_which_torch_mlir_names(self) -> None:
        self.rejects(
            "cannot compile op 'aten.frob'",
            "model.py:9",
            "model.py:4:1: error: failed to legalize operation 'torch.constant.int'",
            '%1 = torch.constant.int 1 loc("model.py":4:1)',
            '%2 = torch.aten.frob %0, %1 : !torch.int loc("model.py":9:5)',
        )


class FailedTest(unittest.TestCase):
    def test_a_crash_is_one_sentence(self) -> None:
        messages = (
            "Please report issues and include the crash backtrace.",
            "Stack dump:",
            "0. Program",
        )
        error = rejection(*messages, status=-signal.SIGSEGV)
        self.assertEqual(error.kind, "iree-crashed")
        self.assertEqual(error.message, "iree-compile crashed with SIGSEGV and gave no reason")
        self.assertTrue(error.hint.startswith("remove parts of the model"), error.hint)
        self.assertIn("reproducer: reproducer", error.hint)
        stack = (
            "#6 0x1 mlir::OpConversionPattern<mlir::stablehlo::ReduceWindowOp>::matchAndRewrite("
        )
        error = rejection(*messages, stack, status=-signal.SIGSEGV)
        self.assertIn("SIGSEGV on an op 'stablehlo.reduce_window'", error.message)
        # Bytecode has the names of ops one after the other.
        for source in (b"%1 = scf.while (%a = %b)", b"stablehlo\0add\0while\0"):
            error = rejection(*messages, status=-signal.SIGSEGV, source=source)
            self.assertIn("unroll loops", error.hint)

    def test_a_crash_with_a_reason_is_a_rejection(self) -> None:
        error = rejection("m.mlir:1:1: error: 'a.b' op is bad", status=-signal.SIGABRT)
        self.assertEqual((error.kind, error.where), ("op-rejected", "m.mlir:1"))

    def test_any_other_failure(self) -> None:
        error = rejection("starting", "LLVM Error: out of memory  ", status=3)
        self.assertEqual(error.kind, "iree-failed")
        self.assertIn("failed with status 3: LLVM Error: out of memory", error.message)
        self.assertIn("status 3: no message", rejection("starting", status=3).message)

    def test_a_full_disk(self) -> None:
        for said in (
            "LLVM ERROR: IO failure on output stream: No space left on device",
            "m.mlir:1:1: error: 'a.b' op is bad: Disk quota exceeded",
        ):
            error = rejection(said)
            self.assertEqual(error.kind, "disk-full")
            self.assertIn("iree-compile cannot write a temporary file", error.message)
            self.assertIn("TMPDIR", error.hint)
            self.assertNotIn("reproducer", error.hint)

    def test_a_pass_that_gives_no_reason(self) -> None:
        error = rejection(
            "// -----// IR Dump After APass Failed: iree-a-pass{cpu-options=opaque} //----- //",
            "func.func @main_dispatch_3_pad() attributes {x} {",
            status=1,
        )
        self.assertEqual(
            error.message,
            "iree-compile failed in the pass iree-a-pass on the dispatch main_dispatch_3_pad and gave no reason",
        )
        self.assertIn("tuning file", error.hint)
        error = rejection(
            "// -----// IR Dump After APass Failed: a-pass //----- //",
            "func.func @main() {",
            status=1,
        )
        self.assertTrue(error.message.endswith("failed in the pass a-pass and gave no reason"))
        self.assertNotIn("tuning file", error.hint)

    def test_no_line_of_a_file_is_quoted(self) -> None:
        said = "/home/me/notes:7:1: error: 'a.b' op is bad\nSECRET of line 7\n^\nm.mlir:1:1: note: called\n"
        self.assertEqual(
            diagnostics.without_sources(said),
            "/home/me/notes:7:1: error: 'a.b' op is bad\nm.mlir:1:1: note: called\n",
        )

    def test_the_linkers_reason(self) -> None:
        said = "m.mlir:1:1: error: failed to link executable (check above for more messages)"
        error = rejection("iree-lld: error: section .text is too large", said)
        reason = "failed to link executable: section .text is too large"
        self.assertEqual(error.message, f"iree-compile rejects the model: {reason}")
        self.assertNotIn("above", rejection(said).message)

    def test_functions_that_the_linker_does_not_find(self) -> None:
        line = "iree-lld: error: undefined symbol: "
        error = rejection(f"{line}tgamma", f"{line}__addsf3", f"{line}tgamma")
        self.assertEqual(error.kind, "missing-function")
        self.assertEqual(error.message, "the kernels call tgamma, which IREE's library lacks")
        self.assertTrue(error.hint.endswith("in f32 instead of f64"))
        self.assertNotIn("f64", rejection(f"{line}log10f").hint)
        # Compilers call functions with two underscores where the CPU has no instruction.
        error = rejection(f"{line}__addsf3", f"{line}__mulsf3")
        self.assertIn("the kernels call __addsf3, __mulsf3: this instruction set", error.message)
        self.assertIn("--libcalls", error.hint)


if __name__ == "__main__":
    unittest.main()
